"""Tensors out of Python's and NumPy's values, and back."""
import copy
import math
import pathlib
import pickle
import tempfile
import unittest

import laze

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


class FromLists(unittest.TestCase):
    def test_the_dtype_follows_the_numbers_as_in_pytorch(self):
        for data, dtype in [([1, 2], laze.int64), ([1, 2.0], laze.float32), ([True], laze.bool), ([True, 2], laze.int64),
                            (3, laze.int64), (2.5, laze.float32), ([], laze.float32)]:
            self.assertIs(laze.tensor(data).dtype, dtype, data)

    def test_shapes(self):
        for data, shape in [(1, ()), ([], (0,)), ([[]], (1, 0)), ([[], []], (2, 0)), (((1, 2), [3, 4]), (2, 2)),
                            ([[[1]], [[2]]], (2, 1, 1))]:
            tensor = laze.tensor(data)
            self.assertEqual(tensor.shape, shape)
            self.assertEqual(tensor.size(), shape)
            self.assertEqual(tensor.ndim, len(shape))
            self.assertEqual(tensor.numel(), math.prod(shape))

    def test_values_come_back(self):
        for data in [[[1, -2], [3, 2**62]], [0.5, -1.25], [[True, False]], 7, 0.5, True]:
            self.assertEqual(laze.tensor(data).tolist(), data)

    def test_a_dtype_converts(self):
        self.assertEqual(laze.tensor([1.75, -1.75], dtype=laze.int32).tolist(), [1, -1])
        self.assertEqual(laze.tensor([0, 2], dtype=laze.bool).tolist(), [False, True])
        self.assertEqual(laze.tensor([2**53 + 1], dtype=laze.int64).tolist(), [2**53 + 1])
        self.assertEqual(laze.tensor([0.1], dtype=laze.float64).item(), 0.1)

    def test_lists_that_are_no_tensor(self):
        for data in [[[1, 2], [3]], [1, [2]], [[1], 2], [1, []], [True, [[]]]]:
            with self.assertRaises(ValueError):
                laze.tensor(data)
        for data in ["text", {}, [None], object(), [b"x"]]:
            with self.assertRaises(TypeError):
                laze.tensor(data)
        with self.assertRaisesRegex(OverflowError, "9223372036854775808 does not fit"):
            laze.tensor([2**63])
        with self.assertRaises(ValueError):
            laze.tensor([math.nan], dtype=laze.int64)

    def test_complex_numbers(self):
        mixed = laze.tensor([1 + 2j, 3, 0.5, True])
        self.assertEqual((mixed.dtype, mixed.tolist()), (laze.complex64, [1 + 2j, 3, 0.5, 1]))
        self.assertEqual(repr(laze.tensor([1 - 2.5j, 3])), "tensor([1.0-2.5j 3.0+0.0j])")
        self.assertEqual(laze.tensor(0.1 + 0.2j, dtype=complex).item(), 0.1 + 0.2j)
        self.assertEqual(complex(laze.tensor(2.0)), 2)
        with self.assertRaises(TypeError): # a real tensor would lose a part without a word
            laze.tensor([1j], dtype=laze.float32)
        self.assertEqual((laze.tensor([1.5]) * 2j).tolist(), [3j])
        self.assertEqual((1j - laze.tensor([1.5], dtype=laze.float64)).dtype, laze.complex128)
        self.assertEqual((laze.tensor([2]) + 1j).dtype, laze.complex64)
        z = laze.tensor([[1 + 2j, 3j]])
        self.assertEqual((z.real.tolist(), z.imag.tolist(), z.mH.tolist()), ([[1, 0]], [[2, 3]], [[1 - 2j], [-3j]]))
        self.assertTrue(z.dtype.is_complex and not z.dtype.is_floating_point)

    def test_a_list_whose_length_fails_is_its_error(self):
        class Failing(list):
            def __len__(self):
                raise KeyError("length")

        with self.assertRaises(KeyError):
            laze.tensor(Failing([1]))

    def test_a_list_that_contains_itself_is_an_error(self):
        data = []
        data.append(data)
        with self.assertRaises(TypeError):
            laze.tensor(data)


