"""Files of many tensors with names. The format is tested in tests/unit/runtime/safetensors_test.c."""
import json
import os
import pathlib
import struct
import tempfile
import unittest

import laze


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "x.safetensors")

    def test_there_and_back(self):
        tensors = {"w": laze.arange(6.0).reshape(2, 3) * 2, "étape": laze.tensor(3), "mask": laze.tensor([True, False]),
                   "half": laze.tensor([1.5], dtype=laze.bfloat16), "none": laze.zeros(0, 4)}
        laze.save_safetensors(tensors, self.path, metadata={"epoch": "3"})
        found = laze.load_safetensors(str(self.path))
        self.assertEqual(sorted(found), sorted(tensors))
        for name, tensor in tensors.items():
            self.assertEqual((found[name].dtype, found[name].shape), (tensor.dtype, tensor.shape), name)
            self.assertEqual(found[name].tolist(), tensor.tolist(), name)
        self.assertEqual(laze.safetensors_metadata(self.path), {"epoch": "3"})
        self.assertEqual(os.listdir(self.folder.name), [self.path.name])

    def test_what_is_written_is_the_format(self):
        laze.save_safetensors({"b": laze.tensor([1, 2], dtype=laze.int8), "a": laze.tensor([1.0])}, self.path)
        data = self.path.read_bytes()
        length, = struct.unpack("<Q", data[:8])
        self.assertEqual(json.loads(data[8:8 + length]), {
            "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            "b": {"dtype": "I8", "shape": [2], "data_offsets": [4, 6]}})
        self.assertEqual((length % 8, data[8 + length:]), (0, struct.pack("<fbb", 1.0, 1, 2)))

    def test_tensors_outlive_their_file(self):
        laze.save_safetensors({"x": laze.tensor([1.0, 2.0])}, self.path)
        x = laze.load_safetensors(self.path)["x"]
        laze.save_safetensors({"x": x + 1}, self.path)  # the old one is replaced, and not written over
        y = laze.load_safetensors(self.path)["x"]
        self.path.unlink()
        self.assertEqual((x.tolist(), y.tolist()), ([1, 2], [2, 3]))

    def test_what_is_refused(self):
        x = laze.tensor([1.0])
        for call, kind in ((lambda: laze.save_safetensors([x], self.path), TypeError),
                           (lambda: laze.save_safetensors({"x": 1.0}, self.path), TypeError),
                           (lambda: laze.save_safetensors({1: x}, self.path), TypeError),
                           (lambda: laze.save_safetensors({"x": x}, self.path, metadata={"n": 1}), TypeError),
                           (lambda: laze.save_safetensors({"x": x}, self.path, metadata="n"), TypeError),
                           (lambda: laze.save_safetensors({"\ud800": x}, self.path), ValueError),
                           (lambda: laze.save_safetensors({"__metadata__": x}, self.path), ValueError),
                           (lambda: laze.save_safetensors({"x": laze.tensor([1j], dtype="complex128")}, self.path),
                            NotImplementedError),
                           (lambda: laze.save_safetensors({"x": x}, "/nowhere/at/all"), OSError),
                           (lambda: laze.load_safetensors(self.path), FileNotFoundError),
                           (lambda: laze.load_safetensors(3), TypeError)):
            with self.assertRaises(kind):
                call()
        self.path.write_bytes(b"no such file")
        with self.assertRaisesRegex(laze.Error, "x.safetensors: has 12 bytes, and a header of"):
            laze.load_safetensors(self.path)


if __name__ == "__main__":
    unittest.main()
