"""Judges operators in processes of their own, several at a time.

   parent                          child (fork: PyTorch is there already)
     operator, samples to skip ──>   judges one sample after the other
     <── "begin PLACE"               before each: a crash is then a verdict of that sample
     <── verdict                     after each
     a crash:                        the sample is `crashed`, and another child goes on behind it
     no answer in time:              another child judges the same sample, and if it is silent too, the sample
                                     is `crashed`

A machine that is busy with something else may keep a child waiting, so that one silence says nothing.
"""
import dataclasses
import json
import os
import selectors
import signal
import time

import peer
from judge import Verdict

ANSWER = 120  # seconds in which a sample has to be judged
SILENCES = 2  # after which a sample has crashed
STARTS = 5  # without any answer, after which no more are tried


class Task:
    """Operators on their way, [(name, [OpInfo])]."""

    def __init__(self, operators):
        self.names = [name for name, _ in operators]
        self.name = " ".join(self.names)
        self.infos = [info for _, infos in operators for info in infos]
        self.verdicts = []
        self.begun = None  # the sample that is being judged: what is known of its verdict
        self.silences = 0  # at this place
        self.since = 0.0
        self.pid = self.pipe = None
        self.rest = b""

    def start(self, open_judge):
        reading, writing = os.pipe()
        self.begun, self.since, self.rest = None, time.monotonic(), b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            status = 1
            try:
                with os.fdopen(writing, "w") as out:
                    work(open_judge(), self.infos, len(self.verdicts), out)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        self.pipe = reading

    def receive(self):
        """Reads what the child says; False at its end."""
        data = os.read(self.pipe, 1 << 16)
        self.since = time.monotonic()
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            fields = json.loads(line)
            if "outcome" in fields:
                self.verdicts.append(Verdict(**fields))
                self.begun = None
                self.silences = 0
            else:
                self.begun = fields
        return bool(data)

    def finish(self, killed):
        """Ends the child; True where another has to go on."""
        if killed:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.pipe)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if status == 0:
            return False
        self.silences += killed
        if killed and self.silences < (SILENCES if self.begun else STARTS):
            return True
        silence = f"no answer in {ANSWER} s, {self.silences} times"
        if self.begun is None:
            raise RuntimeError(f"{self.name}: the judge itself failed ({silence if killed else f'status {status}'})")
        detail = silence if killed else f"ended by {signal.Signals(-status).name}" if status < 0 else (
            f"ended with status {status}")
        self.verdicts.append(Verdict(**self.begun, outcome="crashed", detail=detail))
        self.silences = 0
        return True


def work(judge, infos, skip, out):
    """What a child does: all samples but the first `skip`."""
    def say(fields):
        out.write(json.dumps(fields) + "\n")
        out.flush()

    with peer.reproducible():
        for info, dtype, kind in judge.places(infos):
            if not judge.plan.draws(peer.title(info), dtype, kind):
                continue
            for sample in judge.samples(info, dtype, kind):
                if skip > 0:
                    skip -= 1
                    continue
                say({"operator": info.name, "variant": info.variant_test_name, "dtype": dtype, "kind": kind,
                     "index": sample.index})
                say(dataclasses.asdict(judge.judge(info, dtype, sample)))


def run(operators, open_judge, jobs, progress, together=1):
    """Verdicts of each operator, {name: [OpInfo]}, as they come: (name, verdicts). So many `together` are one child's,
    for where there is little to judge of each, starting it takes longest."""
    listed = list(operators.items())
    waiting = [Task(listed[at:at + together]) for at in range(0, len(listed), together)][::-1]
    running = selectors.DefaultSelector()
    try:
        while waiting or running.get_map():
            while waiting and len(running.get_map()) < jobs:
                task = waiting.pop()
                task.start(open_judge)
                running.register(task.pipe, selectors.EVENT_READ, task)
            ready = [key.data for key, _ in running.select(1)]
            for task in [key.data for key in running.get_map().values()]:
                late = time.monotonic() - task.since > ANSWER
                if not late and (task not in ready or task.receive()):
                    continue
                running.unregister(task.pipe)
                if task.finish(late):
                    waiting.append(task)
                else:
                    for name in task.names:
                        yield name, [verdict for verdict in task.verdicts if verdict.operator == name]
            progress([key.data for key in running.get_map().values()])
    finally:
        for key in running.get_map().values():
            os.kill(key.data.pid, signal.SIGKILL)
