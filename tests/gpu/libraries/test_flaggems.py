"""FlagGems 5: torch's operators as Triton kernels, on the samples that torch tests itself with."""

import itertools

import pytest
import torch

flag_gems = pytest.importorskip("flag_gems")
infos = pytest.importorskip("torch.testing._internal.common_methods_invocations")

SAMPLES = 8  # of each operator and dtype
RANDOM = (
    "rand",
    "normal",
    "bernoulli",
    "dropout",
    "multinomial",
    "exponential",
    "empty",
    "uniform",
)
DTYPES = (torch.float32, torch.float16, torch.int32, torch.bool)


def registered():
    return {entry[0].split(".")[0].strip("_") for entry in flag_gems._FULL_CONFIG}


def covered():
    names = registered()
    for info in infos.op_db:
        name = info.aten_name.strip("_")
        if name in names and not any(word in info.name for word in RANDOM):
            for dtype in DTYPES:
                if dtype in info.supported_dtypes("cuda"):
                    yield pytest.param(info, dtype, id=f"{info.full_name}-{str(dtype)[6:]}")


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value for t in tensors(part)] if isinstance(value, (list, tuple)) else []


@pytest.mark.parametrize("info,dtype", covered())
def test_operator(info, dtype):
    """An operator agrees with torch's own on torch's samples."""
    samples = info.sample_inputs("cuda", dtype, requires_grad=False)
    for sample in itertools.islice(samples, SAMPLES):
        call = (sample.input, *sample.args)
        expected = info.op(*call, **sample.kwargs)
        with flag_gems.use_gems():
            found = info.op(*call, **sample.kwargs)
        loose = dtype in (torch.float16, torch.bfloat16)
        for a, b in zip(tensors(found), tensors(expected), strict=True):
            torch.testing.assert_close(
                a,
                b,
                rtol=2e-2 if loose else 1e-3,
                atol=2e-2 if loose else 1e-3,
                equal_nan=True,
                check_dtype=False,
            )
