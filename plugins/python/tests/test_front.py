"""What PyTorch's functions and tensors take and answer besides the operators' own arguments, so that programs written for
it run as they are."""
import unittest

import laze


class Factories(unittest.TestCase):
    def test_they_make_leaves(self):
        x = laze.zeros(2)
        for made in (laze.ones(2, requires_grad=True), laze.zeros_like(x, requires_grad=True),
                     laze.full((2,), 1.0, requires_grad=True), x.new_zeros(2, requires_grad=True),
                     laze.rand(2, requires_grad=True), laze.arange(2.0, requires_grad=True),
                     laze.linspace(0, 1, 3, requires_grad=True), laze.eye(2, requires_grad=True)):
            self.assertTrue(made.requires_grad and made.is_leaf)
            made.sum().backward()
            self.assertEqual(made.grad.tolist(), laze.ones_like(made).tolist())

    def test_integers_and_operators_do_not(self):
        with self.assertRaisesRegex(ValueError, "only floats"):
            laze.arange(3, requires_grad=True)
        with self.assertRaisesRegex(TypeError, "no argument 'requires_grad'"):
            laze.add(laze.ones(2), laze.ones(2), requires_grad=True)


class OneByOne(unittest.TestCase):
    """Tensors of a list, each an argument."""

    def test_functions_take_them(self):
        column, row = laze.ones(2, 1), laze.arange(3)
        for call in (laze.broadcast_tensors, laze.meshgrid, laze.block_diag, laze.cartesian_prod, laze.atleast_2d):
            tensors = (row, laze.arange(2)) if call in (laze.meshgrid, laze.cartesian_prod) else (column, row)
            several, listed = call(*tensors), call(list(tensors))
            for one, other in zip(several, listed):
                self.assertEqual(one.tolist(), other.tolist(), call)
        self.assertEqual(laze.einsum("ij,jk->ik", laze.ones(2, 3), laze.ones(3, 1)).tolist(), [[3.0], [3.0]])
        self.assertEqual(laze.chain_matmul(laze.ones(1, 2), laze.ones(2, 1)).tolist(), [[2.0]])
        self.assertEqual([x.shape for x in laze.meshgrid(row, laze.arange(2), indexing="xy")], [(2, 3), (2, 3)])

    def test_one_is_a_list_of_one(self):
        x = laze.arange(2)
        self.assertEqual([y.tolist() for y in laze.broadcast_tensors(x)], [[0, 1]])
        self.assertEqual(laze.einsum("i->", x).item(), 1)
        self.assertEqual(laze.atleast_2d(x).tolist(), [[0, 1]])  # which is another overload

    def test_others_take_a_list_alone(self):
        for call in (laze.cat, laze.stack, laze.hstack):
            with self.assertRaises((TypeError, ValueError)):
                call(laze.ones(2), laze.ones(2))


class Places(unittest.TestCase):
    def test_to_the_cpu_is_the_tensor_itself(self):
        x = laze.ones(2)
        for there in (x.to("cpu"), x.to(device="cpu"), x.to("cpu:0"), x.cpu()):
            self.assertIs(there, x)

    def test_a_dtype_beside_it_counts(self):
        x = laze.ones(2)
        for there in (x.to("cpu", laze.float64), x.to(laze.float64, False, False), x.to(x.double()),
                      x.to(device="cpu", dtype=laze.float64), x.to("float64"), x.type_as(x.double())):
            self.assertEqual(there.dtype, laze.float64)

    def test_a_dtype_has_a_name_as_a_type(self):
        x = laze.ones(2)
        self.assertEqual((x.type(), (x > 0).type(), x.to(laze.int64).type(), x.to(laze.bfloat16).type()),
                         ("laze.FloatTensor", "laze.BoolTensor", "laze.LongTensor", "laze.BFloat16Tensor"))
        self.assertIs(x.type("torch.FloatTensor"), x)
        for wanted in ("laze.DoubleTensor", "torch.DoubleTensor", laze.float64, "float64"):
            self.assertIs(x.type(wanted).dtype, laze.float64)
        for dtype in {value for value in vars(laze).values() if isinstance(value, laze.dtype)}:
            made = laze.zeros(1, dtype=dtype)
            self.assertIs(laze.ones(1).type(made.type()).dtype, dtype)
        with self.assertRaises(TypeError):
            x.type("laze.QuaternionTensor")

    def test_elsewhere_is_an_error(self):
        for call in (lambda: laze.ones(2).to("cuda"), lambda: laze.ones(2).to(device="cuda"),
                     lambda: laze.ones(2, device="cuda")):
            with self.assertRaises(TypeError):
                call()


