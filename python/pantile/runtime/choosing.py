"""The choice of a configuration: from known times, by measuring, or as another rank chose.

Of the ranks with one question (a kernel's source, its key, its configurations, the kind of GPU)
one answers it, see `agreement`. Of other processes with a common kernel cache one measures at a
time, so that the others find its times.
"""

import contextlib
import hashlib
import sys
import time
import warnings

from .. import _pantile, knobs
from .agreement import LogError, agree
from .cache import triton_key
from .errors import AutotunerError
from .ranks import log_of
from .tuning_cache import device_name, hook_identity, kernel_of

_PAUSES = (0.002, 0.2)  # seconds between two attempts to lock: the first, and the longest


@contextlib.contextmanager
def working_on(device):
    """Make GPU `device` current within, where torch says which one is: there torch waits and takes times."""
    torch = sys.modules.get("torch")
    if device < 0 or torch is None or not torch.cuda.is_available():
        yield
        return
    with torch.cuda.device(device):
        yield


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

    def as_json(self, configs):
        """Return what other ranks need, with configurations by their places in the list."""
        times = [list(map(float, self.timings[c])) if c in self.timings else None for c in configs]
        why = [str(self.failures[c]) if c in self.failures else None for c in configs]
        best = None if self.best is None else configs.index(self.best)
        return {"times": times, "failures": why, "best": best}

    @classmethod
    def from_json(cls, found, configs):
        """Return the choice that `as_json` describes; LogError if it does not fit `configs`."""
        try:
            times = dict(zip(configs, map(_times, found["times"]), strict=True))
            failures = dict(zip(configs, found["failures"], strict=True))
            best = found["best"]
            if best is not None and (type(best) is not int or best not in range(len(configs))):
                raise ValueError(f"there is no configuration {best}")
        except (KeyError, TypeError, ValueError) as error:
            raise LogError(f"another rank's choice cannot be read: {error}") from error
        known = {config: one for config, one in times.items() if one is not None}
        ruled_out = {config: str(why) for config, why in failures.items() if why is not None}
        return cls(known, ruled_out, None if best is None else configs[best])


def _times(found):
    """Three times, or None for those that are not known."""
    return None if found is None else [float(time) for time in found]


def _fastest(timings):
    """The configuration with the smallest median; None if none has a finite one."""
    best = min(timings, key=lambda config: timings[config][0], default=None)
    return None if best is None or timings[best][0] == float("inf") else best


class Question:
    """Which of `configs` a launch with these arguments takes on GPU `device`, or the CPU (-1)."""

    def __init__(self, tuner, configs, args, kwargs, key, device):
        self.tuner, self.configs, self.args, self.kwargs = tuner, configs, args, kwargs
        # Of a search space ranks may keep other configurations, for arguments that are not in the key.
        self.candidates = configs if tuner.keep is None else tuner.configs
        self.key, self.device = key, device
        self.named = {**tuner.nargs, **kwargs}
        self.seconds = None

    def choice(self):
        """Return the Choice of all ranks, or where there are none that of this process."""
        answers = []
        try:
            made = self._choice_of_ranks(answers)
        except LogError as error:
            warnings.warn(
                f"`{self.tuner.__name__}` is tuned by each rank for itself: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            made = answers[-1] if answers else self._answer()
        made.seconds = self.seconds
        return made

    def _choice_of_ranks(self, answers):
        """The Choice that counts for all; what this process answers goes into `answers`, too."""
        digest = self._digest()
        log = log_of(digest) if digest is not None else None
        if log is None:
            return self._answer()

        def decide():
            answers.append(self._answer())
            return answers[-1].as_json(self.candidates)

        found, is_ours = agree(
            log,
            decide,
            patience=knobs.autotuning.wait_seconds,
            before_claim=self._wait_for_gpu,
        )
        return answers[-1] if is_ours else Choice.from_json(found, self.candidates)

    def _digest(self):
        """What the question is, for all ranks the same; None for a kernel without a text."""
        try:
            kernel = kernel_of(self.tuner)
        except AttributeError:
            return None
        parts = ["pantile choice 1", triton_key(), kernel.cache_key, device_name(self.device)]
        parts += [str(len(self.key)), *map(str, self.key), str(self.tuner.keep)]
        for config in self.candidates:
            parts += [str(config), str(config.ir_override), str(hook_identity(config.pre_hook))]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

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
            refuse_capture(self.tuner, self.named)
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


def refuse_capture(tuner, named):
    """Raise AutotunerError where a graph is being captured, which measuring would spoil."""
    device = tuner._device_of(named)
    if device >= 0 and _pantile.is_capturing(device):
        raise AutotunerError(
            f"`{tuner.__name__}` is not tuned for these arguments, and cannot be while a CUDA graph "
            "is captured: launch it once before the capture, to warm up"
        )
