"""One line that says that a compile takes long, where somebody looks: on a terminal or in a notebook.

The module laze._laze calls begin() and end() on the thread that compiles. Between them it holds no lock of Python's, so
that a thread started here can write: nothing in the first second, then a line that counts, which end() takes away.
"""
import sys
import threading
import time

INTERVAL = 1.0  # seconds
_lines = {}  # by the thread that compiles


def _is_watched(stream):
    if type(stream).__module__.startswith("ipykernel."):
        return True
    return getattr(stream, "isatty", lambda: False)()


class _Line(threading.Thread):
    def __init__(self, kernels, stream):
        super().__init__(name="laze progress", daemon=True)
        self.text = f"laze: compiling {kernels} kernel" + ("s" if kernels != 1 else "")
        self.stream, self.ended, self.letters = stream, threading.Event(), 0

    def run(self):
        start = time.monotonic()
        while not self.ended.wait(INTERVAL):
            line = f"{self.text}, {time.monotonic() - start:.0f} s"
            self.letters = max(self.letters, len(line))
            self.stream.write("\r" + line)
            self.stream.flush()

    def end(self):
        self.ended.set()
        self.join()
        if self.letters:
            self.stream.write("\r" + " " * self.letters + "\r")
            self.stream.flush()


def begin(kernels):
    try:
        if _is_watched(sys.stderr):
            line = _lines[threading.get_ident()] = _Line(kernels, sys.stderr)
            line.start()
    except Exception:  # no reason to fail a computation
        pass


def end():
    line = _lines.pop(threading.get_ident(), None)
    try:
        if line:
            line.end()
    except Exception:
        pass
