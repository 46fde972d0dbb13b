"""Judges the Python package `laze` by op_db, the operator samples that PyTorch carries along for its own tests.

  ./dev conformance torch [--grad | --forms] [--op NAME] [--dtype D] [--seed N] [--share S] [--all] [--json]
  ./dev coverage [--json]

conformance calls each sample in both and compares, with --grad the gradients of its inputs, with --forms what its forms
in place and with out= give; coverage says which operators of PyTorch the library has.
"""
import argparse
import os
import sys

import coverage
import differences
import peer
import report
import worker
from forms import FormsJudge
from gradient import GradientJudge
from judge import Judge, Plan
from library import Library


def open_package():
    import laze  # after the fork: its threads and caches are the child's own
    return Library(laze)


def parse():
    parser = argparse.ArgumentParser(prog="./dev", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    covering = commands.add_parser("coverage")
    covering.add_argument("--json", action="store_true", help="print it for programs")
    judging = commands.add_parser("torch")
    judging.add_argument("--grad", action="store_true", help="judge gradients, of the first and the second order, and forward mode")
    judging.add_argument("--forms", action="store_true", help="judge forms in place, and with out=")
    judging.add_argument("--op", action="append", metavar="NAME", help="this operator of op_db only (may be repeated)")
    judging.add_argument("--dtype", action="append", choices=peer.DTYPES, metavar="D",
                         help=f"samples of this dtype only: {' '.join(peer.DTYPES)} (may be repeated)")
    judging.add_argument("--seed", type=int, default=0, metavar="N", help="what samples are drawn from")
    judging.add_argument("--share", type=float, default=1.0, metavar="S", help="judge this share of the samples, drawn")
    judging.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time")
    judging.add_argument("--all", action="store_true", help="print every sample that does not agree")
    judging.add_argument("--json", action="store_true", help="print it for programs")
    return parser.parse_args()


def chosen_operators(library, wanted):
    """({name: [OpInfo]} of what the library has, names that it does not have)."""
    operators = peer.operators()
    unknown = set(wanted or []) - set(operators)
    if unknown:
        sys.exit(f"op_db has no operator {', '.join(sorted(unknown))}")
    chosen = {name: infos for name, infos in operators.items() if not wanted or name in wanted}
    there = {name: infos for name, infos in chosen.items() if coverage.has(library, infos)}
    return there, sorted(set(chosen) - set(there))


def has_forms(info):
    return info.inplace_variant or info.supports_out


def has_gradient(info):
    return info.supports_autograd


def judge(options):
    kind, subject, read, wanted = Judge, report.FORWARD, differences.read, None
    if options.grad:
        kind, subject, read, wanted = GradientJudge, report.GRADIENT, differences.read_gradients, has_gradient
    if options.forms:
        kind, subject, read, wanted = FormsJudge, report.FORMS, differences.read_forms, has_forms
    known = read()
    plan = Plan(options.dtype or peer.DTYPES, options.seed, options.share)
    operators, missing = chosen_operators(open_package(), options.op)
    if wanted:
        operators = {name: infos for name, infos in operators.items() if any(map(wanted, infos))}
    result, progress = report.Report(known, subject), report.Progress(len(operators))
    if not options.json:
        print(report.head(subject))
    judged = worker.run(operators, lambda: kind(open_package(), known, plan), options.jobs, progress.show,
                        together=1 if options.share >= 0.1 else 8)
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
