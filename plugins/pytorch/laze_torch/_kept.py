"""Lowered graphs on disk, beside laze's kernels, so that another process that has the same graph lowers nothing.

    graph of PyTorch ── key ──> <cache directory>/<versions>/m-<key>   calls of laze's operators, as JSON

The directory, and what becomes of it, is that of runtime/disk_cache.h: files are written under another name and
renamed, read only where they are the user's own and nobody else can write them, and removed by laze when all together
are too large. The checksum tells what is damaged; whatever goes wrong costs the file, and the graph is lowered again.
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import logging
import os
import pathlib
import stat
from typing import Any, Iterator

import torch

import laze
from laze import _laze
from laze.__main__ import cache_folder
from laze_torch import _sizes

_FEWEST = 16  # nodes of a graph that is not lowered faster than read
_LARGEST = 1 << 26  # bytes of a file that is read
_log = logging.getLogger("laze_torch")
_count = itertools.count()


class _NoKey(Exception):
    """Something that is not the same in another process."""


# ---- Keys: all that a plan of a graph is made from.

def key_of(nodes: list[torch.fx.Node], facts: Any) -> str | None:
    """What tells a graph, and other facts, from others; None: it is of this process alone, or too small."""
    if len(nodes) < _FEWEST:
        return None
    place = {node: index for index, node in enumerate(nodes)}
    try:
        lines = [_line(node, place) for node in nodes]
    except _NoKey:
        return None
    return hashlib.blake2b("\n".join([repr(facts), *lines]).encode(), digest_size=16).hexdigest()


def _line(node: torch.fx.Node, place: dict[torch.fx.Node, int]) -> str:
    target = node.target if node.op == "call_function" else None
    return f"{node.op} {_word(target, place)} {_word(node.args, place)} {_word(node.kwargs, place)} " \
           f"{_word(node.meta.get('val'), place)}"


def _word(held: Any, place: dict[torch.fx.Node, int]) -> str:
    if isinstance(held, torch.fx.Node):
        return f"%{place[held]}"
    if isinstance(held, (list, tuple)):
        return f"({','.join([_word(item, place) for item in held])})"
    if isinstance(held, torch.Tensor):
        sizes, strides = (_word(tuple(numbers), place) for numbers in (held.shape, held.stride()))
        return f"{held.dtype}{sizes}{strides}{held.device}{held.layout}{held.is_conj()}"
    if held is None or isinstance(held, (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout,
                                         torch.memory_format)):
        return repr(held)
    if isinstance(held, _sizes.SYMBOLIC):
        return f"{held.node.expr}={held.node.hint}"
    if isinstance(held, dict):
        return f"{{{','.join([f'{name}:{_word(item, place)}' for name, item in held.items()])}}}"
    if isinstance(held, torch._ops.OpOverload):
        return held.name()
    if isinstance(held, torch._ops.HigherOrderOperator) or getattr(held, "__module__", None) == "_operator":
        return f"{held.__module__}.{held.__name__}"
    raise _NoKey(type(held).__name__)


@functools.cache
def _versions() -> str:
    """Of all that decides on what a graph is lowered to: PyTorch, laze, and this package."""
    texts = [text.encode("utf-8", "surrogateescape") for text in (torch.__version__, laze.__version__, *_libraries())]
    texts += [path.read_bytes() for path in sorted(pathlib.Path(__file__).parent.glob("*.py"))]
    return hashlib.blake2b(b"\0".join(texts), digest_size=16).hexdigest()


def _libraries() -> Iterator[str]:
    """laze's own, as they are loaded: a build differs in its time, if not in its version."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "laze" in line}
    for path in sorted(paths | {_laze.__file__}):
        if pathlib.Path(path).name.startswith(("liblaze.so", "_laze.")):
            info = os.stat(path)
            yield f"{pathlib.Path(path).name} {info.st_size} {info.st_mtime_ns}"


# ---- Files.

def find(key: str) -> Any:
    """What was stored; None: nothing, or nothing that can be used."""
    try:
        directory = _open_directory(make=False)
    except (OSError, ValueError):
        return None
    try:
        return json.loads(_read(directory, f"m-{key}"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        discard(key, str(error))
        return None
    finally:
        os.close(directory)


def store(key: str, held: Any) -> None:
    """Keeps what JSON can say, as well as it can be."""
    try:
        text = json.dumps(held, separators=(",", ":")).encode()
        directory = _open_directory(make=True)
    except (OSError, ValueError):
        return
    name = f"t-{os.getpid()}-{next(_count)}-{os.urandom(4).hex()}"
    try:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
        with open(file, "wb") as stream:
            stream.write(hashlib.blake2b(text, digest_size=16).hexdigest().encode() + b"\n" + text)
        os.rename(name, f"m-{key}", src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        try:
            os.unlink(name, dir_fd=directory)
        except OSError:
            pass
    finally:
        os.close(directory)


def discard(key: str, reason: str) -> None:
    """Removes what cannot be used."""
    _log.warning("a kept graph, m-%s, is bad and will be lowered again: %s", key, reason)
    try:
        directory = _open_directory(make=False)
    except (OSError, ValueError):
        return
    try:
        os.unlink(f"m-{key}", dir_fd=directory)
    except OSError:
        pass
    finally:
        os.close(directory)


def _open_directory(make: bool) -> int:
    folder = cache_folder()
    if folder is None:
        raise FileNotFoundError("there is no cache on disk")
    if make:
        os.makedirs(folder, 0o700, exist_ok=True)
    root = _open_private(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    try:
        if make and not os.access(_versions(), os.F_OK, dir_fd=root):
            os.mkdir(_versions(), 0o700, dir_fd=root)
        return _open_private(os.open(_versions(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW,
                                     dir_fd=root))
    finally:
        os.close(root)


def _open_private(file: int) -> int:
    """The same, if it is this user's and nobody else can write it."""
    info = os.fstat(file)
    if info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return file
    os.close(file)
    raise PermissionError(f"it belongs to user {info.st_uid}, or others may write it (mode {info.st_mode & 0o777:03o})")


def _read(directory: int, name: str) -> bytes:
    file = _open_private(os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=directory))
    with open(file, "rb") as stream:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST:
            raise ValueError(f"it is no file of at most {_LARGEST} bytes")
        checksum, _, text = stream.read().partition(b"\n")
        with contextlib.suppress(OSError):  # what cannot be written is read all the same
            os.utime(file)  # it was used
    if hashlib.blake2b(text, digest_size=16).hexdigest().encode() != checksum:
        raise ValueError("its checksum does not match its contents")
    return text
