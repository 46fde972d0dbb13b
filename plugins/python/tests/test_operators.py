"""Operators as functions, as methods and as Python's own, beside what NumPy or Python gives."""
import inspect
import operator
import pydoc
import unittest

import laze

try:
    import numpy
except ImportError:
    numpy = None


def listed(value):
    return value.tolist() if isinstance(value, laze.Tensor) else value


class PythonOperators(unittest.TestCase):
    BOTH = ["add", "sub", "mul", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne"]

    def test_of_integers_with_tensors_and_numbers_on_either_side(self):
        left, right = [7, 5, 2], [2, 3, 4]
        for name in self.BOTH + ["truediv", "and_", "or_", "xor", "lshift", "rshift"]:
            function = getattr(operator, name)
            expected = [function(a, b) for a, b in zip(left, right)]
            by_number = [function(a, 3) for a in left]
            from_number = [function(3, a) for a in left]
            got = [listed(function(laze.tensor(left), laze.tensor(right))), listed(function(laze.tensor(left), 3)),
                   listed(function(3, laze.tensor(left)))]
            for want, have in zip([expected, by_number, from_number], got):
                for a, b in zip(want, have):
                    self.assertAlmostEqual(a, b, places=6, msg=name)

    def test_lists_of_tensors_and_none(self):
        tensor = laze.arange(24).reshape(2, 3, 4)
        index = laze.tensor([1, -1])
        self.assertEqual(laze.index(tensor, [None, index]).tolist(), [row[1:2] + row[-1:] for row in tensor.tolist()])
        self.assertEqual(laze.index(tensor, (index, None, [0, 3])).tolist(), [[12, 16, 20], [15, 19, 23]])
        self.assertEqual(laze.index(tensor, [None, None, laze.tensor(1)]).shape, (2, 3))
        for wrong, error in (([], laze.Error), ([None], laze.Error), ([laze.tensor([2])], IndexError),
                             ([laze.tensor([0.5])], laze.Error), ([index] * 4, laze.Error), (index, TypeError)):
            with self.assertRaises(error):
                laze.index(tensor, wrong).tolist()

    def test_lists_of_floats(self):
        tensor = laze.tensor([0.5, 1.0, 1.5, 4.0])
        for ends in ([0, 2], (0.0, 2), [0.0, 2.0]):
            counts, edges = laze.histogram(tensor, 2, range=ends)
            self.assertEqual((counts.tolist(), edges.tolist()), ([1.0, 2.0], [0.0, 1.0, 2.0]))
        self.assertEqual(tensor.histogram(laze.tensor([0.0, 1.0, 4.0])).hist.tolist(), [1.0, 3.0])
        for wrong in (["a"], [None, 1.0], [[0.0], 1.0], "ab"):
            with self.assertRaises(TypeError):
                laze.histogram(tensor, 2, range=wrong)

    def test_a_number_leaves_the_dtype_of_an_element_alone(self):
        for dtype in (laze.int32, laze.int64):  # as in PyTorch
            self.assertEqual(laze.maximum(laze.tensor(3, dtype=dtype), -9).dtype, dtype)

    def test_of_floats(self):
        left = [0.5, -1.5, 2.0]
        tensor = laze.tensor(left, dtype=laze.float64)
        for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "ge"]:
            function = getattr(operator, name)
            self.assertEqual(listed(function(tensor, 0.75)), [function(a, 0.75) for a in left], name)
            self.assertEqual(listed(function(0.75, tensor)), [function(0.75, a) for a in left], name)
        self.assertEqual(listed(-tensor), [-a for a in left])
        self.assertEqual(listed(+tensor), left)
        self.assertEqual(listed(abs(tensor)), [abs(a) for a in left])
        self.assertEqual([listed(part) for part in divmod(tensor, 2)], [[0, -1, 1], [0.5, 0.5, 0]])
        self.assertEqual(listed(~laze.tensor([0, 5])), [-1, -6])
        self.assertEqual(listed(~laze.tensor([True])), [False])

    def test_a_quotient_keeps_a_number_that_the_tensor_cannot_hold(self):
        for dtype in (laze.int32, laze.int64, laze.bool):
            self.assertEqual((laze.tensor([1, 0], dtype=dtype) / 2**40).tolist(), [2.0**-40, 0.0])
            quotient = 2**40 / laze.tensor([1, 1], dtype=dtype)
            self.assertEqual((quotient.tolist(), quotient.dtype), ([2.0**40, 2.0**40], laze.float32))
        with self.assertRaises(laze.Error):
            2**2000 / laze.tensor([1])

    def test_matrix_product(self):
        self.assertEqual(listed(laze.tensor([[1, 2], [3, 4]]) @ laze.tensor([1, 1])), [3, 7])
        with self.assertRaises(TypeError):
            3 @ [laze.tensor([1])]

    def test_numbers_do_not_change_a_dtype_of_their_kind(self):
        for dtype in [laze.int32, laze.int64, laze.float32, laze.float64]:
            for tensor in (laze.tensor([1, 2], dtype=dtype), laze.tensor(1, dtype=dtype)):
                for result in (tensor + 1, 1 + tensor, 1 - tensor, tensor * True, 2 * tensor):
                    self.assertIs(result.dtype, dtype)
        for result in (laze.tensor([1]) + 0.5, 0.5 - laze.tensor([1]), laze.tensor([1]) / 2, 2 / laze.tensor([1])):
            self.assertIs(result.dtype, laze.float32)
        self.assertIs((1 - laze.tensor([True]).int()).dtype, laze.int32)
        self.assertIs((0.5 * laze.tensor([1], dtype=laze.float64)).dtype, laze.float64)

    def test_what_no_operator_takes(self):
        for other in [[1, 2], "text", None, {}]:
            with self.assertRaises(TypeError):
                laze.tensor([1, 2]) + other
            with self.assertRaises(TypeError):
                other - laze.tensor([1, 2])
        self.assertIs(laze.tensor([1]) == None, False)  # noqa: E711
        self.assertIs(laze.tensor([1]) != "text", True)
        with self.assertRaises(TypeError):
            laze.tensor([1]) < "text"
        with self.assertRaises(TypeError):
            pow(laze.tensor([3]), 2, 5)


