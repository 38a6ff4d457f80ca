"""Many programs over worker processes.

Needs: generator, running, reducing.
Gives: run_all (failures by program number), shorten (saves one reduced failure of each kind).
How:   a worker that dies or is late counts as a failure of the program it was at, and is replaced.
"""

import collections
import multiprocessing
import os
import re
import time
from pathlib import Path

from .generator import draw_program
from .reducing import reduce_program
from .running import Failure, check_program, devices_named, signature


def set_up(options):
    """What a worker needs once: the devices, and a kernel cache of its own."""
    os.environ.setdefault("PANTILE_CACHE_DIR", str(Path(options.out) / "cache"))
    if options.skip:
        from . import draw

        names = {f"draw_{name}" for name in options.skip.split(",")}
        draw.drop(names)
    return devices_named(options.device)


def work(pipe, options):
    """Check the programs whose numbers come through the pipe."""
    devices = set_up(options)
    while (index := pipe.recv()) is not None:
        try:
            program = draw_program(f"{options.seed}.{index}")
            failure = check_program(
                program, options.out, f"p{index}", devices, options.compile_every, index
            )
        except Exception as problem:
            failure = Failure("generator", f"{type(problem).__name__}: {problem}")
        if failure is None:
            (Path(options.out) / f"p{index}.py").unlink(missing_ok=True)
        pipe.send(failure)
        if failure and "CUDA error" in failure.message:
            os._exit(1)  # the context is lost: every later program would fail too


class Worker:
    """A process with the program that it is at."""

    def __init__(self, options):
        self.options, self.index, self.started = options, None, 0.0
        self.pipe, other = multiprocessing.get_context("spawn").Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=work, args=(other, options), daemon=True)
        self.process.start()
        other.close()

    def give(self, index):
        self.index, self.started = index, time.time()
        self.pipe.send(index)

    def result(self):
        """(done, failure); a dead or late process is done."""
        if self.pipe.poll(0.01):
            try:
                return True, self.pipe.recv()
            except (EOFError, ConnectionResetError):
                self.process.join()
                return True, Failure("crash", f"the process ended with {self.process.exitcode}")
        if time.time() - self.started > self.options.timeout:
            self.process.kill()
            self.process.join()
            return True, Failure("hang", f"more than {self.options.timeout} s")
        return False, None


def run_all(options, indices):
    """Failures by program number."""
    failures, left = {}, collections.deque(indices)
    workers = [Worker(options) for _ in range(min(options.jobs, len(left)))]
    for worker in workers:
        worker.give(left.popleft())
    while workers:
        for i, worker in enumerate(list(workers)):
            done, failure = worker.result()
            if not done:
                continue
            if failure:
                failures[worker.index] = failure
                print(
                    f"program {worker.index}: {failure.kind}: {failure.message[:300]}", flush=True
                )
            if failure and "CUDA error" in failure.message:
                worker.process.join()
            if not worker.process.is_alive():
                workers.remove(worker)
                worker = Worker(options) if left else None
                workers += [worker] if worker else []
            if left and worker:
                worker.give(left.popleft())
            elif worker:
                worker.pipe.send(None)
                workers.remove(worker)
    return failures


def checked_apart(program, options, devices):
    """The failure of a program that may take the process down: checked in a forked one."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def child():
        there.send(check_program(program, options.out, f"r{os.getpid()}", devices, 1, 0))

    process = context.Process(target=child)
    process.start()
    there.close()
    try:
        result = here.recv() if here.poll(options.timeout) else Failure("hang", "")
    except EOFError:
        process.join()
        result = Failure("crash", f"the process ended with {process.exitcode}")
    process.kill()
    process.join()
    (Path(options.out) / f"r{process.pid}.py").unlink(missing_ok=True)
    return result


def shorten(options, failures):
    """Reduce one failure of each kind and message, and save it."""
    devices = set_up(options)
    seen = set()
    for index, failure in sorted(failures.items()):
        key = (failure.kind, _gist(failure.message))
        if failure.kind == "generator" or key in seen:
            continue
        seen.add(key)

        def fails(program, key=key):
            found = checked_apart(program, options, devices)
            if found is None or found.kind != key[0]:
                return False
            return "error" not in key[0] or _gist(found.message) == key[1]

        small = reduce_program(draw_program(f"{options.seed}.{index}"), fails, budget=200)
        path = Path(options.out) / f"failure-{options.seed}-{index}.py"
        note = f"# {signature(small)}\n# {failure.kind}: {failure.message[:1000]!r}\n"
        path.write_text(small.text() + "\n" + note)
        print(f"reduced program {index}: {path}", flush=True)


def _gist(message):
    """A message without places and numbers."""
    text = re.sub(r"\S*/\S*|[0-9a-f]{6}|\d+", "", message)
    return text.rsplit("error", 1)[-1].split("\n")[0][:60]
