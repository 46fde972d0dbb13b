"""Small changes of C text: what a slip of the hand, or of the mind, could have written instead.

A change replaces one range of a file. The text is only split into tokens, not parsed: what is no C afterwards, or the
same machine code, is drawn again by the caller.
"""
import bisect
import collections
import re

Token = collections.namedtuple("Token", "kind text start end")
Mutation = collections.namedtuple("Mutation", "kind start end new")

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
  |(?P<directive>^[ \t]*\#(?:[^\\\n]|\\.|\\\n)*)
  |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  |(?P<number>(?:0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?|\.?\d(?:[eE][+-]|[\w.])*)[uUlLfF]*)
  |(?P<name>[A-Za-z_]\w*)
  |(?P<operator><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])""",
    re.VERBOSE | re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+[ \t]+\(?(\d+)\)?[ \t]*(?:/\*|//|$)")

# What each operator is mistaken for. `*` and `&` have two meanings; the wrong one does not compile.
OTHER_OPERATORS = {
    "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="], "==": ["!="], "!=": ["=="],
    "+": ["-"], "-": ["+"], "*": ["/", "+"], "/": ["*"], "%": ["/"], "&&": ["||"], "||": ["&&"],
    "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"], "++": ["--"], "--": ["++"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "|=": ["&="], "&=": ["|="], "<<=": [">>="], ">>=": ["<<="],
}
COMPARISONS = {"<", "<=", ">", ">="}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
KEYWORDS = {"if", "for", "while", "do", "switch", "return", "sizeof", "else", "case", "default", "break", "continue",
            "goto", "_Alignof", "_Static_assert", "typedef", "struct", "enum", "union", "static", "const",
            "__attribute__"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


def tokenize(text):
    """Tokens without comments and directives, and the integers that #define lines name."""
    tokens, defined = [], []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "directive":
            number = DEFINITION.match(match.group())
            if number:
                start = match.start() + number.start(1)
                defined.append(Token("number", number.group(1), start, start + len(number.group(1))))
        elif kind != "comment":
            tokens.append(Token(kind, match.group(), match.start(), match.end()))
    return tokens, defined


class Source:
    """The tokens of a file, their brackets matched, and its functions."""

    def __init__(self, text):
        self.text = text
        self.tokens, self.defined = tokenize(text)
        self.partner = self._match_brackets()
        self.functions = self._find_functions()

    def _match_brackets(self):
        partner, open_brackets = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in CLOSING and token.kind == "operator":
                open_brackets.append(i)
            elif token.text in CLOSING.values() and token.kind == "operator" and open_brackets:
                partner[open_brackets[-1]] = i
                partner[i] = open_brackets.pop()
        return partner

    def _find_functions(self):
        """(first token of the body, last, words of the result's type)"""
        functions, i, start = [], 0, 0
        while i < len(self.tokens):
            text = self.tokens[i].text
            if text in CLOSING and i in self.partner:
                end = self.partner[i]
                if text == "{" and self.tokens[i - 1].text == ")":
                    name = self.partner.get(i - 1, i) - 1
                    functions.append((i, end, [t.text for t in self.tokens[start:name]]))
                i = end
                if text == "{":
                    start = end + 1
            elif text == ";":
                start = i + 1
            i += 1
        return functions

    def between(self, first, last):
        """The text from one token to another, both included."""
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def replace(self, kind, first, last, new):
        return Mutation(kind, self.tokens[first].start, self.tokens[last].end, new)

    def end_of(self, i, stops):
        """The first token from i on that is one of `stops`, outside brackets opened on the way."""
        while i < len(self.tokens) and self.tokens[i].text not in stops:
            i = self.partner[i] + 1 if self.tokens[i].text in CLOSING and i in self.partner else i + 1
        return i

    def starts_statement(self, i):
        return self.tokens[i - 1].text in (";", "{", "}")

    def statements(self):
        """(first token, semicolon, words of the function's type) of what ends with a semicolon, not in a for's head."""
        for first, last, result in self.functions:
            for i in range(first + 1, last):
                before = self.tokens[i - 1].text
                if not (self.starts_statement(i) or before in (")", "else")) or self.tokens[i].text in ("{", "}", ";"):
                    continue
                end = self.end_of(i, (";", "}", ")"))
                if end < last and self.tokens[end].text == ";":
                    yield i, end, result


def operators(source):
    for i, token in enumerate(source.tokens):
        for other in OTHER_OPERATORS.get(token.text, []) if token.kind == "operator" else []:
            yield source.replace("operator", i, i, other)
        if token.text == "!":
            yield source.replace("operator", i, i, "")


def constants(source):
    for token in source.tokens + source.defined:
        for new in other_constants(token):
            yield Mutation("constant", token.start, token.end, new)


