#!/usr/bin/env python3
"""Whether a transformer learns, and whether a training that was interrupted goes on to the same bits.

usage: test_char_transformer.py TEXT PROGRAM...
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    text, *program = sys.argv[1:]

    def run(steps, checkpoint, *options):
        command = [*program, "--text", text, "--steps", str(steps), "--checkpoint", str(checkpoint), "--sample", "10"]
        return subprocess.run([*command, *options], check=True, text=True, stdout=subprocess.PIPE).stdout

    with tempfile.TemporaryDirectory() as name:
        whole, parts = pathlib.Path(name, "whole.safetensors"), pathlib.Path(name, "parts.safetensors")
        output = run(50, whole)
        loss = float(re.search(r"step +50 +loss (\S+)", output).group(1))
        if not 1 < loss < 3.5:  # of a network that knows nothing it is 4.9, the logarithm of 128
            sys.exit(f"the loss is {loss} after 50 steps\n{output}")
        run(30, parts)
        resumed = run(50, parts, "--resume")
        if whole.read_bytes() != parts.read_bytes() or resumed.splitlines()[-1] != output.splitlines()[-1]:
            sys.exit("a training that was interrupted differs from one that was not")
        print(f"loss {loss}, and the same when it was interrupted")


if __name__ == "__main__":
    main()
