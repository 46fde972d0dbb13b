"""Whatever is passed to whatever function, the answer is a result or an exception that says so: calls drawn at random.

LAZE_TEST_SEED draws others, LAZE_TEST_FACTOR more of them; LAZE_TEST_TRACE=1 shows each before it is made, for one that
ends the process."""
import gc
import os
import random
import sys
import unittest

import laze

CALLS = 3000
MOST_ELEMENTS = 1000  # of a result that is read: others stay what they are, recorded


class Own(Exception):
    """What an argument raises goes through."""


class Raises:
    def __index__(self):
        raise Own

    def __float__(self):
        raise Own

    def __len__(self):
        raise Own

    def __iter__(self):
        raise Own

    def __repr__(self):
        raise Own


class Lies:
    """Says that it has more items than it gives."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        if index < 2:
            return index
        raise IndexError

    def __index__(self):
        return 2**70

    def __repr__(self):
        return "Lies()"


class Shrinks(list):
    """Loses its items while they are looked at."""

    def __getitem__(self, index):
        item = list.__getitem__(self, index)
        self.clear()
        return item

    def __iter__(self):
        while self:
            yield self.pop()


def endless():
    nest = [1]
    nest.append(nest)
    return nest


def deep():
    nest = [1]
    for _ in range(200):
        nest = [nest]
    return nest


def setting(name):
    return int(os.environ.get(name, 1))


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        x = laze.arange(6, dtype=laze.float32).reshape(2, 3)
        self.tensors = [x, x.t(), x.to(laze.int64), x > 2, laze.zeros(0, 3), laze.tensor(2), laze.tensor([0, 1]),
                        x.to(laze.float16), x.to(laze.complex64), laze.ones(2, 2, 3, 3), laze.tensor([-5], dtype=laze.int8),
                        laze.tensor([True, False]), x.to(laze.uint8)]
        self.held = [[1, 2], (3, 4), {"a": 1}, "held", Lies(), b"held"]  # whose references are counted

    def tensor(self):
        return self.random.choice(self.tensors)

    def odd(self):
        of = self.random
        return of.choice([
            lambda: 2**of.randrange(130) * of.choice([1, -1]), lambda: of.choice([0.5, -0.0, float("nan"), float("inf"), 1e300]),
            lambda: complex(of.randrange(3), float("nan")), lambda: of.choice(["", "mean", "sum", "\0", "\ud800", "none" * 999]),
            lambda: None, lambda: Ellipsis, lambda: slice(of.randrange(-3, 3), None, of.randrange(-2, 3)), lambda: b"\xff",
            lambda: {of.randrange(3): 1}, lambda: {1, 2}, lambda: (i for i in range(3)), lambda: range(of.randrange(5)),
            endless, deep, Raises, Lies, lambda: Shrinks([1, 2, 3]), lambda: int, lambda: len, lambda: memoryview(b"12345678"),
            lambda: of.choice(self.held), lambda: laze.float64, lambda: laze, lambda: [None, [1], "x"],
            lambda: [self.tensor(), of.randrange(4)], lambda: NotImplemented])()

    def value(self):
        of = self.random
        return of.choice([self.tensor, self.tensor, self.tensor, lambda: of.randrange(-2, 4), lambda: of.random(),
                          lambda: of.random() < 0.5, lambda: [of.randrange(3) for _ in range(of.randrange(4))],
                          lambda: [self.tensor() for _ in range(of.randrange(3))],
                          lambda: of.choice([laze.float32, laze.int64, laze.bfloat16, laze.bool]), lambda: None, self.odd])()

    def fitting(self, kind):
        """A value of a schema's type, most of the time."""
        of = self.random
        if of.random() < 0.1:
            return self.value()
        if kind.endswith("?"):
            return None if of.random() < 0.3 else self.fitting(kind[:-1])
        if "[" in kind:
            return [self.fitting(kind[:kind.index("[")]) for _ in range(of.randrange(1, 4))]
        return {"Tensor": self.tensor, "Scalar": lambda: of.choice([2, 0.5, True, -1]), "float": of.random,
                "int": lambda: of.randrange(-2, 4), "SymInt": lambda: of.randrange(-1, 4), "bool": lambda: of.random() < 0.5,
                "ScalarType": lambda: of.choice([laze.float32, laze.int64, laze.bfloat16, laze.bool]),
                "str": lambda: of.choice(["mean", "sum", "none", "ij"])}.get(kind, self.value)()

    def fitting_arguments(self, schema):
        """As the schema says, in order up to its star, and by name behind it."""
        positional, keywords, named = [], {}, False
        for word in schema[schema.index("(") + 1:schema.rindex(") ->")].split(", "):
            if word == "*" or " " not in word or ("=" in word and self.random.random() < 0.5):
                named = True
                continue
            kind, name = word.split("=")[0].replace("(a)", "").split(" ")[:2]
            if named:
                keywords[name] = self.fitting(kind)
            else:
                positional.append(self.fitting(kind))
        return positional, keywords

    def arguments(self, names, schemas):
        of = self.random
        keywords = {}
        if of.random() < 0.6:
            return self.fitting_arguments(of.choice(schemas))
        for name in of.sample(names, min(len(names), of.randrange(3))):
            keywords[name] = self.value()
        if of.random() < 0.03:
            keywords[of.choice(["nothing", "self", "out", "x" * 500, "d\u00ef"])] = self.value()
        return [self.value() for _ in range(of.randrange(5))], keywords


