"""Graphs that are built call by call, and programs that run on memory of others: what laze_torch is made of."""
import ctypes
import gc
import unittest
import weakref

import laze
from laze import _laze


class View(ctypes.Structure):
    """DLTensor: what memory is, in DLPack's words."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


Look = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI, with the one function that is used."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p),
                ("unused", ctypes.c_void_p * 3), ("look", Look), ("stream", ctypes.c_void_p)]


def look(tensor, view):
    """Fails where a tensor has no view."""
    if tensor.view is None:
        return -1
    view[0] = tensor.view
    return 0


def capsule(exchange):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(exchange), b"dlpack_exchange_api", None)


EXCHANGE = Exchange(1, 2, None, (None, None, None), Look(look), None)
CODES = {ctypes.c_float: (2, 32), ctypes.c_int64: (0, 64), ctypes.c_bool: (6, 8), ctypes.c_double: (2, 64)}


class Memory:
    """Memory as the tensors of other libraries show it; `strides` counts elements, None is row-major."""
    __dlpack_c_exchange_api__ = capsule(EXCHANGE)

    def __init__(self, kind, shape, values=(), strides=None, device=1):
        self.shape, self.elements = tuple(shape), 1
        for size in shape:
            self.elements *= size
        self.data = (kind * max(self.elements, len(values), 1))(*values)
        self.sizes = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        code, bits = CODES[kind]
        self.view = View(ctypes.addressof(self.data), device, 0, len(shape), code, bits, 1, self.sizes, self.strides, 0)

    def tolist(self):
        return list(self.data)[:self.elements]


def floats(shape, values=(), strides=None):
    return Memory(ctypes.c_float, shape, values, strides)


def run(program, inputs, outputs, orders=None, results=None, arrange=None):
    """Runs a program, whose results are written to `outputs`."""
    runner = _laze._Runner(program, orders or (None,) * len(inputs), results or (None,) * len(outputs), None, arrange)
    return runner(list(inputs), outputs)


class Graphs(unittest.TestCase):
    def setUp(self):
        self.graph = _laze._GraphBuilder("g")

    def call(self, name, *positional, **named):
        return self.graph.call(name, positional, named)


class Building(Graphs):
    def test_one_program_for_all_sizes(self):
        n = self.graph.size("n")
        x, w = self.graph.input("x", laze.float32, [n, 2]), self.graph.input("w", "float32", [2, 1])
        y = self.call("mm", x, w)
        results = (self.call("relu", y), self.call("cat", [y, y], dim=0))
        program = self.graph.finish(results)
        for rows in (1, 3):
            given = floats((rows, 2), range(-2, 2 * rows - 2))
            outputs = floats((rows, 1)), floats((2 * rows, 1))
            run(program, (given, floats((2, 1), (1, 10))), outputs)
            sums = [given.data[2 * i] + 10 * given.data[2 * i + 1] for i in range(rows)]
            self.assertEqual(outputs[0].tolist(), [max(value, 0) for value in sums])
            self.assertEqual(outputs[1].tolist(), sums + sums)
        self.assertIn("%x: f32[n,2]", str(program))

    def test_several_results_numbers_and_what_is_absent(self):
        x = self.graph.input("x", laze.float32, [4])
        values, places = self.call("max.dim", x, 0)
        self.assertEqual((values.dtype, places.dtype), (laze.float32, laze.int64))
        indexed = self.call("index.Tensor", x, [places])
        bounded = self.call("clamp", indexed, None, 2.5)
        output = floats(())
        run(self.graph.finish((bounded,)), (floats((4,), (1, 3, 2, 0)),), (output,))
        self.assertEqual(output.tolist(), [2.5])

    def test_a_size_that_is_known_answers_questions(self):
        self.graph.hint("n", 4)
        x = self.graph.input("x", laze.float32, [self.graph.size("n")])
        y = self.graph.input("y", laze.float32, [self.graph.size("max(1, n)")])
        program = self.graph.finish((self.call("add.Tensor", x, y),))
        output = floats((2,))
        run(program, (floats((2,), (1, 2)), floats((2,), (3, 4))), (output,))
        self.assertEqual(output.tolist(), [4, 6])
        with self.assertRaises(laze.InvalidArgumentError):
            run(program, (floats((0,)), floats((1,), (3,))), (floats((1,)),))

    def test_a_constant_is_kept_as_long_as_it_is_used(self):
        weight = floats((2,), (5, 7))
        owner = weakref.ref(weight)
        value = self.graph.constant(laze.float32, [2], ctypes.addressof(weight.data), weight)
        del weight
        gc.collect()
        self.assertIsNotNone(owner())
        del value
        self.graph = None
        laze.tensor([1.0]).tolist()  # what is given back without the GIL is let go of by the next call
        gc.collect()
        self.assertIsNone(owner())

    def test_a_constant_is_an_operand(self):
        weight, output = floats((2,), (5, 7)), floats((2,))
        value = self.graph.constant(laze.float32, [2], ctypes.addressof(weight.data), weight)
        run(self.graph.finish((self.call("neg", value),)), (), (output,))
        self.assertEqual(output.tolist(), [-5, -7])

    def test_values_keep_their_graph(self):
        value = _laze._GraphBuilder("gone").input("x", laze.float32, [2])
        gc.collect()
        self.assertEqual(value.dtype, laze.float32)


class WhatIsWrong(Graphs):
    def test_calls(self):
        x = self.graph.input("x", laze.float32, [2])
        other = _laze._GraphBuilder("other").input("x", laze.float32, [2])
        with self.assertRaisesRegex(laze.Error, "there is no operator"):
            self.call("no_such_operator", x)
        for call in (lambda: self.call("relu"), lambda: self.call("relu", x, x), lambda: self.call("cat", [x, 3], 0),
                     lambda: self.graph.size("+"), lambda: self.graph.hint("n", -1), lambda: self.graph.finish([x]),
                     lambda: self.graph.finish((3,)), lambda: self.graph.finish((other,)), lambda: self.call("neg", other),
                     lambda: self.call("cat", [x, other], dim=0), lambda: self.call("add.Tensor", x, other=other),
                     lambda: self.graph.input("y", laze.float32, [2.5]), lambda: self.graph.input("y", "floaty", [2]),
                     lambda: self.graph.constant(laze.float32, [-1], 0, None), lambda: _laze._Value(),
                     lambda: self.graph.size(3), lambda: self.graph.call("relu", [x], {})):
            with self.subTest(call), self.assertRaises((TypeError, ValueError, laze.Error)):
                call()
        output = floats((2,))
        run(self.graph.finish((self.call("neg", x),)), (floats((2,), (1, 2)),), (output,))
        self.assertEqual(output.tolist(), [-1, -2], "what failed left the graph as it was")

    def test_a_finished_graph_stays_as_its_program_has_it(self):
        x = self.graph.input("x", laze.float32, [2])
        self.graph.finish((self.call("neg", x),))
        for call in (lambda: self.call("neg", x), lambda: self.graph.input("y", laze.float32, [2]),
                     lambda: self.graph.size("n"), lambda: self.graph.hint("n", 2), lambda: self.graph.finish((x,)),
                     lambda: self.graph.constant(laze.float32, [0], 0, None)):
            with self.subTest(call), self.assertRaisesRegex(TypeError, "is finished"):
                call()

    def test_runs(self):
        x = self.graph.input("x", laze.float32, [2])
        program = self.graph.finish((self.call("neg", x),))
        good, output = floats((2,), (1, 2)), floats((2,))
        runner = _laze._Runner(program, (None,), (None,), None, None)
        broken = Memory(ctypes.c_float, (2,))
        broken.view = None
        for inputs, outputs in (((), ()), ((good,), ()), ((good, good), (output,)), ((3.5,), (output,)),
                                ((good,), (None,)), ((floats((3,)),), (output,)), ((good,), (floats((3,)),)),
                                ((Memory(ctypes.c_double, (2,)),), (output,)),
                                ((Memory(ctypes.c_float, (2,), device=2),), (output,)), ((broken,), (output,)),
                                ((good,), (floats((2,), (0, 0, 0), (2,)),)), ((good,), (good,))):
            with self.subTest(str((inputs, outputs))), self.assertRaises((TypeError, AttributeError, laze.Error)):
                runner(list(inputs), outputs)
        runner([good], (output,))
        self.assertEqual(output.tolist(), [-1, -2])

    def test_runners(self):
        x = self.graph.input("x", laze.float32, [2, 3])
        program = self.graph.finish((self.call("neg", x),))
        for inputs, results in (((), (None,)), ((None,), (None, None)), ((3,), (None,)), (((0, 0),), (None,)),
                                (((0, 2),), (None,)), ((None,), ((-1, 0),)), ((("a", "b"),), (None,))):
            with self.subTest(str((inputs, results))), self.assertRaises((TypeError, laze.Error)):
                _laze._Runner(program, inputs, results, None, None)
        with self.assertRaises(TypeError):
            _laze._Runner(3, (None,), (None,), None, None)
        with self.assertRaisesRegex(TypeError, "3 dims"):
            run(program, (floats((2, 3, 1)),), (floats((2, 3)),), orders=((0, 1),))

    def test_boxed_calls(self):
        x, y = (self.graph.input(name, laze.float32, [2]) for name in "xy")
        program = self.graph.finish((self.call("sub.Tensor", x, y), self.call("neg", y)))
        runner = _laze._Runner(program, (None,) * 2, (None,) * 2, floats, None)
        places = (((2,),),) * 2  # each what the runner makes memory of
        boxed = _laze._Boxed(runner, 3, (2, 0), places, (1, 0, 2, 5, 4))
        unused = object()
        arguments = [floats((2,), (1, 2)), unused, floats((2,), (5, 7))]
        first, last = arguments[0], arguments[2]
        results = boxed(arguments)
        self.assertEqual([result.tolist() for result in results[:2]], [[-1, -2], [4, 5]])
        self.assertEqual((results[2:], arguments), ([first, None, last], []))
        for wrong in ([], [first, unused], [first, unused, 3.5], (first, unused, last)):
            given = list(wrong)
            with self.subTest(wrong), self.assertRaises((TypeError, laze.Error)):
                boxed(wrong)
            self.assertEqual(list(wrong), given, "a call that fails leaves its arguments")
        for wrong in ((runner, 3, (2, 3), places, ()), (runner, 3, (2,), places, ()), (runner, 3, (2, 0), (), ()),
                      (runner, 3, (2, 0), places, (6,)), (runner, 3, (2, 0), places, (-1,)), (3, 3, (), (), ())):
            with self.subTest(wrong), self.assertRaises(TypeError):
                _laze._Boxed(*wrong)

    def test_an_older_table_of_functions_serves_and_a_newer_one_does_not(self):
        x = self.graph.input("x", laze.float32, [2])
        program, output = self.graph.finish((self.call("neg", x),)), floats((2,))

        class Newer(Memory):
            table = Exchange(2, 0, ctypes.addressof(EXCHANGE), (None, None, None), Look(), None)
            __dlpack_c_exchange_api__ = capsule(table)

        class Unknown(Memory):
            table = Exchange(2, 0, None, (None, None, None), Look(look), None)
            __dlpack_c_exchange_api__ = capsule(table)
        run(program, (Newer(ctypes.c_float, (2,), (1, 2)),), (output,))
        self.assertEqual(output.tolist(), [-1, -2])
        with self.assertRaisesRegex(TypeError, "does not show its memory"):
            run(program, (Unknown(ctypes.c_float, (2,), (1, 2)),), (output,))


class Lying(Graphs):
    """Memory of which the dims lie in another order, or with gaps."""

    def double(self):
        x = self.graph.input("x", laze.float32, [3, 2])
        return self.graph.finish((self.call("mul.Tensor", x, 2.0),))

    def test_dims_in_another_order(self):
        """A program over [3, 2] runs on a tensor [2, 3] whose first dim lies closest, and writes one."""
        given, output = (floats((2, 3), values, (1, 2)) for values in (range(6), ()))
        made = run(self.double(), (given,), (output,), orders=((1, 0),), results=((1, 0),))
        self.assertIs(made[0], output)
        self.assertEqual(output.tolist(), [0, 2, 4, 6, 8, 10])

    def test_gaps_are_arranged(self):
        calls = []

        def arrange(tensor, order):
            calls.append(order)
            return floats((3, 2), tensor.data[::2])
        output = floats((3, 2))
        run(self.double(), (floats((3, 2), range(12), (4, 2)),), (output,), arrange=arrange)
        self.assertEqual((output.tolist(), calls), ([0, 4, 8, 12, 16, 20], [None]))
        gaps = floats((3, 2), range(12), (4, 2))
        for wrong in (lambda tensor, order: tensor, lambda tensor, order: 3, lambda: 3):
            with self.subTest(wrong), self.assertRaises(TypeError):
                run(self.again(), (gaps,), (output,), arrange=wrong)

    def again(self):
        self.graph = _laze._GraphBuilder("again")
        return self.double()

    def test_sizes_of_one_and_none_have_any_stride(self):
        n = self.graph.size("n")
        x = self.graph.input("x", laze.float32, [n, 1])
        program = self.graph.finish((self.call("neg", x),))
        for n in (0, 1, 2):
            output = floats((n, 1))
            run(program, (floats((n, 1), range(n), (1, 77)),), (output,))
            self.assertEqual(output.tolist(), [-value for value in range(n)])

    def test_a_size_that_no_tensor_has_is_a_number(self):
        n = self.graph.size("n")
        self.graph.input("size", laze.bool, [n, 0])
        program = self.graph.finish((self.call("full", [n], 3.0),))
        output = floats((4,))
        run(program, (4,), (output,))
        self.assertEqual(output.tolist(), [3] * 4)
        with self.assertRaises(laze.Error):
            run(program, (-4,), (output,))

    def test_what_bools_hold_is_not_read_beforehand(self):
        x = self.graph.input("x", laze.float32, [2])
        program, output = self.graph.finish((self.call("gt.Scalar", x, 1.5),)), Memory(ctypes.c_bool, (2,))
        ctypes.memset(output.data, 7, 2)
        run(program, (floats((2,), (1, 2)),), (output,))
        self.assertEqual(bytes(output.data), b"\0\1")

    def test_what_a_run_costs(self):
        n = self.graph.size("n")
        x = self.graph.input("x", laze.float32, [n, 2])
        program = self.graph.finish((self.call("neg", x),))
        for rows in (1, 5):
            cost = program.cost({"n": rows, "of another": 3})
            self.assertEqual((cost["kernels"], cost["interpreted"], cost["output_bytes"]), (1, 0, 8 * rows))
        for wrong in ((), {"n": 1.5}, {}):
            with self.subTest(wrong), self.assertRaises((TypeError, laze.Error)):
                program.cost(wrong)


if __name__ == "__main__":
    unittest.main()
