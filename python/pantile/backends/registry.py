"""The targets of the compiler, and which of them a GPUTarget names."""

import sys


def compilers():
    """Return the back ends of the compiler by the names of `triton.backends.backends`."""
    from .cpu.compiler import CPUBackend
    from .nvidia.compiler import CUDABackend

    return {"nvidia": CUDABackend, "cpu": CPUBackend}


def make_backend(target):
    """Return the back end for a target.

    Parameters
    ----------
    target : GPUTarget
        What to compile for.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    # Programs may have added targets to `triton.backends.backends`.
    table = getattr(sys.modules.get("pantile.backends.known"), "backends", {})
    added = [entry.compiler for entry in dict.values(table)]
    known = list(dict.fromkeys([*compilers().values(), *added]))
    for backend in known:
        if backend.supports_target(target):
            return backend(target)
    raise RuntimeError(f"0 compatible backends for target ({target.backend}) (of {len(known)}).")
