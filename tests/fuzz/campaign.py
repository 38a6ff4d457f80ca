"""Many programs over worker processes.

Needs: generator, running, reducing.
Gives: run_all (failures by program number), shorten (saves one reduced failure of each kind).
How:   a worker that dies or is late counts as a failure of the program it was at, and is replaced.
"""

import collections
import multiprocessing
import os
import re
import sys
import time
from pathlib import Path

from .generator import draw_program
from .reducing import reduce_program
from .running import Failure, check_program, devices_named, signature


def set_up(options):
    """What a worker needs once: the devices, and a kernel cache of its own."""
    sys.dont_write_bytecode = True  # a module that is written anew each second must not be mistaken
    os.environ.setdefault("PANTILE_CACHE_DIR", str(Path(options.out) / "cache"))
    if options.skip:
        from . import draw

        names = {f"draw_{name}" for name in options.skip.split(",")}
        draw.drop(names)
    return devices_named(options.device)


def work(pipe, options):
    """Check what comes through the pipe, a program or the number of one, until None comes.

    Answers (failure, whether this process can go on): a GPU that has faulted is of no use to it.
    """
    devices = set_up(options)
    while (task := _next_task(pipe)) is not None:
        name = f"p{task}" if isinstance(task, int) else f"r{os.getpid()}"
        index = task if isinstance(task, int) else 0
        try:
            program = draw_program(f"{options.seed}.{task}") if isinstance(task, int) else task
            every = options.compile_every
            failure = check_program(program, options.out, name, devices, every, index)
        except Exception as problem:
            failure = Failure("generator", f"{type(problem).__name__}: {problem}")
        if failure is None or not isinstance(task, int):
            (Path(options.out) / f"{name}.py").unlink(missing_ok=True)
        faulted = failure is not None and failure.kind == "cuda error" and "CUDA" in failure.message
        pipe.send((failure, not faulted))
        if faulted:
            break


def _next_task(pipe):
    try:
        return pipe.recv()
    except EOFError:  # the campaign is over
        return None


class Worker:
    """A process with the task that it is at."""

    def __init__(self, options):
        self.options, self.task, self.started = options, None, 0.0
        self.pipe, other = multiprocessing.get_context("spawn").Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=work, args=(other, options), daemon=True)
        self.process.start()
        other.close()

    def give(self, task):
        self.task, self.started = task, time.time()
        self.pipe.send(task)

    def result(self, wait=0.01):
        """(done, failure, alive); a dead or late process is done."""
        if self.pipe.poll(wait):
            try:
                failure, alive = self.pipe.recv()
                return True, failure, alive
            except (EOFError, ConnectionResetError):
                self.process.join()
                code = self.process.exitcode
                return True, Failure("crash", f"the process ended with {code}"), False
        if time.time() - self.started > self.options.timeout:
            self.process.kill()
            self.process.join()
            return True, Failure("hang", f"more than {self.options.timeout} s"), False
        return False, None, True


def run_all(options, indices):
    """Failures by program number."""
    failures, left = {}, collections.deque(indices)
    workers = [Worker(options) for _ in range(min(options.jobs, len(left)))]
    for worker in workers:
        worker.give(left.popleft())
    while workers:
        for worker in list(workers):
            done, failure, alive = worker.result()
            if not done:
                continue
            if failure:
                failures[worker.task] = failure
                print(f"program {worker.task}: {failure.kind}: {failure.message[:300]}", flush=True)
            workers.remove(worker)
            if left:
                worker = worker if alive else Worker(options)
                worker.give(left.popleft())
                workers.append(worker)
            elif alive:
                worker.pipe.send(None)
    return failures


class Checker:
    """Checks one program at a time in a worker, and starts another when that is lost."""

    def __init__(self, options):
        self.options, self.worker = options, None

    def failure(self, program):
        self.worker = self.worker or Worker(self.options)
        self.worker.give(program)
        done = False
        while not done:
            done, failure, alive = self.worker.result(1.0)
        if not alive:
            self.worker = None
        return failure


def shorten(options, failures):
    """Reduce one failure of each kind and message, and save it."""
    checker, seen = Checker(options), set()
    for index, failure in sorted(failures.items()):
        key = (failure.kind, _gist(failure.message))
        if failure.kind == "generator" or key in seen:
            continue
        seen.add(key)

        def fails(program, key=key):
            found = checker.failure(program)
            if found is None or found.kind != key[0]:
                return False
            return "error" not in key[0] or _gist(found.message) == key[1]

        small = reduce_program(draw_program(f"{options.seed}.{index}"), fails, options.tries)
        path = Path(options.out) / f"failure-{options.seed}-{index}.py"
        note = f"# {signature(small)}\n# {failure.kind}: {failure.message[:1000]!r}\n"
        path.write_text(small.text() + "\n" + note)
        print(f"reduced program {index}: {path}", flush=True)


def _gist(message):
    """A message without places and numbers."""
    text = re.sub(r"\S*/\S*|[0-9a-f]{6}|\d+", "", message)
    return text.rsplit("error", 1)[-1].split("\n")[0][:60]
