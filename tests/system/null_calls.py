"""Writes a C program's table of calls, one for each function of the headers, with zeros for all arguments.

    null_calls.py OUTPUT HEADER...

So a function that is declared is called, without anybody's having to think of it.
"""
import re
import sys

from declarations import declarations, name_of


def split(arguments):
    """Divides a list of parameters at the commas outside of parentheses."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def type_of(parameter):
    """The type of a parameter, without its name."""
    if "(*" in parameter:
        return re.sub(r"\(\*\w+\)", "(*)", parameter, count=1)
    pointer = re.sub(r"\s*\b\w+\s*\[[^\]]*\]$", " *", parameter)
    if pointer != parameter:
        return pointer
    return re.match(r"(.*?)\w+$", parameter).group(1).strip()


def main():
    calls = []
    for declaration in declarations(sys.argv[2:]):
        name = name_of(declaration)
        match = re.match(rf"(.*?)\b{name}\s*\((.*)\)", declaration, flags=re.DOTALL)
        if not match:
            continue  # data
        arguments = [part for part in split(" ".join(match.group(2).split())) if part not in ("void", "...")]
        call = f"{name}({', '.join(f'({type_of(part)}){{0}}' for part in arguments)})"
        result = " ".join(match.group(1).split())
        calls.append((name, call if result == "void" else f"{result} result = {call}; (void)result"))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for name, call in sorted(set(calls)):
            file.write(f"static void call_{name}(void) {{\n  {call};\n}}\n")
        file.write("\nstatic const struct {\n  const char *name;\n  void (*call)(void);\n} calls[] = {\n")
        for name, _ in sorted(set(calls)):
            file.write(f'    {{"{name}", call_{name}}},\n')
        file.write("};\n")


if __name__ == "__main__":
    main()
