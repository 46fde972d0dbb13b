"""Operators over lists, _foreach_add() and the like: one call for each element, as the library has them by name."""
from laze import _laze

PREFIX = "_foreach_"


def find(name):
    """The function of that name, or None: there is no operator of elements behind it."""
    operator = getattr(_laze.Tensor, name[len(PREFIX):], None) if name.startswith(PREFIX) else None
    own = name[len(PREFIX):].rstrip("_")
    if not callable(operator) or not hasattr(_laze.Tensor, own + "_"):
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
