"""Compiling configurations in parallel, and finding the fastest.

All are compiled first, on all cores: what takes the time there runs without the GIL. Then they run a race, the
library's own (`race` of pantile/Tuner.h): rounds that measure fewer for longer.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from .. import _pantile, knobs
from ._async_compile import AsyncCompileMode, FutureKernel, active_mode
from .errors import CompileTimeAssertionFailure, OutOfResources, PTXASError

# What rules a configuration out; any other error is the kernel's, and the caller gets it.
FAILURES = (OutOfResources, CompileTimeAssertionFailure, PTXASError)

_MILLISECONDS = 50.0  # for each configuration that reaches the last round


class Progress:
    """A bar on standard error while something is done `total` times, if that is a terminal."""

    _WIDTH = 24

    def __init__(self, what, total):
        self.what, self.total, self.done = what, total, 0
        self.shown = total > 1 and knobs.autotuning.progress and sys.stderr.isatty()
        self._draw()

    def _draw(self):
        if self.shown:
            filled = self._WIDTH * self.done // self.total
            bar = "#" * filled + "." * (self._WIDTH - filled)
            print(
                f"\r{self.what} [{bar}] {self.done}/{self.total}",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def step(self):
        self.done += 1
        self._draw()

    def close(self):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _cores():
    return len(os.sched_getaffinity(0))


def _submit(tuner, config, args, kwargs):
    """Begin the compilation of a configuration; None where it is compiled already."""
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
    made = tuner.fn.run(*args, **{**kwargs, "warmup": True}, **config.all_kwargs())
    return made if isinstance(made, FutureKernel) else None


def compile_all(tuner, configs, args, kwargs):
    """Compile `configs` for the arguments at hand; return {config: error} of those that are ruled out.

    Inside of the caller's own AsyncCompileMode nothing is done: each is compiled when it first runs.
    """
    if active_mode.get() is not None or len(configs) < 2:
        return {}
    progress, futures, errors = Progress(f"compiling {tuner.__name__}", len(configs)), {}, {}
    try:
        with ThreadPoolExecutor(min(_cores(), len(configs))) as pool:
            with AsyncCompileMode(pool, ignore_errors=True) as mode:
                for config in configs:
                    try:
                        futures[config] = _submit(tuner, config, args, kwargs)
                    except FAILURES as error:
                        errors[config] = error
                progress.done = len(configs) - len(mode.raw_futures)
                for _ in as_completed(mode.raw_futures):
                    progress.step()
    finally:
        progress.close()
    for config, kernel in futures.items():
        error = kernel.future.exception() if kernel is not None else None
        if isinstance(error, FAILURES):
            errors[config] = error
        elif error is not None:
            raise error
    return errors


class _Trial:
    """A configuration in the race: its runs, with the hooks around each outside of the measured time."""

    def __init__(self, tuner, config, args, kwargs):
        self.tuner, self.config, self.args = tuner, config, args
        self.keywords = {**kwargs, **config.all_kwargs()}
        self.full = {**tuner.nargs, **self.keywords}
        self._prepared = False

    def prepare(self):
        self.finish()
        if self.config.pre_hook is not None:
            self.config.pre_hook(self.full)
        self.tuner.pre_hook(self.full)
        self._prepared = True

    def finish(self, exception=None):
        if self._prepared:
            self._prepared = False
            self.tuner.post_hook(self.full, exception=exception)

    def launch(self):
        try:
            self.tuner.fn.run(*self.args, **self.keywords)
        except Exception as error:
            self.finish(exception=error)
            raise

    def measure(self, timer, count):
        """Return the milliseconds of `count` runs."""
        times = timer.times(self.launch, count, self.prepare)
        self.finish()
        return times


def _summary(times):
    """The times at quantiles 0.5, 0.2 and 0.8."""
    from ..testing.bench import quantile_of

    ordered = sorted(times)
    return [quantile_of(ordered, q) for q in (0.5, 0.2, 0.8)]


def race(tuner, configs, args, kwargs, device):
    """Measure `configs` on GPU `device`, or on the CPU (-1); return ({config: times at quantiles 0.5, 0.2, 0.8}, {config: error}).

    Times are in milliseconds. Those of a configuration that was dropped are of its last round.
    """
    from ..testing.bench import timer_of

    timer, errors = timer_of(device < 0, max(device, 0)), {}
    trials = [_Trial(tuner, config, args, kwargs) for config in configs]
    progress, begun = Progress(f"measuring {tuner.__name__}", len(configs)), set()

    def measure(number, runs):
        if number not in begun:
            begun.add(number)
            progress.step()
        try:
            return trials[number].measure(timer, runs)
        except FAILURES as error:
            errors[configs[number]] = error
            return None

    try:
        times = _pantile.race(len(configs), measure, _MILLISECONDS)
    finally:
        progress.close()
    return {config: _summary(found) for config, found in zip(configs, times) if found}, errors


def print_choice(tuner, best, key, is_measured):
    """Print which configuration was taken for a key, and which ones failed and why."""
    took = f"finished after {tuner.bench_time:.2f}s" if is_measured else "read from the cache"
    print(
        f"Triton autotuning for function {tuner.__name__},\nwith key as {key},\n{took},\n"
        f"best config selected: {best};"
    )
    for config, why in tuner.configs_errors.items():
        print(f"left out: {config}: {why.splitlines()[0]}")
