"""uint16, uint32 and uint64: numbers that int64 has no place for, what they compare with, and what they mix with."""
import unittest

import laze

UNSIGNED = [laze.uint16, laze.uint32, laze.uint64]
MOST = 2**64 - 1


class Unsigned(unittest.TestCase):
    def test_numbers_up_to_the_largest_come_back(self):
        for dtype in UNSIGNED:
            most = 256**dtype.itemsize - 1
            tensor = laze.tensor([0, 1, most], dtype=dtype)
            self.assertEqual(tensor.tolist(), [0, 1, most])
            self.assertEqual((tensor[2].item(), int(tensor[2]), bytes(tensor[2:].numpy())),
                             (most, most, b"\xff" * dtype.itemsize))
            self.assertIs(laze.tensor(tensor.numpy()).dtype, dtype)
            with self.assertRaisesRegex(OverflowError, f"{most + 1} does not fit"):
                laze.tensor([most + 1], dtype=dtype)
            with self.assertRaisesRegex(OverflowError, "-1 does not fit"):
                laze.tensor([-1], dtype=dtype)
        self.assertEqual(repr(laze.tensor([MOST], dtype=laze.uint64)),
                         "tensor([18446744073709551615], dtype=laze.uint64)")

    def test_numbers_beside_them(self):
        tensor = laze.tensor([1, 2**63], dtype=laze.uint64)
        self.assertEqual((tensor + (MOST - 1)).tolist(), [MOST, 2**63 - 2])
        self.assertEqual((tensor // 3).tolist(), [0, 2**63 // 3])
        self.assertEqual(laze.full((1,), MOST, dtype=laze.uint64).tolist(), [MOST])
        self.assertEqual((tensor + 0.5).dtype, laze.float32)
        with self.assertRaisesRegex(OverflowError, "9223372036854775808 does not fit in int64"):
            laze.ones(2, dtype=laze.int64) + 2**63
        with self.assertRaisesRegex(OverflowError, "does not fit in int64"):
            laze.full((1,), 2**63)

    def test_comparisons_are_those_of_whole_numbers(self):
        tensor = laze.tensor([0, 2**63, MOST], dtype=laze.uint64)
        self.assertEqual((tensor > 2**63 - 1).tolist(), [False, True, True])
        self.assertEqual((tensor >= MOST).tolist(), [False, False, True])
        self.assertEqual((tensor > -1).tolist(), [True, True, True])
        self.assertEqual((tensor == -1).tolist(), [False, False, False])
        self.assertEqual((tensor < 2**64).tolist(), [True, True, True])
        self.assertEqual((laze.tensor([-1, 5]) < 2**63).tolist(), [True, True])

    def test_other_integers_are_refused(self):
        for dtype in UNSIGNED:
            tensor = laze.ones(2, dtype=dtype)
            for other in (laze.int32, laze.uint8, laze.bool):
                with self.assertRaisesRegex(ValueError, "promote to no dtype together"):
                    (tensor + laze.ones(2, dtype=other)).tolist()
            self.assertIs((tensor * laze.ones(2, dtype=laze.float16)).dtype, laze.float16)
            self.assertIs((tensor + tensor).dtype, dtype)


if __name__ == "__main__":
    unittest.main()
