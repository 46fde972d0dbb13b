#!/usr/bin/env python3
"""Rejects two expressions that both emit into a kernel side by side in one call or one initialiser.

usage: check_emission_order.py SOURCE_ROOT

C leaves the order of arguments, and of what an initialiser lists, to the compiler: the same graph would give another
kernel, and another key in a cache on disk, where laze was built by another compiler. Exit status 1 lists each.
"""
import pathlib
import re
import sys

# A function that emits takes what it emits into by a pointer that is not to const, and gives the number of a value.
EMITTER = re.compile(r"^(?:static )?int32_t (\w+)\((?:laze_loop_kernel|laze_loop_emitter|\w+_emitter) \*", re.MULTILINE)
NO_CODE = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
OPENING = re.compile(r"(\w*)\s*([({])")
STATEMENTS = {"if", "for", "while", "switch", "return", "sizeof"}


def items(code, start):
    """What stands between commas behind an opening bracket up to its closing one; of a block of statements, nothing."""
    depth, begin, found = 0, start + 1, []
    for at in range(start, len(code)):
        letter = code[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return found + [code[begin:at]]
        elif letter == "," and depth == 1:
            found.append(code[begin:at])
            begin = at + 1
        elif letter == ";" and depth == 1:
            return []
    return []


def faults(code, emits):
    """Lines in which two neighbours emit."""
    code = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    for match in OPENING.finditer(code):
        name, bracket = match.groups()
        if name in STATEMENTS or (bracket == "{" and name):
            continue
        if sum(bool(emits.search(item)) for item in items(code, match.end() - 1)) > 1:
            yield code.count("\n", 0, match.start(2)) + 1


def check_itself(emits):
    """The check sees what it is for, and nothing in what is in order."""
    bad = "  int32_t v[2] = {\n    emit(e, 1), emit(e, 2)};\n  use(k,\n emit(e,\n 1), 2, emit(e, 3));\n"
    good = "void f(int a, int b) {\n  v[0] = emit(e, 1), v[1] = emit(e, emit(e, 2));\n  emit(e, 3);\n}\n"
    assert list(faults(bad, emits)) == [1, 3], list(faults(bad, emits))
    assert list(faults(good, emits)) == [], list(faults(good, emits))


def main():
    root = pathlib.Path(sys.argv[1])
    check_itself(re.compile(r"\bemit\("))
    texts = {path: path.read_text() for folder in ("schedule", "loop")
             for path in sorted((root / "codegen" / folder).glob("*.[ch]"))}
    names = sorted({name for text in texts.values() for name in EMITTER.findall(text)})
    assert "laze_loop_index" in names and len(names) > 20, names
    emits = re.compile(r"\b(?:" + "|".join(names) + r")\(")
    found = [f"{path.relative_to(root)}:{line}: two neighbours emit: give each a statement of its own, in order"
             for path, text in texts.items() for line in faults(text, emits)]
    print("\n".join(found) if found else f"{len(texts)} files, {len(names)} functions that emit: in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