class Dtypes(unittest.TestCase):
    def test_what_is_a_dtype(self):
        for spelled in [laze.float64, laze.f64, "float64", "f64", float]:
            self.assertIs(laze.zeros(1, dtype=spelled).dtype, laze.float64)
        self.assertIs(laze.zeros(1, dtype=int).dtype, laze.int64)
        self.assertIs(laze.zeros(1, dtype=bool).dtype, laze.bool)

    def test_what_is_none(self):
        for wrong in ["float65", str, 3.5, [laze.float32]]:
            with self.assertRaises(TypeError):
                laze.zeros(1, dtype=wrong)

    def test_what_a_dtype_says(self):
        self.assertEqual(repr(laze.float32), "laze.float32")
        self.assertEqual((laze.int32.name, laze.int32.itemsize, laze.int32.is_floating_point), ("int32", 4, False))
        for half, name in [(laze.float16, "float16"), (laze.bfloat16, "bfloat16")]:
            self.assertEqual((half.name, half.itemsize, half.is_floating_point), (name, 2, True))
        self.assertEqual((laze.f16, laze.bf16), (laze.float16, laze.bfloat16))
        self.assertIs(pickle.loads(pickle.dumps(laze.int64)), laze.int64)
        self.assertIs(copy.deepcopy(laze.int64), laze.int64)

    def test_casts_are_methods(self):
        tensor = laze.tensor([1.5, 0.0])
        for name, dtype in [("double", laze.float64), ("float", laze.float32), ("long", laze.int64),
                            ("int", laze.int32), ("short", laze.int16), ("char", laze.int8), ("byte", laze.uint8),
                            ("bool", laze.bool), ("half", laze.float16), ("bfloat16", laze.bfloat16)]:
            self.assertIs(getattr(tensor, name)().dtype, dtype)
            self.assertIs(tensor.to(dtype).dtype, dtype)
        self.assertEqual(tensor.bool().tolist(), [True, False])


class FloatsOf16Bits(unittest.TestCase):
    def test_numbers_are_rounded_to_them(self):
        self.assertEqual(laze.tensor([2049, 2051, 65519, 65520, 1e-8], dtype=laze.float16).tolist(),
                         [2048, 2052, 65504, math.inf, 0])
        self.assertEqual(laze.tensor([257, 259, 1e-40], dtype=laze.bfloat16).tolist(), [256, 260, 2.0**-133])

    def test_each_operator_rounds(self):
        # 2048 + 1 is 2048 in float16, and so is what follows; as float32 it would be 2050.
        for held in (False, True):
            x = laze.tensor([2048.0], dtype=laze.float16)
            first = x + laze.ones(1, dtype=laze.float16)
            if held:
                first.evaluate()
            second = first + laze.ones(1, dtype=laze.float16)
            self.assertEqual((second.dtype, second.tolist()), (laze.float16, [2048.0]))

    def test_beside_other_dtypes(self):
        half, other = laze.ones(2, dtype=laze.float16), laze.ones(2, dtype=laze.bfloat16)
        self.assertIs((half + other).dtype, laze.float32)
        self.assertIs((half + laze.ones(2, dtype=laze.int64)).dtype, laze.float16)
        self.assertIs((half + 1.5).dtype, laze.float16)
        self.assertIs((other @ other).dtype, laze.bfloat16)
        self.assertIs((half + laze.ones(2)).dtype, laze.float32)

    def test_bfloat16_has_no_format_in_buffers_nor_files(self):
        tensor = laze.ones(2, dtype=laze.bfloat16)
        with self.assertRaisesRegex(BufferError, r"bfloat16.*DLPack.*\.float\(\)"):
            memoryview(tensor)
        self.assertEqual(memoryview(tensor.float()).tolist(), [1, 1])
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex((ValueError, NotImplementedError, laze.Error), "bf16"):
                laze.save(tensor, pathlib.Path(folder, "values.npy"))
        if numpy:
            with self.assertRaisesRegex(BufferError, r"bfloat16.*\.float\(\)"):
                tensor.numpy()
            self.assertEqual(tensor.float().numpy().tolist(), [1, 1])

    def test_dlpack_carries_both(self):
        for dtype in (laze.float16, laze.bfloat16):
            tensor = laze.tensor([[0.1, -2.0], [3.5, 7e4]], dtype=dtype)
            again = laze.from_dlpack(tensor.__dlpack__())
            self.assertEqual((again.dtype, again.shape, again.tolist()), (dtype, (2, 2), tensor.tolist()))

    @unittest.skipUnless(torch, "needs PyTorch")
    def test_there_and_back_with_pytorch(self):
        for name in ("float16", "bfloat16"):
            tensor = laze.tensor([[0.1, -2.0], [3.5, 7e4]], dtype=getattr(laze, name))
            there = torch.from_dlpack(tensor)
            self.assertEqual((there.dtype, there.tolist()), (getattr(torch, name), tensor.tolist()))
            back = laze.from_dlpack(there.T)
            self.assertEqual((back.dtype, back.tolist()), (tensor.dtype, tensor.T.tolist()))


