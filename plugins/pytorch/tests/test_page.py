"""The examples of docs/pytorch.md, in their order."""
import pathlib
import re
import unittest

import laze_torch

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "pytorch.md"


class Page(unittest.TestCase):
    def test_examples_work_when_pasted(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 2)
        names = {}
        exec(blocks[0], names)
        self.assertEqual(laze_torch.fallbacks(), {}, "the page says that laze runs all of it")
        self.assertLess(names["loss"].item(), 1.3)
        printed = []
        exec(blocks[1], {**names, "print": lambda *words: printed.append(" ".join(map(str, words)))})
        self.assertIn("aten::native_dropout is left to PyTorch", printed[0])
        self.assertIn("draws from PyTorch's generator", printed[0])


if __name__ == "__main__":
    unittest.main()
