"""Operators over lists, _foreach_add() and the like: one call for each element, as the library has them by name."""
from laze import _laze

PREFIX = "_foreach_"


# What PyTorch calls otherwise of one tensor, and what it has for lists alone.
_OTHERS = {"norm": "linalg_vector_norm", "max": "amax"}


def _powsum(tensor, ord=2, dtype=None):
    """The sum of magnitudes to a power."""
    return (tensor if dtype is None else tensor.to(dtype)).abs().pow(ord).sum()


_OWN = {"powsum": _powsum}


def _operator(own):
    """The operator of one element, or None. A form in place that there is not of tensors copies the result."""
    name = own.rstrip("_")
    if own in _OWN:
        return _OWN[own]
    operator = getattr(_laze, _OTHERS.get(name, own), None)
    if isinstance(operator, _laze.Operator):
        return operator
    plain = getattr(_laze, name, None)
    if own == name or not isinstance(plain, _laze.Operator):
        return None
    return lambda tensor, *args, **kwargs: tensor.copy_(plain(tensor, *args, **kwargs))


def find(name):
    """The function of that name, or None: there is no operator of elements behind it."""
    operator = _operator(name[len(PREFIX):]) if name.startswith(PREFIX) else None
    if operator is None:
        return None

    def each(tensors, *arguments, **named):
        tensors = list(tensors)
        lists = [value for value in (*arguments, *named.values()) if isinstance(value, (list, tuple))]
        if not tensors:
            raise _laze.InvalidArgumentError(f"{name}: the first argument is a list of one tensor or more")
        for value in lists:
            if len(value) != len(tensors):
                raise _laze.InvalidArgumentError(
                    f"{name}: a list of {len(value)} beside one of {len(tensors)}; lists are equally long")

        def pick(value, index):
            return value[index] if isinstance(value, (list, tuple)) else value

        found = tuple(operator(tensor, *(pick(value, i) for value in arguments),
                               **{key: pick(value, i) for key, value in named.items()})
                      for i, tensor in enumerate(tensors))
        return None if name.endswith("_") else found

    each.__name__ = each.__qualname__ = name
    each.__doc__ = f"Tensor.{name[len(PREFIX):]} of each element of a list."
    return each