class ToPython(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(laze.tensor(2.5).item(), 2.5)
        self.assertIs(type(laze.tensor([[3]]).item()), int)
        self.assertIs(laze.tensor(True).item(), True)
        self.assertEqual(float(laze.tensor([2.5])), 2.5)
        self.assertEqual(int(laze.tensor(2.75)), 2)
        self.assertEqual([10, 20, 30][laze.tensor(1)], 20)
        self.assertEqual(laze.tensor(2**62 + 1).item(), 2**62 + 1)
        self.assertTrue(laze.tensor([0.5]))
        self.assertFalse(laze.tensor(0))

    def test_what_has_no_single_value(self):
        two = laze.tensor([1, 2])
        for ask in (bool, float, int, lambda x: x.item()):
            with self.assertRaises(ValueError):
                ask(two)
        with self.assertRaises(TypeError):
            [1][laze.tensor(0.0)]

    def test_rows(self):
        tensor = laze.tensor([[1, 2], [3, 4], [5, 6]])
        self.assertEqual(len(tensor), 3)
        self.assertEqual([row.tolist() for row in tensor], [[1, 2], [3, 4], [5, 6]])
        first, *rest = tensor
        self.assertEqual((first.tolist(), len(rest)), ([1, 2], 2))
        for function in (len, iter):
            with self.assertRaises(TypeError):
                function(laze.tensor(1))

    def test_membership(self):
        self.assertIn(3, laze.tensor([[1, 2], [3, 4]]))
        self.assertNotIn(7, laze.tensor([[1, 2], [3, 4]]))
        with self.assertRaises(TypeError):
            "x" in laze.tensor([1])  # noqa: B015

    def test_repr_prints_values(self):
        self.assertRegex(repr(laze.tensor([1, 2])), r"^tensor\(\[1,? 2\]\)$")
        self.assertIn("dtype=laze.float64", repr(laze.tensor([1.0], dtype=laze.float64)))
        self.assertEqual(repr(laze.zeros(0, 3)), "tensor([], shape=(0, 3))")
        # 0.1 as the shortest number that is the same float of that dtype: its neighbours differ in the third digit.
        self.assertEqual(repr(laze.tensor([0.1, 65504], dtype=laze.float16).tolist()), "[0.0999755859375, 65504.0]")
        self.assertIn("0.1", repr(laze.tensor([0.1], dtype=laze.float16)))
        self.assertIn("dtype=laze.bfloat16", repr(laze.tensor([0.1], dtype=laze.bfloat16)))
        lines = repr(laze.tensor([[1, 2], [3, 4]])).split("\n")
        self.assertEqual([line.index("[") for line in lines], [7, 8])
        self.assertLess(len(repr(laze.zeros(1000, 1000))), 2000)

    def test_copies_and_pickles_have_the_values(self):
        tensor = laze.tensor([[1.5, 2.5]]) + 1
        for copied in (copy.copy(tensor), copy.deepcopy([tensor])[0], tensor.clone(), laze.tensor(tensor)):
            copied += 1
            self.assertEqual((copied.tolist(), tensor.tolist()), ([[3.5, 4.5]], [[2.5, 3.5]]))
        for value in [tensor, laze.tensor(True), laze.zeros(0, 3), laze.tensor([2**62]),
                      laze.tensor([0.1, -2.0], dtype=laze.float16), laze.tensor([0.1, 3e38], dtype=laze.bfloat16)]:
            again = pickle.loads(pickle.dumps(value))
            self.assertEqual((again.dtype, again.shape, again.tolist()), (value.dtype, value.shape, value.tolist()))

    def test_formats_are_those_of_the_number(self):
        self.assertEqual(f"{laze.tensor(2.5):.3f} {laze.tensor(7):03d}", "2.500 007")
        self.assertEqual(f"{laze.tensor([1, 2])}", "tensor([1 2])")
        with self.assertRaises(TypeError):
            f"{laze.tensor([1, 2]):.3f}"

    def test_what_programs_for_pytorch_write_before_they_read(self):
        tensor = laze.tensor([1.0])
        self.assertIs(tensor.cpu().contiguous(), tensor)
        self.assertEqual(tensor.device, "cpu")

    def test_tensors_are_keys_by_identity(self):
        one, other = laze.tensor([1]), laze.tensor([1])
        self.assertEqual({one: "one", other: "other"}[one], "one")


class Files(unittest.TestCase):
    def test_what_is_saved_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "values.npy")
            for tensor in [laze.arange(6).reshape(2, 3) + 1, laze.tensor(0.5), laze.tensor([True]), laze.zeros(0, 2)]:
                laze.save(tensor, path)
                again = laze.load(str(path))
                self.assertEqual((again.dtype, again.shape, again.tolist()),
                                 (tensor.dtype, tensor.shape, tensor.tolist()))
            if numpy:
                self.assertEqual(numpy.load(path).shape, (0, 2))

    def test_files_that_cannot_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "values.npy")
            with self.assertRaisesRegex(FileNotFoundError, "values.npy") as caught:
                laze.load(path)
            self.assertIsInstance(caught.exception, laze.Error)
            path.write_text("no array")
            with self.assertRaisesRegex(OSError, "values.npy"):
                laze.load(path)
            with self.assertRaises(OSError):
                laze.save(laze.zeros(2), pathlib.Path(folder, "missing", "values.npy"))
        for wrong in (3.5, None):
            with self.assertRaises(TypeError):
                laze.load(wrong)


