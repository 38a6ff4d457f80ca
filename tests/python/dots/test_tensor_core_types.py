"""What runs on tensor cores: precisions, accumulators and batches, on every family of GPUs."""

import re

import pantile as triton
import pantile.language as tl
import pytest
from pantile.backends.compiler import GPUTarget

TARGETS = [80, 86, 89, 90, 100, 120]
SHAPE_OF_SPLIT = {
    "tf32": "m16n8k8",
    "tf32x3": "m16n8k8",
    "bf16x3": "m16n8k16",
    "bf16x6": "m16n8k16",
}
MMAS = {"tf32": 1, "tf32x3": 3, "bf16x3": 3, "bf16x6": 6}
SIZE = 32


@triton.jit
def matrix_kernel(
    out_ptr, a_ptr, b_ptr, N: tl.constexpr, OUT: tl.constexpr, PRECISION: tl.constexpr
):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(out_ptr + at, tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT))


@triton.jit
def batch_kernel(
    out_ptr, a_ptr, b_ptr, N: tl.constexpr, OUT: tl.constexpr, PRECISION: tl.constexpr
):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    at = tl.arange(0, 2)[:, None, None] * (N * N) + at[None, :, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(out_ptr + at, tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT))


def compiled(kernel, arch, operand, out, *, dtype, precision=None):
    types = {"out_ptr": f"*{out}", "a_ptr": f"*{operand}", "b_ptr": f"*{operand}"}
    types |= dict.fromkeys(("N", "OUT", "PRECISION"), "constexpr")
    source = triton.compiler.ASTSource(
        kernel, types, {(3,): SIZE, (4,): dtype, (5,): precision}, {}
    )
    return triton.compile(source, GPUTarget("cuda", arch, 32), {"num_warps": 1})


def mmas(kernel):
    """The shapes of all MMAs in the code."""
    (remark,) = [r for r in kernel.remarks if r.technique == "tensor cores"]
    assert remark.kind == "applied", remark.message
    ptx = kernel.asm["ptx"]
    assert not re.search(r"\bfma\.rn\.(f16|f32|f64)", ptx)
    return re.findall(r"mma\.sync\.aligned\.(m\d+n\d+k\d+)", ptx)


KERNELS = pytest.mark.parametrize("kernel", [matrix_kernel, batch_kernel], ids=["matrix", "batch"])


@KERNELS
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("precision", SHAPE_OF_SPLIT)
def test_fp32_in_parts(kernel, arch, precision):
    found = mmas(compiled(kernel, arch, "fp32", "fp32", dtype=tl.float32, precision=precision))
    shape = SHAPE_OF_SPLIT[precision]
    depth = int(shape.rpartition("k")[2])
    dots = 2 if kernel is batch_kernel else 1
    expected = dots * MMAS[precision] * (SIZE // 16) * (SIZE // 8) * (SIZE // depth)
    assert set(found) == {shape} and len(found) == expected


@KERNELS
@pytest.mark.parametrize("arch", TARGETS)
def test_fp16_accumulators(kernel, arch):
    made = compiled(kernel, arch, "fp16", "fp16", dtype=tl.float16)
    assert set(mmas(made)) == {"m16n8k16"}
    assert "row.col.f16.f16.f16.f16" in made.asm["ptx"]


@KERNELS
@pytest.mark.parametrize("arch, shape", [(80, "m8n8k4"), (90, "m16n8k16"), (100, "m16n8k16")])
def test_fp64(kernel, arch, shape):
    """Two dots of a batch leave too few registers for the largest instruction."""
    if kernel is batch_kernel and arch > 80:
        shape = "m16n8k4"
    assert set(mmas(compiled(kernel, arch, "fp64", "fp64", dtype=tl.float64))) == {shape}


@pytest.mark.parametrize("arch", TARGETS)
def test_fp32_as_ieee_says_why_not(arch):
    kernel = compiled(matrix_kernel, arch, "fp32", "fp32", dtype=tl.float32, precision="ieee")
    (remark,) = [r for r in kernel.remarks if r.technique == "tensor cores"]
    assert remark.kind == "missed" and "this precision" in remark.message
