"""Which of PyTorch's operators the library has: overloads of core ATen by their whole name, names of op_db by the
function of ATen that their samples call.

The library's operators are read from the library; PyTorch's from PyTorch.
"""
import collections
import json
import re
import textwrap

import peer


def has(library, infos):
    """Whether the library has an operator of op_db, as a function, a method or a property."""
    return any(library.has(info.name if info.name.startswith("__") else peer.aten_name(info)) for info in infos)


def family(name):
    """What an operator of op_db is grouped under: "linalg" of "linalg.norm"."""
    return "torch" if name.startswith("torch.") else name.rpartition(".")[0] or "torch"


def argument_names(schema):
    """Names of a schema's arguments: ["self", "dim"] of "f(Tensor self, int dim=0) -> Tensor"."""
    inside = schema.partition("(")[2].rpartition(") ->")[0]
    return re.findall(r"(\w+)(?:=[^,]*)?(?:,|$)", re.sub(r"\[[^\]]*\]|\(\w!?\)|\"[^\"]*\"", "", inside))


PLACES = {"layout", "device", "pin_memory", "memory_format", "out", "generator"}  # there is one place here


def left_out(own, schema):
    """Arguments of an overload that the library's operator of the same name does not have."""
    names = argument_names(own)
    return [argument.name for argument in schema.arguments if argument.name not in names and argument.name not in PLACES]


def without_out(name):
    """"add.Tensor" of "add.Tensor_out", "atan2" of "atan2.out"."""
    return name.removesuffix("_out").removesuffix(".out") if name.endswith(("_out", ".out")) else ""


def measure_forms(library, own):
    """Of operators that the library has, which forms PyTorch has: (in place, out) and what is missing of them, and what
    only the library has."""
    in_place, out = peer.forms()
    bases = {name.partition(".")[0] for name in own}
    wanted = [name for name in in_place if name.partition(".")[0][:-1] in bases]
    given = [name for name in out if name in own]
    return {
        "in_place": [name for name in wanted if name in own],
        "in_place_missing": [name for name in wanted if name not in own],
        "in_place_only_here": [name for name in own if name.partition(".")[0].endswith("_") and name not in in_place],
        "out": [name for name in given if library.takes_out(name)],
        "out_missing": [name for name in given if not library.takes_out(name)],
        "out_only_here": [name for name in own if name not in out and library.takes_out(name)],
    }


def measure(library):
    own, core, operators = library.schemas(), peer.core_overloads(), peer.operators()
    there = [name for name in core if name in own or library.takes_out(without_out(name))]
    return {
        **measure_forms(library, own),
        "core": there,
        "core_missing": [name for name in core if name not in there],
        "core_arguments_missing": {name: missing for name, schema in core.items()
                                   if name in own and (missing := left_out(own[name], schema))},
        "op_db": [name for name in sorted(operators) if has(library, operators[name])],
        "op_db_missing": [name for name in sorted(operators) if not has(library, operators[name])],
    }


def print_names(names):
    print(textwrap.fill(" ".join(names), 110, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False,
                        break_long_words=False))


def print_page(found):
    print("core ATen, missing:")
    overloads = collections.defaultdict(list)
    for name in found["core_missing"]:
        base, _, overload = name.partition(".")
        overloads[base].append(overload)
    print_names([base if rest == [""] else f"{base}.{'|'.join(filter(None, rest))}" for base, rest in overloads.items()])
    print("core ATen, there without some arguments:")
    for name, missing in found["core_arguments_missing"].items():
        print(f"  {name}: {', '.join(missing)}")
    print("in place, missing:")
    print_names(found["in_place_missing"])
    print("out=, missing:")
    print_names(found["out_missing"])
    families = collections.defaultdict(list)
    for name in found["op_db_missing"]:
        families[family(name)].append(name.removeprefix(f"{family(name)}."))
    for name, members in families.items():
        print(f"op_db, missing in {name} ({len(members)}):")
        print_names(members)


def main(library, as_json):
    found = measure(library)
    if as_json:
        print(json.dumps(found, indent=1))
        return 0
    print_page(found)
    print(f"only here: {len(found['in_place_only_here'])} in place, {len(found['out_only_here'])} with out=")
    for title in ("in_place", "out", "core", "op_db"):
        print(f"{title} {len(found[title])}/{len(found[title]) + len(found[title + '_missing'])}")
    return 0
