"""Sizes that follow from values: nothing is computed for them by recording, and what is computed is what NumPy says."""
import gc
import random
import unittest

import laze

try:
    import numpy
except ImportError:
    numpy = None


def metric(name):
    return laze.metrics()[name]


class Recording(unittest.TestCase):
    def setUp(self):
        self.x = laze.arange(8).float().evaluate()
        self.count = (self.x > 4.5).sum()
        laze.reset_metrics()

    def test_nothing_is_computed_by_recording(self):
        n = self.count
        y = self.x[:n] * 2 + self.x[:n]
        z = [laze.zeros((n, 2)), laze.zeros(n, 2), self.x[n:], self.x[1:n, None], y.reshape((-1, 1)), y.sum(), -y]
        self.assertEqual((metric("graphs_run"), metric("size_syncs")), (0, 0))
        self.assertEqual([t.ndim for t in z], [2, 2, 1, 2, 2, 0, 1])
        self.assertEqual(y.dtype, laze.float32)
        self.assertEqual(metric("graphs_run"), 0)
        self.assertEqual(y.tolist(), [0, 3, 6])
        self.assertEqual([t.tolist() for t in z], [[[0, 0]] * 3, [[0, 0]] * 3, [3, 4, 5, 6, 7], [[1], [2]],
                                                   [[0], [3], [6]], 9, [0, -3, -6]])

    def test_asking_for_a_shape_is_one_sync(self):
        y = laze.zeros((self.count, self.count + 1))
        self.assertEqual(y.shape, (3, 4))
        self.assertEqual(metric("size_syncs"), 1)
        self.assertEqual((len(y), y.numel(), y.size(1), y.nbytes), (3, 12, 4, 48))
        self.assertEqual(metric("size_syncs"), 1)

    def test_bounds_count_from_the_end_as_those_of_lists(self):
        values = self.x.tolist()
        for start in (-9, -3, 0, 2, 9):
            for stop in (-9, -1, 0, 1, 5, 8, 9):
                first, last = self.count - 3 + start, self.count - 3 + stop
                self.assertEqual(self.x[first:last].tolist(), values[start:stop], (start, stop))
                self.assertEqual(self.x[first:last:3].tolist(), values[start:stop:3], (start, stop))

    def test_a_shape_that_is_computed(self):
        n = self.count
        self.assertEqual(self.x.reshape(laze.stack([n - 1, n + 1])).shape, (2, 4))
        self.assertEqual(self.x.reshape(n - 1, -1).shape, (2, 4))
        self.assertEqual(laze.ones([n, 2], dtype=laze.int64).sum().item(), 6)
        self.assertEqual(laze.arange(3).expand(n, 3).shape, (3, 3))

    def test_a_wrong_size_fails_what_depends_on_it(self):
        wrong = laze.zeros((self.count - 5, 2))
        behind, beside = wrong.sum() + 1, self.x * 2
        self.assertEqual(metric("graphs_run"), 0)
        for read in (lambda: wrong.shape, wrong.tolist, behind.item, lambda: print(wrong), lambda: len(wrong)):
            with self.assertRaisesRegex(laze.Error, "-2"):
                read()
        self.assertEqual(beside.tolist(), [0, 2, 4, 6, 8, 10, 12, 14])
        with self.assertRaises(ValueError):
            self.x.reshape(self.count, 3)

    def test_hundred_sizes_compile_nothing(self):
        def step(limit):
            with laze.step():
                y = self.x[:(self.x > limit).sum()] * 2
                total = y.sum()
            return y, total
        for limit in (4.5, 6.5, 7.5):
            step(limit)
        laze.reset_metrics()
        for round_number in range(100):
            count = round_number % 9
            y, total = step(7.5 - count)
            self.assertEqual(total.item(), count * (count - 1))
            self.assertEqual(y.shape, (count,))
        self.assertEqual((metric("kernels_compiled"), metric("size_syncs"), metric("trace_cache_misses")), (0, 0, 0))

    def test_hundred_counts_of_a_mask_are_one_graph(self):
        x = laze.arange(100).float().evaluate()

        def step(limit):
            with laze.step():
                y = x[x < limit] * 2
                places = laze.nonzero(x < limit)
                total = y.sum()
            return y, places, total
        for limit in (3, 2.5):
            step(limit)
        laze.reset_metrics()
        for count in range(101):
            y, places, total = step(count)
            self.assertEqual(total.item(), count * (count - 1))
            self.assertEqual((y.shape, places.shape), ((count,), (count, 1)))
        self.assertEqual((metric("kernels_compiled"), metric("size_syncs")), (0, 0))

    def test_hundred_steps_of_masks_that_belong_together(self):
        x, y = laze.arange(60).float().evaluate(), (laze.arange(60).float() * 3).evaluate()

        def step(limit, other):
            with laze.step():
                mask = x < limit
                u = x[mask]
                made = [u - y[mask], u[u > other], u.reshape(-1, 1),
                        laze.unique(u % 4), x[x > other]]
            return made
        for limit in (3, 7, 9):
            step(limit, 2)
        laze.reset_metrics()
        for round_number in range(100):
            limit, other = 1 + round_number % 50, round_number % 9
            made = step(limit, other)
            self.assertEqual([t.shape for t in made],
                             [(limit,), (max(limit - other - 1, 0),), (limit, 1), (min(limit, 4),), (59 - other,)])
            self.assertEqual(made[0].sum().item(), -limit * (limit - 1))
        self.assertEqual((metric("kernels_compiled"), metric("size_syncs")), (0, 0))

    def test_a_known_axis_beside_an_unknown_one_is_known(self):
        x = laze.arange(12).reshape(3, 4).evaluate()
        laze.reset_metrics()
        rows = x[x[:, 0] > 3]
        self.assertEqual((rows.size(1), rows[:, :2].size(1)), (4, 2))
        self.assertEqual((metric("graphs_run"), metric("size_syncs")), (0, 0))
        self.assertEqual(rows[:, :2].tolist(), [[4, 5], [8, 9]])

    def test_what_has_size_one_is_repeated_as_often_as_the_run_finds(self):
        column = laze.tensor([[7.], [8.]]).evaluate()
        for limit in (5, 1, 0):
            n = (self.x < limit).sum()
            self.assertEqual(column.expand(2, n).tolist(), [[7.] * limit, [8.] * limit])
            self.assertEqual((column.T.reshape(2, 1) + self.x[:n]).tolist(),
                             [[v + i for i in range(limit)] for v in (7, 8)])

    def test_windows_of_what_a_mask_selects(self):
        # With so much padding that any count is enough, and where only the count decides whether there is a window.
        for limit in (8, 3, 1, 0):
            y, again, other = [self.x[self.x < limit] for _ in range(3)]  # a read of one tells how long it is
            known = laze.arange(limit).float()
            ones = laze.ones(1, 1, 3)
            laze.reset_metrics()
            wide = laze.conv1d(y.reshape(1, 1, -1), ones, padding=2)
            self.assertEqual(metric("size_syncs"), 0)
            self.assertEqual(wide.tolist(), laze.conv1d(known.reshape(1, 1, -1), ones, padding=2).tolist())
            if limit > 0:
                means = [laze.avg_pool1d(t.reshape(1, -1), 3, padding=1, ceil_mode=True) for t in (again, known)]
                self.assertEqual(means[0].tolist(), means[1].tolist())
                every_second = laze.max_pool1d(other.reshape(1, -1), 1, stride=2)
                self.assertEqual(every_second.tolist(), [list(range(0, limit, 2))])
        with self.assertRaisesRegex(laze.Error, "conv1d: no windows of 3 places"):
            laze.conv1d(self.x[self.x < 2].reshape(1, 1, -1), laze.ones(1, 1, 3)).tolist()

    def test_unique(self):
        x = laze.tensor([[3., 1., 3.], [1., 1., 3.], [3., 1., 3.]]).evaluate()
        laze.reset_metrics()
        values, inverse, counts = laze.unique(x, return_inverse=True, return_counts=True)
        rows, numbers = x.unique(dim=0, return_counts=True)
        runs = laze.unique_consecutive(x, return_counts=True)
        self.assertEqual((metric("graphs_run"), metric("size_syncs")), (0, 0))
        self.assertEqual((values.tolist(), inverse.tolist(), counts.tolist()),
                         ([1, 3], [[1, 0, 1], [0, 0, 1], [1, 0, 1]], [4, 5]))
        self.assertEqual((rows.tolist(), numbers.tolist()), ([[1, 1, 3], [3, 1, 3]], [1, 2]))
        self.assertEqual([t.tolist() for t in runs], [[3, 1, 3, 1, 3, 1, 3], [1, 1, 1, 2, 2, 1, 1]])
        self.assertEqual(laze.unique(x[x > 1], True, True)[1].tolist(), [0] * 5)
        nan = laze.unique(laze.tensor([laze.nan, 1., laze.nan]), return_counts=True)
        self.assertEqual((nan[0].tolist()[0], nan[0].shape, nan[1].tolist()), (1, (3,), [1, 1, 1]))
        self.assertEqual([t.tolist() for t in laze.unique(laze.zeros(0), return_counts=True)], [[], []])
        self.assertEqual(laze.unique(laze.tensor(7)).tolist(), [7])
        self.assertEqual(laze.unique(laze.tensor([True, False, True])).tolist(), [False, True])
        with self.assertRaises(laze.Error):
            laze.unique(laze.zeros(2, 0), dim=0)
        with self.assertRaises(laze.Error):
            laze.unique(laze.tensor(7), dim=0)

    def test_nonzero_as_a_tuple(self):
        x = laze.tensor([[0, 5], [7, 0]]).evaluate()
        laze.reset_metrics()
        first, second = laze.nonzero(x, as_tuple=True)
        alone, = x[0, 1].nonzero(as_tuple=True)
        self.assertEqual((metric("graphs_run"), metric("size_syncs")), (0, 0))
        self.assertEqual((first.tolist(), second.tolist(), alone.tolist()), ([0, 1], [1, 0], [0]))
        self.assertEqual(x[first, second].tolist(), [5, 7])
        self.assertEqual(laze.nonzero(x, as_tuple=False).tolist(), [[0, 1], [1, 0]])
        for call in (lambda: laze.nonzero(x, as_tuple=1), lambda: laze.masked_select(x, x > 0, as_tuple=True)):
            with self.assertRaises(TypeError):
                call()

    def test_masks_say_where_to_write(self):
        x = laze.arange(6).reshape(2, 3).evaluate()
        laze.reset_metrics()
        made = [laze.index_put(x, [x > 3], laze.tensor(0)), x.index_put([None, x[0] > 0], laze.tensor([[7], [8]])),
                laze.index_put(x, [x[:, 0] > 0, laze.tensor([2])], laze.tensor(9), accumulate=True)]
        self.assertEqual(made[0].tolist(), [[0, 1, 2], [3, 0, 0]])
        self.assertEqual(made[1].tolist(), [[0, 7, 7], [3, 8, 8]])
        self.assertEqual(made[2].tolist(), [[0, 1, 2], [3, 4, 14]])
        self.assertEqual(laze.index(x, [x > 3]).tolist(), [4, 5])
        with self.assertRaisesRegex(laze.Error, "index_put: it has to know how much its own masks select.*nonzero"):
            x.index_put([None, x[0] > 0], laze.tensor([7, 8]))
        places, = laze.nonzero(x[0] > 0, as_tuple=True)
        self.assertEqual(x.index_put([None, places], laze.tensor([7, 8])).tolist(), [[0, 7, 8], [3, 7, 8]])
        for mask in (laze.tensor([True]), laze.tensor([[True, True], [True, True]]), laze.tensor(True),
                     laze.ones(2, 3, 1, dtype=laze.bool)):
            with self.assertRaises((laze.Error, IndexError)):
                laze.index_put(x, [mask], laze.tensor(0)).tolist()

    def test_masks(self):
        x = laze.arange(12).reshape(3, 4).evaluate()
        laze.reset_metrics()
        made = [x[x > 5], x[x[:, 0] > 3], x[:, x[0] > 1], x[1, x[0] < 2], x[None, x > 10], x[laze.tensor(True)],
                x[laze.tensor(False)], laze.masked_select(x, x[0] > 2), laze.nonzero(x > 9), (x > 9).nonzero(),
                laze.nonzero(x[0, 0]), laze.nonzero(x[0, 1])]
        self.assertEqual(metric("graphs_run"), 0)
        self.assertEqual([t.shape for t in made], [(6,), (2, 4), (3, 2), (2,), (1, 1), (1, 3, 4), (0, 3, 4), (3,),
                                                   (2, 2), (2, 2), (0, 0), (1, 0)])
        self.assertEqual([t.tolist() for t in made[:5]], [
            [6, 7, 8, 9, 10, 11], [[4, 5, 6, 7], [8, 9, 10, 11]], [[2, 3], [6, 7], [10, 11]], [4, 5], [[11]]])
        self.assertEqual(made[7].tolist(), [3, 7, 11])
        self.assertEqual(made[8].tolist(), [[2, 2], [2, 3]])
        self.assertEqual(x[x[:, 0] > 3, 1].tolist(), [5, 9])
        with self.assertRaises(IndexError):
            x[laze.tensor([True, False])]
        with self.assertRaises(laze.Error):
            laze.masked_select(x, x)

    def test_one_stands_beside_any_size(self):
        """What is compiled serves any sizes; that one of them is 1 must not be forgotten on the way."""
        x, one = laze.arange(12).reshape(3, 4).evaluate(), laze.tensor([10]).evaluate()
        places = laze.nonzero(x[0] > 0).squeeze(1)
        self.assertEqual((one + places).tolist(), [11, 12, 13])
        self.assertEqual((places + one).tolist(), [11, 12, 13])
        self.assertEqual(one.expand([2, laze.tensor(3)]).tolist(), [[10] * 3] * 2)
        self.assertEqual(x[laze.tensor([[2], [1]]), x[0] > 1].tolist(), [[10, 11], [6, 7]])

    def test_a_mask_is_as_long_as_what_it_selects_from(self):
        three = self.x[:self.count]
        self.assertEqual(three[three > 0].tolist(), [1, 2])
        for tensor, mask in ((self.x, lambda: self.x[:self.count] > 0),
                             (self.x[:self.count], lambda: laze.tensor([True, True])),
                             (self.x[:self.count], lambda: self.x > 0),
                             (self.x[None, :self.count], lambda: self.x[None, :self.count - 1] > 0)):
            with self.assertRaises(IndexError):
                tensor[mask()]

    def test_stress_of_the_collector(self):
        thresholds = gc.get_threshold()
        gc.set_threshold(1)
        try:
            for _ in range(200):
                n = (self.x > 4.5).sum()
                rows = [self.x[:n], laze.zeros((n, n)), self.x[n:].reshape(1, -1)]
                rows[0].shape, rows[1] + 1
                del rows[0]
                self.assertEqual(rows[0].sum().item(), 0)
        finally:
            gc.set_threshold(*thresholds)
        self.assertEqual(gc.garbage, [])


