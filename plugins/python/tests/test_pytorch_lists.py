"""Behaviours that PyTorch's own tests of views expect, and that no other file here tests (docs/pytorch-tests.md)."""
import unittest

import laze


class Views(unittest.TestCase):
    def test_parts_are_views(self):
        """Of each call, what is written to the second part is seen in the tensor, and nowhere else."""
        calls = {"split": lambda x: x.split(2), "split sizes": lambda x: x.split([2, 2]), "chunk": lambda x: x.chunk(2),
                 "tensor_split": lambda x: x.tensor_split(2), "tensor_split at": lambda x: x.tensor_split((2,)),
                 "vsplit": lambda x: x.vsplit(2), "hsplit": lambda x: x.t().hsplit(2),
                 "dsplit": lambda x: x.t().unsqueeze(0).dsplit([2]), "unbind": lambda x: x.view(2, 2, 4).unbind()}
        for name, call in calls.items():
            with self.subTest(name):
                x = laze.zeros(4, 4)
                parts = call(x)
                parts[1].fill_(1)
                self.assertEqual(x.sum(1).tolist(), [0, 0, 4, 4])
                x.fill_(7)
                self.assertEqual(parts[0].reshape(-1).tolist(), [7] * 8)
                leaf = laze.zeros(4, 4, requires_grad=True)
                parts = call(leaf * 2)
                with self.assertRaisesRegex(RuntimeError, "one of several views"):
                    parts[1].fill_(1)
                (parts[0].sum() + 3 * parts[1].sum()).backward()
                self.assertEqual(leaf.grad.sum(1).tolist(), [8, 8, 24, 24])

    def test_complex_numbers_and_pairs_share_memory(self):
        z, pairs = laze.tensor([1 + 2j, 3j]), laze.zeros(2, 2)
        laze.view_as_real(z)[:, 0].fill_(5)
        self.assertEqual(z.tolist(), [5 + 2j, 5 + 3j])
        z.real.mul_(2)
        z.imag.zero_()
        self.assertEqual(z.tolist(), [10, 10])
        laze.view_as_complex(pairs)[1] = 1 + 2j
        self.assertEqual(pairs.tolist(), [[0, 0], [1, 2]])

    def test_copies_share_nothing(self):
        calls = {"alias_copy": (), "expand_copy": ((2, 2),), "permute_copy": ((1, 0),), "select_copy": (0, 1),
                 "slice_copy": (), "squeeze_copy": (), "t_copy": (), "transpose_copy": (0, 1), "unfold_copy": (0, 1, 1),
                 "unsqueeze_copy": (0,), "view_copy": ((4,),), "diagonal_copy": (), "detach_copy": (),
                 "as_strided_copy": ((2,), (1,)), "split_copy": (1,), "unbind_copy": ()}
        for name, arguments in calls.items():
            with self.subTest(name):
                x = laze.ones(2, 2)
                found = getattr(laze, name)(x, *arguments)
                for part in found if isinstance(found, tuple) else (found,):
                    part.fill_(9)
                self.assertEqual(x.tolist(), [[1, 1], [1, 1]])

    def test_views_of_nothing(self):
        empty, number = laze.zeros(0, 3), laze.tensor(1.0)
        self.assertEqual((empty.view(3, 0).shape, empty.t().shape, empty[:, 1:].shape, empty.expand(2, 0, 3).shape),
                         ((3, 0), (3, 0), (0, 2), (2, 0, 3)))
        self.assertEqual([part.shape for part in empty.chunk(2, 1)], [(0, 2), (0, 1)])
        empty.view(-1, 3).fill_(1)
        with self.assertRaisesRegex(ValueError, "-1"):
            empty.view(-1, 0)
        number.view(1)[0].add_(1)
        number.unsqueeze(0).squeeze().mul_(3)
        number[...].add_(1)
        self.assertEqual((number.item(), number.t().shape, number.flatten().shape), (7, (), (1,)))

    def test_other_views_of_elements(self):
        """Bits as numbers of another dtype of the same size."""
        self.assertEqual(laze.ones(2).view(laze.int32).tolist(), [0x3f800000] * 2)
        self.assertEqual(laze.zeros(2).view(laze.float32).shape, (2,))

    def test_wrong_views_are_refused(self):
        x = laze.zeros(2, 3)
        for call in (lambda: x.view(4), lambda: x.transpose(0, 2), lambda: x.select(2, 0), lambda: x.select(0, 2),
                     lambda: x.narrow(0, 1, 2), lambda: x.unsqueeze(3), lambda: x.expand(3, 3), lambda: x.permute(0),
                     lambda: x.movedim(0, 2), lambda: x.diagonal(0, 1, 1), lambda: x.unfold(0, 3, 1),
                     lambda: x.tensor_split(0), lambda: x.hsplit(2), lambda: laze.zeros(2).vsplit(1), lambda: x.dsplit(1),
                     lambda: x.split([1, 2]), lambda: laze.zeros(()).unbind(), lambda: x.as_strided((7,), (1,)),
                     lambda: laze.zeros(2, 2, 2).t(), lambda: laze.view_as_complex(x), lambda: laze.view_as_real(x),
                     lambda: laze.zeros(2, 2, 2).t_(), lambda: x.unsqueeze_(3), lambda: x.transpose_(0, 2)):
            with self.assertRaises(laze.Error):
                call()
        self.assertEqual((x.shape, x.sum().item()), ((2, 3), 0))

    def test_large_turns(self):
        x = laze.arange(456.0 * 789).reshape(456, 789)
        self.assertTrue(bool((x.t().contiguous().t() == x).all()))
        self.assertEqual(x.t()[788, 455].item(), 456 * 789 - 1)


if __name__ == "__main__":
    unittest.main()
