"""Compares what the library exports with what its headers declare.

    exported_symbols.py LIBRARY HEADER...

A function that a header declares and the library lacks cannot be linked; one that only the library has is a promise
nobody made.
"""
import subprocess
import sys

from declarations import declarations, name_of


def exported(library):
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    # Versions and the bounds of sections are the linker's.
    return {line.split()[0] for line in lines if line.split()[1] in "TDBRVWi"} - {"_init", "_fini"}


def main():
    library, headers = sys.argv[1], sys.argv[2:]
    promised, given = {name_of(text) for text in declarations(headers)}, exported(library)
    for name in sorted(promised - given):
        print(f"{name}: declared in a header, not exported")
    for name in sorted(given - promised):
        print(f"{name}: exported, not declared in a header")
    print(f"{len(promised)} declared, {len(given)} exported")
    return promised != given or not promised


if __name__ == "__main__":
    sys.exit(main())