# Over u and v, of n elements, and k, of n elements at the end of x: what each composite has to know of their sizes.
FORMS = [lambda x, u, v, k, n: u @ v, lambda x, u, v, k, n: u @ k, lambda x, u, v, k, n: laze.dot(u, k),
         lambda x, u, v, k, n: laze.linear(u[None], k[None]),
         lambda x, u, v, k, n: laze.ones(2, n) @ laze.ones(k.sum().long() - 15, 2),
         lambda x, u, v, k, n: laze.stack([u, k]), lambda x, u, v, k, n: x.topk(n)[0],
         lambda x, u, v, k, n: u.topk(3)[0], lambda x, u, v, k, n: u.kthvalue(3)[0],
         lambda x, u, v, k, n: u.narrow(0, 1, 2), lambda x, u, v, k, n: x.narrow(0, 1, n),
         lambda x, u, v, k, n: u.select(0, 2), lambda x, u, v, k, n: u.select(0, -1),
         lambda x, u, v, k, n: x.select(0, n), lambda x, u, v, k, n: x.select(0, n - 4),
         lambda x, u, v, k, n: x[:n - 2].squeeze(0), lambda x, u, v, k, n: u[None].squeeze(),
         lambda x, u, v, k, n: u.squeeze(0), lambda x, u, v, k, n: u[3:].median(),
         lambda x, u, v, k, n: u[n:].median(), lambda x, u, v, k, n: u[n:].nanmedian(),
         lambda x, u, v, k, n: u.median()]


