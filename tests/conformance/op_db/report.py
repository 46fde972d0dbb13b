"""What a run says: a line for each operator, then what is not listed, what is absent, and the sums.

Samples are those of sample_inputs and reference_inputs; calls that have to be refused are counted apart. Of gradients,
those of the second order and of forward mode are, of forms those with out=, and of torch.compile its gradients.
"""
import collections
import dataclasses
import json
import re
import sys

import peer

GOOD = 0.95  # of an operator's samples
SHOWN = 3  # verdicts that are printed of one operator, dtype, kind and outcome


@dataclasses.dataclass(frozen=True)
class Subject:
    """What is judged."""
    name: str
    asides: dict  # the kinds of samples that are counted apart, with their titles
    word: str = "agree"
    option: str = ""  # of the command
    column: str = ""  # an outcome that only its verdicts have


FORWARD = Subject("forward", {"error": "wrong calls"}, "refused")
GRADIENT = Subject("gradient", {peer.SECOND: "second order", peer.FORWARD: "forward mode"}, option=" --grad")
FORMS = Subject("in place", {peer.OUT: "out="}, option=" --forms")
COMPILED = Subject("compile", {peer.FIRST: "compile gradients"}, option=" --compile", column="fell back")
DEVICE = Subject("device", {peer.FIRST: "device gradients"}, option=" --device", column="fell back")


@dataclasses.dataclass
class Row:
    operator: str
    counts: collections.Counter  # outcome: samples
    asides: dict  # kind that is counted apart: {outcome: its samples}
    listed: int = 0  # of those that do not agree, on the list of intended differences
    reasons: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # of what is absent

    def judged(self):
        return judged(self.counts)


def judged(counts):
    return sum(counts.values()) - counts["absent"]


class Report:
    def __init__(self, differences, subject=FORWARD):
        self.differences = differences
        self.subject = subject
        self.rows = []
        self.unlisted = []  # verdicts
        self.listed = []  # (verdict, entry)

    def add(self, operator, verdicts):
        row = Row(operator, collections.Counter(), {kind: collections.Counter() for kind in self.subject.asides})
        for verdict in verdicts:
            row.asides.get(verdict.kind, row.counts)[verdict.outcome] += 1
            if verdict.outcome == "absent":
                row.reasons[verdict.detail] += 1
            elif verdict.outcome != "agree":
                entry = self.differences.find(verdict)
                row.listed += entry is not None
                self.listed.append((verdict, entry)) if entry else self.unlisted.append(verdict)
        self.rows.append(row)
        return row

    def last_line(self):
        return sum_line(self.subject.name, [row.counts for row in self.rows])

    def left_line(self):
        """What PyTorch ran, by the operators of its graphs."""
        left = [verdict for verdict in self.unlisted + [verdict for verdict, _ in self.listed]
                if verdict.outcome == self.subject.column]
        wholly = sum(verdict.detail.startswith("wholly") for verdict in left)
        names = collections.Counter(name for verdict in left for name in set(re.findall(r"\w+::[\w.]+", verdict.detail)))
        text = f"fell back: {len(left)} samples, {wholly} of them wholly"
        return f"{text}, for {len(names)} operators: {counted(names)}" if names else text

    def aside_lines(self):
        for kind, title in self.subject.asides.items():
            counted = [row.asides[kind] for row in self.rows]
            yield sum_line(title, counted) if self.subject != FORWARD else refused_line(title, counted)


def counted(names):
    return ", ".join(f"{name} {count}" for name, count in names.most_common())


def sum_line(name, counted):
    """Of all operators, whose samples are counted by outcome."""
    with_samples = [counts for counts in counted if judged(counts)]
    samples, agreeing = sum(map(judged, with_samples)), sum(counts["agree"] for counts in with_samples)
    good = sum(counts["agree"] >= GOOD * judged(counts) for counts in with_samples)
    return (f"op_db {name}: {agreeing} of {samples} samples agree ({percent(agreeing, samples)}); "
            f"{good} of {len(with_samples)} operators at 95% or more")


def refused_line(name, counted):
    refused, wrong = sum(counts["agree"] for counts in counted), sum(map(judged, counted))
    return f"{name}: {refused} of {wrong} refused ({percent(refused, wrong)})"


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "none"


def head(subject):
    own = f"{subject.column:>11}" if subject.column else ""
    return (f"{'operator':<28}{'samples':>8}{'agree':>8}{'differ':>8}{'refused':>8}{own}{'absent':>8}{'listed':>8}   "
            f"{', '.join(subject.asides.values())}")


