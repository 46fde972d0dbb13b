"""x[...] beside NumPy, and its errors."""
import random
import unittest

import laze

try:
    import numpy
except ImportError:
    numpy = None


class Basics(unittest.TestCase):
    def setUp(self):
        self.x = laze.arange(24).reshape(2, 3, 4)

    def test_integers_slices_none_ellipsis(self):
        self.assertEqual(self.x[1, 2, 3].item(), 23)
        self.assertEqual(self.x[-1][0].tolist(), [12, 13, 14, 15])
        self.assertEqual(self.x[:, 1:, ::2].tolist(), [[[4, 6], [8, 10]], [[16, 18], [20, 22]]])
        self.assertEqual(self.x[..., 0].shape, (2, 3))
        self.assertEqual(self.x[None, ..., None, 1].shape, (1, 2, 3, 1))
        self.assertEqual(self.x[5:].shape, (0, 3, 4))
        self.assertEqual(self.x[()].shape, (2, 3, 4))
        self.assertEqual(self.x[laze.tensor(1), 0, laze.tensor(-1)].item(), 15)

    def test_lists_of_indices(self):
        self.assertEqual(self.x[[1, 0], [2, -1]].tolist(), [[20, 21, 22, 23], [8, 9, 10, 11]])
        self.assertEqual(self.x[:, [0, 2]].shape, (2, 2, 4))
        self.assertEqual(self.x[:, :, [[0], [1]]].shape, (2, 3, 2, 1))
        self.assertEqual(self.x[[0], :, [1, 2]].shape, (2, 3))
        self.assertEqual(self.x[[]].shape, (0, 3, 4))

    def test_masks(self):
        self.assertEqual(self.x[self.x > 20].tolist(), [21, 22, 23])
        self.assertEqual(self.x[laze.tensor([True, False])].shape, (1, 3, 4))
        self.assertEqual(self.x[:, [True, False, True], 0].tolist(), [[0, 8], [12, 20]])
        self.assertEqual(self.x[self.x < 0].shape, (0,))
        self.assertEqual(self.x[True].shape, (1, 2, 3, 4))
        self.assertEqual(self.x[False].shape, (0, 2, 3, 4))

    def test_indices_that_the_graph_computes(self):
        self.assertEqual(self.x[0, 0][laze.arange(4) * 3 % 4].tolist(), [0, 3, 2, 1])
        best = laze.tensor([0.5, 0.25, 0.75]).argmax()
        self.assertEqual(self.x[1, best].tolist(), [20, 21, 22, 23])

    def test_what_is_no_index(self):
        for index in [2, -3, (0, 3), (0, 0, 0, 0), 1.5, "a", (..., ...), (0, [1, 2], [0, 1, 2]),
                      laze.tensor([True, False, True]), laze.tensor([0.5]), laze.tensor([1, 0], dtype=laze.uint8),
                      [1.5], 2**70]:
            with self.assertRaises(IndexError, msg=index):
                self.x[index]
        with self.assertRaises(IndexError):
            laze.tensor(1)[0]
        with self.assertRaises(ValueError):
            self.x[::-1]
        with self.assertRaises(ValueError):
            self.x[::0]

    def test_indices_outside_are_found_when_the_graph_runs(self):
        for index in ([5], ([0, 1], [3, 0]), ([0, 1], [-4, 0])):
            with self.assertRaises(IndexError, msg=index):
                self.x[index].tolist()

    def test_elements_cannot_be_deleted(self):
        with self.assertRaisesRegex(TypeError, "laze.cat"):
            del self.x[0]


@unittest.skipUnless(numpy, "needs NumPy")
class BesideNumPy(unittest.TestCase):
    """Random indices; where an integer and a list are mixed with a slice between them, PyTorch's order of axes differs
    from NumPy's, so that integers and lists do not meet here."""

    def index(self, generator, shape):
        parts, advanced = [], generator.choice([int, "lists"])
        for size in shape[:generator.randint(0, len(shape))]:
            kind = generator.choice(["slice", "slice", "none", "pick"])
            if kind == "none":
                parts.append(None)
            if kind != "pick":
                bounds = [generator.choice([None, generator.randint(-size - 1, size + 1)]) for _ in range(2)]
                parts.append(slice(*bounds, generator.choice([None, 1, 2, 3])))
            elif advanced is int:
                parts.append(generator.randrange(-size, size))
            elif generator.random() < 0.3:
                parts.append(numpy.array([generator.random() < 0.5 for _ in range(size)]))
            else:
                parts.append(numpy.array([generator.randrange(-size, size) for _ in range(2)]).reshape(
                    generator.choice([(2,), (2, 1), (1, 2)])))
        return tuple(parts)

    def test_random_indices(self):
        generator = random.Random(5)
        compared = 0
        for round_number in range(300):
            shape = tuple(generator.randint(1, 4) for _ in range(generator.randint(1, 4)))
            array = numpy.arange(numpy.prod(shape), dtype="i4").reshape(shape)
            index = self.index(generator, shape)
            try:
                expected = array[index]
            except IndexError:  # masks and lists that do not fit each other
                with self.assertRaises(IndexError, msg=f"round {round_number}: {shape} {index}"):
                    laze.asarray(array)[index].tolist()
                continue
            found = numpy.asarray(laze.asarray(array)[index])
            self.assertEqual(found.shape, expected.shape, f"round {round_number}: {shape} {index}")
            numpy.testing.assert_array_equal(found, expected, f"round {round_number}: {shape} {index}")
            compared += 1
        self.assertGreater(compared, 200)


if __name__ == "__main__":
    unittest.main()
