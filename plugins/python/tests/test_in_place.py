"""Tensors that change: x += y, x.add_(y), laze.add(x, y, out=z)."""
import operator
import pickle
import unittest

import laze


class Operators(unittest.TestCase):
    def test_each_changes_its_tensor(self):
        # Another name of the tensor sees the change: what x = x + y would not do.
        cases = [("iadd", 3, 10.0), ("isub", 3, 4.0), ("imul", 3, 21.0), ("itruediv", 2, 3.5), ("ifloordiv", 2, 3.0),
                 ("imod", 4, 3.0), ("ipow", 2, 49.0)]
        for name, other, expected in cases:
            for operand in (other, laze.tensor(float(other))):
                tensor = before = laze.tensor([7.0])
                tensor = getattr(operator, name)(tensor, operand)
                self.assertIs(tensor, before, name)
                self.assertEqual(before.tolist(), [expected], name)
        for name, other, expected in [("iand", 6, 4), ("ior", 6, 15), ("ixor", 6, 11), ("ilshift", 1, 26),
                                      ("irshift", 1, 6)]:
            tensor = before = laze.tensor([13])
            tensor = getattr(operator, name)(tensor, other)
            self.assertIs(tensor, before, name)
            self.assertEqual(before.tolist(), [expected], name)

    def test_what_was_computed_before_stays(self):
        tensor = laze.tensor([1, 2])
        doubled, array = tensor * 2, memoryview(tensor)
        tensor += 5
        self.assertEqual((tensor.tolist(), doubled.tolist(), array.tolist()), ([6, 7], [2, 4], [1, 2]))

    def test_numbers_on_the_left_and_products_of_matrices_make_new_tensors(self):
        number, tensor = 2, laze.eye(2)
        number += tensor
        self.assertEqual(number.tolist(), [[3, 2], [2, 3]])
        product = tensor
        product @= tensor + 1  # as PyTorch has it: there is no such form
        self.assertIsNot(product, tensor)

    def test_dtype_and_shape_stay(self):
        tensor = laze.tensor([1, 2])
        for wrong in (lambda: operator.iadd(tensor, 0.5), lambda: operator.itruediv(tensor, 2),
                      lambda: tensor.mul_(laze.tensor([0.5])), lambda: (tensor > 1).add_(1)):
            with self.assertRaisesRegex(laze.InvalidArgumentError, "cannot be cast to (i64|bool)"):
                wrong()
        with self.assertRaisesRegex(laze.InvalidArgumentError, r"i64\[2,2\] and the tensor that gets it i64\[2\]"):
            tensor += laze.ones(2, 2, dtype=laze.int64)
        with self.assertRaises(OverflowError):
            tensor.to(laze.uint8).add_(300)
        with self.assertRaises(TypeError):
            tensor += "text"
        self.assertEqual(tensor.tolist(), [1, 2])
        single = laze.tensor([1.0])
        single += laze.tensor([0.1], dtype=laze.float64)
        self.assertIs(single.dtype, laze.float32)


class Shapes(unittest.TestCase):
    """resize_ and resize_as_: what PyTorch's give, and where memory was too small, 0 for what that had."""

    def test_the_first_elements_stay_in_their_memory(self):
        x = laze.arange(6.0).reshape(2, 3).clone()
        row = x[0]
        self.assertIs(x.resize_(2, 2), x)
        self.assertEqual(x.tolist(), [[0, 1], [2, 3]])
        x.mul_(10)
        self.assertEqual(row.tolist(), [0, 10, 20])
        y = laze.arange(6.0).reshape(2, 3).clone()
        columns, turned = y[:, 1:], y.t()
        self.assertEqual(columns.resize_((3,)).tolist(), [1, 2, 3])  # as memory has them
        self.assertEqual(turned.resize_([2, 2]).tolist(), [[0, 1], [2, 3]])
        self.assertEqual(turned.resize_as_(laze.zeros(1, 4)).tolist(), [[0, 1, 2, 3]])
        columns.add_(100)
        self.assertEqual(y.tolist(), [[0, 101, 102], [103, 4, 5]])

    def test_more_elements_are_elsewhere(self):
        x = laze.tensor([1.0, 2.0])
        part = x[:1]
        self.assertEqual(x.resize_(2, 2).tolist(), [[1, 2], [0, 0]])
        x.fill_(7)
        self.assertEqual(part.tolist(), [1])
        self.assertEqual(laze.zeros(0).resize_(2).tolist(), [0, 0])
        self.assertEqual(laze.ones(1).expand(3).resize_(2, 2).tolist(), [[1, 1], [1, 0]])
        self.assertEqual(laze.tensor([3]).resize_(()).item(), 3)

    def test_what_is_refused_changes_nothing(self):
        x = laze.tensor([1.0, 2.0], requires_grad=True)
        for tensor, sizes, error in ((x, (1,), laze.StateError), (x * 1, (1,), laze.StateError),
                                     (x.detach(), (-1,), laze.Error), (x.detach(), ("a",), TypeError)):
            with self.assertRaises(error):
                tensor.resize_(*sizes)
            self.assertEqual(tensor.tolist(), [1, 2])


