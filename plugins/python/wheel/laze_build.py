"""The build backend of pyproject.toml: meson-python, and behind it the wheel says which versions of Python it serves.

meson-python names the version that builds, cp311-abi3, whatever limited API the extension asks for; pip would build it
anew for 3.9. What the extension asks for (plugins/python/laze/meson.build) is cp39-abi3, built with any of them.
"""
import pathlib
import subprocess
import sys

import mesonpy
from mesonpy import *  # noqa: F401, F403: the other hooks are its own

OLDEST = "cp39"  # as Py_LIMITED_API and requires-python have it


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
    if "-abi3-" not in name:
        return name
    renaming = [sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", OLDEST]
    told = subprocess.check_output([*renaming, pathlib.Path(wheel_directory, name)], text=True)
    return told.split()[-1]