class Calls(unittest.TestCase):
    def setUp(self):
        self.x = laze.tensor([[1.0, -2.0], [3.0, 4.0]])

    def test_function_method_and_names(self):
        for result in [laze.sum(self.x, 0), self.x.sum(0), self.x.sum(dim=0), laze.sum(input=self.x, dim=(0,)),
                       laze.sum(self.x, axis=[0]), laze.sum(self=self.x, dim=0, keepdim=False), self.x.sum((0,))]:
            self.assertEqual(listed(result), [4, 2])
        self.assertEqual(self.x.sum(1, True).shape, (2, 1))
        self.assertEqual(self.x.sum(axis=1, keepdims=True).shape, (2, 1))
        self.assertIs(self.x.sum(dtype="float64").dtype, laze.float64)

    def test_what_pytorch_says_of_places(self):
        self.assertEqual(laze.zeros(2, device="cpu", requires_grad=False, pin_memory=False).shape, (2,))
        self.assertEqual(laze.ones_like(self.x, device=None, memory_format=None).shape, (2, 2))
        for wrong in ({"device": "cuda"}, {"requires_grad": 1}, {"out": 2}):
            with self.assertRaises(TypeError):
                laze.zeros(2, **wrong)

    def test_sizes_stand_one_by_one_or_in_a_list(self):
        for result in [self.x.reshape(4), self.x.reshape((4,)), self.x.reshape([4]), self.x.view(-1),
                       laze.reshape(self.x, (4,))]:
            self.assertEqual(listed(result), [1, -2, 3, 4])
        self.assertEqual(self.x.reshape(2, 1, 2).permute(2, 0, 1).shape, (2, 2, 1))
        self.assertEqual(laze.zeros(2, 3).shape, laze.zeros((2, 3)).shape)
        self.assertEqual(laze.ones(2, 3, dtype=laze.int32).sum().item(), 6)
        self.assertEqual(laze.zeros(laze.tensor(2), 3).shape, (2, 3))
        self.assertEqual(laze.full((2,), 3.5).tolist(), [3.5, 3.5])

    def test_lists_of_tensors(self):
        self.assertEqual(laze.cat([self.x, self.x], dim=1).shape, (2, 4))
        self.assertEqual(laze.stack((self.x, self.x), 1).shape, (2, 2, 2))

    def test_the_receiver_of_a_method_is_self(self):
        other = laze.zeros(2, 2)
        expected = [[1, 0], [3, 4]]
        self.assertEqual(listed(laze.where(self.x > 0, self.x, other)), expected)
        self.assertEqual(listed(self.x.where(self.x > 0, other)), expected)
        self.assertEqual(listed(self.x.where(condition=self.x > 0, other=other)), expected)
        self.assertEqual(listed(laze.where(self.x > 0, self.x, 0)), expected)

    def test_several_results_have_names(self):
        result = laze.max(self.x, dim=1)
        self.assertEqual((listed(result.values), listed(result.indices)), ([1, 4], [0, 1]))
        values, indices = self.x.max(1)
        self.assertEqual(listed(values), [1, 4])
        self.assertEqual(self.x.max().item(), 4)

    def test_transposed(self):
        self.assertEqual(listed(self.x.T), [[1, 3], [-2, 4]])
        self.assertEqual(laze.zeros(2, 3, 4).T.shape, (4, 3, 2))
        self.assertEqual(laze.zeros(2, 3, 4).mT.shape, (2, 4, 3))
        with self.assertRaises(TypeError):
            laze.zeros(3).mT

    def test_a_tensor_of_one_element_is_a_number_where_numbers_are_taken(self):
        self.assertEqual(laze.full((2,), laze.tensor(2.5)).tolist(), [2.5, 2.5])
        self.assertEqual(self.x.sum(laze.tensor(0)).tolist(), [4, 2])

    def test_a_number_in_front_is_a_slip_where_no_schema_takes_one(self):
        """PyTorch refuses these as well; without a tensor, what a call gives would be no tensor of anybody's."""
        for call in (lambda: laze.atan2(2, self.x), lambda: laze.maximum(0, self.x), lambda: laze.eq(2, self.x),
                     lambda: laze.exp(1.0), lambda: laze.logical_and(1, 1), lambda: laze.logical_xor(2, self.x)):
            with self.assertRaisesRegex(TypeError, "'self' is Tensor, given a number.*make it a tensor"):
                call()
        self.assertEqual(listed(laze.maximum(self.x, 0)), [[1, 0], [3, 4]])
        self.assertEqual(listed(laze.sub(1, self.x)), [[0, 3], [-2, -3]])
        self.assertEqual(listed(laze.div(12, self.x)), [[12, -6], [4, 3]])
        self.assertEqual(listed(laze.div(5, self.x, rounding_mode="floor")), [[5, -3], [1, 1]])
        self.assertEqual(listed(laze.add(1, self.x, alpha=2)), [[3, -3], [7, 9]])
        self.assertEqual(laze.bitwise_and(6, laze.tensor([3, 5, -1])).tolist(), [2, 4, 6])
        self.assertEqual(laze.bitwise_left_shift(1, laze.tensor([3, 0])).tolist(), [8, 1])
        self.assertEqual(laze.add(1, 2).item(), 3)
        self.assertEqual(laze.mul(3, self.x.to(laze.int32)).dtype, laze.int32)

    def test_arguments_that_pytorch_has_as_well(self):
        x = laze.tensor([2.344, -1.256, 1234.5678], dtype=laze.float64)
        for got, wanted in zip(x.round(decimals=2).tolist(), (2.34, -1.26, 1234.57)):
            self.assertAlmostEqual(got, wanted, places=9)
        self.assertEqual(laze.round(x, decimals=-2).tolist(), [0, 0, 1200])
        self.assertEqual(laze.tensor([7]).round(decimals=0).tolist(), [7])
        with self.assertRaisesRegex(ValueError, "round: self is i64, .* decimals=-1"):
            laze.tensor([7]).round(decimals=-1)
        half = laze.gelu(laze.tensor([1.0, -3.0, 0.0, float("-inf"), float("inf")]), approximate="tanh").tolist()
        for got, wanted in zip(half[:3], (0.8411919906082768, -0.0036373920817729943, 0)):
            self.assertAlmostEqual(got, wanted, places=6)
        self.assertEqual(half[3:], [0, float("inf")])
        with self.assertRaisesRegex(ValueError, "gelu: approximate is 'erf', expected 'none' or 'tanh'"):
            laze.gelu(x, approximate="erf")
        self.assertEqual(x.to(laze.tensor(1, dtype=laze.int32)).dtype, laze.int32)
        self.assertEqual(x.to(other=laze.tensor(1.0)).dtype, laze.float32)
        rows = laze.embedding(self.x, laze.tensor([1, 0]), 0, True, sparse=False)
        self.assertEqual(listed(rows), [[3, 4], [1, -2]])

    def test_random_numbers_follow_the_seed(self):
        laze.manual_seed(3)
        first, second, normal = laze.rand(5).tolist(), laze.rand(2, 2).tolist(), laze.randn(4).tolist()
        laze.manual_seed(3)
        self.assertEqual([laze.rand(5).tolist(), laze.rand((2, 2)).tolist(), laze.randn(4).tolist()],
                         [first, second, normal])
        self.assertNotEqual(first[:4], [value for row in second for value in row])
        laze.manual_seed(4)
        self.assertNotEqual(laze.rand(5).tolist(), first)
        self.assertEqual(laze.rand(3, seed=7, offset=0).tolist(), laze.rand(3, seed=7, offset=0).tolist())