class Methods(unittest.TestCase):
    def test_they_give_the_tensor(self):
        x = laze.tensor([3.0, -1.0, 2.0])
        self.assertIs(x.add_(1, alpha=2).clamp_(min=2).neg_(), x)
        self.assertEqual(x.tolist(), [-5, -2, -4])
        self.assertIs(laze.abs_(input=x), x)
        self.assertIs(laze.polygamma_(1, x), x)  # of which self is the second argument
        self.assertIs(x.polygamma_(1), x)

    def test_those_that_fill_and_scatter(self):
        x = laze.zeros(3)
        cases = [(x.fill_, (7,), [7, 7, 7]), (x.masked_fill_, (laze.tensor([True, False, True]), 1), [1, 7, 1]),
                 (x.index_add_, (0, laze.tensor([0, 2]), laze.tensor([1.0, 2.0])), [2, 7, 3]),
                 (x.scatter_, (0, laze.tensor([1]), 9.0), [2, 9, 3]),
                 (x.index_fill_, (0, laze.tensor([0]), 4), [4, 9, 3]),
                 (x.index_put_, ((laze.tensor([2]),), laze.tensor(5.0)), [4, 9, 5]),
                 (x.copy_, (laze.tensor([1, 2, 3]),), [1, 2, 3]), (x.cumsum_, (0,), [1, 3, 6]),
                 (x.lerp_, (laze.zeros(3), 0.5), [0.5, 1.5, 3]), (x.eq_, (3,), [0, 0, 1]), (x.zero_, (), [0, 0, 0])]
        for method, arguments, expected in cases:
            self.assertIs(method(*arguments), x, method)
            self.assertEqual(x.tolist(), expected, method)

    def test_random_numbers_come_from_the_generator(self):
        x = laze.zeros(1000)
        for fill in (lambda: x.normal_(5, 0.1), lambda: x.uniform_(4, 6), lambda: x.bernoulli_(0.5).mul_(10),
                     lambda: x.exponential_(0.2), lambda: x.random_(0, 11)):
            laze.manual_seed(3)
            first = fill().tolist()
            second = fill().tolist()
            laze.manual_seed(3)
            self.assertEqual(fill().tolist(), first)
            self.assertNotEqual(first, second)
            self.assertAlmostEqual(x.mean().item(), 5, delta=0.6)

    def test_what_is_no_tensor(self):
        for wrong in (lambda: laze.add_(3, laze.ones(2)), lambda: laze.add_([1.0], 2), lambda: laze.add_(),
                      lambda: laze.ones(2).add_(1, out=laze.ones(2))):
            with self.assertRaises(TypeError):
                wrong()

    def test_they_describe_themselves(self):
        self.assertIn("add_.Tensor(Tensor", laze.add_.schemas[0])
        self.assertIn("In place", laze.Tensor.clamp_.__doc__)
        self.assertIs(pickle.loads(pickle.dumps(laze.add_)), laze.add_)
        self.assertFalse(hasattr(laze.Tensor, "sum_"))


