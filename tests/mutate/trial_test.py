#!/usr/bin/env python3
"""How changes meet tests, with a workbench that only pretends: who kills which change, and that the tree stays."""
import collections
import types
import unittest

import mutate
import trial

Test = collections.namedtuple("Test", "name suites", defaults=[()])


class Bench:
    """Test "t" notices the changes whose new text holds the letter t."""

    def __init__(self, texts, names, seconds):
        self.tree, self.original = dict(texts), dict(texts)
        self.tests = [Test(name) for name in names]
        self.durations = {name: (seconds[name], seconds[name]) for name in names}
        self.runs, self.confirmed = collections.Counter(), []
        self.history = types.SimpleNamespace(order=lambda tests, path, durations: list(tests), note=lambda *_: None)

    def write(self, name, text):
        self.tree[name] = text

    def try_test(self, test):
        self.runs[test.name] += 1
        return "failed" if any(test.name in text for text in self.tree.values()) else None

    def confirm(self, test):
        assert self.tree == self.original
        self.confirmed.append(test.name)

    def is_same_optimised(self, path, old, new):
        return "=" in new


class Deck:
    def __init__(self, texts):
        self.texts = texts

    def text_with(self, path, rows):
        return self.texts[path] + "".join(row["new"] for row in rows if row["path"] == path)


def row(number, path, new):
    return {"number": number, "folder": "base", "path": path, "line": 1, "kind": "operator", "new": new}


class Trial(unittest.TestCase):
    def setUp(self):
        self.texts = {name: "" for name in ("1.c", "2.c", "3.c", "4.c")}
        self.bench = Bench(self.texts, ["q", "s", "w"], {"q": 1, "s": 100, "w": 50})
        self.added = []
        results = types.SimpleNamespace(add=self.added.append)
        self.trial = trial.Trial(self.bench, Deck(self.texts), results, lambda text: None)

    def meet(self, *rows):
        for one in rows:
            self.trial.meet(one)
        self.trial.finish([one for one in rows if one["result"] == "waiting"])
        self.assertEqual(self.bench.tree, self.bench.original)

    def test_a_quick_test_kills_at_once(self):
        one = row(0, "1.c", "q")
        self.meet(one)
        self.assertEqual((one["result"], one["test"]), ("killed", "q"))
        self.assertEqual(self.bench.runs, {"q": 1})
        self.assertEqual(self.bench.confirmed, ["q"])

    def test_slow_tests_are_met_together(self):
        rows = [row(0, "1.c", "x"), row(1, "2.c", "s"), row(2, "3.c", "x"), row(3, "4.c", "=")]
        self.meet(*rows)
        self.assertEqual([one["result"] for one in rows], ["survived", "killed", "survived", "equivalent"])
        self.assertEqual(rows[1]["test"], "s")
        self.assertEqual(self.bench.runs["w"], 1)  # all four passed it at once
        self.assertEqual(self.bench.runs["s"], 5)  # four, two, one and one, two

    def test_changes_of_one_file_do_not_meet(self):
        rows = [row(0, "1.c", "w"), row(1, "1.c", "x"), row(2, "1.c", "s")]
        self.meet(*rows)
        self.assertEqual([one["result"] for one in rows], ["killed", "survived", "killed"])

    def test_the_summary_counts_what_was_decided(self):
        rows = [dict(row(i, "1.c", ""), result=result) for i, result in
                enumerate(["killed", "killed", "killed", "survived", "equivalent", "waiting"])]
        lines = mutate.summary(rows).split("\n")
        self.assertEqual(lines[1].split(), ["base", "4", "3", "1", "75.0%"])
        self.assertEqual(lines[2].split()[0], "all")
        self.assertEqual(len(lines), 5)


if __name__ == "__main__":
    unittest.main()