class Introspection(unittest.TestCase):
    def operators(self):
        return [value for value in vars(laze).values() if isinstance(value, laze.Operator)]

    def test_every_operator_says_what_it_takes(self):
        self.assertGreater(len(self.operators()), 100)
        for op in self.operators():
            self.assertTrue(op.schemas and all(schema.startswith(op.__name__) for schema in op.schemas))
            self.assertIn(f"Schema: {op.schemas[0]}", op.__doc__)
            self.assertIsInstance(inspect.signature(op), inspect.Signature, op)

    def test_signatures(self):
        self.assertEqual(str(inspect.signature(laze.sum)), "(input, dim=None, keepdim=False, *, dtype=None, out=None)")
        self.assertEqual(str(inspect.signature(laze.tensor([1]).sum)),
                         "(dim=None, keepdim=False, *, dtype=None, out=None)")
        self.assertEqual(str(inspect.signature(laze.add_)), "(input, other, *, alpha=1)")
        self.assertEqual(str(inspect.signature(laze.linear)), "(input, weight, bias=None, *, out=None)")
        self.assertEqual(str(inspect.signature(laze.zeros)), "(size, *, dtype=None, out=None)")

    def test_help(self):
        text = pydoc.plain(pydoc.render_doc(laze.add))
        self.assertIn("add(input, other, *, alpha=1, out=None)", text)
        self.assertIn("Sum of two tensors", text)
        self.assertIn("mean", pydoc.plain(pydoc.render_doc(laze.Tensor)))

    def test_methods_are_those_of_the_tables(self):
        self.assertTrue(hasattr(laze.Tensor, "relu") and hasattr(laze.Tensor, "softmax"))
        self.assertFalse(hasattr(laze.Tensor, "cat") or hasattr(laze.Tensor, "zeros"))


