"""Judges the Python package `laze`, and its plugin for PyTorch, by op_db, the operator samples that PyTorch carries along for its own tests.

  ./dev conformance torch [--grad | --forms | --compile | --device] [--op NAME] [--dtype D] [--seed N] [--share S] [--all] [--json]
  ./dev coverage [--json]

conformance calls each sample in both and compares, with --grad the gradients of its inputs, with --forms what its forms
in place and with out= give, with --compile what torch.compile(backend="laze") makes of them beside eager PyTorch, forward
and gradients, with --device what tensors of device laze give; coverage says which operators of PyTorch the library has.
"""
import argparse
import dataclasses
import os
import sys
import typing

import compiled
import coverage
import differences
import peer
import report
import worker
from compiled import CompileJudge
from device import DeviceJudge
from forms import FormsJudge
from gradient import GradientJudge
from judge import Judge, Plan
from library import Library


def open_package():
    import laze  # after the fork: its threads and caches are the child's own
    return Library(laze)


def open_plugin():
    import laze_torch
    laze_torch._kept.key_of = lambda nodes, facts: None  # what is judged is lowered here, whatever a run before has kept
    return laze_torch


def parse():
    parser = argparse.ArgumentParser(prog="./dev", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    covering = commands.add_parser("coverage")
    covering.add_argument("--json", action="store_true", help="print it for programs")
    judging = commands.add_parser("torch")
    judging.add_argument("--grad", action="store_true", help="judge gradients, of the first and the second order, and forward mode")
    judging.add_argument("--forms", action="store_true", help="judge forms in place, and with out=")
    judging.add_argument("--compile", action="store_true", help="judge torch.compile with the backend laze")
    judging.add_argument("--device", action="store_true", help="judge tensors of PyTorch's device laze")
    judging.add_argument("--op", action="append", metavar="NAME", help="this operator of op_db only (may be repeated)")
    judging.add_argument("--dtype", action="append", choices=peer.DTYPES, metavar="D",
                         help=f"samples of this dtype only: {' '.join(peer.DTYPES)} (may be repeated); otherwise all, "
                         f"and with --compile and --device {' '.join(compiled.DTYPES)}")
    judging.add_argument("--seed", type=int, default=0, metavar="N", help="what samples are drawn from")
    judging.add_argument("--share", type=float, default=1.0, metavar="S", help="judge this share of the samples, drawn")
    judging.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time")
    judging.add_argument("--all", action="store_true", help="print every sample that does not agree")
    judging.add_argument("--json", action="store_true", help="print it for programs")
    return parser.parse_args()


def chosen_operators(options, way):
    """({name: [OpInfo]} of what there is to judge, names that the library does not have)."""
    operators = peer.operators()
    unknown = set(options.op or []) - set(operators)
    if unknown:
        sys.exit(f"op_db has no operator {', '.join(sorted(unknown))}")
    chosen = {name: infos for name, infos in operators.items() if not options.op or name in options.op}
    library = open_package()
    there = {name: infos for name, infos in chosen.items() if way.is_whole or coverage.has(library, infos)}
    return ({name: infos for name, infos in there.items() if any(map(way.wanted, infos))},
            sorted(set(chosen) - set(there)))


@dataclasses.dataclass
class Way:
    """A way to judge: by whom, what is said of it, the list of differences."""
    judge: type
    subject: report.Subject
    read: typing.Callable
    wanted: typing.Callable = lambda info: True  # operators that it is for
    dtypes: typing.Sequence = tuple(peer.DTYPES)
    is_whole: bool = False  # all of PyTorch's operators, whether the library has them or not
    prepare: typing.Callable = lambda: None  # before there are children
    open: typing.Callable = open_package


WAYS = {
    "grad": Way(GradientJudge, report.GRADIENT, differences.read_gradients, lambda info: info.supports_autograd),
    "forms": Way(FormsJudge, report.FORMS, differences.read_forms,
                 lambda info: info.inplace_variant or info.supports_out),
    "compile": Way(CompileJudge, report.COMPILED, differences.read_compiled, dtypes=compiled.DTYPES, is_whole=True,
                   prepare=compiled.prepare, open=open_plugin),
    "device": Way(DeviceJudge, report.DEVICE, differences.read_device, dtypes=compiled.DTYPES, is_whole=True,
                  open=open_plugin),
}


def judge(options):
    way = next((way for name, way in WAYS.items() if getattr(options, name)),
               Way(Judge, report.FORWARD, differences.read))
    known, subject = way.read(), way.subject
    plan = Plan(options.dtype or way.dtypes, options.seed, options.share)
    operators, missing = chosen_operators(options, way)
    way.prepare()
    result, progress = report.Report(known, subject), report.Progress(len(operators))
    if not options.json:
        print(report.head(subject))
    judged = worker.run(operators, lambda: way.judge(way.open(), known, plan), options.jobs, progress.show,
                        together=1 if options.share >= 0.1 else 8 if options.share >= 0.01 else 64)
    for name, verdicts in judged:
        row = result.add(name, verdicts)
        progress.done += 1
        progress.clear()
        if not options.json:
            print(report.line(row, subject), flush=True)
    progress.clear()
    stale = list(known.stale(operators, plan.dtypes)) if options.share >= 1 else []
    if options.json:
        print(report.as_json(result, missing, stale, plan))
    else:
        report.print_end(result, missing, stale, plan, options.all)
    return 1 if result.unlisted or stale else 0


def main():
    options = parse()
    if options.command == "coverage":
        return coverage.main(open_package(), options.json)
    return judge(options)


if __name__ == "__main__":
    sys.exit(main())
