"""Functions of bitcode libraries that a kernel names itself."""

import subprocess

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource
from pantile.language import core


@core.extern
def arc_tangent(x, _semantic=None):
    return core.extern_elementwise(
        "",
        "",
        [x],
        {
            (core.dtype("fp32"),): ("__nv_atanf", core.dtype("fp32")),
            (core.dtype("fp64"),): ("__nv_atan", core.dtype("fp64")),
        },
        is_pure=True,
        _semantic=_semantic,
    )


@triton.jit
def arc_tangent_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, arc_tangent(tl.load(x + i)))


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
def test_extern_function(device, dtype):
    x = random(256, dtype, seed=3)
    out = device.output(256, dtype)
    arc_tangent_kernel[(1,)](out.array, device.to(x), 256)
    np.testing.assert_allclose(out.numpy(), np.arctan(x), rtol=1e-6)


@triton.jit
def power_kernel(out, x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.extern_elementwise(
        "libdevice",
        "",
        [tl.load(x + i)[:, None], tl.load(n + i)[None, :]],
        {
            (tl.float32, tl.int32): ("__nv_powif", tl.float32),
            (tl.float32, tl.float32): ("__nv_powf", tl.float32),
        },
        is_pure=True,
    )
    tl.store(out + i[:, None] * N + i[None, :], y)


@pytest.mark.parametrize("dtype", ["fp32", "i32", "fp16"])
def test_operands_choose_the_symbol_and_broadcast(device, dtype):
    x = np.abs(random(16, "fp32", seed=4)) + np.float32(0.5)
    n = random(16, dtype, seed=5, low=-4, high=5)
    out = device.output((16, 16), "fp32")
    power_kernel[(1,)](out.array, device.to(x), device.to(n), 16)
    want = x[:, None].astype(np.float64) ** n[None, :].astype(np.float64)
    np.testing.assert_allclose(out.numpy(), want, rtol=2e-5)


SOURCE = """
target triple = "nvptx64-nvidia-cuda"
define float @twice_plus(float %x, i32 %n) {
  %scaled = fmul float %x, FACTOR
  %wide = sitofp i32 %n to float
  %sum = fadd float %scaled, %wide
  ret float %sum
}
define float @first_of(ptr %p, i32 %n) {
  %at = getelementptr float, ptr %p, i32 %n
  %value = load float, ptr %at
  ret float %value
}
"""


def bitcode(path, factor):
    text = path.with_suffix(".ll")
    text.write_text(SOURCE.replace("FACTOR", factor))
    for assembler in ("llvm-as-22", "llvm-as", "/usr/lib/llvm-22/bin/llvm-as"):
        try:
            subprocess.run([assembler, str(text), "-o", str(path)], check=True)
            return
        except FileNotFoundError:
            continue
    pytest.skip("needs llvm-as")


@triton.jit
def own_kernel(out, x, N: tl.constexpr, PATH: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.extern_elementwise(
        "own",
        PATH,
        [tl.load(x + i), i],
        {(tl.float32, tl.int32): ("twice_plus", tl.float32)},
        is_pure=True,
    )
    z = tl.extern_elementwise(
        "own",
        PATH,
        [x + 0 * i, i],
        {(tl.pointer_type(tl.float32), tl.int32): ("first_of", tl.float32)},
        is_pure=False,
    )
    tl.store(out + i, y + z)


def test_own_bitcode(gpu, tmp_path):
    x = random(128, "fp32", seed=6)
    for factor in (2.0, 3.0):
        path = tmp_path / f"own-{factor}.bc"
        bitcode(path, str(factor))
        out = gpu.output(128, "fp32")
        own_kernel[(1,)](out.array, gpu.to(x), 128, str(path))
        np.testing.assert_allclose(out.numpy(), factor * x + np.arange(128) + x, rtol=1e-5)


def test_own_bitcode_is_for_gpus_only():
    out = np.zeros(128, np.float32)
    with pytest.raises(triton.CompilationError, match="twice_plus"):
        own_kernel[(1,)](out, out.copy(), 128, "/nowhere/own.bc")


@triton.jit
def option_kernel(out, x):
    i = tl.arange(0, 128)
    y = tl.extern_elementwise(
        "own",
        "",
        [tl.load(x + i), i],
        {(tl.float32, tl.int32): ("twice_plus", tl.float32)},
        is_pure=True,
    )
    tl.store(out + i, y)


def test_option_names_libraries(tmp_path):
    bitcode(tmp_path / "own.bc", "7.0")
    source = ASTSource(option_kernel, {"out": "*fp32", "x": "*fp32"}, {})
    target = GPUTarget("cuda", 90, 32)
    options = {"extern_libs": {"own": tmp_path / "own.bc"}}
    ptx = triton.compile(source, target=target, options=options).asm["ptx"]
    assert "0f40E00000" in ptx and "call" not in ptx
    with pytest.raises(triton.TritonError, match="`twice_plus` is not in"):
        triton.compile(source, target=target)


@triton.jit
def wrong_type_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, arc_tangent(tl.load(x + i)))


def test_error_names_the_types(device):
    x = random(32, "fp16", seed=7)
    with pytest.raises(triton.CompilationError, match="`fp32` or `fp64`, got `fp16`"):
        wrong_type_kernel[(1,)](device.output(32, "fp16").array, device.to(x), 32)