@unittest.skipUnless(numpy, "needs NumPy")
class Composites(unittest.TestCase):
    """What a composite asks about a size that is not known is found, not taken to be "no"."""
    EXPECTED = [lambda x: x[:3] @ x[:3], lambda x: x[:3] @ x[5:], lambda x: x[:3] @ x[5:],
                lambda x: x[None, :3] @ x[None, 5:].T, lambda x: numpy.full((2, 2), 3), lambda x: [x[:3], x[5:]],
                lambda x: x[:4:-1], lambda x: x[2::-1], lambda x: x[2], lambda x: x[1:3], lambda x: x[1:4],
                lambda x: x[2], lambda x: x[2], lambda x: x[3], lambda x: x[7], lambda x: x[0], lambda x: x[:3],
                lambda x: x[:3], lambda x: numpy.nan, lambda x: numpy.nan, lambda x: numpy.nan, lambda x: x[1]]

    def test_forms(self):
        host = numpy.arange(8, dtype=numpy.float32)
        self.assertEqual(len(FORMS), len(self.EXPECTED))
        for number, (form, expected) in enumerate(zip(FORMS, self.EXPECTED)):
            for known in (False, True):
                with self.subTest(form=number, known=known):
                    x = laze.arange(8).float().evaluate()
                    n = (x > 4.5).sum()
                    u, v, k = x[:n], x[:n], x[8 - n:]
                    if known:
                        self.assertEqual((n.item(), u.shape, v.shape, k.shape), (3, (3,), (3,), (3,)))
                    result, wanted = form(x, u, v, k, n), numpy.asarray(expected(host))
                    self.assertEqual(result.shape, wanted.shape)
                    numpy.testing.assert_array_equal(numpy.asarray(result.tolist()), wanted)

    def test_what_is_wrong_is_refused(self):
        x = laze.arange(8).float().evaluate()
        for form in (lambda n: x[:n] @ x[:n + 1], lambda n: laze.stack([x[:n], x]), lambda n: x[:n].topk(4),
                     lambda n: x[:n].narrow(0, 2, 2), lambda n: x[:n].select(0, 3), lambda n: x.topk(n + 6)):
            with self.assertRaises((laze.Error, ValueError, IndexError)):
                form((x > 4.5).sum())


