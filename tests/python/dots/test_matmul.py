"""GEMMs against float64: the forms, shapes, layouts and types that kernels in the field use."""

import importlib.util
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from matmul_kernels import bare_matmul, leaky_relu, masked_matmul

CONFIGS = [
    (128, 256, 32, 3, 8),
    (256, 128, 32, 3, 8),
    (256, 64, 32, 4, 4),
    (64, 256, 32, 4, 4),
    (128, 128, 32, 4, 4),
    (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4),
    (128, 32, 32, 4, 4),
    (64, 32, 32, 5, 2),
    (32, 64, 32, 5, 2),
]


def run_bare(device, a, b, config, activation=None, on_device=None):
    m, n, k, stages, warps = config
    (M, K), N = a.shape, b.shape[1]
    da, db = on_device or (device.to(a), device.to(b))
    out = device.output((M, N), "fp16")
    bare_matmul[triton.cdiv(M, m), triton.cdiv(N, n)](
        da,
        db,
        out.array,
        M,
        N,
        K,
        *device.strides(da),
        *device.strides(db),
        *device.strides(out.array),
        BLOCK_SIZE_M=m,
        BLOCK_SIZE_N=n,
        BLOCK_SIZE_K=k,
        ACTIVATION=activation,
        num_stages=stages,
        num_warps=warps,
    )
    return out.numpy()


def run_masked(device, a, b, dtype, blocks=(32, 32, 32), precision=None, on_device=None, **options):
    a3, b3 = (x if x.ndim == 3 else x[None] for x in (a, b))
    batch, M, K = a3.shape
    N = b3.shape[2]
    da, db = on_device or (device.to(a3), device.to(b3))
    out = device.output((batch, M, N), dtype)
    masked_matmul[(triton.cdiv(M, blocks[0]) * triton.cdiv(N, blocks[1]), batch)](
        da,
        db,
        out.array,
        M,
        N,
        K,
        *device.strides(da),
        *device.strides(db),
        *device.strides(out.array),
        *blocks,
        PRECISION=precision,
        **options,
    )
    result = out.numpy()
    return result if a.ndim == 3 else result[0]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c[0]}x{c[1]}x{c[2]}")
def test_every_configuration(device, config):
    a, b = random((256, 64), "fp16", 1), random((64, 256), "fp16", 2)
    check_gemm(run_bare(device, a, b, config), a, b)


@pytest.mark.parametrize("shape", [(64, 64, 32), (128, 192, 96), (320, 64, 64)])
def test_bare_form(device, shape):
    M, N, K = shape
    a, b = random((M, K), "fp16", 3), random((K, N), "fp16", 4)
    check_gemm(run_bare(device, a, b, (64, 64, 32, 3, 4)), a, b)


@pytest.mark.parametrize(
    "config", [(64, 64, 32, 3, 4), (128, 64, 32, 4, 4), (128, 128, 32, 3, 8)], ids=str
)
def test_many_iterations_of_a_circular_buffer(device, config):
    """A stage that is released too early is overwritten while it is read, but only now and then."""
    (M, N), K = config[:2], 32768
    a, b = random((M, K), "fp16", 11), random((K, N), "fp16", 12)
    check_gemm(run_bare(device, a, b, config), a, b)


def test_fused_activation(device):
    a, b = random((128, 64), "fp16", 5), random((64, 128), "fp16", 6)
    leaky = lambda x: np.where(x >= 0, x, 0.01 * x)
    check_gemm(run_bare(device, a, b, (64, 64, 32, 3, 4), leaky_relu), a, b, leaky)


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
def test_transposed_operands(device, transposed):
    a, b = random((128, 64), "fp16", 7), random((64, 192), "fp16", 8)
    da, db = device.to(a), device.to(b)
    if "a" in transposed:
        da = device.to(np.ascontiguousarray(a.T)).T
    if "b" in transposed:
        db = device.to(np.ascontiguousarray(b.T)).T
    check_gemm(run_bare(device, a, b, (64, 64, 32, 3, 4), on_device=(da, db)), a, b)


def test_strided_operands(device):
    whole_a, whole_b = random((128, 256), "fp16", 9), random((128, 192), "fp16", 10)
    a, b = whole_a[:, 1::4], whole_b[::2, 64:]
    da, db = device.to(whole_a)[:, 1::4], device.to(whole_b)[::2, 64:]
    check_gemm(run_bare(device, a, b, (64, 64, 32, 3, 4), on_device=(da, db)), a, b)


ODD_SHAPES = [
    tuple(int(x) for x in np.random.default_rng(seed).integers(1, 150, 3)) for seed in range(20)
]


@pytest.mark.parametrize("shape", ODD_SHAPES, ids=str)
def test_odd_shapes(device, shape):
    M, N, K = shape
    a, b = random((M, K), "fp16", 11), random((K, N), "fp16", 12)
    check_gemm(run_masked(device, a, b, "fp16"), a, b)


def test_bf16(device):
    """A GEMM of bf16 agrees with float64 at odd shapes."""
    a, b = random((65, 100), "bf16", 13), random((100, 77), "bf16", 14)
    check_gemm(run_masked(device, a, b, "bf16"), a, b)


def test_fp16_to_fp32(device):
    a, b = random((64, 64), "fp16", 15), random((64, 64), "fp16", 16)
    result = run_masked(device, a, b, "fp32")
    np.testing.assert_allclose(
        result, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4
    )


