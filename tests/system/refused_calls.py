"""Checks that compilers refuse calls with arguments that nobody would see.

    refused_calls.py CASES SOURCE COMPILER ARGUMENT...

The macros of laze/call.h take what stands at the end as it comes; an argument too many must be an error without any
warning's being asked for, and not be dropped. Case 0 is what has to compile.
"""
import subprocess
import sys


def main():
    cases, source, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    failed = False
    for case in range(cases):
        result = subprocess.run([*command, f"-DCASE={case}", source], capture_output=True, text=True, check=False)
        if (result.returncode == 0) != (case == 0):
            failed = True
            print(f"case {case}: " + (result.stderr if case == 0 else "compiles, although an argument is dropped"))
    return failed


if __name__ == "__main__":
    sys.exit(main())
