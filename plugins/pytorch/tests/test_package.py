"""What is installed: all of the package, and the names by which PyTorch finds it."""
import pathlib
import re
import unittest

import laze_torch

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Package(unittest.TestCase):
    def test_all_files_are_built(self):
        """meson.build names them; one that it leaves out is missing where the package is installed."""
        source, built = ({path.name for path in folder.glob("*.py")}
                         for folder in (ROOT / "plugins/pytorch/laze_torch", pathlib.Path(laze_torch.__file__).parent))
        self.assertEqual(built, source)

    def test_entry_points_name_what_there_is(self):
        text = (ROOT / "pyproject.toml").read_text()
        groups = dict(re.findall(r"^\[project\.entry-points\.(\w+|\"[\w.]+\")\]\n(\w+ = \"[\w.:]+\")$", text, re.MULTILINE))
        self.assertIn("torch_dynamo_backends", groups)
        for entry in groups.values():
            name, module, attribute = re.fullmatch(r'(\w+) = "([\w.]+):(\w+)"', entry).groups()
            self.assertEqual((name, module), ("laze", "laze_torch"))
            self.assertTrue(callable(getattr(laze_torch, attribute)))


if __name__ == "__main__":
    unittest.main()