@unittest.skipUnless(numpy, "needs NumPy")
class BesideNumPy(unittest.TestCase):
    def test_functions_of_the_same_name(self):
        generator = numpy.random.default_rng(1)
        array = generator.uniform(0.1, 0.9, (3, 4)).astype("f4")
        checked = 0
        for name in ["ceil", "floor", "trunc", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin",
                     "cos", "tan", "sinh", "cosh", "tanh", "square", "reciprocal", "sign", "isnan", "isinf", "isfinite",
                     "sum", "prod", "mean", "max", "min", "argmax", "argmin", "all", "any"]:
            have = numpy.asarray(getattr(laze, name)(laze.asarray(array)))
            numpy.testing.assert_allclose(have, getattr(numpy, name)(array), rtol=3e-6, err_msg=name)
            checked += 1
        self.assertEqual(checked, 32)

    def test_arrays_and_scalars_beside_tensors(self):
        array, tensor = numpy.array([1.0, 2.0], "f4"), laze.tensor([3.0, 4.0])
        for result in (array + tensor, tensor + array, laze.add(tensor, array), numpy.float32(1) * (tensor + array)):
            self.assertIsInstance(result, laze.Tensor)
            self.assertEqual(result.tolist(), [4, 6])
        self.assertIs((numpy.float64(2) * tensor).dtype, laze.float32)
        self.assertIs((tensor * numpy.int64(2)).dtype, laze.float32)
        self.assertEqual(laze.cat([tensor, array]).shape, (4,))


if __name__ == "__main__":
    unittest.main()
