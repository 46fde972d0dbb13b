"""The examples of docs/pytorch.md, in their order."""
import pathlib
import re
import unittest
import warnings

import laze_torch

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "pytorch.md"


class Page(unittest.TestCase):
    def test_examples_work_when_pasted(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 5)
        printed, names = [], {"print": lambda *words: printed.append(" ".join(map(str, words)))}
        exec(blocks[0], names)
        self.assertEqual(printed, ["{}"], "the page says that laze runs all of it")
        self.assertLess(names["loss"].item(), 1.3)
        exec(blocks[1], names)
        self.assertIn("mine::twice is left to PyTorch, and splits the graph", printed[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", laze_torch.FallbackWarning)
            exec(blocks[2], names)
        self.assertEqual(printed[2:], ["True"])
        exec(blocks[3], names)
        said = re.findall(r"^# (forward.*)$", blocks[3], re.MULTILINE)
        self.assertEqual(printed[3].splitlines()[0], said[0])
        before = laze_torch.fallbacks()
        exec(blocks[4], names)
        self.assertIn("device='laze:0'", printed[4])
        self.assertEqual(laze_torch.fallbacks(), before, "the page says that laze runs all of it")


if __name__ == "__main__":
    unittest.main()
