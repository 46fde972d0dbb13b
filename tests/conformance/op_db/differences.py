"""The list of intended differences, differences.toml, checked in both directions.

What differs and is not listed fails the run; so does an entry of which an operator no longer shows anything.
"""
import collections
import dataclasses
import pathlib
import re
import tomllib

LIST = pathlib.Path(__file__).with_name("differences.toml")
FORMS = LIST.with_name("differences_forms.toml")  # of forms in place and with out=
GRADIENTS = LIST.with_name("differences_gradient.toml")  # of gradients; those in form only are in both
COMPILED = LIST.with_name("differences_compile.toml")  # of torch.compile
DEVICE = LIST.with_name("differences_device.toml")  # of PyTorch's device laze
KEYS = {"operators", "dtypes", "kinds", "outcome", "detail", "reason"}


@dataclasses.dataclass
class Entry:
    operators: list  # ["*"]: all
    outcome: str  # of a verdict: differ, refused, fell back
    reason: str
    detail: str = ""  # a pattern that the verdict's detail has to show
    dtypes: list = None  # None: all
    kinds: list = None
    is_carried: bool = False  # from another list, which is the one that says whether it is needed
    shown: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # operator: verdicts

    def covers(self, verdict):
        return ((verdict.operator in self.operators or self.operators == ["*"]) and verdict.outcome == self.outcome and
                (self.dtypes is None or verdict.dtype in self.dtypes) and
                (self.kinds is None or verdict.kind in self.kinds) and bool(re.search(self.detail, verdict.detail)))


class Differences:
    def __init__(self, entries, forms):
        self.entries = entries
        self.forms = forms  # operator: why only dtype and shape of its results are compared

    def only_form(self, operator):
        return operator in self.forms

    def find(self, verdict):
        """The entry that excuses a verdict, which it is shown by; None."""
        found = [entry for entry in self.entries if entry.covers(verdict)]
        for entry in found:
            entry.shown[verdict.operator] += 1
        return found[0] if found else None

    def stale(self, operators, dtypes):
        """(operator, entry) of what nothing shows any more, in a run over all samples of these operators and dtypes."""
        for entry in self.entries:
            if not entry.is_carried and set(entry.dtypes or []) <= set(dtypes):
                yield from ((operator, entry) for operator in entry.operators
                            if operator in operators and not entry.shown[operator])


def read_gradients():
    """The list of gradients; what is random, or refused forward, is so there as well."""
    found, forward = read(GRADIENTS), read(LIST)
    found.forms.update(forward.forms)
    found.entries += [dataclasses.replace(entry, kinds=None, is_carried=True) for entry in forward.entries
                      if entry.outcome == "refused" and (not entry.kinds or "sample" in entry.kinds)]
    return found


def read_forms():
    """The list of forms; what differs in the call itself does so there as well."""
    found, forward = read(FORMS), read(LIST)
    found.forms.update(forward.forms)
    found.entries += [dataclasses.replace(entry, kinds=None, is_carried=True) for entry in forward.entries
                      if not entry.kinds or "sample" in entry.kinds]
    return found


def read_compiled(path=COMPILED):
    """The list of torch.compile; what laze's operators and gradients give otherwise, they do there as well."""
    found, forward = read(path), read(LIST)
    found.forms.update(forward.forms)
    for entries, kind in ((forward.entries, "sample"), (read(GRADIENTS).entries, "gradient")):
        found.entries += [dataclasses.replace(entry, kinds=[kind], is_carried=True) for entry in entries
                          if entry.outcome == "differ" and (not entry.kinds or kind in entry.kinds)]
    return found


def read_device():
    return read_compiled(DEVICE)


def read(path=LIST):
    data = tomllib.loads(pathlib.Path(path).read_text())
    entries, forms = [], {}
    for number, table in enumerate(data.get("difference", []), 1):
        unknown = set(table) - KEYS
        if unknown or not {"operators", "outcome", "reason"} <= set(table):
            raise ValueError(f"{path}: entry {number} has {sorted(table)}; it needs operators, outcome, reason and may "
                             f"have dtypes, kinds, detail")
        entries.append(Entry(**table))
    for table in data.get("form", []):
        forms.update(dict.fromkeys(table["operators"], table["reason"]))
    return Differences(entries, forms)
