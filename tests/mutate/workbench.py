"""A copy of the tree that is changed, built and tested in place of the real one."""
import collections
import hashlib
import json
import os
import pathlib
import resource
import shlex
import shutil
import signal
import subprocess
import time

# No warnings that depend on the optimisation level: -O1 builds in half the time of -O2.
OPTIONS = ["-Dbuildtype=plain", "-Db_ndebug=false", "-Doptimization=1", "-Ddebug=false", "-Dwerror=true",
           "-Dtests=true"]
MEMORY = 12 << 30  # of address space: a change that allocates without end must not take the machine's
FILE_SIZE = 4 << 30

Test = collections.namedtuple("Test", "name suites command environment folder targets")


class BrokenTree(Exception):
    """The tree without any change does not build or does not pass."""


def output_of(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)


class Workbench:
    def __init__(self, source, scratch, jobs):
        self.source, self.scratch, self.jobs = source, scratch, jobs
        self.tree, self.build = scratch / "tree", scratch / "build"
        self.files = []
        self.hashes = {}
        self.unchanged = {}  # what files compile to that were not changed yet
        self.history = History(scratch / "history.json")

    def prepare(self):
        """Copies the tree as it is in the working folder, and builds it."""
        listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=self.source, check=True,
                                stdout=subprocess.PIPE).stdout.decode().split("\0")
        self.files = sorted(name for name in listed if name and (self.source / name).is_file())
        for name in self.files:
            self._copy(name)
        self.digest = self._digest()
        wanted = set(self.files)
        for path in self.tree.rglob("*"):
            if path.is_file() and str(path.relative_to(self.tree)) not in wanted:
                path.unlink()
        if not (self.build / "build.ninja").exists():
            self._must(["meson", "setup", self.build, self.tree, *OPTIONS])
        self._must(["ninja", "-C", self.build, f"-j{self.jobs}", "--quiet"])
        self.compile_commands = collections.defaultdict(list)
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
            if path.is_relative_to(self.tree.resolve()):
                self.compile_commands[str(path.relative_to(self.tree.resolve()))].append(entry)
        self.tests = self._read_tests()
        self.generated = sorted(path for path in self.build.rglob("*.gen.*") if path.suffix in (".c", ".h"))
        self.fingerprints = {test.name: self._fingerprint(test) for test in self.tests}

    def _copy(self, name):
        new, old = self.source / name, self.tree / name
        if old.is_file() and old.read_bytes() == new.read_bytes():
            return
        old.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(new, old)
        shutil.copymode(new, old)

    def _must(self, command):
        result = output_of(command)
        if result.returncode:
            raise BrokenTree(f"{shlex.join(map(str, command))} failed:\n{result.stdout[-4000:]}")

    def _read_tests(self):
        def introspect(what):
            return json.loads(subprocess.run(["meson", "introspect", "--" + what, self.build], check=True,
                                             stdout=subprocess.PIPE).stdout)
        all_targets = introspect("targets")
        files = {target["id"]: target["filename"] for target in all_targets}
        shared = [name for target in all_targets if target["type"] in ("shared library", "shared module")
                  for name in target["filename"]]
        tests = []
        for test in introspect("tests"):
            suites = [suite.split(":")[-1] for suite in test["suite"]]
            if "source" in suites:  # of the text alone
                continue
            targets = {name for target in test["depends"] for name in files.get(target, [])}
            for _ in shared:  # a library may open another
                targets |= {name for name in shared if self._is_named(name, targets)}
            targets = sorted(os.path.relpath(name, self.build) for name in targets)
            name = f"{suites[0]}/{test['name']}"
            tests.append(Test(name, suites, test["cmd"], test["env"], test["workdir"] or self.build, targets))
        return tests

    @staticmethod
    def _is_named(library, targets):
        """Whether one of the programs and libraries holds the name of a library, which it needs or opens."""
        name = os.path.basename(library).split(".so")[0].encode() + b".so"
        return any(name in pathlib.Path(target).read_bytes() for target in targets if os.path.isfile(target))

    def _hash(self, path):
        """Of a file's contents, looked at again when its time or size changed."""
        info = path.stat()
        key = (info.st_mtime_ns, info.st_size)
        if self.hashes.get(path, (None,))[0] != key:
            self.hashes[path] = (key, hashlib.sha256(path.read_bytes()).digest())
        return self.hashes[path][1]

    def _fingerprint(self, test):
        """Of all that a test runs: as long as it is the same, so is the test's result."""
        paths = [path for path in (self.build / target for target in test.targets) if path.is_file()]
        return hashlib.sha256(b"".join(self._hash(path) for path in paths + self.generated)).hexdigest()

    def _digest(self):
        """Of names and contents of the files that were copied, but for these of the tool itself."""
        total = hashlib.sha256()
        for name in self.files:
            if not name.startswith("tests/mutate/"):
                total.update(f"{name}\0".encode() + hashlib.sha256((self.source / name).read_bytes()).digest())
        return total.hexdigest()[:16]

    # Changes

    def write(self, name, text):
        path = self.tree / name
        if path.read_text() != text:  # what is the same is not built again
            path.write_text(text)

    def _code_of(self, objects):
        """Of code and data, as text that is equal where they are; names of the files are left out."""
        dumps = [output_of(["objdump", "-drsw", "--no-show-raw-insn", self.build / name]).stdout for name in objects]
        return hashlib.sha256("".join(dump.split("\n", 2)[-1] for dump in dumps).encode()).hexdigest()

    def change(self, name, text):
        """Writes and compiles another text of a file: "changed", "same" for the same code, or "wrong" if it does not
        compile."""
        objects = [entry["output"] for entry in self.compile_commands[name]]
        if name not in self.unchanged:
            self.unchanged[name] = self._code_of(objects)
        self.write(name, text)
        if not self.build_targets(objects):
            return "wrong"
        return "same" if self._code_of(objects) == self.unchanged[name] else "changed"

    def is_same_optimised(self, name, old, new):
        """True when both texts compile to the same code at -O2. The file holds the old one afterwards."""
        codes = []
        for text in (new, old):
            self.write(name, text)
            entry = self.compile_commands[name][0]
            words = shlex.split(entry["command"])
            words[words.index("-o") + 1] = str(self.scratch / "optimised.o")
            words[words.index("-MF") + 1] = str(self.scratch / "optimised.d")
            if output_of([*words, "-O2", "-Wno-error"], cwd=entry["directory"]).returncode:
                return False
            codes.append(self._code_of(["../optimised.o"]))
        return codes[0] == codes[1]

    # Tests

    def build_targets(self, targets):
        built = output_of(["ninja", "-C", self.build, f"-j{self.jobs}", "--quiet", *targets])
        if built.returncode:
            (self.scratch / "test.log").write_text(built.stdout)
        return built.returncode == 0

    def run_test(self, test, cpu_seconds, wall_seconds):
        """None when it passed, or how it failed."""
        environment = dict(os.environ, **test.environment)
        for folder in ("home", "tmp"):
            shutil.rmtree(self.scratch / folder, ignore_errors=True)
            (self.scratch / folder).mkdir()
        # Time on the clock says little on a busy machine: processor time is what is limited.
        environment.update(HOME=str(self.scratch / "home"), TMPDIR=str(self.scratch / "tmp"), CK_DEFAULT_TIMEOUT="0",
                           CK_TIMEOUT_MULTIPLIER="100")
        for name in list(environment):
            if name.startswith(("LAZE_", "XDG_")) and name not in test.environment:
                del environment[name]

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(self.scratch / "test.log", "w") as log:
            process = subprocess.Popen(test.command, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, start_new_session=True, preexec_fn=limit)
            try:
                status = process.wait(wall_seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # and what it left running
                except ProcessLookupError:
                    pass
                process.wait()
        if status is None or status == -signal.SIGXCPU:
            return "timeout"
        return None if status in (0, 77) else "failed" if status > 0 else "crashed"

    def measure(self, progress):
        """Learns how long tests take on the unchanged tree, those that were never run before."""
        remembered = self.scratch / "durations.json"
        old = json.loads(remembered.read_text()) if remembered.exists() else {}
        self.durations = old.get("durations", {})
        self.confirmed = set(old["confirmed"]) if old.get("digest") == self.digest else set()
        for i, test in enumerate(self.tests):
            if test.name not in self.durations:
                progress(f"the unchanged tree: {i + 1}/{len(self.tests)} {test.name}")
                self.confirm(test)

    def confirm(self, test):
        """Makes sure, once, that a test passes on the unchanged tree, which is what the tree has to be now."""
        if test.name in self.confirmed:
            return
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        if not self.build_targets(test.targets):
            raise BrokenTree(f"test {test.name} is not built from the unchanged tree")
        result = self.run_test(test, 600, 3600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if result:
            log = (self.scratch / "test.log").read_text(errors="replace")
            raise BrokenTree(f"test {test.name} {result} on the unchanged tree:\n{log[-4000:]}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.durations.setdefault(test.name, (round(cpu, 2), round(time.monotonic() - start, 2)))
        self.confirmed.add(test.name)
        (self.scratch / "durations.json").write_text(json.dumps(
            {"digest": self.digest, "durations": self.durations, "confirmed": sorted(self.confirmed)}))

    def try_test(self, test):
        """How a test fails on what the tree holds now, or None where it passes."""
        if not self.build_targets(test.targets):
            return "not built"
        if self._fingerprint(test) == self.fingerprints[test.name]:
            return None
        cpu, wall = self.durations[test.name]
        return self.run_test(test, int(10 + 10 * cpu), int(120 + 60 * wall))


class History:
    """Which tests noticed changes of which folder: those that are likely to, for the time they take, come first."""

    def __init__(self, path):
        self.path = path
        self.counts = json.loads(path.read_text()) if path.exists() else {}

    def note(self, path, test, noticed):
        tried = self.counts.setdefault(f"{os.path.dirname(path)} {test}", [0, 0])
        tried[0] += 1
        tried[1] += noticed
        self.path.write_text(json.dumps(self.counts))

    def order(self, tests, path, durations):
        folder, stem = os.path.dirname(path), pathlib.Path(path).stem

        def merit(test):
            short = test.name.split("/")[-1]
            own = folder.split("/")[0] in test.suites
            named = own and (short in stem or stem in short)
            tried, noticed = self.counts.get(f"{folder} {test.name}", (0, 0))
            guess = 3 if named else 1 if own else 0.1
            return (guess + noticed) / (1 + tried) / (durations[test.name][0] + 0.5)
        return sorted(tests, key=merit, reverse=True)