def shown(function, arguments, keywords):
    try:
        return f"{function}{tuple(arguments)!a}, {keywords!a}"[:500]
    except (Own, laze.Error):  # of what an argument has pending
        return f"{function}(...)"


class Arguments(unittest.TestCase):
    def read(self, result):
        if isinstance(result, laze.Tensor):
            # As lists, the empty rows of a tensor without elements are many, too.
            if all(isinstance(size, int) and size <= MOST_ELEMENTS for size in result.shape) and \
                    result.numel() <= MOST_ELEMENTS:
                result.tolist()
        elif isinstance(result, (tuple, list)):
            for item in result:
                self.read(item)

    def attempt(self, name, owner, arguments, keywords):
        try:
            function = getattr(owner, name)
            self.read(function(*arguments, **keywords) if callable(function) else function)
        except (laze.Error, Own) as error:
            is_answer = isinstance(error, Own) or str(error) and not isinstance(error, laze.InternalError)
            if not is_answer:
                self.fail(f"{shown(name, arguments, keywords)}: {error!r}")
            return False
        except Exception as error:
            raise AssertionError(f"{shown(name, arguments, keywords)} raises {error!r}, which is no laze.Error") from error
        return True

    def test_calls_drawn_at_random_are_answered(self):
        seed = setting("LAZE_TEST_SEED")
        calls = CALLS * setting("LAZE_TEST_FACTOR") // setting("LAZE_TEST_PART")
        operators = sorted(name for name, value in vars(laze).items() if isinstance(value, laze.Operator))
        names = {name: sorted({word.strip(" *").split("=")[0].split(" ")[-1] for schema in getattr(laze, name).schemas
                               for word in schema[schema.index("(") + 1:schema.rindex(") ->")].split(",")} - {""})
                 for name in operators}
        methods = sorted(name for name in names if isinstance(getattr(laze.Tensor, name, None), laze.Operator))
        draw, done = Draw(seed), 0
        before = [sys.getrefcount(item) for item in draw.held]
        for number in range(calls):
            draw.random.seed(seed * 1000003 + number)
            is_method = draw.random.random() < 0.4
            name = draw.random.choice(methods if is_method else operators)
            arguments, keywords = draw.arguments(names[name], getattr(laze, name).schemas)
            if os.environ.get("LAZE_TEST_TRACE"):
                print(number, is_method, shown(name, arguments, keywords), file=sys.stderr, flush=True)
            owner = laze
            if is_method:
                owner = arguments.pop(0) if arguments and isinstance(arguments[0], laze.Tensor) else draw.tensor()
            with self.subTest(seed=seed, number=number):
                done += self.attempt(name, owner, arguments, keywords)
            del arguments, keywords
        gc.collect()
        self.assertEqual([sys.getrefcount(item) for item in draw.held], before, "a call kept what it was given")
        self.assertGreater(done, calls // 50)  # calls that all are refused would show nothing
        print(f"seed {seed}: {calls} calls, of which {done} were computed")

    def test_a_complex_number_wherever_a_number_may_stand(self):
        """One that an operator hands on to itself, as if it were a complex tensor, would never come to an end."""
        wanted = {"Tensor[]": lambda x: [x, x], "Tensor": lambda x: x, "Scalar": lambda x: 1, "int[": lambda x: [0],
                  "SymInt[": lambda x: [0], "int": lambda x: 0, "SymInt": lambda x: 0, "bool": lambda x: False,
                  "float": lambda x: 0.5, "str": lambda x: "sum"}
        answered = 0
        for name, operator in sorted(vars(laze).items()):
            for schema in operator.schemas if isinstance(operator, laze.Operator) else ():
                listed = schema[schema.index("(") + 1:schema.rindex(") ->")].split(", ")
                parts = [(part.split(" ")[0], part.split(" ")[-1]) for part in listed if part not in ("", "*")]
                for kind, number in parts:
                    if not kind.startswith("Scalar"):
                        continue
                    for dtype in (laze.float32, laze.complex64, laze.int64, laze.bfloat16):
                        given = {word: next((make(laze.ones(2, 3, dtype=dtype)) for start, make in wanted.items()
                                             if other.startswith(start)), None)
                                 for other, word in parts if "=" not in word}
                        given[number.split("=")[0]] = 1j
                        with self.subTest(name=name, number=number, dtype=dtype):
                            answered += self.attempt(name, laze, [], given)
        self.assertGreater(answered, 100)


if __name__ == "__main__":
    unittest.main()
