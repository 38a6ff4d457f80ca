"""Which launch ABI a kernel is compiled for.

`triton`: the kernel takes its run-time arguments and two null pointers, one CTA runs one program,
and a CTA has `num_warps` warps, so any launcher can start it. `full`: it may take tensor maps and
the grid too, have more warps, and run several programs in a CTA or one in several; only our
launchers start it. `auto` is `full` where only our launchers start the kernel, but for CTAs of several
programs: pointwise kernels and reductions are then of the ABI `triton`, too.
"""

import sys

from .. import knobs

__all__ = ["abi_of_compile", "inductor_meta", "library_abi"]

_NAMES = ("triton", "full", "auto")
_INDUCTOR = "torch._inductor."


def _checked(name):
    if name not in _NAMES:
        raise ValueError(f"`launch_abi` is {name!r}, expected `triton`, `full` or `auto`")
    return name


def library_abi(requested):
    """Return the library's ABI, "full" or "triton", for a launch option; None: as the knob says."""
    name = _checked(requested or knobs.runtime.launch_abi or "full")
    return "triton" if name == "triton" else "full"


def inductor_meta(frame):
    """Return what Inductor says of the kernel that it compiles in `frame`; None if it does not.

    Its autotuner calls `triton.compile` without saying what the binary is for: the frame of the
    autotuner has that.
    """
    if frame is None or not str(frame.f_globals.get("__name__")).startswith(_INDUCTOR):
        return None
    return getattr(frame.f_locals.get("self"), "inductor_meta", None)


def abi_of_compile(requested, signature, meta):
    """Return the ABI of a kernel that `compile` makes.

    Parameters
    ----------
    requested : str or None
        The option `launch_abi`.
    signature : dict
        Types of the parameters, by name.
    meta : dict or None
        What Inductor says of the kernel. One whose machine code is stored (AOTInductor,
        `cpp_wrapper`) is launched by C++ code of Inductor's, whatever the knob says; so is one of
        which it does not say that it is not.

    NotImplementedError for a stored kernel with a tensor descriptor among its parameters: that C++
    code passes a tensor map in its place, and the kernel takes an address, extents and strides.
    """
    if requested is not None:
        return _checked(requested)
    if meta is not None and meta.get("store_cubin", True):
        _refuse_descriptors(signature)
        return "triton"
    chosen = knobs.runtime.launch_abi
    is_for_any = meta is None or _static_launcher_is_demanded()
    return _checked(chosen or ("triton" if is_for_any else "auto"))


def _static_launcher_is_demanded():
    """Whether Inductor refuses kernels that its static launcher does not start."""
    config = sys.modules.get(_INDUCTOR + "config")
    names = ("strict_static_triton_launcher", "strict_static_cuda_launcher")
    return any(getattr(config, name, False) for name in names)


def _refuse_descriptors(signature):
    for name, kind in signature.items():
        if "tensordesc" in str(kind):
            raise NotImplementedError(
                f"parameter `{name}` is a tensor descriptor of the host, which launchers of stored "
                "machine code pass as a tensor map; make the descriptor in the kernel"
            )


def caller(depth):
    """Return the frame that called the function `depth` calls up; None if there is none."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None
