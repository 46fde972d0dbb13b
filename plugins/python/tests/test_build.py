"""Graphs that are built call by call, and programs that run on memory of others: what laze_torch is made of."""
import ctypes
import gc
import unittest
import weakref

import laze
from laze import _laze


class Memory:
    """Row-major memory as PyTorch's tensors show it."""

    def __init__(self, kind, shape, values=()):
        self.shape, self.elements = tuple(shape), 1
        for size in shape:
            self.elements *= size
        self.data = (kind * max(self.elements, 1))(*values)

    def data_ptr(self):
        return ctypes.addressof(self.data)

    def tolist(self):
        return list(self.data)[:self.elements]


def floats(shape, values=()):
    return Memory(ctypes.c_float, shape, values)


class Building(unittest.TestCase):
    def setUp(self):
        self.graph = _laze._GraphBuilder("g")

    def call(self, name, *positional, **named):
        return self.graph.call(name, positional, named)

    def test_one_program_for_all_sizes(self):
        n = self.graph.size("n")
        x, w = self.graph.input("x", laze.float32, [n, 2]), self.graph.input("w", "float32", [2, 1])
        y = self.call("mm", x, w)
        results = (self.call("relu", y), self.call("cat", [y, y], dim=0))
        program = self.graph.finish(results)
        for rows in (1, 3):
            given = floats((rows, 2), range(-2, 2 * rows - 2))
            outputs = floats((rows, 1)), floats((2 * rows, 1))
            program.run((given, floats((2, 1), (1, 10))), outputs)
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
        self.graph.finish((bounded,)).run((floats((4,), (1, 3, 2, 0)),), (output,))
        self.assertEqual(output.tolist(), [2.5])

    def test_a_size_that_is_known_answers_questions(self):
        self.graph.hint("n", 4)
        x = self.graph.input("x", laze.float32, [self.graph.size("n")])
        y = self.graph.input("y", laze.float32, [self.graph.size("max(1, n)")])
        program = self.graph.finish((self.call("add.Tensor", x, y),))
        output = floats((2,))
        program.run((floats((2,), (1, 2)), floats((2,), (3, 4))), (output,))
        self.assertEqual(output.tolist(), [4, 6])
        with self.assertRaises(laze.InvalidArgumentError):
            program.run((floats((0,)), floats((1,), (3,))), (floats((1,)),))

    def test_a_constant_is_kept_as_long_as_it_is_used(self):
        weight = floats((2,), (5, 7))
        owner = weakref.ref(weight)
        value = self.graph.constant(laze.float32, [2], weight.data_ptr(), weight)
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
        value = self.graph.constant(laze.float32, [2], weight.data_ptr(), weight)
        self.graph.finish((self.call("neg", value),)).run((), (output,))
        self.assertEqual(output.tolist(), [-5, -7])

    def test_values_keep_their_graph(self):
        value = _laze._GraphBuilder("gone").input("x", laze.float32, [2])
        gc.collect()
        self.assertEqual(value.dtype, laze.float32)


class WhatIsWrong(Building):
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
        self.graph.finish((self.call("neg", x),)).run((floats((2,), (1, 2)),), (output,))
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
        good = floats((2,), (1, 2))
        for inputs, outputs in (((), ()), ((good,), ()), ((good, good), (good,)), ((3,), (good,)), ((good,), (None,)),
                                ((floats((3,)),), (good,)), ((good,), (floats((3,)),)), ([good], [good])):
            with self.subTest(str((inputs, outputs))), self.assertRaises((TypeError, AttributeError, laze.Error)):
                program.run(inputs, outputs)
        output = floats((2,))
        program.run((good,), (output,))
        self.assertEqual(output.tolist(), [-1, -2])


if __name__ == "__main__":
    unittest.main()
