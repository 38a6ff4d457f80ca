"""A profiler of kernels with the interface of Triton's Proton; see docs/profiler.md.

    import pantile.profiler as proton

    proton.start("matmul", hook="triton")
    with proton.scope("forward"):
        kernel[grid](...)
    proton.finalize()

writes `matmul.hatchet`, which `python -m pantile.profiler.viewer -m time/ms matmul.hatchet` prints.
"""

from . import context, mode, specs
from .profile import (
    DEFAULT_PROFILE_NAME,
    activate,
    deactivate,
    finalize,
    profile,
    start,
)
from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .state import enter_state, exit_state, state

__all__ = [
    "DEFAULT_PROFILE_NAME",
    "activate",
    "context",
    "cpu_timed_scope",
    "deactivate",
    "enter_scope",
    "enter_state",
    "exit_scope",
    "exit_state",
    "finalize",
    "mode",
    "profile",
    "scope",
    "specs",
    "start",
    "state",
]
