"""Many programs over worker processes.

Needs: kinds, reducing, reducing_text.
Gives: run_all (a Summary), shorten (saves one reduced failure of each kind).
How:   a worker that dies or is late counts as a failure of the program it was at, and is replaced. A
       process has one emulated GPU, so each worker has the programs of one target.
"""

import collections
import multiprocessing
import os
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import kinds
from .case import Case
from .checking import Report, blame
from .reducing import reduce_program
from .reducing_text import reduce_case
from .running import Failure, devices_named, signature

LIFE = 400  # programs of a worker, whose modules and kernels stay in its memory
PROGRESS = 500


def set_up(options, target):
    """What a worker needs once: the devices, and a kernel cache of its own."""
    sys.dont_write_bytecode = (
        True  # a module that is written again each second must not be mistaken
    )
    os.environ.setdefault("PANTILE_CACHE_DIR", str(Path(options.out) / "cache"))
    if target:
        os.environ["PANTILE_EMULATED_TARGET"] = target
    if options.skip:
        from . import draw

        names = {f"draw_{name}" for name in options.skip.split(",")}
        draw.drop(names)
    return devices_named(options.device)


def target_of(options, number):
    """The target of a program; "" where there is one GPU, or none."""
    targets = options.target.split(",") if options.device == "emulated" else [""]
    return targets[number % len(targets)]


def program_of(options, number):
    """Program `number` of the campaign."""
    seed = f"{options.seed}.{number}"
    return kinds.draw(kinds.kind_of(options.kinds, seed), seed)


def restart_emulation(options):
    """What programs ran before in this process does not change what the next one draws."""
    if options.device == "emulated":
        import emulated_device

        emulated_device.restart()


def work(pipe, options, target):
    """Check what comes through the pipe, a program or the number of one, until None comes.

    Answers (report, whether this process can go on): a GPU that has faulted is of no use to it.
    """
    devices = set_up(options, target)
    while (task := _next_task(pipe)) is not None:
        numbered = isinstance(task, int)
        name = f"p{task}" if numbered else f"r{os.getpid()}"
        restart_emulation(options)
        try:
            program = program_of(options, task) if numbered else task
            report = kinds.check(program, options, name, devices, task if numbered else 1)
        except Exception as problem:
            report = Report(Failure("generator", f"{type(problem).__name__}: {problem}"))
        if report.failure is None or not numbered:
            (Path(options.out) / f"{name}.py").unlink(missing_ok=True)
        pipe.send((report, not _faulted(report.failure)))
        if _faulted(report.failure):
            break


def _faulted(failure):
    return failure is not None and failure.kind == "cuda error" and "CUDA" in failure.message


def _next_task(pipe):
    try:
        return pipe.recv()
    except EOFError:  # the campaign is over
        return None


class Worker:
    """A process with the task that it is at."""

    def __init__(self, options, target=""):
        self.options, self.target, self.task, self.started, self.done = (
            options,
            target,
            None,
            0.0,
            0,
        )
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, options, target), daemon=True)
        self.process.start()
        other.close()

    def give(self, task):
        self.task, self.started = task, time.time()
        self.done += 1
        self.pipe.send(task)

    def result(self, wait=0.01):
        """(done, report, alive); a dead or late process is done."""
        if self.pipe.poll(wait):
            try:
                report, alive = self.pipe.recv()
                return True, report, alive
            except (EOFError, ConnectionResetError):
                self.process.join()
                code = self.process.exitcode
                return True, Report(Failure("crash", f"the process ended with {code}")), False
        if time.time() - self.started > self.options.timeout:
            self.process.kill()
            self.process.join()
            late = Failure("hang", f"more than {self.options.timeout} s")
            return True, Report(late), False
        return False, None, True

    def end(self):
        self.pipe.send(None)