def tf32(x):
    """`x` with the mantissa of tf32: 10 bits, ties away from zero."""
    bits = x.view(np.uint32).astype(np.uint64) + 0x1000
    return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)


def test_fp32_is_tf32_by_default(device):
    a, b = random((64, 128), "fp32", 17), random((128, 64), "fp32", 18)
    result = run_masked(device, a, b, "fp32")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    rounded = tf32(a).astype(np.float64) @ tf32(b).astype(np.float64)
    # The hardware may cut the operands' mantissas instead of rounding them: twice the error.
    assert np.abs(result - exact).max() < 2 * 128 * 2.0**-10
    assert np.abs(result - rounded).max() < 0.05
    assert np.abs(result - exact).max() > 1e-5, "the operands were not rounded to tf32"


def test_fp32_ieee(device):
    a, b = random((64, 128), "fp32", 19), random((128, 64), "fp32", 20)
    result = run_masked(device, a, b, "fp32", precision="ieee")
    np.testing.assert_allclose(
        result, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("blocks, stages, warps", [
    ((128, 128, 32), 8, 2),
    ((16, 128, 64), 7, 4),
    ((256, 256, 16), 2, 16),
])  # fmt: skip
def test_circular_buffers_that_barely_fit(device, blocks, stages, warps):
    """Fewer buffers than stages, and results that do not go through shared memory."""
    if device.arch and device.arch < 90:
        pytest.skip("has less shared memory")
    a, b = random((272, 400), "fp32", 27), random((400, 264), "fp32", 28)
    result = run_masked(device, a, b, "fp32", blocks, num_stages=stages, num_warps=warps)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(result - exact).max() < 2 * 400 * 2.0**-10
    np.testing.assert_allclose(result, exact, rtol=0.02, atol=0.1)


@triton.jit
def straight_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))


@pytest.mark.parametrize("shape, dtype", [
    ((64, 64, 1024), "fp16"), ((16, 16, 4096), "fp16"), ((64, 64, 512), "fp32"),
])  # fmt: skip
def test_operands_that_barely_fit(device, shape, dtype):
    """Outside of loops both operands do not fit together on Ampere, or one just does."""
    M, N, K = shape
    if device.arch and device.arch >= 90 and shape[0] == 64 and dtype == "fp16":
        pytest.skip("warp groups read both from shared memory")
    a, b = random((M, K), dtype, 31), random((K, N), dtype, 32)
    out = device.output((M, N), "fp32")
    straight_kernel[(1,)](device.to(a), device.to(b), out.array, M, N, K, num_warps=8)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), exact, rtol=0.02, atol=0.1)


def test_batch(device):
    """A batch of GEMMs agrees with float64."""
    a, b = random((3, 50, 70), "fp16", 21), random((3, 70, 33), "fp16", 22)
    check_gemm(run_masked(device, a, b, "fp16"), a, b)


def load_tutorial():
    path = Path(__file__).resolve().parents[3] / "tutorials" / "03-matrix-multiplication.py"
    spec = importlib.util.spec_from_file_location("matmul_tutorial", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.gpu
@pytest.mark.parametrize("size", [128 * i for i in range(2, 33)])
def test_tutorial_sizes_on_the_gpu(gpu, size):
    tutorial, torch = load_tutorial(), gpu.torch
    a, b = (torch.randn((size, size), device="cuda", dtype=torch.float16) for _ in range(2))
    reference = a.double() @ b.double()
    tiles = lambda meta: (
        triton.cdiv(size, meta["BLOCK_SIZE_M"]) * triton.cdiv(size, meta["BLOCK_SIZE_N"]),
    )
    for activation in ("", "leaky_relu"):
        out = gpu.output((size, size), "fp16")
        strides = [size, 1] * 3
        tutorial.matmul_kernel[tiles](
            a, b, out.array, size, size, size, *strides, ACTIVATION=activation
        )
        out.numpy()  # checks the canaries
        expected = torch.nn.functional.leaky_relu(reference) if activation else reference
        error = (out.array.double() - expected).abs()
        good = error <= 1e-3 * expected.abs() + 1e-4 * size**0.5
        assert bool(good.all()), (
            f"largest error {error.max()} with {tutorial.matmul_kernel.best_config}"
        )


@pytest.mark.gpu
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c[0]}x{c[1]}x{c[2]}")
@pytest.mark.parametrize("size", [256, 768, 1024])
def test_every_configuration_at_size(gpu, config, size):
    a, b = random((size, size), "fp16", 23), random((size, size), "fp16", 24)
    check_gemm(run_bare(gpu, a, b, config), a, b)


@pytest.mark.gpu
@pytest.mark.parametrize("blocks", [(128, 128, 64), (64, 128, 32), (128, 256, 64)], ids=str)
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_large_tiles_with_masks(gpu, blocks, dtype):
    if dtype == "fp32" and blocks == (128, 256, 64):
        pytest.skip("three stages of this block do not fit the shared memory")
    a, b = random((515, 389), dtype, 25), random((389, 643), dtype, 26)
    result = run_masked(gpu, a, b, dtype, blocks, num_warps=8)
    if dtype == "fp32":
        assert np.abs(result - a.astype(np.float64) @ b.astype(np.float64)).max() < 0.2
    else:
        check_gemm(result, a, b)
