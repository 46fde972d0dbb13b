"""The example of docs/pytorch.md, examples/pytorch: both networks learn, whichever way they are run."""
import contextlib
import io
import pathlib
import re
import runpy
import shlex
import unittest
import unittest.mock

import torch

import laze_torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
WAYS = ("compile", "device", "eager")


def run(*arguments):
    """The last loss, and the last line."""
    torch._dynamo.reset()
    laze_torch.reset()
    program, printed = str(ROOT / "examples" / "pytorch" / "train.py"), io.StringIO()
    with unittest.mock.patch("sys.argv", [program, *arguments, "--steps", "40"]), contextlib.redirect_stdout(printed):
        runpy.run_path(program, run_name="__main__")
    return float(re.findall(r"loss (\S+)", printed.getvalue())[-1]), printed.getvalue().splitlines()[-1]


class Example(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(laze_torch.fallbacks(), {})

    def test_a_gpt_learns_to_write(self):
        """What is dropped at random differs between the ways; a network that knows nothing has a loss of about 4.4."""
        losses = [run("gpt", "--by", by)[0] for by in WAYS]
        self.assertLess(max(losses), 3.1)
        self.assertLess(max(losses) - min(losses), 0.2)

    def test_a_resnet_learns_to_read(self):
        for by in WAYS:
            self.assertGreater(int(run("resnet", "--by", by)[1].split()[0]), 200, by)

    def test_the_page_shows_what_there_is(self):
        page = (ROOT / "docs" / "pytorch.md").read_text()
        commands = re.findall(r"^python examples/pytorch/train\.py ([\w -]+?) *(?:#.*)?$", page, re.MULTILINE)
        self.assertEqual([shlex.split(command) for command in commands],
                         [[network, "--by", by] for network in ("gpt", "resnet") for by in ("compile", "device")])


if __name__ == "__main__":
    unittest.main()
