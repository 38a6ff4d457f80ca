"""The choice of a configuration: from known times, or by measuring.

Of the processes that share a kernel cache one measures at a time, so that the others find its times.
"""

import contextlib
import time
import warnings

from .. import _pantile, knobs

_PAUSES = (0.002, 0.2)  # seconds between two attempts to lock: the first, and the longest


class Choice:
    """What is known of the configurations, and the one chosen.

    `timings` are {configuration: milliseconds at the quantiles 0.5, 0.2 and 0.8}, `failures`
    {configuration: why it was ruled out}; `best` is None where none runs. `seconds` is how long
    this process has measured; None if it has not.
    """

    def __init__(self, timings, failures, best, seconds=None):
        self.timings, self.failures, self.best, self.seconds = timings, failures, best, seconds

    @classmethod
    def of_times(cls, timings, failures, seconds=None):
        return cls(timings, failures, _fastest(timings), seconds)


def _fastest(timings):
    """The configuration with the smallest median; None if none has a finite one."""
    best = min(timings, key=lambda config: timings[config][0], default=None)
    return None if best is None or timings[best][0] == float("inf") else best


class Question:
    """Which of `configs` a launch with these arguments takes on GPU `device`, or the CPU (-1)."""

    def __init__(self, tuner, configs, args, kwargs, key, device):
        self.tuner, self.configs, self.args, self.kwargs = tuner, configs, args, kwargs
        self.key, self.device = key, device
        self.named = {**tuner.nargs, **kwargs}
        self.seconds = None

    def choice(self):
        """Return the Choice of this process."""
        return self._answer()

    def _wait_for_gpu(self):
        """Wait for what this process has queued, which may itself wait for another process.

        Measuring waits for it too, and must not do so while others wait for this process.
        """
        if self.device >= 0 and not _pantile.is_capturing(self.device):
            _pantile.synchronize(self.device)

    def _answer(self):
        """The choice of this process."""
        store = self.tuner._store(self.key, self.device)
        timings, failures = store.load(self.configs) if store else ({}, {})
        missing = self._missing(timings, failures)
        if knobs.autotuning.deterministic:
            best = _fastest(timings)
            if best is None:
                best = self.tuner._first_that_fits(missing, self.args, self.kwargs)
            return Choice(timings, failures, best)
        if missing:
            self.tuner._refuse_capture(self.named)
            with self._measuring_alone(store) as may_know_more:
                if may_know_more:
                    timings, failures = store.load(self.configs)
                    missing = self._missing(timings, failures)
                self._measure(missing, timings, failures, store)
        return Choice.of_times(timings, failures, self.seconds)

    def _missing(self, timings, failures):
        return [c for c in self.configs if c not in timings and c not in failures]

    def _measure(self, missing, timings, failures, store):
        """Measure `missing`; add to `timings`, `failures` and the kernel cache."""
        from .autotuner import working_on

        if not missing:
            return
        start = time.perf_counter()
        with working_on(self.device):
            measured, errors = self.tuner._measure(missing, self.args, self.kwargs, self.device)
        self.seconds = time.perf_counter() - start
        for config in missing:
            if store and (config in measured or config in errors):
                store.store(config, measured.get(config), errors.get(config))
        timings.update(measured)
        failures.update(errors)

    @contextlib.contextmanager
    def _measuring_alone(self, store):
        """Hold the lock of these times within; gives whether another process may have stored some."""
        if store is None:
            yield False
            return
        self._wait_for_gpu()
        lock = self._lock(store.lock_name())
        try:
            yield True
        finally:
            lock.release()

    def _lock(self, name):
        """Return the lock `name`, which may still be held by another process when patience ends."""
        end = time.monotonic() + knobs.autotuning.wait_seconds
        pause, longest = _PAUSES
        while True:
            lock = _pantile.cache_try_lock(name)
            if lock.is_held or not lock.is_possible:
                return lock
            if time.monotonic() >= end:
                break
            time.sleep(pause)
            pause = min(1.5 * pause, longest)
        warnings.warn(
            f"waited {knobs.autotuning.wait_seconds:g} s for another process that tunes "
            f"`{self.tuner.__name__}`, and tunes as well",
            RuntimeWarning,
            stacklevel=2,
        )
        return lock
