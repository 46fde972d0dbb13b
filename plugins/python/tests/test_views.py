"""Views: indexing, methods and detach() give tensors that share memory with another."""
import copy
import unittest

import laze


class Views(unittest.TestCase):
    def values(self, tensor):
        return tensor.tolist()

    def write(self, destination, value):
        destination.copy_(laze.tensor(value, dtype=destination.dtype))

    def test_an_index_is_a_view(self):
        x = laze.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        self.write(x[0], [9.0, 8.0, 7.0])
        self.write(x[:, 1], [0.0, 0.0])
        self.write(x[1, None, ::2], [-1.0])
        self.assertEqual(self.values(x), [[9, 0, 7], [-1, 0, -1]])

    def test_an_index_that_takes_all_is_a_view(self):
        for index in (slice(None), ..., (slice(None), slice(None)), (slice(0, 2), ...), ()):
            x = laze.ones(2, 3).requires_grad_()
            view = x[index]
            self.assertIsNot(view, x)
            self.assertFalse(view.is_leaf)
            gradient, = laze.autograd.grad(view.sum() + 3 * x.sum(), view)
            self.assertEqual(gradient.tolist(), [[1, 1, 1]] * 2)
            y = laze.ones(2, 3)
            y[index].requires_grad_()
            self.assertFalse(y.requires_grad)
            self.write(y[index], 0.0)
            y[index] += 5
            self.assertEqual(self.values(y), [[5, 5, 5]] * 2)

    def test_functions_that_give_their_argument_back_give_a_view(self):
        for give in (laze.atleast_1d, laze.atleast_2d, laze.atleast_3d, laze.detach,
                     lambda x: x.sum_to_size(1, 1, 3), lambda x: laze.dropout(x, 0.5, False),
                     lambda x: laze.nn.functional.dropout(x, 0.5, False)):
            x = laze.ones(1, 1, 3)
            self.write(give(x), 2.0)
            self.assertEqual(self.values(x), [[[2, 2, 2]]])
        x = laze.ones(3)
        self.write(laze.atleast_3d(x), 2.0)
        self.assertEqual(self.values(x), [2, 2, 2])
        for part in (x.sum_to_size(1), laze.dropout(x, 0.5, True)):
            self.write(part, 9.0)
        self.assertEqual(self.values(x), [2, 2, 2])

    def test_what_is_computed_of_unknown_sizes_is_a_copy(self):
        x = laze.arange(5.0)
        for compute in (lambda part: part.to(laze.float64), lambda part: laze.dropout(part, 1.0, True),
                        lambda part: part.sum_to_size(1)):
            part = x[x > 1]
            result = compute(part)
            part.mul_(2)
            result.add_(1)
            self.assertEqual(self.values(part), [4, 6, 8])
            self.assertIn(self.values(result), ([3, 4, 5], [1, 1, 1], [10]))
        part = x[x > 1]
        part[:].mul_(2)
        self.assertEqual(self.values(part), [4, 6, 8])

    def test_detach_of_no_tensor_is_refused(self):
        with self.assertRaisesRegex(TypeError, "detach"):
            laze.detach(1.0)

    def test_tensors_of_a_list_have_views(self):
        """Each result shares memory with its own tensor, and none of them is one of several views of a tensor."""
        for call in (lambda x, y: laze.broadcast_tensors(x, y)[0], lambda x, y: laze.broadcast_tensors(y, x)[1],
                     lambda x, y: laze.broadcast_tensors([x])[0], lambda x, y: laze.meshgrid(x, indexing="ij")[0],
                     lambda x, y: laze.atleast_1d([y, x])[1], lambda x, y: laze.atleast_2d([x, y])[0],
                     lambda x, y: laze.atleast_3d((x, y))[0]):
            x, y = laze.zeros(2), laze.ones(2)
            view = call(x, y)
            self.write(view, laze.full(view.shape, 3.0).tolist())
            self.assertEqual((self.values(x), self.values(y)), ([3, 3], [1, 1]))
            leaf = laze.zeros(2, requires_grad=True)
            call(leaf * 2, y).mul_(5).sum().backward()
            self.assertEqual(self.values(leaf.grad), [10, 10])
        x, y = laze.zeros(2), laze.ones(3)
        for name, indexing in (("ij", {}), ("ij", {"indexing": "ij"}), ("xy", {"indexing": "xy"})):
            across, along = laze.meshgrid(x, y, **indexing)
            x.fill_(4)
            y.fill_(5)
            shape = (2, 3) if name == "ij" else (3, 2)
            self.assertEqual((self.values(across), self.values(along)),
                             ([[4] * shape[1]] * shape[0], [[5] * shape[1]] * shape[0]))
            x.zero_()
            y.zero_()
        with self.assertRaisesRegex(ValueError, "one place of memory"):
            laze.broadcast_tensors(laze.zeros(1), laze.zeros(2))[0].fill_(1)
        same, other = laze.broadcast_tensors(x, x)
        self.write(same, [6, 7])
        self.assertEqual(self.values(other), [6, 7])

    def test_names_of_arguments_change_nothing(self):
        x = laze.ones(2)
        self.assertIs(laze.real(input=x), x)
        self.assertIs(laze.conj_physical(x), x)

    def test_as_strided_is_of_the_memory_of_a_new_tensor(self):
        x = laze.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(self.values(laze.tensor([[1.0, 2.0], [3.0, 4.0]]).as_strided([1], [1], 0)), [1])
        view = x.as_strided([2, 2], [1, 2])
        self.assertEqual(self.values(view), [[1, 3], [2, 4]])
        self.write(view[0], [7.0, 8.0])
        self.assertEqual(self.values(x), [[7, 2], [8, 4]])

    def test_methods_are_views(self):
        x = laze.arange(6).reshape(2, 3)
        for view in (x.t(), x.reshape(3, 2), x.unsqueeze(0), x.view(6), x.transpose(0, 1), x.detach(),
                     x.to(x.dtype), x.to(laze.int64).contiguous()):
            self.write(view, 1)
            self.assertEqual(self.values(x), [[1, 1, 1], [1, 1, 1]])
            self.write(x, 0)
            self.assertEqual(view.sum().item(), 0)

    def test_contiguous_copies_what_lies_otherwise(self):
        x = laze.arange(6.0).reshape(2, 3)
        for give in (lambda x: x.t(), lambda x: x[:, 0], lambda x: x.reshape(1, 2, 3).transpose(1, 2),
                     lambda x: x[0].expand(4, 3)):
            view = give(x)
            self.assertFalse(view.is_contiguous())
            for copy in (view.contiguous(), laze.contiguous(give(x)),
                         view.contiguous(memory_format="torch.contiguous_format")):
                self.assertTrue(copy.is_contiguous())
                self.assertEqual(copy.tolist(), view.tolist())
                copy += 1
        self.assertEqual(self.values(x), [[0, 1, 2], [3, 4, 5]])
        flat = laze.arange(12.0).reshape(2, 2, 3).transpose(1, 2).contiguous().view(2, -1)
        self.assertEqual(flat.tolist()[0], [0, 3, 1, 4, 2, 5])
        self.assertEqual(laze.ones(3).expand(2, 3).contiguous().add_(1).tolist(), [[2] * 3] * 2)
        for same in (x, x[1], x.view(3, 2)):  # rows lie as a tensor does
            self.assertTrue(same.is_contiguous())
            self.assertIs(same.contiguous(), same)

    def test_contiguous_copies_a_turned_tensor_of_unknown_sizes(self):
        x = laze.arange(6.0).reshape(3, 2)
        part = x[x[:, 0] > 0]
        turned = part.t()
        turned.contiguous().add_(1)
        self.assertEqual(self.values(part), [[2, 3], [4, 5]])

    def test_gradients_go_through_contiguous_to_a_leaf(self):
        x = laze.ones(2, 3, requires_grad=True)
        (x.t().contiguous().view(6) * laze.arange(6.0)).sum().backward()
        self.assertEqual(self.values(x.grad), [[0, 2, 4], [1, 3, 5]])

    def test_a_call_that_changes_nothing_gives_the_tensor(self):
        for call in (lambda x: x.to(laze.float32), lambda x: x.to(x), lambda x: x.float(), lambda x: x.type_as(x),
                     lambda x: x.real, lambda x: laze.real(x), lambda x: x.positive(), lambda x: +x,
                     lambda x: x.resolve_conj(), lambda x: x.resolve_neg(), lambda x: x.flatten(),
                     lambda x: x.contiguous(), lambda x: x.conj(), lambda x: x.to("cpu", laze.float32)):
            x = laze.ones(3, requires_grad=True)
            w = call(x)
            self.assertIs(w, x)
            (w * 2).sum().backward()
            self.assertEqual(w.grad.tolist(), [2, 2, 2])

    def test_to_copies_where_it_is_asked_to(self):
        x = laze.ones(3, requires_grad=True)
        for copy in (x.to(laze.float32, copy=True), x.to(laze.float64, copy=True), x.to("cpu", copy=True)):
            self.assertIsNot(copy, x)
            self.assertTrue(copy.requires_grad and not copy.is_leaf)
            copy.detach().zero_()
        self.assertEqual(self.values(x), [1, 1, 1])

    def test_an_index_of_a_list_or_a_mask_is_a_copy(self):
        x = laze.tensor([1.0, 2.0, 3.0])
        for part in (x[[0, 2]], x[x > 1], x.clone(), x + 0, x.to(laze.float64)):
            self.write(part, 9.0)
        self.assertEqual(self.values(x), [1, 2, 3])

    def test_view_refuses_where_reshape_copies(self):
        x = laze.arange(6).reshape(2, 3)
        flat = x.t().reshape(6)
        self.write(flat, 0)
        self.assertEqual(self.values(x), [[0, 1, 2], [3, 4, 5]])
        with self.assertRaisesRegex(Exception, "reshape"):
            x.t().view(6)

    def test_copies_are_copies(self):
        x = laze.tensor([1.0, 2.0])
        others = [copy.copy(x), copy.deepcopy(x), laze.tensor(x)]
        self.write(x, 0.0)
        for other in others:
            self.assertEqual(self.values(other), [1, 2])

    def test_a_base_that_is_gone_leaves_its_views(self):
        first, second = (laze.arange(4) + 1).split(2)
        self.write(first, 0)
        self.assertEqual(self.values(first), [0, 0])
        self.assertEqual(self.values(second), [3, 4])
        whole = laze.arange(4)
        low, high = whole[:3], whole[1:]
        del whole
        self.write(low, 7)
        self.assertEqual(self.values(high), [7, 7, 3])


if __name__ == "__main__":
    unittest.main()
