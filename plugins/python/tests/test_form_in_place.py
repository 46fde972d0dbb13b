"""Forms in place that change what a tensor is, and no element: t_(), squeeze_(), detach_(), set_()."""
import unittest

import laze

# Calls, the shape they begin with, and that they give.
CALLS = {"t_": (lambda x: x.t_(), (2, 3), (3, 2)), "squeeze_": (lambda x: x.squeeze_(), (2, 1, 1), (2,)),
         "squeeze_.dim": (lambda x: x.squeeze_(1), (2, 1, 1), (2, 1)),
         "squeeze_.dims": (lambda x: x.squeeze_((0, 2)), (1, 2, 1), (2,)),
         "unsqueeze_": (lambda x: x.unsqueeze_(-1), (2, 3), (2, 3, 1)),
         "transpose_": (lambda x: x.transpose_(0, 2), (2, 1, 3), (3, 1, 2)),
         "swapaxes_": (lambda x: x.swapaxes_(0, 1), (2, 3), (3, 2)),
         "swapdims_": (lambda x: x.swapdims_(0, 1), (2, 3), (3, 2)),
         "as_strided_": (lambda x: x.as_strided_((2, 2), (1, 3), 1), (2, 3), (2, 2))}


class Shapes(unittest.TestCase):
    def made(self, shape, **named):
        count = 1
        for size in shape:
            count *= size
        return laze.arange(float(count)).reshape(shape).clone()

    def test_the_tensor_becomes_what_the_call_without_it_gives(self):
        for name, (call, before, after) in CALLS.items():
            with self.subTest(name):
                x, y = self.made(before), self.made(before)
                expected = getattr(y, name.partition(".")[0][:-1])
                self.assertIs(call(x), x)
                self.assertEqual(x.shape, after)
                wanted = {"as_strided_": lambda: expected((2, 2), (1, 3), 1), "t_": expected, "squeeze_": expected,
                          "squeeze_.dim": lambda: expected(1), "squeeze_.dims": lambda: expected((0, 2)),
                          "unsqueeze_": lambda: expected(-1), "transpose_": lambda: expected(0, 2)}
                self.assertEqual(x.tolist(), wanted.get(name, lambda: expected(0, 1))().tolist())

    def test_memory_stays_what_it_was(self):
        """Or writes through views that a program has made before would be lost."""
        for name, (call, before, _) in CALLS.items():
            with self.subTest(name):
                x = self.made(before)
                whole, first = x.view(before), x.reshape(-1)[1:2]
                call(x)
                x.add_(10)
                self.assertEqual(first.item(), 11.0)
                whole.zero_()
                self.assertEqual(x.abs().sum().item(), 0.0)

    def test_of_a_view(self):
        x = laze.zeros(2, 3)
        row = x[1].unsqueeze_(0).t_()
        self.assertEqual(row.shape, (3, 1))
        row.fill_(2)
        self.assertEqual(x.tolist(), [[0, 0, 0], [2, 2, 2]])

    def test_gradients_go_through_it(self):
        for name, (call, before, _) in CALLS.items():
            with self.subTest(name):
                leaf = self.made(before).requires_grad_()
                x = leaf * 2
                y = call(x * 1)
                weights = laze.arange(float(y.numel())).reshape(y.shape)
                (call(x) * weights).sum().backward()
                other = self.made(before).requires_grad_()
                (call(other * 2) * weights).sum().backward()
                self.assertFalse(x.is_leaf)
                self.assertEqual(leaf.grad.tolist(), other.grad.tolist())
        x = laze.ones(2, 3, requires_grad=True)
        y = x * 2
        y.t_()
        y[0] *= 5
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [[10, 2, 2]] * 2)

    def test_a_leaf_is_refused_and_stays(self):
        x = laze.ones(2, 3, requires_grad=True)
        for change in (lambda: x.t_(), lambda: x[0].unsqueeze_(0), lambda: (x * 2).unbind()[0].unsqueeze_(0)):
            with self.assertRaises(RuntimeError):
                change()
        self.assertEqual((x.shape, x.is_leaf), ((2, 3), True))

    def test_a_leaf_changes_where_no_gradients_are_recorded(self):
        x = laze.ones(2, 3, requires_grad=True)
        y = x * 2
        with laze.no_grad():
            x.t_()
            with self.assertRaisesRegex(RuntimeError, "t_: .*shape changes"):
                y.t_()
        self.assertTrue(x.is_leaf and x.requires_grad)
        (x * laze.arange(6.0).reshape(3, 2)).sum().backward()
        self.assertEqual(x.grad.tolist(), [[0, 1], [2, 3], [4, 5]])

    def test_what_changes_nothing(self):
        x = laze.ones(2, requires_grad=True)
        self.assertIs(laze.nn.functional.dropout(x, 0.5, training=False, inplace=True), x)
        self.assertTrue(x.is_leaf)

    def test_saved_values_are_those_of_before(self):
        x = laze.tensor([[1.0, 2.0]], requires_grad=True)
        y = x * 1
        z = y * y
        y.t_()
        z.sum().backward()
        self.assertEqual(x.grad.tolist(), [[2.0, 4.0]])

    def test_of_unknown_sizes(self):
        x = laze.arange(4.0)
        part = x[x > 1]
        part.unsqueeze_(0)
        self.assertEqual(part.tolist(), [[2, 3]])


class Detach(unittest.TestCase):
    def test_the_tensor_forgets_its_history(self):
        leaf = laze.ones(2, requires_grad=True)
        x = leaf * 2
        y = (x * 3).sum()
        self.assertIs(x.detach_(), x)
        self.assertFalse(x.requires_grad)
        self.assertTrue(x.is_leaf)
        y.backward()
        self.assertEqual(leaf.grad.tolist(), [6, 6])
        self.assertFalse(leaf.detach_().requires_grad)

    def test_a_view_is_refused(self):
        x = laze.ones(2, requires_grad=True) * 2
        view = x[0]
        with self.assertRaisesRegex(RuntimeError, "^detach_: the tensor is a view.*; detach\\(\\) gives"):
            view.detach_()
        self.assertTrue(view.requires_grad)
        self.assertFalse(x.detach().detach_().requires_grad)  # which is no view to PyTorch


class Set(unittest.TestCase):
    def test_memory_is_that_of_the_source(self):
        x, source = laze.zeros(2), laze.arange(6.0)
        old = x[:1]
        self.assertIs(x.set_(source), x)
        source[0] = 9
        old.fill_(5)
        self.assertEqual(x.tolist(), [9, 1, 2, 3, 4, 5])
        x.set_(source, 1, (2, 2), (1, 2))
        self.assertEqual(x.tolist(), [[1, 3], [2, 4]])
        self.assertEqual(x.set_().shape, (0,))

    def test_what_is_refused(self):
        x = laze.ones(2, requires_grad=True)
        for call, kind in ((lambda: x.set_(laze.ones(2)), RuntimeError), (lambda: laze.ones(2).set_(1), TypeError),
                           (lambda: laze.ones(2).set_(x, 0, (1,)), TypeError)):
            with self.assertRaisesRegex(kind, "set_: "):
                call()
        with laze.no_grad():
            x.set_(laze.ones(3))
        self.assertTrue(x.is_leaf and x.requires_grad and x.shape == (3,))


if __name__ == "__main__":
    unittest.main()
