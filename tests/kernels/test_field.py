"""The kernels of the field at small sizes, every element against float64.

`tests/gpu/bench/field.py` times the same cases at the sizes of models.
"""

import sys
from pathlib import Path

import pytest
from device_arrays import DTYPES

BENCH = Path(__file__).resolve().parents[1] / "gpu/bench"
sys.path.append(str(BENCH))

import field_case  # noqa: E402
import kernels  # noqa: E402

FAMILIES = sorted((BENCH / "field").glob("*.py"))
CASES = [case for path in FAMILIES for case in kernels.load("pantile", path).CASES]
FP8_ARCH = 89  # from which on there is fp8e4nv


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(device, case):
    """A kernel of the field agrees with float64 at a small size."""
    xp = field_case.Arrays(DTYPES, seed=5)
    drawn = case.inputs(xp, **case.small)
    shapes = case.outputs(**case.small)
    types = {str(x.dtype) for x in drawn.values() if x is not None} | {
        d for _, d in shapes.values()
    }
    if types & {"float8_e4m3fn", "fp8e4nv"} and (device.arch or FP8_ARCH) < FP8_ARCH:
        pytest.skip("fp8e4nv needs sm_89")
    expected = case.expected(xp, field_case.namespace(drawn), **case.small)
    placed = {n: device.to(x.copy()) if x is not None else None for n, x in drawn.items()}
    outputs = {name: device.output(shape, dtype) for name, (shape, dtype) in shapes.items()}
    for name in case.zeroed:
        fill(device, outputs[name])
    arrays = {name: output.array for name, output in outputs.items()}
    case.launch(field_case.namespace(placed, arrays), **case.small)
    results = {name: output.numpy() for name, output in outputs.items()}
    results |= {name: device.numpy(placed[name]) for name in case.updated}
    assert results.keys() == expected.keys()
    names = {DTYPES[name]: name for name in DTYPES}
    for name, got in results.items():
        field_case.close(xp, case, name, got, expected[name], names[got.dtype.type])


def fill(device, output):
    """Zeros where the kernel adds to what it finds."""
    if device.on_gpu and hasattr(output.array, "zero_"):
        output.array.zero_()
    else:
        getattr(output.array, "host", output.array)[...] = 0
