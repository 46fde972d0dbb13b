#!/usr/bin/env python3
"""Copies a corpus to where a fuzzer keeps its own: files in hexadecimal become the bytes that they stand for.

usage: unpack.py CORPUS FOLDER
"""
import pathlib
import sys

corpus, folder = map(pathlib.Path, sys.argv[1:])
for file in sorted(corpus.iterdir()):
    data = file.read_bytes()
    if file.suffix == ".hex":
        data = bytes.fromhex(data.decode())
    (folder / file.name).write_bytes(data)
