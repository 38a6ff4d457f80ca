"""Launches into CUDA graphs: what may happen in a capture does, what may not is an error."""

import gc

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

pytestmark = pytest.mark.gpu


@triton.jit
def shifted_kernel(out_ptr, x_ptr, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr = 128):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + SHIFT, mask=offsets < n)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inside = k + ks < K
        a = tl.load(a_ptr + rows[:, None] * stride_a + (k + ks)[None, :],
                    mask=(rows[:, None] < M) & inside[None, :], other=0.0)  # fmt: skip
        b = tl.load(b_ptr + (k + ks)[:, None] * stride_b + columns[None, :],
                    mask=inside[:, None] & (columns[None, :] < N), other=0.0)  # fmt: skip
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], total.to(tl.float16), mask=inside)


def captured(torch, work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def test_the_first_launch_may_be_in_a_capture(gpu):
    torch = gpu.torch
    x = gpu.to(random(1000, "fp32", seed=1))
    out = torch.full_like(x, float("nan"))
    graph = captured(torch, lambda: shifted_kernel[(8,)](out, x, 1000, SHIFT=41))
    for seed in (2, 3):
        fresh = random(1000, "fp32", seed=seed)
        x.copy_(gpu.to(fresh))
        graph.replay()
        np.testing.assert_allclose(gpu.numpy(out), fresh + np.float32(41), rtol=1e-6)


def test_a_graph_keeps_tensor_maps_and_the_code_of_kernels(gpu):
    torch = gpu.torch
    M, N, K = 200, 144, 320
    a, b = (torch.empty(s, dtype=torch.float16, device="cuda") for s in ((M, K), (K, N)))
    c = torch.full((M, N), float("nan"), dtype=torch.float16, device="cuda")

    def build():
        kernel = triton.jit(matmul_kernel.fn)
        kernel[(2, 2)](a, b, c, M, N, K, K, N, N, BM=128, BN=128, BK=64)

    graph = captured(torch, build)
    gc.collect()
    for seed in (4, 5):
        left, right = random((M, K), "fp16", seed), random((K, N), "fp16", seed + 10)
        a.copy_(gpu.to(left))
        b.copy_(gpu.to(right))
        c.fill_(float("nan"))
        graph.replay()
        expected = left.astype(np.float64) @ right.astype(np.float64)
        error = np.abs(gpu.numpy(c).astype(np.float64) - expected)
        assert (error <= 2e-3 * np.abs(expected) + 2e-2).all()


def test_kernels_collected_in_a_capture_do_not_spoil_it(gpu):
    torch = gpu.torch
    x = gpu.to(random(256, "fp32", seed=6))
    out = torch.empty_like(x)
    dropped = [triton.jit(shifted_kernel.fn)]
    dropped[0][(2,)](out, x, 256, SHIFT=5)

    def work():
        dropped.clear()
        gc.collect()
        shifted_kernel[(2,)](out, x, 256, SHIFT=6)

    graph = captured(torch, work)
    out.fill_(float("nan"))
    graph.replay()
    np.testing.assert_allclose(gpu.numpy(out), gpu.numpy(x) + 6, rtol=1e-6)


def test_tuning_in_a_capture_is_an_error(gpu):
    torch = gpu.torch
    configs = [triton.Config({"SHIFT": shift}) for shift in (1, 2)]
    kernel = triton.autotune(configs=configs, key=["n"])(triton.jit(shifted_kernel.fn))
    x = gpu.to(random(512, "fp32", seed=7))
    out = torch.empty_like(x)
    with pytest.raises(triton.AutotunerError, match="before the capture, to warm up"):
        captured(torch, lambda: kernel[(4,)](out, x, 512))
    torch.cuda.synchronize()
    kernel[(4,)](out, x, 512)
    graph = captured(torch, lambda: kernel[(4,)](out, x, 512))
    out.fill_(float("nan"))
    graph.replay()
    shift = kernel.best_config.kwargs["SHIFT"]
    np.testing.assert_allclose(gpu.numpy(out), gpu.numpy(x) + shift, rtol=1e-6)


def test_a_thread_without_a_context_launches(gpu):
    from threading import Thread

    x = gpu.to(random(256, "fp32", seed=8))
    out = gpu.torch.empty_like(x)
    kernel = triton.jit(shifted_kernel.fn)
    failures = []

    def work():
        try:
            kernel[(2,)](out, x, 256, SHIFT=9)
        except Exception as error:
            failures.append(error)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert not failures
    gpu.torch.cuda.synchronize()
    np.testing.assert_allclose(gpu.numpy(out), gpu.numpy(x) + 9, rtol=1e-6)