@unittest.skipUnless(numpy, "needs NumPy")
class NumPy(unittest.TestCase):
    def arrays(self):
        for dtype in ["?", "i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8"]:
            for shape in [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 2, 3, 4)]:
                yield (numpy.arange(math.prod(shape)) % 5 - 1).reshape(shape).astype(dtype)

    def test_there_and_back(self):
        for array in self.arrays():
            for make in (laze.tensor, laze.asarray, laze.from_numpy):
                back = numpy.asarray(make(array))
                self.assertEqual((back.dtype, back.shape), (array.dtype, array.shape))
                numpy.testing.assert_array_equal(back, array)

    def test_every_float16_is_numpys(self):
        every = numpy.arange(1 << 16, dtype="u2").view("f2")
        tensor = laze.asarray(every)
        self.assertIs(tensor.dtype, laze.float16)
        numpy.testing.assert_array_equal(tensor.numpy().view("u2"), every.view("u2"))
        numpy.testing.assert_array_equal(tensor.float().numpy(), every.astype("f4"))
        with numpy.errstate(over="ignore", invalid="ignore"):
            numpy.testing.assert_array_equal((tensor * tensor).numpy(), every * every)
            middles = (every.astype("f4") + numpy.nextafter(every, numpy.float16(0)).astype("f4")) / 2
            numpy.testing.assert_array_equal(laze.asarray(middles).half().numpy(), middles.astype("f2"))

    def test_other_orders_of_memory(self):
        array = numpy.arange(24, dtype="f4").reshape(4, 6)
        for view in [array.T, array[::2], array[:, 1::2], array[::-1], numpy.asfortranarray(array),
                     numpy.broadcast_to(array[0], (3, 6))]:
            numpy.testing.assert_array_equal(numpy.asarray(laze.asarray(view)), view)

    def test_memory_that_is_not_aligned(self):
        raw = numpy.zeros(17, "u1")
        array = raw[1:].view("f4")
        array[:] = [1, 2, 3, 4]
        self.assertEqual((laze.asarray(array) + 0).tolist(), [1, 2, 3, 4])

    def test_tensor_copies_and_asarray_does_not(self):
        array = numpy.ones(3, "f4")
        copied, shared = laze.tensor(array), laze.asarray(array)
        array[0] = 5
        self.assertEqual(copied.tolist(), [1, 1, 1])
        self.assertEqual(shared.tolist(), [5, 1, 1])

    def test_what_laze_has_no_dtype_for(self):
        for array in [numpy.zeros(2, ">f4"), numpy.array(["x"]), numpy.array([object()]), numpy.zeros(2, "M8[s]")]:
            with self.assertRaises((TypeError, ValueError)):
                laze.tensor(array)

    def test_arrays_are_read_only_and_copies_are_not(self):
        tensor = laze.tensor([1.0, 2.0])
        self.assertFalse(numpy.asarray(tensor).flags.writeable)
        self.assertFalse(tensor.numpy().flags.writeable)
        self.assertTrue(numpy.array(tensor).flags.writeable)
        self.assertEqual(numpy.asarray(tensor, dtype="f8").dtype, numpy.float64)
        self.assertEqual(numpy.sin(tensor).shape, (2,))

    def test_sizes_that_are_arrays_without_dimensions(self):
        three = numpy.array(3)
        self.assertEqual([laze.zeros(2, three).shape, laze.zeros((2, three)).shape, laze.zeros(three).shape,
                          laze.arange(6).reshape(2, three).shape], [(2, 3), (2, 3), (3,), (2, 3)])
        for wrong in (numpy.array([3, 1]), numpy.array(3.0)):
            with self.assertRaises(TypeError):
                laze.zeros(2, wrong)

    def test_scalars_and_dtypes_of_numpy(self):
        self.assertEqual(laze.tensor([numpy.float32(1.5), numpy.int8(2)]).tolist(), [1.5, 2.0])
        self.assertIs(laze.tensor(numpy.float64(0.5)).dtype, laze.float32)
        self.assertIs(laze.zeros(1, dtype=numpy.float64).dtype, laze.float64)
        self.assertIs(laze.zeros(1, dtype=numpy.dtype("i4")).dtype, laze.int32)
        self.assertIs(laze.zeros(1, dtype=numpy.bool_).dtype, laze.bool)
        self.assertEqual(laze.zeros(numpy.int64(2), numpy.int32(3)).shape, (2, 3))
        self.assertEqual(laze.zeros(numpy.array([2, 3])).shape, (2, 3))


if __name__ == "__main__":
    unittest.main()
