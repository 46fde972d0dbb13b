"""What wrong calls say: messages.txt has calls, and below each the exception and its message.

    laze.zeros(-1)
      OutOfRangeError: zeros: axis 0 has size -1; sizes are 0 to 2^62

usage: test_messages.py [--update]   (--update writes what is said now, to be read before it is kept)
"""
import pathlib
import re
import sys
import unittest

import laze

FILE = pathlib.Path(__file__).with_name("messages.txt")


def message_of(call):
    try:
        result = eval(call, {"laze": laze})
        tensors = result if isinstance(result, (tuple, list)) else [result]
        for tensor in tensors:
            tensor.tolist()  # what only the elements show is found by then
    except Exception as error:
        said = f"{type(error).__name__}: {error}".replace("<string>:1: ", "").replace("\n", "\n  ")
        return re.sub("it takes [a-z0-9, ]+:", "it takes DTYPES:", said)  # which ones there are is no matter here
    return "nothing"


def read_cases():
    """Pairs of a call and its message."""
    cases = []
    for line in FILE.read_text().splitlines():
        if line.startswith("  "):
            cases[-1][1].append(line[2:])
        elif line and not line.startswith("#"):
            cases.append((line, []))
    return [(call, "\n  ".join(said)) for call, said in cases]


class Messages(unittest.TestCase):
    """A message is all that a user has when a call is wrong, and a change of one is to be seen."""

    def test_each_is_what_the_file_says(self):
        cases = read_cases()
        self.assertGreaterEqual(len(cases), 60)
        for call, expected in cases:
            with self.subTest(call):
                self.assertEqual(message_of(call), expected)
                self.assertNotRegex(expected, r"\blaze_|\bLAZE_", "a message in words of C")


def update():
    lines = []
    for line in FILE.read_text().splitlines():
        if line.startswith("  "):
            continue
        lines.append(line)
        if line and not line.startswith("#"):
            lines.append("  " + message_of(line))
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    update() if sys.argv[1:] == ["--update"] else unittest.main()
