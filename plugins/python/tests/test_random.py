"""Random numbers follow their distributions. Each is drawn 20,000 times from a fixed seed; the largest distance between
what was counted and the distribution function (Kolmogorov's test) is beyond 2 / sqrt(n) once in 1,500 times, and that
seed would be another."""
import math
import unittest

import laze

COUNT = 20000


def normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


class Distributions(unittest.TestCase):
    def setUp(self):
        laze.manual_seed(17)
        self.like = laze.zeros(COUNT)

    def check(self, drawn, distribution):
        values = sorted(drawn.tolist())
        distance = max(max(abs(distribution(x) - i / COUNT), abs(distribution(x) - (i + 1) / COUNT))
                       for i, x in enumerate(values))
        self.assertLess(distance, 2 / math.sqrt(COUNT))

    def test_continuous_ones(self):
        self.check(laze.uniform(self.like, -2, 3), lambda x: (x + 2) / 5)
        self.check(laze.rand_like(self.like), lambda x: x)
        self.check(laze.randn_like(self.like), normal)
        self.check(laze.normal_functional(self.like, 1, 2), lambda x: normal((x - 1) / 2))
        self.check(laze.normal(self.like + 1, self.like + 2), lambda x: normal((x - 1) / 2))
        self.check(laze.normal(self.like + 1, 2), lambda x: normal((x - 1) / 2))
        self.check(laze.normal(1.0, self.like + 2), lambda x: normal((x - 1) / 2))
        self.check(laze.normal(1.0, 2.0, (COUNT,)), lambda x: normal((x - 1) / 2))
        self.check(laze.log_normal(self.like, 0.5, 2), lambda x: normal((math.log(x) - 0.5) / 2))
        self.check(laze.exponential(self.like, 3), lambda x: 1 - math.exp(-3 * x))
        self.check(laze.cauchy(self.like, 1, 2), lambda x: 0.5 + math.atan((x - 1) / 2) / math.pi)

    def test_weights_that_are_none(self):
        """A place is drawn by weights, of which there is none in a row of zeros: any answer would be wrong."""
        rows = laze.tensor([[1.0, 1.0], [0.0, 0.0]])
        for weights in (laze.zeros(3), rows, laze.tensor([1.0, -1.0]), laze.tensor([1.0, math.nan]),
                        laze.tensor([1.0, math.inf])):
            for replaces in (False, True):
                with self.assertRaisesRegex(IndexError, "multinomial: index"):
                    laze.multinomial(weights, 1, replaces).tolist()
        self.assertEqual(laze.multinomial(rows[:1, :1], 1).tolist(), [[0]])

    def shares(self, drawn, places):
        values = drawn.tolist()
        return [values.count(place) / len(values) for place in places]

    def assertNear(self, shares, expected):
        for share, probability in zip(shares, expected):
            self.assertLess(abs(share - probability), 4 * math.sqrt(probability * (1 - probability) / COUNT) + 1e-9)

    def test_discrete_ones(self):
        self.assertNear(self.shares(laze.bernoulli(self.like + 0.3), [0, 1]), [0.7, 0.3])
        self.assertNear(self.shares(laze.bernoulli(self.like, 0.3), [0, 1]), [0.7, 0.3])
        self.assertNear(self.shares(laze.geometric(self.like, 0.3), [0, 1, 2, 3]), [0, 0.3, 0.21, 0.147])
        self.assertNear(self.shares(laze.randint(-2, 3, (COUNT,)), range(-3, 4)), [0, *[0.2] * 5, 0])
        self.assertNear(self.shares(laze.randint(3, (COUNT,)), range(-1, 4)), [0, *[1 / 3] * 3, 0])
        self.assertNear(self.shares(laze.randint_like(self.like, 5, 7), range(4, 8)), [0, 0.5, 0.5, 0])

    def test_weights(self):
        weights = laze.tensor([1.0, 0.0, 3.0, 4.0])
        self.assertNear(self.shares(laze.multinomial(weights, COUNT, True), range(4)), [0.125, 0, 0.375, 0.5])
        rows = laze.multinomial(weights.expand(COUNT, 4), 3)
        self.assertNear(self.shares(rows[:, 0], range(4)), [0.125, 0, 0.375, 0.5])
        self.assertTrue(all(sorted(row) == [0, 2, 3] for row in rows.tolist()))

    def test_permutations_hold_each_place_once_and_differ(self):
        first, second = laze.randperm(100).tolist(), laze.randperm(100).tolist()
        self.assertEqual(sorted(first), list(range(100)))
        self.assertNotEqual(first, second)

    def test_dropout(self):
        ones = self.like + 1
        kept = laze.dropout(ones, 0.2, True)
        self.assertNear(self.shares(kept, [0.0]), [0.2])
        self.assertEqual(set(kept.tolist()), {0.0, 1.25})
        self.assertEqual(laze.dropout(ones, 0.2, False).tolist(), ones.tolist())
        self.assertEqual(laze.dropout(ones, 1.0, True).tolist(), self.like.tolist())
        channels = laze.feature_dropout(laze.ones(100, 10, 5), 0.5, True)
        self.assertTrue(all(len(set(channel)) == 1 for batch in channels.tolist() for channel in batch))
        result, mask = laze.native_dropout(ones, 0.2, True)
        self.assertEqual([x != 0 for x in result.tolist()], mask.tolist())

    def test_alpha_dropout_keeps_mean_and_deviation(self):
        drawn = laze.alpha_dropout(laze.randn_like(self.like), 0.3, True)
        self.assertLess(abs(drawn.mean().item()), 0.03)
        self.assertLess(abs(drawn.var().item() - 1), 0.04)

    def test_no_numbers_are_drawn_twice(self):
        weights = laze.ones(1000)
        laze.multinomial(weights, 1)
        after = laze.rand(2).tolist()
        laze.manual_seed(17)
        laze.rand(1000)
        self.assertEqual(laze.rand(2).tolist(), after)

    def test_what_no_call_means(self):
        for call in (lambda: laze.dropout(self.like, 1.5, True), lambda: laze.dropout(laze.tensor([1]), 0.5, True),
                     lambda: laze.randint(3, 3, (2,)), lambda: laze.multinomial(laze.zeros(0), 1),
                     lambda: laze.multinomial(laze.ones(3), 0), lambda: laze.feature_dropout(laze.ones(3), 0.5, True)):
            with self.assertRaises(laze.Error):
                call()


if __name__ == "__main__":
    unittest.main()