class Elements(unittest.TestCase):
    """x[index] = value, where x is [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]."""

    def assigned(self, index, value, dtype=laze.float32):
        x = laze.arange(12).reshape(3, 4).to(dtype)
        x[index(x) if callable(index) else index] = value
        return x.tolist()

    def test_each_kind_of_index(self):
        rows = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
        nine = [9] * 4
        mask = laze.tensor([True, False, True])
        cases = [
            (1, 9, [rows[0], nine, rows[2]]),
            ((2, -1), 9, [rows[0], rows[1], [8, 9, 10, 9]]),
            ((slice(None), 1), laze.tensor([20, 21, 22]), [[0, 20, 2, 3], [4, 21, 6, 7], [8, 22, 10, 11]]),
            ((..., slice(0, 4, 2)), 9, [[9, 1, 9, 3], [9, 5, 9, 7], [9, 9, 9, 11]]),
            ((None, 0), laze.tensor([[9]]), [nine, rows[1], rows[2]]),
            (slice(1, None), [[1, 2, 3, 4]], [rows[0], [1, 2, 3, 4], [1, 2, 3, 4]]),
            (..., laze.ones(1, 1, 1), [[1] * 4] * 3),
            (laze.tensor([0, 2]), 9, [nine, rows[1], nine]),
            (([0, 2], [3, 0]), laze.tensor([20.0, 30.0]), [[0, 1, 2, 20], rows[1], [30, 9, 10, 11]]),
            ((slice(None), [0, 3]), 9, [[9, 1, 2, 9], [9, 5, 6, 9], [9, 9, 10, 9]]),
            (laze.tensor(1), 9, [rows[0], nine, rows[2]]),
            (mask, 9, [nine, rows[1], nine]),
            (mask, laze.tensor([[1, 1, 1, 1], [2, 2, 2, 2]]), [[1] * 4, rows[1], [2] * 4]),
            ((mask, 1), 9, [[0, 9, 2, 3], rows[1], [8, 9, 10, 11]]),
            (lambda x: x > 9, 0, [rows[0], rows[1], [8, 9, 0, 0]]),
            (lambda x: x > 9, laze.tensor([1, 2]), [rows[0], rows[1], [8, 9, 1, 2]]),
            (False, 9, rows),
        ]
        for index, value, expected in cases:
            for dtype in (laze.float32, laze.int64):
                self.assertEqual(self.assigned(index, value, dtype), expected, (index, value))

    def test_views_are_written_through(self):
        x = laze.zeros(3, 4)
        column, turned = x[:, 1], x.T
        column[0] = 5
        turned[turned > 4] = 6
        turned[2, [0, 1]] = 7
        x[1] += 1
        x[:, 3] *= 0
        self.assertEqual(x.tolist(), [[0, 6, 7, 0], [1, 1, 8, 0], [0, 0, 0, 0]])
        self.assertEqual(column.tolist(), [6, 1, 0])

    def test_source_and_destination_may_overlap(self):
        x = laze.arange(4)
        x[1:] = x[:3]
        self.assertEqual(x.tolist(), [0, 0, 1, 2])

    def test_what_is_refused_changes_nothing(self):
        x = laze.arange(4)
        cases = [(4, 0, IndexError), ((0, 0), 0, IndexError), (slice(0, 3), laze.ones(2), laze.InvalidArgumentError),
                 (slice(None, None, -1), 0, laze.InvalidArgumentError), ([0, 1], laze.ones(3), IndexError),
                 (laze.tensor([True, False]), 0, IndexError), (0, 1j, TypeError), (0, 2**70, OverflowError)]
        for index, value, error in cases:
            with self.assertRaises(error, msg=index):
                x[index] = value
        with self.assertRaises(TypeError):
            del x[0]
        self.assertEqual(x.tolist(), [0, 1, 2, 3])

    def test_gradients_go_to_what_was_assigned(self):
        x = laze.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        y[0] = x[1] * x[2]
        y[1:] *= 10
        y[laze.tensor([2])] = x[0]
        y.sum().backward()
        self.assertEqual((y.tolist(), x.grad.tolist()), ([6, 40, 1], [1, 23, 2]))
        with self.assertRaisesRegex(laze.StateError, "leaf"):
            x[0] = 1


class Out(unittest.TestCase):
    def test_the_result_goes_to_the_tensor(self):
        x, z = laze.tensor([1.0, 2.0]), laze.zeros(2)
        self.assertIs(laze.add(x, 1, out=z), z)
        self.assertIs(x.mul(z, out=z), z)
        self.assertEqual(z.tolist(), [2, 6])
        self.assertEqual(laze.add(x, 1, out=None).tolist(), [2, 3])
        self.assertIs(laze.full((2,), 4, out=z), z)
        self.assertEqual(z.tolist(), [4, 4])
        empty = laze.zeros(0)
        self.assertEqual(laze.add(x, x, out=empty).tolist(), [2, 4])
        self.assertEqual(empty.shape, (2,))

    def test_several_results_go_to_several(self):
        values, indices = laze.zeros(2), laze.zeros(2, dtype=laze.int64)
        for out in ((values, indices), [values, indices]):
            result = laze.sort(laze.tensor([3.0, 1.0]), out=out)
            self.assertIs(result.values, values)
            self.assertIs(result[1], indices)
            self.assertEqual((values.tolist(), indices.tolist()), ([1, 3], [1, 0]))
        for wrong in (values, (values,), (values, 3), (), 3):
            with self.assertRaises(TypeError):
                laze.sort(laze.tensor([3.0, 1.0]), out=wrong)
        with self.assertRaisesRegex(laze.InvalidArgumentError, "cannot be cast to i64"):
            laze.sort(laze.tensor([7.0, 1.0]), out=(indices, indices))
        self.assertEqual((values.tolist(), indices.tolist()), ([1, 3], [1, 0]))


class Gradients(unittest.TestCase):
    def test_they_go_through_what_changed(self):
        x = laze.tensor([2.0, 3.0], requires_grad=True)
        y = x * 2
        y *= x
        y += 1
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [8, 12])

    def test_leaves_change_where_none_are_recorded(self):
        x = laze.tensor([1.0], requires_grad=True)
        with self.assertRaisesRegex(laze.StateError, "leaf"):
            x += 1
        with self.assertRaisesRegex(laze.StateError, "requires a gradient"):
            laze.add(x, 1, out=laze.zeros(1))
        self.assertEqual(x.tolist(), [1])
        with laze.no_grad():
            x += 1
            laze.mul(x, 2, out=x)
        self.assertEqual((x.tolist(), x.requires_grad, x.is_leaf), ([4], True, True))


if __name__ == "__main__":
    unittest.main()
