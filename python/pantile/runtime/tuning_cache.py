"""Measured times in the kernel cache: an entry for each configuration.

An entry belongs to a kernel's source, the values of its key arguments, the device and one configuration, so that editing
the list of configurations keeps what was measured of the others. Failures are kept too: they are not compiled again.
"""

import datetime
import hashlib
import json
import math

from .. import _pantile, knobs
from .cache import triton_key


def hook_identity(hook):
    """Return what a hook is, its name and code; None for one that cannot be distinguished from others."""
    if hook is None:
        return ""
    code = getattr(hook, "__code__", None)
    if code is None or getattr(hook, "__closure__", None):
        return None
    digest = hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()
    return f"{hook.__module__}.{hook.__qualname__} {digest}"


def kernel_of(tuner):
    """Return the jit function of a tuner; AttributeError if there is none under it."""
    kernel = tuner.fn
    while not hasattr(kernel, "cache_key"):
        kernel = kernel.fn
    return kernel


def device_name(device):
    """Return the kind of GPU number `device`: name, target and size; "cpu" for -1.

    Times hold for GPUs of one kind. The number of SMs distinguishes cards of one name, and parts of a card.
    """
    if device < 0:
        return "cpu"
    info = _pantile.device_info(device)
    return f"{info['name']} {info['target']} {info['multiprocessor_count']} SMs"


class TuningStore:
    """The entries of one tuner for one key."""

    def __init__(self, tuner, key, device):
        knobs.export()
        self.tuner, self.key = tuner, [str(part) for part in key]
        self.device = device_name(device)
        self._kernel = kernel_of(tuner)

    def _digest(self, what, *more):
        """The digest of the kernel, the device and the key, and of `more`."""
        parts = [what, triton_key(), self._kernel.cache_key, self.device]
        parts += [str(len(self.key)), *self.key, *more]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _entry(self, config):
        """The key of a configuration's entry; None if it has a hook that cannot be named."""
        hook = hook_identity(config.pre_hook)
        if hook is None:
            return None
        return self._digest("pantile tuning 1", str(config), str(config.ir_override), hook)

    def lock_name(self):
        """Return what a process locks that measures for this kernel, key and device."""
        return self._digest("pantile tuning lock 1")

    def load(self, configs):
        """Return ({config: times}, {config: why it was ruled out}) of those that are known."""
        timings, failures = {}, {}
        for config in configs:
            entry = self._entry(config)
            payload = _pantile.cache_load(entry) if entry else None
            if payload is None:
                continue
            try:
                found = json.loads(payload)
                if found["error"] is not None:
                    failures[config] = str(found["error"])
                elif all(math.isfinite(time) for time in found["times"]):
                    timings[config] = [float(time) for time in found["times"]]
            except (ValueError, KeyError, TypeError):
                continue
        return timings, failures

    def store(self, config, times, error=None):
        """Write one measurement down: milliseconds, or the error that ruled it out."""
        entry = self._entry(config)
        if entry is None:
            return
        described = {
            "kernel": self.tuner.__name__,
            "place": f"{self._kernel.module}:{self._kernel.__name__}",
            "key": self.key,
            "key_names": self.tuner.keys,
            "device": self.device,
            "config": str(config),
            "times": None if error else list(times),
            "error": str(error).splitlines()[0] if error else None,
            "measured": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        }
        _pantile.cache_store(entry, json.dumps(described), "tuning")