def line(row, subject=FORWARD):
    differing = row.counts["differ"] + row.counts["crashed"]
    own = f"{row.counts[subject.column]:>11}" if subject.column else ""
    aside = ", ".join(f"{counts['agree']} of {judged(counts)} {subject.word}" if judged(counts) else "none"
                      for counts in row.asides.values()) if any(map(judged, row.asides.values())) else ""
    return (f"{row.operator:<28}{sum(row.counts.values()):>8}{row.counts['agree']:>8}{differing:>8}"
            f"{row.counts['refused']:>8}{own}{row.counts['absent']:>8}{row.listed:>8}   {aside}").rstrip()


def print_end(report, missing, stale, plan, everything):
    """Everything behind the lines of operators; `missing` are names of op_db that the library does not have."""
    print_absent(report, missing)
    if report.unlisted:
        print(f"\nnot on the list of intended differences ({len(report.unlisted)}):")
        print_verdicts(report, plan, len(report.unlisted) if everything else SHOWN)
    for operator, entry in stale:
        print(f"\nno longer differs, but is listed: {operator}, {entry.outcome} {entry.detail!r}: {entry.reason}")
    print()
    if report.subject.column:
        print(report.left_line())
    for text in report.aside_lines():
        print(text)
    print(report.last_line())


def print_absent(report, missing):
    reasons = collections.Counter()
    for row in report.rows:
        reasons.update(row.reasons)
    if reasons:
        print("\nabsent samples: " + counted(reasons))
    if missing:
        print(f"\nabsent operators ({len(missing)}): {' '.join(missing)}")


def print_verdicts(report, plan, shown):
    groups = collections.defaultdict(list)
    for verdict in report.unlisted:
        groups[verdict.operator, verdict.variant, verdict.dtype, verdict.kind, verdict.outcome].append(verdict)
    for group in groups.values():
        for verdict in group[:shown]:
            print(f"\n{verdict.place()}: {verdict.outcome}: {verdict.detail}")
            print(f"  {verdict.call or '(' + again(verdict, plan, report.subject) + ')'}")
        if len(group) > shown:
            print(f"\n... and {len(group) - shown} more: {again(group[0], plan, report.subject)}")


def again(verdict, plan, subject):
    return f"./dev conformance torch{subject.option} --op {verdict.operator} --dtype {verdict.dtype} --seed {plan.seed} --all"


def as_json(report, missing, stale, plan):
    rows = [{"operator": row.operator, "samples": sum(row.counts.values()), "agreeing": row.counts["agree"],
             "differing": row.counts["differ"], "crashed": row.counts["crashed"], "refused": row.counts["refused"],
             **({"fell_back": row.counts[report.subject.column]} if report.subject.column else {}),
             "absent": row.counts["absent"], "listed": row.listed, **asides_as_json(row, report.subject),
             "absent_because": dict(row.reasons)} for row in report.rows]
    return json.dumps({
        "seed": plan.seed, "dtypes": plan.dtypes, "share": plan.share, "operators": rows,
        "absent_operators": missing,
        "unlisted": [dataclasses.asdict(verdict) for verdict in report.unlisted],
        "listed": [{**dataclasses.asdict(verdict), "reason": entry.reason} for verdict, entry in report.listed],
        "no_longer_differ": [{"operator": operator, "reason": entry.reason} for operator, entry in stale],
        "asides": list(report.aside_lines()),
        **({"fell_back": report.left_line()} if report.subject.column else {}),
        "summary": report.last_line(),
    }, indent=1)


def asides_as_json(row, subject):
    found = {}
    for kind, title in subject.asides.items():
        name = title.replace(" ", "_").removesuffix("=")
        found[name] = judged(row.asides[kind])
        found[f"{name}_{'refused' if subject == FORWARD else 'agreeing'}"] = row.asides[kind]["agree"]
    return found


class Progress:
    """One line on a terminal that changes; nothing in a pipe."""

    def __init__(self, count, stream=sys.stderr):
        self.count, self.done, self.stream = count, 0, stream
        self.on = stream.isatty()

    def show(self, tasks):
        if self.on:
            now = ", ".join(f"{task.name} {len(task.verdicts)}" for task in tasks)
            self.stream.write(f"\r\033[K[{self.done}/{self.count}] {now}"[:110])
            self.stream.flush()

    def clear(self):
        if self.on:
            self.stream.write("\r\033[K")
            self.stream.flush()
