"""Random programs of views, writes in place, hooks and backward passes, run by PyTorch and by laze side by side.

    PYTHONPATH=build/plugins/python python tests/conformance/gradient_programs.py [--seconds 20] [--seed 1] [--count N]

A program is a list of statements over tensors t0, t1, ... and a module m, which is torch or laze. After each, both have
raised or neither, and what it made is equal; at the end so are all values and gradients, and what hooks have seen. The
first program that differs is made as short as possible and printed. Statements that PyTorch refuses and laze need not
(REFUSED) end a program.
"""
import argparse
import random
import sys
import time
import warnings

import torch

import laze

# What laze computes, with the right gradients: histories of views are recorded again, whichever call gave them, results
# that were kept have the value that they had, and what is written is what was read before.
REFUSED = ("multiple views", "no_grad mode", "modified by an inplace operation", "refer to a single memory location")
STRICTER = ("several elements of the tensor are one place of memory",)  # PyTorch lets fill_ and zero_ write to these
TOLERANCE = 1e-9


def is_leaf(tensor):
    """False of a view that PyTorch does not look at any more (REFUSED)."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return False


class Maker:
    """Draws statements; shapes of tensors are those that the program has in PyTorch."""

    def __init__(self, rng):
        self.rng = rng
        self.count = 0

    def name(self):
        self.count += 1
        return f"t{self.count - 1}"

    def numbers(self, shape):
        if not shape:
            return repr(round(self.rng.uniform(-2, 2), 2))
        return "[" + ", ".join(self.numbers(shape[1:]) for _ in range(shape[0])) + "]"

    def leaf(self, _):
        shape = self.rng.choice([(3,), (4,), (2, 3), (3, 2), (2, 2, 2), ()])
        requires = self.rng.random() < 0.7
        return f"{self.name()} = m.tensor({self.numbers(shape)}, dtype=m.float64, requires_grad={requires})"

    def pick(self, tensors):
        names = list(tensors)
        return self.rng.choice(names[-6:] if self.rng.random() < 0.7 else names)

    def like(self, tensors, name):
        """Another tensor that broadcasts to it, or a number."""
        shape = tensors[name].shape
        fitting = [other for other, tensor in tensors.items()
                   if tensor.dim() <= len(shape) and all(a in (1, b) for a, b in zip(tensor.shape[::-1], shape[::-1]))]
        return self.rng.choice(fitting) if self.rng.random() < 0.75 else repr(self.rng.choice([0.5, -1.5, 2.0]))

    def function(self, tensors):
        name = self.pick(tensors)
        other = self.like(tensors, name)
        form = self.rng.choice(["{0} * {1}", "{0} + {1}", "{0} - {1}", "m.sin({0})", "{0} * {0}", "m.tanh({0})",
                                "{0}.clone()", "{0}.detach()", "m.where({0} > 0, {0}, {0} * {1})"])
        return f"{self.name()} = " + form.format(name, other)

    def view(self, tensors):
        name = self.pick(tensors)
        shape = list(tensors[name].shape)
        forms = ["{0}.unsqueeze(0)", "{0}.view_as({0})", "{0}[...]"]
        if len(shape) != 1:
            forms.append("{0}.flatten()")  # of one axis it is the tensor itself in PyTorch
        if shape:
            axis = self.rng.randrange(len(shape))
            size = shape[axis]
            start = self.rng.randrange(size)
            stop = self.rng.randrange(start + 1, size + 1)
            forms += [f"{{0}}.narrow({axis}, {start}, {stop - start})", f"{{0}}.select({axis}, {start})",
                      "{0}.transpose(0, -1)", f"{{0}}.split({max(1, size // 2)}, {axis})[0]",
                      f"{{0}}.unbind({axis})[{start}]", "{0}[1:]" if shape[0] > 1 else "{0}[0]",
                      "{0}[::2]", "{0}.expand(2, *{0}.shape)", "{0}.reshape(-1)", "{0}.t()" if len(shape) == 2 else "{0}.mT"
                      if len(shape) > 2 else "{0}.view(-1)"]
            if len(shape) == 2:
                forms.append("{0}.diagonal()")
        return f"{self.name()} = " + self.rng.choice(forms).format(name)

    def write(self, tensors):
        name = self.pick(tensors)
        other = self.like(tensors, name)
        form = self.rng.choice(["{0}.mul_({1})", "{0}.add_({1})", "{0}.zero_()", "{0}.sin_()", "{0}.fill_(0.75)",
                                "{0}.copy_({1})" if other.startswith("t") else "{0}.sub_({1})", "{0}[...] = {1}",
                                "{0}[0] = 0.5" if tensors[name].dim() else "{0}.neg_()", "{0}.tanh_()"])
        text = form.format(name, other)
        return f"with m.no_grad(): {text}" if self.rng.random() < 0.15 else text

    def history(self, tensors):
        name = self.pick(tensors)
        try:
            if tensors[name].requires_grad and not tensors[name].is_leaf and tensors[name].grad_fn is None:
                return self.leaf(tensors)  # PyTorch itself crashes
        except RuntimeError:
            return self.leaf(tensors)
        if tensors[name]._is_view():  # PyTorch drops their hooks with a write to what they share memory with
            return f"{name}.retain_grad()"
        shared = any(other._base is tensors[name] for other in tensors.values())
        return self.rng.choice(["{0}.retain_grad()", "{0}.register_hook(hook({1}))", "{0}.register_hook(scale)",
                                "{0}.retain_grad()" if shared else "{0}.requires_grad_()"]).format(
                                    name, self.rng.randrange(1000))

    def backward(self, tensors):
        names = [name for name in tensors if tensors[name].requires_grad]
        if not names:
            return self.leaf(tensors)
        name = self.rng.choice(names[-4:])
        flags = self.rng.choice(["", "retain_graph=True", "retain_graph=True", "create_graph=True"])
        return f"({name} * {name}).sum().backward({flags})"

    def gradient(self, tensors):
        names = [name for name in tensors if is_leaf(tensors[name]) and tensors[name].grad is not None]
        if not names:
            return self.backward(tensors)
        name = self.rng.choice(names)
        return self.rng.choice(["{0}.grad = None", "with m.no_grad(): {0}.grad.mul_(0.5)", "{1} = {0}.grad.detach()",
                                "with m.no_grad(): {0}.grad.zero_()", "{0}.grad = {0}.detach().clone()",
                                "with m.no_grad(): {0}.grad *= 2", "{1} = {0}.grad * 1.0"]).format(name, self.name())

    def statement(self, tensors):
        kinds = [self.leaf] * 2 + [self.function] * 5 + [self.view] * 6 + [self.write] * 5 + [self.history] * 2
        kinds += [self.backward, self.gradient]
        return self.rng.choice(kinds)(tensors) if tensors else self.leaf(tensors)


class Side:
    """One of the two that run a program."""

    def __init__(self, module):
        self.seen = []
        self.names = {"m": module, "hook": self.hook, "scale": lambda gradient: gradient * 3}

    def hook(self, number):
        return lambda gradient: self.seen.append((number, gradient.detach().tolist()))

    def run(self, statement):
        """Its exception, or None."""
        try:
            exec(statement, self.names)
        except Exception as problem:  # pylint: disable=broad-except
            return problem
        return None

    def tensors(self):
        return {name: value for name, value in self.names.items() if name[0] == "t" and name[1:].isdigit()}


def numbers_of(tensor):
    return None if tensor is None else tensor.detach().tolist()


def are_equal(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(are_equal(x, y) for x, y in zip(a, b))
    if a is None or b is None or isinstance(a, (bool, tuple)):
        return a == b if not isinstance(a, tuple) else are_equal(list(a), list(b))
    return a == b or abs(a - b) <= TOLERANCE * max(1.0, abs(a)) or (a != a and b != b)


def compare(left, right):
    """What is different in the two, or None."""
    for name, tensor in left.tensors().items():
        try:
            tensor.grad_fn  # pylint: disable=pointless-statement
        except RuntimeError:
            continue  # REFUSED
        other = right.names[name]
        for what, mine, theirs in [("value", numbers_of(tensor), numbers_of(other)),
                                   ("requires_grad", tensor.requires_grad, other.requires_grad),
                                   ("is_leaf", tensor.is_leaf, other.is_leaf)]:
            if not are_equal(mine, theirs):
                return f"{what} of {name}: PyTorch {mine}, laze {theirs}"
        if tensor.is_leaf or tensor.retains_grad:
            mine, theirs = numbers_of(tensor.grad), numbers_of(other.grad)
            if not are_equal(mine, theirs):
                return f"grad of {name}: PyTorch {mine}, laze {theirs}"
    if not are_equal(left.seen, right.seen):
        return f"hooks: PyTorch {left.seen}, laze {right.seen}"
    return None


def run(statements):
    """What goes differently, or None. `statements` is a list, or gives one at a time for the tensors there are."""
    left, right, done = Side(torch), Side(laze), []
    for statement in statements if isinstance(statements, list) else statements(left):
        mine, theirs = left.run(statement), right.run(statement)
        if isinstance(mine, NameError) or isinstance(theirs, NameError):
            continue  # of a program that is being made shorter
        done.append(statement)
        if mine is not None and any(word in str(mine) for word in REFUSED):
            return None, done
        if isinstance(mine, RuntimeError) and theirs is None and "a leaf Variable that requires grad" in str(mine):
            return None, done  # a view of what got a history after it; leaves are refused by both (tests/unit/autograd)
        if theirs is not None and mine is None and any(word in str(theirs) for word in STRICTER):
            return None, done
        if (mine is None) != (theirs is None):
            return f"{statement}: PyTorch {mine or 'did it'!s:.300}, laze {theirs or 'did it'!s:.300}", done
        if mine is not None and "backward" in statement:
            return None, done  # a pass that failed has called some hooks, in an order of its own
    return compare(left, right), done


def draw(seed, length):
    rng = random.Random(seed)
    maker = Maker(rng)

    def statements(side):
        for _ in range(length):
            yield maker.statement(side.tensors())
    return run(statements)


def shorten(statements):
    """Without what is not needed for a difference."""
    changed = True
    while changed:
        changed = False
        for index in reversed(range(len(statements))):
            fewer = statements[:index] + statements[index + 1:]
            if run(fewer)[0]:
                statements, changed = fewer, True
    return statements


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=0, help="programs; 0: as many as there is time for")
    parser.add_argument("--all", action="store_true", help="go on after a difference")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    start, count, found = time.monotonic(), 0, 0
    while (count < options.count) if options.count else (time.monotonic() - start < options.seconds):
        seed = options.seed + count
        count += 1
        difference, program = draw(seed, 24)
        if difference is None:
            continue
        found += 1
        program = shorten(program)
        print(f"seed {seed}: {run(program)[0] or difference}\n    " + "\n    ".join(program), flush=True)
        if not options.all:
            break
    print(f"{count} programs, {found} differ")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
