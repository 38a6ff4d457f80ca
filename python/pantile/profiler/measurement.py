"""CUPTI, as the runtime runs it: found, started and stopped, and what it measured.

Needs: NVIDIA's library, at run time: `knobs.proton.cupti_lib_dir`, a library that the process has
       loaded, the wheels of NVIDIA next to this package or torch, the loader's path, a toolkit.
Gives: rows of executions. Without a CUPTI that can be used, no rows, and one warning.
"""

import atexit
import os
import sys
import warnings
from pathlib import Path

from .. import _pantile, knobs
from ..runtime.errors import TritonError

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so")
_TOOLKITS = ("lib64", "extras/CUPTI/lib64", "lib")


class _State:
    is_open = False
    is_on = False  # CUPTI measures
    has_warned = False


def _loaded_files():
    """The files of CUPTI that the process has mapped, as torch's."""
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return []
    files = (line.split(None, 5)[-1] for line in maps.splitlines() if "libcupti" in line)
    return list(dict.fromkeys(files))


def _wheel_files():
    found = []
    for folder in dict.fromkeys(sys.path):
        nvidia = Path(folder or ".") / "nvidia"
        for name in _NAMES:
            found += sorted(nvidia.glob(f"*/lib/{name}"))
    return [str(path) for path in found]


def candidates():
    """Return the files that may be CUPTI, the best first."""
    chosen = knobs.proton.cupti_lib_dir
    if chosen:
        return [str(Path(chosen) / name) for name in _NAMES if (Path(chosen) / name).exists()] or [
            str(Path(chosen) / _NAMES[-1])
        ]
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    toolkits = [
        str(Path(home) / folder / name)
        for home in homes
        if home
        for folder in _TOOLKITS
        for name in _NAMES
        if (Path(home) / folder / name).exists()
    ]
    return [*_loaded_files(), *_wheel_files(), *_NAMES, *toolkits]


def warn(message):
    """Warn of what happened at the line of the program that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)


def _warn_once(error):
    if not _State.has_warned:
        _State.has_warned = True
        warn(
            f"the profiler measures no kernels: {error.message}; scopes and metrics are still noted"
        )


def is_on():
    """Return whether executions of kernels are being measured."""
    return _State.is_on


def run(is_on, keep_runs=False, wants_frames=False):
    """Have CUPTI measure, or stop it; a warning, the first time, if it cannot.

    Parameters
    ----------
    is_on : bool
    keep_runs : bool
        Whether `take` gives each execution.
    wants_frames : bool
        Whether a launch's place holds its Python stack.
    """
    from . import places

    _pantile.profiler_refine(places.refine if is_on and wants_frames else None)
    if not is_on:
        _pantile.profiler_stop()
        _State.is_on = False
        return
    try:
        if not _State.is_open:
            _pantile.profiler_open(candidates())
            _State.is_open = True
        _pantile.profiler_start(keep_runs)
        _State.is_on = True
    except TritonError as error:
        _State.is_on = False
        _warn_once(error)


def take():
    """Return what was measured since the last call, after the GPUs have finished their work.

    Rows ((name, device, place, place of the capture or None), count, nanoseconds); rows (the same
    tuple, context, stream, graph, start, end) of executions; the number of lost records.
    """
    if not _State.is_on:
        return [], [], 0
    try:
        return _pantile.profiler_take()
    except TritonError as error:
        warn(f"the profiler lost what it measured: {error.message}")
        return [], [], 0


def describe_device(device):
    """Return what a hatchet file says of a GPU; {} if the runtime does not see it."""
    try:
        facts = _pantile.device_info(device)
    except TritonError:
        return {}
    return {
        "arch": "".join(c for c in facts["target"][3:] if c.isdigit()),
        "bus_width": facts["mem_bus_width"],
        "clock_rate": facts["sm_clock_rate"],
        "memory_clock_rate": facts["mem_clock_rate"],
        "num_sms": facts["multiprocessor_count"],
    }


atexit.register(_pantile.profiler_stop)
