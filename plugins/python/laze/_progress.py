"""One line that says that a compile takes long, where somebody looks: on a terminal or in a notebook.

The module laze._laze calls begin(), reached() and end() on the thread that compiles. Between them it holds no lock of
Python's, so that a thread started here can write: nothing in the first second, then a line that counts, which end()
takes away.

    terminal   laze: compiling 84 kernels, 35 are there, 4 s       written over, then blanked
    notebook   the same as an output of its own in the cell        updated, then empty: no row of lines is saved
"""
import sys
import threading
import time

INTERVAL = 1.0  # seconds
_lines = {}  # by the thread that compiles


class _Terminal:
    def __init__(self, stream):
        self.stream, self.letters = stream, 0

    def show(self, line):
        self.letters = max(self.letters, len(line))
        self.stream.write("\r" + line)
        self.stream.flush()

    def hide(self):
        if self.letters:
            self.stream.write("\r" + " " * self.letters + "\r")
            self.stream.flush()


class _Cell:
    def __init__(self):
        from IPython.display import display
        self.display, self.output = display, None

    def show(self, line):
        if self.output:
            self.output.update({"text/plain": line}, raw=True)
        else:
            self.output = self.display({"text/plain": line}, raw=True, display_id=True)

    def hide(self):
        if self.output:
            self.output.update({"text/plain": ""}, raw=True)


def _place(stream):
    """Where a line can be shown and taken away again; None: nowhere."""
    if type(stream).__module__.startswith("ipykernel."):
        return _Cell()
    return _Terminal(stream) if getattr(stream, "isatty", lambda: False)() else None


class _Line(threading.Thread):
    def __init__(self, kernels, place):
        super().__init__(name="laze progress", daemon=True)
        self.text = f"laze: compiling {kernels} kernel" + ("s" if kernels != 1 else "")
        self.place, self.done, self.ended = place, 0, threading.Event()

    def run(self):
        start = time.monotonic()
        while not self.ended.wait(INTERVAL):
            done = f", {self.done} are there" if self.done > 1 else ""
            try:
                self.place.show(f"{self.text}{done}, {time.monotonic() - start:.0f} s")
            except Exception:  # what shows it has gone
                return

    def end(self):
        self.ended.set()
        self.join()
        self.place.hide()


def begin(kernels):
    try:
        place = _place(sys.stderr)
        if place:
            line = _lines[threading.get_ident()] = _Line(kernels, place)
            line.start()
    except Exception:  # no reason to fail a computation
        pass


def reached(kernels):
    line = _lines.get(threading.get_ident())
    if line:
        line.done = kernels


def end():
    line = _lines.pop(threading.get_ident(), None)
    try:
        if line:
            line.end()
    except Exception:
        pass
