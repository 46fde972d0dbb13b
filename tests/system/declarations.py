"""Reads what headers declare."""
import re


def declarations(paths):
    """The text between LAZE_API and the end of each declaration, without comments and macros."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        found += [found.replace("LAZE_MUST_USE", "").strip() for found in re.findall(r"\bLAZE_API\b([^;{]*)", text)]
    return found


def name_of(declaration):
    return re.search(r"(\w+)\s*(?:\(|\[|$)", declaration).group(1)