@dataclass
class Summary:
    """Failures by program number; by kind of program, what was counted and how long it took."""

    failures: dict = field(default_factory=dict)
    counts: dict = field(default_factory=lambda: collections.defaultdict(collections.Counter))
    seconds: collections.Counter = field(default_factory=collections.Counter)

    def add(self, options, worker, report):
        kind = kinds.kind_of(options.kinds, f"{options.seed}.{worker.task}")
        self.counts[kind]["programs"] += 1
        if self.programs() % PROGRESS == 0:
            print(f"{self.programs()} programs", flush=True)
        self.counts[kind].update(report.figures)
        self.seconds[kind] += time.time() - worker.started
        if report.failure:
            self.failures[worker.task] = report.failure
            self.counts[kind][report.failure.kind] += 1
            message = (
                f"{kind} {worker.target}: {report.failure.kind}: {report.failure.message[:300]}"
            )
            print(f"program {worker.task}: {message}", flush=True)

    def programs(self):
        return sum(counter["programs"] for counter in self.counts.values())

    def text(self):
        """A line for each kind."""
        lines = []
        for kind, counter in sorted(self.counts.items()):
            figures = ", ".join(f"{n} {name}" for name, n in counter.items() if name != "programs")
            lines.append(f"{kind}: {counter['programs']} in {self.seconds[kind]:.0f} s; {figures}")
        return "\n".join(lines)


class Queue:
    """The numbers that are left, by target."""

    def __init__(self, options, numbers):
        self.left = collections.defaultdict(collections.deque)
        for number in numbers:
            self.left[target_of(options, number)].append(number)

    def stop(self):
        """No further program is begun."""
        self.left.clear()

    def next_target(self, workers):
        """Where most is left for each worker; None where nothing is."""
        busy = collections.Counter(worker.target for worker in workers)
        left = {t: len(queue) / (1 + busy[t]) for t, queue in self.left.items() if queue}
        return max(left, key=left.get) if left else None

    def next_worker(self, options, workers, worker=None):
        """A worker with its next task, the old one if it can; None if nothing is left."""
        if worker and (not self.left[worker.target] or worker.done >= LIFE):
            worker.end()
            worker = None
        if worker is None:
            target = self.next_target(workers)
            if target is None:
                return None
            worker = Worker(options, target)
        worker.give(self.left[worker.target].popleft())
        return worker


def run_all(options, numbers):
    """The Summary of these programs, or of those that are begun within `options.seconds`."""
    summary, queue, workers = Summary(), Queue(options, numbers), []
    end = time.time() + options.seconds if options.seconds else float("inf")
    for _ in range(options.jobs):
        if worker := queue.next_worker(options, workers):
            workers.append(worker)
    while workers:
        for worker in list(workers):
            done, report, alive = worker.result()
            if not done:
                continue
            summary.add(options, worker, report)
            workers.remove(worker)
            if time.time() > end:
                queue.stop()
            if worker := queue.next_worker(options, workers, worker if alive else None):
                workers.append(worker)
    return summary


class Checker:
    """Checks one program at a time in a worker, and starts another when that is lost."""

    def __init__(self, options, target):
        self.options, self.target, self.worker = options, target, None

    def failure(self, program):
        self.worker = self.worker or Worker(self.options, self.target)
        self.worker.give(program)
        done = False
        while not done:
            done, report, alive = self.worker.result(1.0)
        if not alive:
            self.worker = None
        return report.failure


def shorten(options, failures):
    """Reduce one failure of each kind and message, and save it."""
    seen, checkers = set(), {}
    for number, failure in sorted(failures.items()):
        key = (failure.kind, _gist(failure.message))
        if failure.kind in ("generator", "undefined") or key in seen:
            continue
        seen.add(key)
        target = target_of(options, number)
        checker = checkers.setdefault(target, Checker(options, target))
        path = Path(options.out) / f"failure-{options.seed}-{number}.py"
        path.write_text(reduced(options, checker, number, failure))
        print(f"reduced program {number}: {path}", flush=True)


def reduced(options, checker, number, failure):
    """The text of a program that fails in the same way, and what is known of it."""
    key = (failure.kind, _gist(failure.message))

    def fails(program):
        found = checker.failure(program)
        if found is None or found.kind != key[0]:
            return False
        return "error" not in key[0] or _gist(found.message) == key[1]

    program = program_of(options, number)
    note = f"# {checker.target} {failure.kind}: {failure.message[:1000]!r}\n"
    if not isinstance(program, Case):
        small = reduce_program(program, fails, options.tries)
        return f"{small.text()}\n# {signature(small)}\n{note}"
    small = reduce_case(program, fails, options.tries)
    guilty = blame(small, fails)
    small.notes = [note, f"passes that must run: {', '.join(guilty)}"]
    return small.text()


def _gist(message):
    """A message without places and numbers."""
    text = re.sub(r"\S*/\S*|[0-9a-f]{6}|\d+", "", message)
    return text.rsplit("error", 1)[-1].split("\n")[0][:60]
