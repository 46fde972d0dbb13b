"""Changes meet the tests.

Each change alone meets the tests that are likely to notice it and soon done. What is left then waits, and meets the
others together with all that waits: a test that passes passes for each of them; where one fails, halves are tried until
the change is found. So a test of a minute is run a few times and not for every survivor.
"""

NEAR_SECONDS = 12  # of processor time, for the tests that a change meets alone


class Trial:
    def __init__(self, bench, deck, results, progress):
        self.bench, self.deck, self.results, self.progress = bench, deck, results, progress

    def _set(self, rows, others=()):
        """Makes the tree hold the changes of `rows`; files of `others` are as they were."""
        for path in sorted({row["path"] for row in [*rows, *others]}):
            self.bench.write(path, self.deck.text_with(path, rows))

    def _killed(self, row, test, how):
        row.update(result="killed", test=test.name, how=how)
        self._set([], [row])
        self.bench.confirm(test)
        self.results.add(row)

    def meet(self, row):
        """The change of one row, which is "killed" or "waiting" afterwards."""
        seconds, row["passed"] = 0, []
        self._set([row])
        for test in self.bench.history.order(self.bench.tests, row["path"], self.bench.durations):
            cost = self.bench.durations[test.name][0]
            if seconds + cost > NEAR_SECONDS or "threads" in test.suites:  # which wait for each other on a busy machine
                continue
            seconds += cost
            self.progress(f"{row['number']}: {row['path']}:{row['line']} {row['kind']}: {test.name}")
            how = self.bench.try_test(test)
            self.bench.history.note(row["path"], test.name, how is not None)
            if how:
                self._killed(row, test, how)
                return
            row["passed"].append(test.name)
        row["result"] = "waiting"
        self._set([], [row])
        self.results.add(row)

    def finish(self, waiting):
        """What waits meets all that it has not met: "killed", "survived" or "equivalent" afterwards."""
        while waiting:
            group = self._compatible(waiting)
            waiting = [row for row in waiting if row not in group]
            for test in sorted(self.bench.tests, key=lambda test: self.bench.durations[test.name][0]):
                rows = [row for row in group if row["result"] == "waiting" and test.name not in row["passed"]]
                self._meet_together(test, rows, group)
            self._set([], group)
            for row in group:
                if row["result"] == "waiting":
                    self._survived(row)

    @staticmethod
    def _compatible(rows):
        """As many as can be in the tree at once: one for each file."""
        return list({row["path"]: row for row in reversed(rows)}.values())

    def _meet_together(self, test, rows, group):
        if not rows:
            return
        self.progress(f"{len(rows)} that wait: {test.name}")
        self._set(rows, group)
        how = self.bench.try_test(test)
        if not how:
            for row in rows:
                row["passed"].append(test.name)
        elif len(rows) == 1:
            self.bench.history.note(rows[0]["path"], test.name, True)
            self._killed(rows[0], test, how)
        else:
            half = len(rows) // 2
            self._meet_together(test, rows[:half], group)
            self._meet_together(test, rows[half:], group)

    def _survived(self, row):
        path = row["path"]
        same = self.bench.is_same_optimised(path, self.deck.texts[path], self.deck.text_with(path, [row]))
        row["result"] = "equivalent" if same else "survived"
        self.results.add(row)
