"""Helpers for tests of kernels: dtypes by name, random arrays, conversions, properties of the GPU.

Needs NumPy, pytest and torch, as the tests of libraries that import it do.
"""

import os
import re

import numpy as np
import pytest

from . import knobs
from ._utils import type_canonicalisation_dict
from .language import namespace as tl
from .runtime.tensors import TensorWrapper, reinterpret

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter():
    """Return whether TRITON_INTERPRET=1 is set."""
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def get_current_target():
    """Return the GPUTarget at hand, None for the interpreter."""
    from .runtime.driver import driver

    return None if is_interpreter() else driver.active.get_current_target()


def _capability():
    """The major number of the GPU's compute capability; 0 without a GPU of NVIDIA."""
    target = get_current_target()
    return target.arch // 10 if target is not None and target.backend == "cuda" else 0


def is_cuda():
    return _capability() > 0


def is_ampere_or_newer():
    return _capability() >= 8


def is_hopper_or_newer():
    return _capability() >= 9


def is_hopper():
    return _capability() == 9


def is_blackwell():
    return _capability() == 10


def is_sm12x():
    return _capability() == 12


def is_blackwell_ultra():
    return get_arch() == "103"


def is_rubin():
    return get_arch() == "107"


def supports_clc():
    """Return whether clusters may be cancelled and taken over by others in hardware."""
    return is_cuda() and _capability() >= 10


def _never():
    """Return False: there are no such GPUs here."""
    return False


is_hip = is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_rdna3 = _never
is_hip_rdna4 = is_hip_gfx11 = is_hip_gfx12 = is_hip_gfx1250 = is_xpu = _never


def get_hip_lds_size():
    return 65536


def get_arch():
    """Return the target's architecture as text, "" for the interpreter."""
    target = get_current_target()
    return "" if target is None else str(target.arch)


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """Return a random array: integers between `low` and `high` without 0, or normal floats.

    bfloat16 comes as float32 with the lower half clear, an 8-bit float as int8. `rs` is a
    RandomState; without one, each call gives the same numbers.
    """
    shape = (shape,) if isinstance(shape, int) else shape
    rs = np.random.RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        info = np.iinfo(dtype_str)
        low = info.min if low is None else max(low, info.min)
        high = info.max if high is None else min(high, info.max)
        result = rs.randint(low, high, shape, dtype=dtype_str)
        result[result == 0] = 1
        return result
    if "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in ("bool", "int1", "bool_"):
        return rs.normal(0, 1, shape) > 0.0
    if dtype_str == "bfloat16":
        bits = rs.normal(0, 1, shape).astype("float32").view("uint32")
        return (bits & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in float_dtypes:
        return rs.normal(0, 1, shape).astype(dtype_str)
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x, device, dst_type=None):
    """Return a NumPy array on a device: a tensor, or a TensorWrapper of what torch has no type for."""
    import torch

    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.view(name[1:]), device=device), getattr(tl, name))
    made = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(made, getattr(tl, dst_type))
    return made.bfloat16() if name == "float32" and dst_type == "bfloat16" else made


def str_to_triton_dtype(x):
    """Return the type of a name such as "float16" or "int32"."""
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype):
    """Return "int64" of torch.int64 and of tl.int64; TypeError for anything else."""
    if isinstance(dtype, tl.dtype):
        return dtype.name
    found = re.fullmatch(r"torch\.(\w+)", str(dtype))
    if found is None:
        raise TypeError(f"not a triton or torch dtype: {type(dtype)}")
    return found[1]


def to_numpy(x):
    """Return a tensor or TensorWrapper as a NumPy array; bfloat16 as float32."""
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().view(getattr(np, torch_dtype_name(x.dtype)))
    if not hasattr(x, "cpu"):
        raise ValueError(f"Not a triton-compatible tensor: {x}")
    is_bfloat16 = str(x.dtype) == "torch.bfloat16"
    return x.cpu().float().numpy() if is_bfloat16 else x.cpu().numpy()


def supports_tma(byval_only=False):
    """Return whether kernels may read tiles by descriptors in hardware."""
    return is_interpreter() or is_hopper_or_newer()


def supports_ws():
    """Return whether kernels may specialise warps."""
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only=False):
    """Return why tests of descriptors are left out."""
    return "Requires TMA support (NVIDIA Hopper or higher)"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def default_alloc_fn(size, align, _):
    """Allocate scratch memory of a kernel, for `triton.set_allocator`."""
    import torch

    return torch.empty(size, dtype=torch.int8, device="cuda")


def unwrap_tensor(t):
    """Return the tensor in a TensorWrapper, any other as it is."""
    return t.base if isinstance(t, TensorWrapper) else t


def _fresh_knobs_impl(skipped_attr=None):
    """Return two functions: one drops all overrides and variables of settings, one restores them."""
    groups = {
        name: group
        for name, group in vars(knobs).items()
        if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())
    }
    saved = {name: dict(vars(group)) for name, group in groups.items()}
    variables = {
        variable: os.environ.get(variable)
        for group in groups.values()
        for setting in group.knob_descriptors.values()
        for variable in setting.names
    }
    propagates = knobs.propagate_env

    def fresh_function():
        for group in groups.values():
            group.reset()
        for variable in variables:
            os.environ.pop(variable, None)
        knobs.propagate_env = True
        return knobs

    def reset_function():
        for name, group in groups.items():
            group.reset()
            vars(group).update(saved[name])
        for variable, text in variables.items():
            os.environ.pop(variable, None)
            if text is not None:
                os.environ[variable] = text
        knobs.export()
        knobs.propagate_env = propagates

    return fresh_function, reset_function