@unittest.skipUnless(numpy, "needs NumPy")
class Programs(unittest.TestCase):
    """Random programs, computed once at the end, after each line, and by NumPy."""

    def lines(self, generator):
        for _ in range(generator.randint(3, 12)):
            yield (generator.choice(["count", "head", "tail", "scale", "double", "total", "zeros", "join", "mask"]),
                   generator.randrange(1 << 30), generator.randrange(1 << 30), generator.randint(-2, 6))

    def run_program(self, lines, library, force):
        values, counts = [library.arange(9), library.arange(5) * 3], [library.arange(3).sum()]
        for name, first, second, number in lines:
            x, y = values[first % len(values)], values[second % len(values)]
            n = counts[second % len(counts)]
            made = None
            if name == "count":
                counts.append((x > number).sum())
            elif name == "total":
                counts.append(x.sum() % 7)
            elif name == "head":
                made = x[:n]
            elif name == "tail":
                made = x[n:]
            elif name == "scale":
                made = x * number + n
            elif name == "double":
                made = x + x
            elif name == "zeros":
                made = library.zeros((n,), dtype=library.int64)
            elif name == "join":
                made = library.concatenate([x, y]) if library is numpy else library.cat([x, y])
            elif name == "mask":
                made = x[x % 2 == number % 2]
            if made is not None:
                values.append(made)
            if force:
                (counts[-1] if made is None else made).tolist()
                self.assertIsInstance(values[-1].shape[0], int)
        return [v.tolist() for v in values], [int(c) for c in counts]

    def test_random_programs(self):
        generator = random.Random(11)
        for round_number in range(60):
            lines = list(self.lines(generator))
            expected = self.run_program(lines, numpy, False)
            self.assertEqual(self.run_program(lines, laze, False), expected, f"once, round {round_number}: {lines}")
            self.assertEqual(self.run_program(lines, laze, True), expected, f"each, round {round_number}: {lines}")


if __name__ == "__main__":
    unittest.main()
