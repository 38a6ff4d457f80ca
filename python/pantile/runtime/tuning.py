"""Compiling configurations in parallel, and finding the fastest by successive halving.

All are compiled first, on all cores: what takes the time there runs without the GIL. Then they are measured one after
the other, in rounds: each round spends more time on fewer, so that hopeless ones cost a few runs. The runs of a
round are interleaved: what holds up the machine for a while then holds up all of them a little, not one of them throughout.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from .. import knobs
from ._async_compile import AsyncCompileMode, FutureKernel, active_mode
from .errors import CompileTimeAssertionFailure, OutOfResources, PTXASError

# What rules a configuration out; any other error is the kernel's, and the caller gets it.
FAILURES = (OutOfResources, CompileTimeAssertionFailure, PTXASError)

# Milliseconds for each configuration, and how much slower than the best it may be to stay for the next round.
_ROUNDS = ((3.0, 1.4), (10.0, 1.15), (40.0, 1.0))
_HOPELESS = 3.0
_TURNS = 3  # parts of a round; each has one run at least
_REPEATS = 5  # of a last round in which the winners were slower than one that lost before
_OVERHEAD = 0.15  # milliseconds per run in addition to the kernel, mostly the write that makes the cache cold


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
        self.times, self.shortest, self._prepared = [], float("inf"), False

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
        """Return the times of `count` runs.

        The shortest of all decides which trials stay: a busy host makes single runs longer, never shorter.
        """
        times = timer.times(self.launch, count, self.prepare)
        self.finish()
        self.shortest = min(self.shortest, *times)
        return times

    def turn(self, timer, budget):
        """Measure for about `budget` milliseconds."""
        count = int(budget / (self.shortest + _OVERHEAD))
        self.times += self.measure(timer, min(max(1, count), 200 // _TURNS))

    def summary(self):
        """The times at quantiles 0.5, 0.2 and 0.8."""
        from ..testing.bench import quantile_of

        ordered = sorted(self.times)
        return [quantile_of(ordered, q) for q in (0.5, 0.2, 0.8)]


def _first_runs(trials, timer, errors, progress):
    """Load and run each configuration twice; those that cannot be launched go into `errors`."""
    running = []
    for trial in trials:
        try:
            trial.prepare()
            trial.launch()
            trial.finish()
            timer.synchronize()
            trial.times = trial.measure(timer, 1)
            running.append(trial)
        except FAILURES as error:
            errors[trial.config] = error
        progress.step()
    return running


def _is_hopeless(trial, best, timer):
    """Whether `trial` is far slower than `best` each time that they run one after the other."""
    for _ in range(_TURNS):
        (limit,), (time,) = best.measure(timer, 1), trial.measure(timer, 1)
        if time <= _HOPELESS * limit:
            return False
    return True


def _without_hopeless(trials, timer):
    """Those that may win after one run each; one that seems slow is run again before it is dropped."""
    best = min(trials, key=lambda trial: trial.shortest, default=None)
    return [
        trial
        for trial in trials
        if trial.shortest <= _HOPELESS * best.shortest or not _is_hopeless(trial, best, timer)
    ]


def _round(running, timer, budget):
    """Measure each of `running` for about `budget` milliseconds, interleaved forwards and backwards: the clock drifts."""
    for trial in running:
        trial.times = []
    for number in range(_TURNS):
        for trial in running if number % 2 == 0 else reversed(running):
            trial.turn(timer, budget / _TURNS)


def _settle(trials, running, timer):
    """Measure the winners again while one that was dropped has a smaller median.

    The choice is by medians, and a host may have been busy for most of a winner's last round.
    """
    behind = [trial.summary()[0] for trial in trials if trial not in running]
    for _ in range(_REPEATS):
        if not behind or min(trial.summary()[0] for trial in running) <= min(behind):
            return
        _round(running, timer, _ROUNDS[-1][0])


def race(tuner, configs, args, kwargs, device):
    """Measure `configs` on GPU `device`, or on the CPU (-1); return ({config: times at quantiles 0.5, 0.2, 0.8}, {config: error}).

    Times are in milliseconds. Those of a configuration that was dropped are of its last round.
    """
    from ..testing.bench import timer_of

    timer, errors = timer_of(device < 0, max(device, 0)), {}
    progress = Progress(f"measuring {tuner.__name__}", len(configs))
    try:
        trials = [_Trial(tuner, config, args, kwargs) for config in configs]
        trials = running = _first_runs(trials, timer, errors, progress)
        running = _without_hopeless(running, timer)
        for budget, slack in _ROUNDS:
            _round(running, timer, budget)
            if len(running) == 1:
                break
            limit = slack * min((trial.shortest for trial in running), default=0.0)
            running = [trial for trial in running if trial.shortest <= limit]
        _settle(trials, running, timer)
    finally:
        progress.close()
    return {trial.config: trial.summary() for trial in trials}, errors
