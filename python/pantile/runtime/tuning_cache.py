"""Measured times on disk: a file for a kernel, its key, the device and the configurations."""

import hashlib
import json
import os

from .cache import FileCacheManager, triton_key
from .config import Config


def path_of(tuner, configs, key):
    """Return the file that holds, or will hold, the times of `configs` for a key."""
    from ..compiler.compiler import make_backend
    from .driver import driver

    kernel = tuner.fn
    while not hasattr(kernel, "cache_key"):
        kernel = kernel.fn
    parts = [
        triton_key(),
        make_backend(driver.active.get_current_target()).hash(),
        kernel.cache_key,
        str(key),
        *map(str, configs),
    ]
    digest = hashlib.sha256("-".join(parts).encode()).hexdigest()
    manager = FileCacheManager(os.path.join("autotune", digest))
    return os.path.join(manager.cache_dir, f"{tuner.__name__[:150]}.autotune.json")


def load(path, configs):
    """Return {Config: times} of a file, or None where it is not of exactly these."""
    try:
        with open(path) as file:
            pairs = json.load(file)["configs_timings"]
    except (OSError, ValueError, KeyError):
        return None
    timings = {Config(**described): times for described, times in pairs}
    return timings if set(timings) == set(configs) else None


def store(path, key, timings):
    """Write the times of a key down; the file appears whole or not at all."""
    described = [
        ({name: value for name, value in vars(config).items() if name != "pre_hook"}, times)
        for config, times in timings.items()
    ]
    temporary = f"{path}.tmp.{os.getpid()}"
    with open(temporary, "w") as file:
        json.dump({"key": [str(part) for part in key], "configs_timings": described}, file)
    os.replace(temporary, path)
