#!/usr/bin/env python3
"""Rejects an include that points upwards (the table of docs/architecture.md), and LLVM headers outside codegen/llvm/.

usage: check_includes.py SOURCE_ROOT [BUILD_ROOT]

With a build folder, generated files are checked as well. Exit status 1 lists each bad include with file and line.
"""
import pathlib
import re
import sys

# What each folder may include besides itself and include/laze.
FOLDERS = {
    "include": [],
    "base": [],
    "ops": ["base"],
    "shape_inference": ["base"],
    "ir": ["base", "shape_inference"],
    "runtime": ["base", "shape_inference"],
    "codegen": ["base", "shape_inference", "ir", "runtime"],
    "lazy": ["base", "shape_inference", "ir", "runtime"],
    "optim": ["base"],
    "frontends": ["base", "shape_inference", "ir"],  # readers of model files, by design; nothing is there yet
    "tools": ["base", "shape_inference", "ir", "runtime", "codegen", "frontends"],
    "examples": [],
    "plugins": [],
}
# Folders made of rooms: what each room may include besides itself and the headers at the folder's door, another room or
# one header of it. The key without a room is for the headers at the door; the sources there put the rooms together, and
# may include all of them.
ROOMS = {
    "codegen": [],
    "codegen/interp": [],
    "codegen/loop": [],
    "codegen/schedule": ["codegen/loop"],
    "codegen/llvm": ["codegen/loop"],
    "codegen/native": ["codegen/loop", "codegen/schedule", "codegen/llvm/generator.h"],
    "lazy": ["lazy/value"],
    "lazy/value": [],
    "lazy/run": ["lazy/value"],
    "lazy/record": ["lazy/value", "lazy/run"],
    "lazy/autograd": ["lazy/value", "lazy/run", "lazy/record"],
    "lazy/views": ["lazy/value", "lazy/run", "lazy/record"],
    "lazy/library": ["lazy/value", "lazy/run", "lazy/record"],
    "lazy/tracing": ["lazy/value", "lazy/run", "lazy/record"],
    "lazy/aot": ["lazy/value", "lazy/run", "lazy/record", "lazy/autograd", "lazy/tracing"],
}
# Single files that may include one header more.
EXCEPTIONS = {"lazy": "codegen/codegen.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def folder_of(path):
    return path.parts[0] if len(path.parts) > 1 else None


def room_of(path):
    """The room of a file, or its folder where it is one of the folder's own headers; None: no room."""
    folder = "/".join(path.parts[:-1])
    if folder in ROOMS and (path.suffix == ".h" or "/" in folder):
        return folder
    return None


def check_room(path, target, line, errors):
    room, wanted = room_of(path), "/".join(pathlib.PurePath(target).parts[:-1])
    if not room or "/" not in wanted or wanted not in ROOMS or wanted == room:
        return
    if wanted not in ROOMS[room] and target not in ROOMS[room]:
        errors.append(f"{path}:{line}: {room}/ may not include {target}")


def check(root, path, exceptional, errors):
    folder = folder_of(path)
    if folder not in FOLDERS:
        return
    if folder in ROOMS and "/".join(path.parts[:-1]) not in ROOMS:
        errors.append(f"{path}:1: {folder}/ has no such room: say in ROOMS what it may include")
    text = (root / path).read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        quote, target = match.groups()
        if target.startswith(("llvm-c/", "llvm/")) and path.parts[:2] != ("codegen", "llvm"):
            errors.append(f"{path}:{line}: {target}: LLVM's headers belong to codegen/llvm/ alone")
        if target.startswith("laze/") or "/" not in target:
            continue
        check_room(path, target, line, errors)
        wanted = target.split("/")[0]
        if wanted not in FOLDERS:
            continue
        if quote == "<":
            errors.append(f'{path}:{line}: write #include "{target}"')
        if EXCEPTIONS.get(folder) == target:
            exceptional.setdefault(folder, set()).add(str(path))
        elif wanted != folder and wanted not in FOLDERS[folder]:
            errors.append(f"{path}:{line}: {folder}/ may not include {target}")


def main():
    source = pathlib.Path(sys.argv[1])
    errors, exceptional, seen = [], {}, 0
    roots = [(source, [f for f in FOLDERS if (source / f).is_dir()])]
    if len(sys.argv) > 2:
        build = pathlib.Path(sys.argv[2])
        roots.append((build, [f for f in FOLDERS if (build / f).is_dir()]))
    for root, folders in roots:
        for folder in folders:
            for path in sorted((root / folder).rglob("*.[ch]")):
                seen += 1
                check(root, path.relative_to(root), exceptional, errors)
    for folder, files in exceptional.items():
        if len(files) > 1:
            errors.append(f"{', '.join(sorted(files))}: only one file of {folder}/ may include {EXCEPTIONS[folder]}")
    if seen < 20:
        errors.append(f"only {seen} files found below {source}: is this the source folder?")
    for error in errors:
        print(error)
    print(f"check_includes: {seen} files, {len(errors)} bad includes")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
