"""Compiles one case, compares it with eager execution, and times it when the driver says so.

Usage: [-m pantile.compat] child.py CASE
How:   reads commands from standard input, a line each, and answers with a line of JSON:
       (start)  -> {"stage": "made"}: the model is there and has run eagerly
       compile  -> {"stage": "ready", ...}: the cold compilation's time, the error, the warnings
       run      -> {"stage": "ran", "run_ms": median of a few calls, host and GPU together}
       device   -> {"stage": "device", "device_ms": ..., "back_to_back_ms": ...}
       end      -> the process ends
       {"stage": "failed", ...} ends it too. What Inductor times on the GPU before `ready` holds a
       lock among all children; the wait for it is no part of the times.
"""

import contextlib
import gc
import json
import logging
import os
import sys
import time
import traceback
import warnings
from pathlib import Path

# Answers have a descriptor of their own: libraries and compile workers write to the other two.
ANSWERS = os.fdopen(os.dup(1), "w", buffering=1)
COMMANDS = os.fdopen(os.dup(0))
os.dup2(2, 1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if os.environ.get("COMPILED_AHEAD"):
    os.nice(19)  # others are being measured; until `compile`

import torch  # noqa: E402

from compiled import comparison, splits, timing  # noqa: E402
from compiled.cases import CASES  # noqa: E402
from compiled.turns import Turns  # noqa: E402
from compiled.zoo import DEVICE  # noqa: E402


def say(stage, **values):
    print(json.dumps({"stage": stage, **values}), file=ANSWERS, flush=True)


class Heard(logging.Handler):
    """Keeps what torch warns of."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        cause = record.exc_info[1] if record.exc_info else None
        why = f" ({type(cause).__name__}: {cause})" if cause else ""
        self.texts.append(f"{record.name}: {record.getMessage()}{why}")


class AsModule(torch.nn.Module):
    """A function that torch.export accepts."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def ahead_of_time(function, arguments):
    """What AOTInductor's package gives when it is loaded again."""
    module = function if isinstance(function, torch.nn.Module) else AsModule(function)
    with torch.no_grad():
        program = torch.export.export(module.eval(), arguments)
        say("exported")
        package = torch._inductor.aoti_compile_and_package(
            program, package_path=os.path.join(os.getcwd(), "model.pt2")
        )
        say("packaged")
        loaded = torch._inductor.aoti_load_package(package)
    say("loaded")
    return loaded


def compiled_of(case, function, arguments):
    options = dict(case.compile)
    if options.pop("aot", False):
        return ahead_of_time(function, arguments)
    return torch.compile(function, **options)


class Program:
    """A case in this process: eager, compiled, timed."""

    def __init__(self, case, turns):
        self.case, self.turns = case, turns
        torch.manual_seed(1)
        torch.set_float32_matmul_precision("highest")
        # Eager and compiled code may choose other convolutions: only without TF32 are they alike.
        torch.backends.cudnn.allow_tf32 = False
        self.function, self.arguments = case.make()
        if isinstance(self.function, torch.nn.Module):
            self.function.train(case.trains)
        self.expected = None

    def run_eagerly(self):
        with self.turns.taken(alone=False):
            self.expected = self._step(self.function, self.arguments)
            timing.synchronise()

    def _step(self, function, arguments):
        return comparison.step(self.case, function, self.function, arguments)

    def compile(self):
        """Seconds, without those spent waiting for other children, and the error."""
        turns = self.turns
        turns.waited = 0.0
        start = time.perf_counter()
        self.compiled = compiled_of(self.case, self.function, self.arguments)
        found = self._step(self.compiled, self.arguments)
        timing.synchronise()
        result = {"compile_s": time.perf_counter() - start - turns.waited}
        result |= {"waited_s": turns.waited}
        result |= {"first_result_at": time.time(), "idle_s": turns.idle}
        result |= splits.of_compilation(turns.waited)
        if self.expected is None:
            self.run_eagerly()
        first = comparison.error(found, self.expected)
        del found
        return result | {"error": max(first, self._later_error())}

    def _later_error(self):
        """The larger of a later call, such as a CUDA graph's replay, and one of other sizes."""
        for _ in range(3):
            self.call()
        worst = [comparison.error(self.call(), self.expected)]
        del self.expected
        timing.release_memory()
        if self.case.other_sizes:
            other = self.case.other_sizes(self.arguments)
            values = [self._step(f, other) for f in (self.compiled, self.function)]
            worst.append(comparison.error(*values))
        return max(worst)

    def call(self):
        return self._step(self.compiled, self.arguments)

    def warm(self):
        """Recompilations, CUDA graphs and the choice of convolutions come before the first time."""
        torch.backends.cudnn.allow_tf32 = True
        with self.turns.taken(alone=False):
            for _ in range(5):
                self.call()
            timing.synchronise()
        gc.collect()
        gc.freeze()


def guard_benchmarks(turns):
    """Inductor's own timing of candidates runs alone on the GPU."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._inductor.runtime.benchmarking import benchmarker

        for name in ("benchmark", "benchmark_gpu"):
            turns.guard(benchmarker, name)


def serve(program):
    """Answer the driver until it says `end` or is gone."""
    timing.pin()
    for line in COMMANDS:
        command = line.strip()
        if command == "run":
            say("ran", run_ms=timing.run_ms(program.call))
        elif command == "device":
            say("device", **timing.device_ms(program.call))
        else:
            return


def measure(name, heard, caught):
    turns = Turns(os.environ.get("COMPILED_LOCK"))
    program = Program(CASES[name], turns)
    if not os.environ.get("COMPILED_SECOND"):  # its time to the first result counts
        program.run_eagerly()
    say("made", device=DEVICE)
    start = time.perf_counter()
    if COMMANDS.readline().strip() != "compile":
        return
    turns.idle += time.perf_counter() - start
    if os.environ.get("COMPILED_AHEAD"):
        for thread in os.listdir("/proc/self/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), 0)
    if DEVICE == "cuda":
        guard_benchmarks(turns)
    result = program.compile()
    program.warm()
    import triton

    texts = [*heard.texts, *(f"{w.category.__name__}: {w.message}" for w in caught)]
    result["warnings"] = sorted({comparison.normalised(t) for t in texts})
    say("ready", triton=triton.__file__, **result)
    serve(program)


def main():
    torch._C._set_print_stack_traces_on_fatal_signal(True)  # of C++; Python prints its own
    heard = Heard()
    for name in ("torch", "torch._inductor", "torch._dynamo"):
        logging.getLogger(name).addHandler(heard)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            measure(sys.argv[1], heard, caught)
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"
            say("failed", failure=text[-2000:], trace=traceback.format_exc()[-6000:])


if __name__ == "__main__":
    main()
