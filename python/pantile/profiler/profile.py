"""Starting and ending sessions."""

import functools

from .. import knobs
from . import session as sessions
from .flags import flags
from .hooks.hook import HookManager
from .hooks.launch import LaunchHook

DEFAULT_PROFILE_NAME = "proton"

_CHOICES = {
    "context": ("shadow", "python"),
    "data": ("tree", "trace"),
    "backend": (None, "cupti"),
    "hook": (None, "triton", "launch"),
}

# What Triton has in addition, and its replacement here.
_ELSEWHERE = {
    "instrumentation": "kernels are not instrumented: nothing is measured inside of them",
    "roctracer": "it profiles AMD's GPUs, for which there is no code generator",
    "pcsampling": "program counters are not sampled",
}


def _select_backend():
    return "cupti"


def _check(mode, **given):
    for name, value in given.items():
        if value not in _CHOICES[name]:
            choices = ", ".join(f"`{choice}`" for choice in _CHOICES[name])
            why = f": {_ELSEWHERE[value]}" if value in _ELSEWHERE else ""
            raise ValueError(f"`{name}` is `{value}`, but must be one of {choices}{why}")
    if mode:
        found = _ELSEWHERE.get(str(mode).partition(":")[0])
        why = f"{found}, and kernels are only timed" if found else "kernels are only timed"
        raise ValueError(f"`mode` is `{mode}`, but {why}: it must be None")


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Start a session, or activate the one of this name; return its number.

    Parameters
    ----------
    name : str, optional
        Path of the file that `finalize` writes, without its suffix; "proton" by default.
    context : str, optional
        What kernels are listed under: "shadow", the scopes; or "python", the Python stack.
    data : str, optional
        "tree": sums per frame, a `.hatchet` file; or "trace": each execution, a `.chrome_trace`.
    backend : str, optional
        None or "cupti".
    mode : None, optional
        Other modes of Proton are refused.
    hook : str, optional
        "triton" or "launch": kernels of this package are frames of their own, with what their
        `launch_metadata` gives: `name`, `flops8` to `flops64`, `flops`, `bytes`.

    ValueError for another value. None is returned, and nothing done, if `knobs.proton.disable` is
    set or the program runs under `python -m pantile.profiler.proton`.
    """
    if flags.command_line or knobs.proton.disable:
        return None
    _check(mode, context=context, data=data, backend=backend, hook=hook)
    number = sessions.start(DEFAULT_PROFILE_NAME if name is None else name, context, data)
    if hook is not None:
        HookManager.register(LaunchHook(), number)
    return number


def _check_command_line(session, doing):
    if flags.command_line and session != 0:
        raise ValueError(f"session {session} cannot be {doing}: the command line's is session 0")


def activate(session=None):
    """Measure again for a session that `deactivate` paused.

    Parameters
    ----------
    session : int, optional
        All sessions by default. ValueError if there is none of this number.
    """
    _check_command_line(session, "activated")
    sessions.activate(session)
    HookManager.activate(session)


def deactivate(session=None):
    """Wait for the GPUs, then pause a session: it keeps what it has.

    Parameters
    ----------
    session : int, optional
        All sessions by default. ValueError if there is none of this number.
    """
    _check_command_line(session, "deactivated")
    HookManager.deactivate(session)
    sessions.deactivate(session)


def finalize(session=None, output_format=""):
    """Wait for the GPUs, end a session and write its file.

    Parameters
    ----------
    session : int, optional
        All sessions by default. ValueError if there is none of this number.
    output_format : str, optional
        "hatchet" for trees, "chrome_trace" for traces, the default; ValueError for another.
    """
    if session is not None:
        _check_command_line(session, "finalized")
    sessions.check(session, output_format)
    HookManager.unregister(session)
    sessions.finalize(session, output_format)


def profile(
    func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None, hook=None
):
    """Start a session for the calls of a function and pause it after each; `finalize` ends it.

    Parameters
    ----------
    func : callable, optional
        Given by `@profile` without parentheses.
    name, context, data, backend, mode, hook : any, optional
        As of `start`, which lists the errors, too.
    """
    if func is None:
        return functools.partial(
            profile,
            name=name,
            context=context,
            data=data,
            backend=backend,
            mode=mode,
            hook=hook,
        )

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        session = start(name, context=context, data=data, backend=backend, mode=mode, hook=hook)
        try:
            return func(*args, **kwargs)
        finally:
            if session is not None:
                deactivate(session)

    return wrapper
