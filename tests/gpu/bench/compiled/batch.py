"""A few cases at once: all children compile together, then each is timed while nothing else runs.

How:   1. Both sides of every case start, and wait when the model has run eagerly (`prepare`).
       2. All compile at once, so that both sides meet the same contention (`compile`).
       3. Of cases that measure a warm start, second processes with the caches of the first take
          their places, all of them at once.
       4. Nothing else runs: by case, the sides are timed interleaved, in rounds that begin with either.
       5. Where more processes were asked for, all start again, find the caches, and are timed: two
          processes of one side differ by more than the rounds of one do. The fastest counts: what
          else runs on the machine only adds to a time.
"""

import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .processes import Child

KEPT = "compile_s waited_s triton_s phases counters error warnings triton".split()


class Batch:
    """`rows` has by case and side what was measured, or the failure."""

    def __init__(self, cases, sides, options):
        self.cases, self.sides, self.options = cases, sides, options
        self.root = Path(tempfile.mkdtemp(prefix="compiled-"))
        self.rows = {name: {} for name in cases}
        self.keys = [(name, side) for name in cases for side in sides]
        self.folders = {key: self._folder(number) for number, key in enumerate(self.keys)}
        self.children = {}

    def _folder(self, number):
        folder = self.root / str(number)
        folder.mkdir()
        return folder

    def _start(self, key, kind):
        self.children[key] = Child(key, self.folders[key], self.options, kind)

    def prepare(self, kind=""):
        """Start all children; they import and make their models."""
        if not self.children:
            for key in self.keys:
                self._start(key, kind)

    def wait_prepared(self):
        self.prepare()
        _until(lambda: all([child.poll("made") for child in self.children.values()]))

    def compile(self, few_left=None):
        """Compile everywhere; `few_left` is called when a third of the children are still at it."""
        self.wait_prepared()
        self._release(self.keys)

        def waiting():
            return sum(not child.poll("ready") for child in self.children.values())

        _until(lambda: waiting() <= len(self.keys) // 3)
        if few_left:
            few_left()
        _until(lambda: waiting() == 0)

    def _release(self, keys):
        for key in keys:
            child = self.children[key]
            child.started = time.time()  # the limit counts from here
            child.tell("compile")

    def warm_up(self):
        """Second processes in place of the first, for the cases that measure a warm start."""
        keys = [k for k in self.keys if self.cases[k[0]].warm and not self.children[k].failure]
        firsts = {key: self._result(key) for key in keys}
        self._restart(keys)
        for key in keys:
            first = {f"cold_{n}": firsts[key][n] for n in ("compile_s", "first_result_s", "error")}
            self.rows[key[0]].setdefault(key[1], {}).update(first)

    def _restart(self, keys):
        """New processes, which find the caches of those that end."""
        self._end(keys)
        for key in keys:
            self._start(key, "second")
            self.children[key].tell("compile")
        _until(lambda: all([self.children[k].poll("ready") for k in keys]))

    def time(self):
        """The run times of all that are ready, one call at a time on the whole machine."""
        self._time_processes(self._take)
        for _ in range(self.options.processes - 1):
            self._restart([key for key in self.keys if not self.children[key].failure])
            self._time_processes(self._take_again)

    def _time_processes(self, take):
        for name in self.cases:
            runs = {side: [] for side in self.sides}
            for number in range(self.options.rounds):
                for side in self.sides if number % 2 == 0 else reversed(self.sides):
                    child = self.children[name, side]
                    answer = None if child.failure else child.ask("run", "ran")
                    if answer:
                        runs[side].append(answer["run_ms"])
            for side in self.sides:
                take(name, side, runs[side])

    def _take(self, name, side, runs):
        child = self.children[name, side]
        row = self.rows[name].setdefault(side, {})
        device = None if child.failure else child.ask("device", "device")
        row.update(child.failure or self._result((name, side)) | (device or {}))
        if runs and not child.failure:
            row.update(run_ms=statistics.median(runs), run_rounds=[round(t, 4) for t in runs])

    def _take_again(self, name, side, runs):
        """The time of the fastest process takes the place of the first one's."""
        row = self.rows[name][side]
        if runs and "run_ms" in row:
            times = row.setdefault("run_processes", [row["run_ms"]])
            times.append(statistics.median(runs))
            row["run_ms"] = min(times)

    def _result(self, key):
        child = self.children[key]
        ready = child.answers["ready"]
        spent = ready["first_result_at"] - child.process_started - ready["idle_s"]
        return {"first_result_s": spent} | {name: ready[name] for name in KEPT}

    def _end(self, keys):
        with ThreadPoolExecutor(max(1, len(keys))) as pool:
            list(pool.map(lambda key: self.children[key].end(), keys))

    def end(self):
        """End all children and remove their caches."""
        self._end([key for key in self.keys if key in self.children])
        shutil.rmtree(self.root, ignore_errors=True)


def _until(holds):
    while not holds():
        time.sleep(0.02)