class Data(unittest.TestCase):
    def test_what_is_written_to_it_is_in_the_tensor(self):
        x = laze.ones(2, requires_grad=True)
        x.data.mul_(3)
        x.data -= 1
        self.assertEqual(x.tolist(), [2.0, 2.0])
        self.assertFalse(x.data.requires_grad)

    def test_it_may_be_set_and_shares_memory_then(self):
        """As in PyTorch: programs that swap weights rely on it that nothing is copied, and that a leaf stays one."""
        x, y = laze.ones(2, requires_grad=True), laze.tensor([5.0, 6.0])
        part = x.detach()[0]
        (x * x).sum().backward()
        x.data = y
        y[0] = 7
        self.assertEqual((x.tolist(), part.item()), ([7.0, 6.0], 1.0))
        self.assertTrue(x.requires_grad and x.is_leaf)
        self.assertEqual(x.grad.tolist(), [2.0, 2.0])
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [16.0, 14.0])
        x.data *= 2
        self.assertEqual(y.tolist(), [14.0, 12.0])

    def test_an_optimizer_and_hooks_see_what_was_set(self):
        x, seen = laze.ones(2, requires_grad=True), []
        optimizer = laze.optim.SGD([x], lr=1.0)
        x.register_hook(lambda gradient: seen.append(gradient.tolist()))
        x.data = laze.tensor([3.0, 4.0])
        (x * x).sum().backward()
        optimizer.step()
        self.assertEqual((x.tolist(), seen), ([-3.0, -4.0], [[6.0, 8.0]]))

    def test_a_history_before_it_stays_right(self):
        x = laze.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        loss = (y * y).sum()
        x.data = laze.zeros(2)
        y.data = laze.zeros(2)
        self.assertFalse(y.is_leaf)
        loss.backward(retain_graph=True)
        self.assertEqual((x.grad.tolist(), y.tolist()), ([18.0, 36.0], [0.0, 0.0]))
        x.grad = None
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [3.0, 3.0])

    def test_it_may_have_another_shape(self):
        x = laze.ones(2, requires_grad=True)
        x.sum().backward()
        x.data = laze.ones(3)
        self.assertEqual((x.shape, x.grad.shape), ((3,), (2,)))
        with self.assertRaisesRegex(RuntimeError, r"a gradient of f32\[3\] is to be added to one of f32\[2\]"):
            x.sum().backward()
        x.grad = None
        x.sum().backward()
        self.assertEqual(x.grad.tolist(), [1.0, 1.0, 1.0])

    def test_what_is_refused_changes_nothing(self):
        x = laze.ones(2, requires_grad=True)
        y = x * 2
        for set_data, kind, text in ((lambda: setattr(x, "data", 1), TypeError, "data is a tensor"),
                                     (lambda: setattr(x, "data", laze.arange(2)), ValueError, "only floats"),
                                     (lambda: setattr(y, "data", laze.ones(3)), ValueError, "^data: .*detach it first")):
            with self.assertRaisesRegex(kind, text):
                set_data()
        self.assertEqual((x.tolist(), y.tolist()), ([1.0, 1.0], [2.0, 2.0]))


class Form(unittest.TestCase):
    def test_dtypes_say_what_they_are(self):
        for dtype, answers in ((laze.float16, (True, False, True)), (laze.complex64, (False, True, True)),
                               (laze.int8, (False, False, True)), (laze.uint8, (False, False, False)),
                               (laze.bool, (False, False, False))):
            x = laze.zeros(1, dtype=dtype)
            self.assertEqual((x.is_floating_point(), x.is_complex(), x.is_signed()), answers, dtype)
            self.assertEqual((laze.is_floating_point(x), laze.is_complex(x)), answers[:2])

    def test_sizes(self):
        x = laze.zeros(2, 3)
        self.assertEqual((x.nelement(), laze.numel(x), x.ndimension(), x.element_size()), (6, 6, 2, 4))
        self.assertTrue(x.is_contiguous() and x.is_same_size(laze.ones(2, 3)) and not x.is_same_size(laze.ones(3, 2)))
        self.assertTrue(x.is_cpu and not x.is_cuda and laze.is_tensor(x) and not laze.is_tensor([0]))

    def test_shapes_are_broadcast(self):
        self.assertEqual(laze.broadcast_shapes((2, 1), 3, (), (4, 1, 1)), (4, 2, 3))
        self.assertEqual(laze.broadcast_shapes(), ())
        self.assertEqual(laze.broadcast_shapes((0,), (1,)), (0,))
        with self.assertRaisesRegex(ValueError, "sizes 2 and 3 at one axis"):
            laze.broadcast_shapes((2,), (3,))


class OtherNames(unittest.TestCase):
    def test_they_are_the_same_operators(self):
        self.assertIs(laze.multiply, laze.mul)
        self.assertIs(laze.concat, laze.cat)
        self.assertEqual(laze.arange(4).clip(1, 2).tolist(), [1, 1, 2, 2])
        self.assertEqual(laze.ones(2).subtract_(1).tolist(), [0.0, 0.0])


if __name__ == "__main__":
    unittest.main()
