"""What is installed: all of the package, and the names by which PyTorch finds it."""
import os
import pathlib
import re
import subprocess
import sys
import textwrap
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

    def test_the_device_can_be_left_out(self):
        """PyTorch's own switch: then a process is one without a device, until it opens one."""
        code = """
            import os, torch, laze_torch
            torch.set_num_threads(1)
            x = torch.ones(3, requires_grad=True)
            run = torch.compile(lambda x: x.sin().sum(), backend="laze")
            run(x).backward()
            child = os.fork()
            if child == 0:
                run(x).backward()
                os._exit(7 if torch.allclose(x.grad, 2 * x.cos()) else 1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            try:
                torch.ones(3, device="laze")
            except RuntimeError:
                print("no device")
            laze_torch.open_device()
            laze_torch.open_device()
            print(torch.ones(3, device="laze").sum().item())
        """
        result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, timeout=300)
        self.assertEqual(result.stdout.splitlines(), ["7", "no device", "3.0"], result.stderr)


if __name__ == "__main__":
    unittest.main()
