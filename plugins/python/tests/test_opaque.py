"""Calls of kernels that the program has registered through the C interface: by name, with lists, and absent results."""
import ctypes
import re
import unittest

import laze


def library():
    """The library that the package is linked with."""
    with open("/proc/self/maps") as maps:
        found = re.search(r"(/\S*/liblaze\.so\S*)$", maps.read(), re.MULTILINE)
    return ctypes.CDLL(found.group(1)) if found else None


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p)]


class Doubles(ctypes.Structure):
    _fields_ = [("items", ctypes.POINTER(ctypes.c_double)), ("count", ctypes.c_int32)]


class Integers(ctypes.Structure):
    _fields_ = [("items", ctypes.POINTER(ctypes.c_int64)), ("count", ctypes.c_int32)]


class Strings(ctypes.Structure):
    _fields_ = [("items", ctypes.POINTER(ctypes.c_char_p)), ("count", ctypes.c_int32)]


class Call(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("operand_count", ctypes.c_int32), ("result_count", ctypes.c_int32),
                ("operands", ctypes.POINTER(Tensor)), ("results", ctypes.POINTER(Tensor)), ("integers", Integers),
                ("reals", Doubles), ("strings", Strings)]


class Type(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.c_int64 * 16)]


INFER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Call), ctypes.POINTER(Type), ctypes.c_void_p)
RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Call), ctypes.c_void_p)


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("version", ctypes.c_int32),
                ("result_count", ctypes.c_int32), ("infer", INFER), ("run", RUN), ("self", ctypes.c_void_p),
                ("release", ctypes.c_void_p)]


@INFER
def infer(_self, call, results, _error):
    """The first result is like the operand; the second is there where a string asks for it."""
    first, given = call[0].operands[0], call[0].strings
    results[0].dtype, results[0].rank, results[0].sizes[0] = first.dtype, first.rank, first.sizes[0]
    if given.count and given.items[0] == b"twice":
        results[1].dtype, results[1].rank, results[1].sizes[0] = first.dtype, first.rank, first.sizes[0]
    return 0


@RUN
def run(_self, call, _error):
    first = call[0].operands[0]
    source = ctypes.cast(first.data, ctypes.POINTER(ctypes.c_double))
    for result in range(call[0].result_count):
        if not call[0].results[result].data:
            continue
        target = ctypes.cast(call[0].results[result].data, ctypes.POINTER(ctypes.c_double))
        for i in range(first.sizes[0]):
            target[i] = source[i] * call[0].reals.items[result] + call[0].integers.items[0]
    return 6 if call[0].integers.items[0] < 0 else 0  # LAZE_IO_ERROR


class OpaqueCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = library()
        if not cls.library:
            raise unittest.SkipTest("the library is not a shared one")
        options = Options(ctypes.sizeof(Options), b"scale", 0, 2, infer, run, None, None)
        assert cls.library.laze_opaque_register(None, ctypes.byref(options), None) == 0

    @classmethod
    def tearDownClass(cls):
        cls.library.laze_opaque_unregister(None, b"scale", None)

    def test_lists_reach_the_kernel_and_results_may_be_absent(self):
        x = laze.tensor([1.0, 2.0], dtype=laze.float64)
        one, two = laze.opaque("scale", [x + 1], integers=[10], reals=[0.5, 2], strings=["twice"])
        self.assertEqual((one.tolist(), (two * 2).tolist()), ([11.0, 11.5], [28.0, 32.0]))
        one, two = laze.opaque("scale", (x,), integers=[0], reals=[3.0])
        self.assertEqual((one.tolist(), two), ([3.0, 6.0], None))

    def test_failures_are_exceptions_that_name_the_kernel(self):
        x = laze.tensor([1.0], dtype=laze.float64)
        failed, _ = laze.opaque("scale", [x], integers=[-1], reals=[1.0])
        with self.assertRaisesRegex(laze.Error, "kernel 'scale' failed"):
            failed.tolist()
        with self.assertRaisesRegex(laze.Error, "there is no kernel 'unheard'"):
            laze.opaque("unheard", [x])
        for wrong in (lambda: laze.opaque("scale", x), lambda: laze.opaque("scale", [x], reals=["a"]),
                      lambda: laze.opaque("scale", [x], strings=[1]), lambda: laze.opaque([x])):
            with self.assertRaises(TypeError):
                wrong()


if __name__ == "__main__":
    unittest.main()
