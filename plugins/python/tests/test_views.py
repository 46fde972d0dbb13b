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

    def test_methods_are_views(self):
        x = laze.arange(6).reshape(2, 3)
        for view in (x.t(), x.reshape(3, 2), x.unsqueeze(0), x.view(6), x.transpose(0, 1), x.detach(),
                     x.to(x.dtype), x.to(laze.int64).contiguous()):
            self.write(view, 1)
            self.assertEqual(self.values(x), [[1, 1, 1], [1, 1, 1]])
            self.write(x, 0)
            self.assertEqual(view.sum().item(), 0)

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
