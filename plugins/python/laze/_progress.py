"""One line that says that a compile takes long, where somebody looks: on a terminal or in a notebook.

The module laze._laze calls show() when a compile has taken a second, a few times a second, and clear() at its end.
"""
import sys

_shown = 0  # letters of the line that is there now


def _is_watched(stream):
    if type(stream).__module__.startswith("ipykernel."):
        return True
    return getattr(stream, "isatty", lambda: False)()


def show(done, total):
    global _shown
    if not _is_watched(sys.stderr):
        return
    line = f"laze: compiling, {done} of {total} kernels" if total > 0 else "laze: compiling"
    sys.stderr.write("\r" + line + " " * (_shown - len(line)))
    sys.stderr.flush()
    _shown = max(_shown, len(line))


def clear(_done, _total):
    global _shown
    if _shown and _is_watched(sys.stderr):
        sys.stderr.write("\r" + " " * _shown + "\r")
        sys.stderr.flush()
    _shown = 0
