"""What the profiler is doing, for this process."""

from dataclasses import dataclass


@dataclass
class ProfilerFlags:
    """Switches that scopes and `start` look at.

    Attributes
    ----------
    profiling_on : bool
        A session was started and not all were finalized: scopes are noted.
    instrumentation_on : bool
        Always False: kernels are not instrumented.
    command_line : bool
        The program runs under `python -m pantile.profiler.proton`, which owns the one session.
    """

    profiling_on: bool = False
    instrumentation_on: bool = False
    command_line: bool = False


flags = ProfilerFlags()