def other_constants(token):
    if token.text in ("true", "false"):
        return ["false" if token.text == "true" else "true"]
    if token.kind != "number":
        return []
    integer = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", token.text)
    if not integer:
        return [f"(2 * {token.text})", f"(-{token.text})"]
    digits, suffix = integer.groups()
    value = int(digits, 16 if digits[:2] in ("0x", "0X") else 8 if len(digits) > 1 and digits[0] == "0" else 10)
    return [f"{other}{suffix}" for other in sorted({value + 1, value - 1, 0, value // 16} - {value}) if other >= 0]


def conditions(source):
    """if and while turned around or decided in advance, the sides of ?: exchanged, a truth value returned negated."""
    for i, token in enumerate(source.tokens):
        if token.text in ("if", "while") and i + 1 in source.partner:
            close = source.partner[i + 1]
            condition = source.between(i + 2, close - 1)
            decided = [f"false && ({condition})", f"true || ({condition})"] if token.text == "if" else []
            for new in [f"!({condition})"] + decided:
                yield source.replace("condition", i + 2, close - 1, new)
        if token.text == "?" and token.kind == "operator":
            colon = source.end_of(i + 1, (":", ";", ")", "?"))
            end = source.end_of(colon + 1, (":", ";", ")", ",", "}", "]", "?"))
            if end < len(source.tokens) and source.tokens[colon].text == ":" and source.tokens[end].text != "?":
                new = f"{source.between(colon + 1, end - 1)} : {source.between(i + 1, colon - 1)}"
                yield source.replace("condition", i + 1, end - 1, new)
    for i, end, result in source.statements():
        if source.tokens[i].text == "return" and end > i + 1 and "bool" in result and "*" not in result:
            yield source.replace("condition", i + 1, end - 1, f"!({source.between(i + 1, end - 1)})")


def dropped_statements(source):
    """Calls whose result nobody takes, assignments, break and continue."""
    for i, end, _ in source.statements():
        texts = [token.text for token in source.tokens[i:end]]
        if texts in (["break"], ["continue"]):
            yield source.replace("dropped", i, end, "{}")
            continue
        if texts[0] in KEYWORDS or source.tokens[i].kind != "name" and texts[0] not in ("(", "*", "++", "--"):
            continue
        declares = len(texts) > 1 and source.tokens[i + 1].kind == "name" or texts[1:2] == ["*"]
        assigns = source.end_of(i, ASSIGNMENTS | {";"}) < end
        if not declares and (assigns or "(" in texts or texts[-1] in ("++", "--")):
            yield source.replace("dropped", i, end, "{}")


def swapped_arguments(source):
    for first, last, _ in source.functions:
        for i in range(first, last):
            called = source.tokens[i].kind == "name" and source.tokens[i].text not in KEYWORDS
            if not called or source.tokens[i + 1].text != "(" or i + 1 not in source.partner:
                continue
            arguments, start, close = [], i + 2, source.partner[i + 1]
            while start < close:
                end = min(source.end_of(start, (",",)), close)
                arguments.append((start, end - 1))
                start = end + 1
            for (a, b), (c, d) in zip(arguments, arguments[1:]):
                if a <= b and c <= d and source.between(a, b) != source.between(c, d):
                    yield source.replace("arguments", a, d, f"{source.between(c, d)}, {source.between(a, b)}")


def early_returns(source):
    for i, _, result in source.statements():
        if source.starts_statement(i) and source.tokens[i].text != "return":
            for value in results_of(result):
                yield Mutation("return", source.tokens[i].start, source.tokens[i].start, f"if (true) return{value}; ")


def results_of(words):
    if "*" in words:
        return [" NULL"]
    if "void" in words:
        return [""]
    if "bool" in words:
        return [" true", " false"]
    return [" LAZE_OK"] if "laze_status" in words else [" 0"]


def limits(source):
    """The limit of a comparison, one higher or lower."""
    for i, token in enumerate(source.tokens):
        if token.kind == "operator" and token.text in COMPARISONS:
            for new in (" 1 +", " -1 +"):
                yield Mutation("limit", token.end, token.end, new)


KINDS = [operators, constants, conditions, dropped_statements, swapped_arguments, early_returns, limits]


def all_mutations(text):
    """{kind: mutations in the order of the text}; kinds without any are left out."""
    source, found = Source(text), {}
    for kind in KINDS:
        for mutation in kind(source):
            found.setdefault(mutation.kind, []).append(mutation)
    return {kind: sorted(mutations) for kind, mutations in sorted(found.items())}


def apply(text, mutation):
    return text[:mutation.start] + mutation.new + text[mutation.end:]


def line_of(text, position):
    starts = [match.end() for match in re.finditer(r"\n", text)]
    return bisect.bisect_right(starts, position) + 1


def code_lines(text):
    """Lines that hold more than comments: what a file weighs."""
    return len({text.count("\n", 0, token.start) for token in tokenize(text)[0][::3]})
