"""Threads, signals, forks, interpreters, and the end of the process."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import laze

try:
    import numpy
except ImportError:
    numpy = None


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


class Threads(unittest.TestCase):
    def test_threads_compute_at_once(self):
        results, errors = {}, []

        def work(number):
            try:
                x = laze.arange(100).float() + number
                for _ in range(50):
                    x = x * 0.5 + 1
                    if x.numel() > 50:
                        x.evaluate()
                with laze.step():
                    total = x.sum()
                results[number] = total.item()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n % 4,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(sorted(results), [0, 1, 2, 3])
        again = dict(results)
        work(2)
        self.assertEqual(results, again)

    def test_threads_read_and_use_the_same_tensors(self):
        for _ in range(20):
            start, found = threading.Barrier(6), []
            shared = laze.arange(50).float() * 2
            failing = laze.index_select(laze.arange(3), 0, laze.tensor([9])) + 1

            def work():
                start.wait()
                found.append(((shared + 1).sum().item(), shared.tolist()[3], memoryview(shared)[2], len(repr(shared))))
                try:
                    failing.tolist()
                except IndexError as error:
                    found.append("index 9" in str(error))

            threads = [threading.Thread(target=work) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(found), 12)
            self.assertEqual({one for one in found if one is not True}, {(2500.0, 6.0, 4.0, len(repr(shared)))})

    def test_the_number_of_threads_can_be_set(self):
        """From a notebook, where the environment was read long ago; results stay what they were."""
        before, x = laze.get_num_threads(), laze.rand(300, 300, seed=1).evaluate()
        try:
            found = set()
            for number in (1, 4, 2, 7, 1):
                laze.set_num_threads(number)
                self.assertEqual(laze.get_num_threads(), number)
                found.add((x @ x).sin().sum().item())
            self.assertEqual(len(found), 1)
        finally:
            laze.set_num_threads(before)
        code = "import laze; print(laze.get_num_threads())"
        self.assertEqual(run(code, LAZE_NUM_THREADS="3").stdout, "3\n")

    def test_several_tensors_are_computed_in_one_graph(self):
        x = laze.rand(100, seed=1).evaluate()
        shared = x.exp()
        a, b, c = shared * 2, shared + 1, x.sum()
        del shared
        laze.reset_metrics()
        self.assertIs(laze.evaluate(a), a)
        first, second, third = laze.evaluate(a, b, c)
        self.assertTrue(first is a and second is b and third is c)
        self.assertEqual(laze.metrics()["graphs_run"], 2)
        self.assertEqual(laze.evaluate(), ())
        failing = laze.index_select(laze.arange(3), 0, laze.tensor([9]))
        with self.assertRaises(IndexError):
            laze.evaluate(x + 5, failing)
        with self.assertRaisesRegex(TypeError, "argument 1 is a <class 'list'>.*\\*list"):
            laze.evaluate(x, [x])

    def test_row_5_19_samples_and_reports(self):
        """A program looks at its times and bytes as numbers, or prints them."""
        laze.reset_metrics()
        (laze.rand(100, seed=1) + 1).tolist()
        samples = laze.metric_samples()
        self.assertEqual(samples["graph_nodes"]["count"], 1)
        self.assertEqual(list(samples["run_ns"]), ["count", "total", "p50", "p90", "p99", "greatest"])
        self.assertIn("\ngraphs_run 1\n", laze.metrics_report())
        report = json.loads(laze.metrics_report(json=True))
        self.assertEqual(report["runs_for_read"], 1)
        self.assertEqual(report["samples"]["graph_nodes"], samples["graph_nodes"])

    def test_row_5_20_saved_graphs_name_the_line(self):
        """Who forced a graph is a line of Python, not of the package."""
        with tempfile.TemporaryDirectory() as folder:
            code = "import laze\nx = laze.ones(3)\nprint(\n    x.sum().item())"
            self.assertEqual(run(code, LAZE_SAVE_GRAPHS=folder).stdout, "3.0\n")
            [path] = pathlib.Path(folder).iterdir()
            self.assertTrue(path.read_text().startswith("// forced by laze_tensor_read at <string>:4\n"),
                            path.read_text())

    def test_a_tensor_of_a_thread_that_ended(self):
        box = []
        thread = threading.Thread(target=lambda: box.append(laze.arange(3) + 1))
        thread.start()
        thread.join()
        self.assertEqual((box[0] * 2).tolist(), [2, 4, 6])

    def test_others_run_while_a_read_computes(self):
        code = """
            import threading, laze
            x = laze.rand(400, 400)
            for _ in range(30):
                x = x @ x * 0.005
            seen, done = 0, threading.Event()
            def count():
                global seen
                while not done.is_set():
                    seen += 1
            thread = threading.Thread(target=count)
            thread.start()
            before = seen
            x.evaluate()
            during = seen - before
            done.set()
            thread.join()
            print(during > 1000)
        """
        self.assertEqual(run(code).stdout.strip(), "True")


class Signals(unittest.TestCase):
    # Work of minutes, where nothing stops it.
    LONG = """
        x = laze.rand(300, 300)
        for _ in range(20000):
            x = x @ x * 0.005
    """

    def interrupt(self, work, read="x.evaluate()"):
        code = "import os, signal, threading, laze\n" + textwrap.dedent(work) + textwrap.dedent("""
            started = threading.Event()
            def press():
                started.wait()
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=press).start()
            try:
                started.set()
                READ
                print("ended")
            except KeyboardInterrupt:
                print("interrupted")
            print((laze.arange(3) + 1).tolist())
        """).replace("READ", read)
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=250)

    def test_control_c_stops_a_run(self):
        result = self.interrupt(self.LONG)
        self.assertEqual(result.stdout.split("\n")[:2], ["interrupted", "[1, 2, 3]"], result.stderr)

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_control_c_stops_a_read_by_numpy(self):
        result = self.interrupt("import numpy\n" + textwrap.dedent(self.LONG), "numpy.asarray(x)")
        self.assertEqual(result.stdout.split("\n")[:2], ["interrupted", "[1, 2, 3]"], result.stderr)

    def test_a_handler_of_the_program_is_called(self):
        handler = """
            def handler(number, frame):
                print("handled")
                raise KeyboardInterrupt
            signal.signal(signal.SIGINT, handler)
        """
        result = self.interrupt(textwrap.dedent(handler) + textwrap.dedent(self.LONG))
        self.assertEqual(result.stdout.split("\n")[:2], ["handled", "interrupted"], result.stderr)


class Processes(unittest.TestCase):
    def test_a_child_goes_on_with_what_its_parent_had(self):
        x = laze.arange(3) + 1
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, repr((x * 2).tolist()).encode())
            finally:
                os._exit(0)
        os.close(writer)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(os.read(reader, 100), b"[2, 4, 6]")
        os.close(reader)
        self.assertEqual((x * 3).tolist(), [3, 6, 9])

    def test_subinterpreters_are_refused(self):
        code = """
            try:
                import _interpreters as interpreters
            except ImportError:
                try: import _xxsubinterpreters as interpreters
                except ImportError: print("absent"); raise SystemExit
            import laze
            code = "try:\\n import laze\\nexcept ImportError as error: print('refused')"
            one = interpreters.create()
            run = getattr(interpreters, "run_string", None) or interpreters.exec
            run(one, code)
            interpreters.destroy(one)
            print((laze.arange(2) + 1).tolist())
        """
        result = run(code)
        self.assertIn(result.stdout.split(), (["refused", "[1,", "2]"], ["absent"]), result.stderr)

    def test_the_module_can_be_imported_again(self):
        result = run("""
            import sys, laze
            old = laze.arange(2)
            for name in [name for name in sys.modules if name.startswith("laze")]: del sys.modules[name]
            import laze as again
            print((again.arange(2) + old).tolist())
        """)
        self.assertEqual(result.stdout.strip(), "[0, 2]", result.stderr)

    def test_the_process_ends_quietly(self):
        result = run("""
            import array, laze, threading
            data = array.array("d", range(100))
            kept = [laze.asarray(data) + 1, memoryview(laze.arange(5) + 1), laze.arange(4).__dlpack__(), laze.step()]
            kept.append(kept)
            class Late:
                def __del__(self): print(kept[0].tolist()[0])
            late = Late()
            threading.Thread(target=lambda: [(laze.rand(50, 50) @ laze.rand(50, 50)).sum().item() for _ in range(100)],
                             daemon=True).start()
            print("end")
        """)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Progress(unittest.TestCase):
    CODE = """
        import io, sys, threading
        from laze import _progress
        class Stream(io.StringIO):
            written = threading.Event()
            def isatty(self): return TERMINAL
            def flush(self): self.written.set()
        _progress.INTERVAL = 0.01
        sys.stderr, error = Stream(), sys.stderr
        _progress.begin(12)
        if TERMINAL: Stream.written.wait(60)
        _progress.reached(7)
        Stream.written.clear()
        if TERMINAL: Stream.written.wait(60)
        if TERMINAL: Stream.written.clear() or Stream.written.wait(60)
        _progress.end()
        stream, sys.stderr = sys.stderr, error
        lines = stream.getvalue().split("\\r")
        print(repr(lines[1:2]), repr(lines[-1]), "12 kernels, 7 are there, 0 s" in str(lines[-3:-2]))
    """
    NOTEBOOK = """
        import io, sys, threading, types
        from laze import _progress
        shown = []
        class Output:
            def update(self, data, raw): shown.append(data), written.set()
        def display(data, raw, display_id):
            shown.append(data)
            written.set()
            return Output()
        class Stream(io.StringIO): # as a kernel has it
            pass
        Stream.__module__, written = "ipykernel.iostream", threading.Event()
        sys.modules["IPython"] = types.ModuleType("IPython")
        sys.modules["IPython.display"] = module = types.ModuleType("IPython.display")
        module.display = display
        _progress.INTERVAL = WAIT
        sys.stderr, error = Stream(), sys.stderr
        _progress.begin(1)
        if WAIT < 1: written.wait(60)
        _progress.end()
        stream, sys.stderr = sys.stderr, error
        print(shown[:1], shown[-1:], repr(stream.getvalue()))
    """

    def test_a_line_appears_on_a_terminal_and_goes(self):
        result = run(self.CODE.replace("TERMINAL", "True"))
        self.assertEqual(result.stdout, "['laze: compiling 12 kernels, 0 s'] '' True\n", result.stderr)

    def test_a_notebook_has_an_output_that_is_empty_afterwards(self):
        """Lines that are written over each other would all be saved with the notebook."""
        result = run(self.NOTEBOOK.replace("WAIT", "0.01"))
        self.assertEqual(result.stdout, "[{'text/plain': 'laze: compiling 1 kernel, 0 s'}] [{'text/plain': ''}] ''\n",
                         result.stderr)

    def test_a_notebook_has_none_of_a_short_compile(self):
        self.assertEqual(run(self.NOTEBOOK.replace("WAIT", "600")).stdout, "[] [] ''\n")

    def test_elsewhere_nothing_does(self):
        result = run(self.CODE.replace("TERMINAL", "False"))
        self.assertEqual(result.stdout, "[] '' False\n", result.stderr)

    def test_the_library_reports_compiles(self):
        result = run("""
            import laze
            from laze import _progress
            calls = []
            _progress.begin = lambda kernels: calls.append(kernels > 0)
            _progress.reached = lambda kernels: calls.append(kernels)
            _progress.end = lambda: calls.append("end")
            (laze.rand(3, 3).sin() @ laze.rand(3, 3)).tolist()
            print(calls if laze.metrics()["kernels_compiled"] else [True, "end"])
        """, LAZE_CACHE_DIR="")
        self.assertEqual(result.stdout, "[True, 'end']\n", result.stderr)


class Command(unittest.TestCase):
    def test_it_says_what_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, "-m", "laze"], capture_output=True, text=True, timeout=120,
                                    env={**os.environ, "LAZE_CACHE_DIR": folder})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            for word in ("version", laze.__version__, "backend", "processor", "threads", folder):
                self.assertIn(word, result.stdout)


if __name__ == "__main__":
    unittest.main()
