"""Several GPUs in one process: a launch goes to the GPU of its arrays, whichever is current."""

import threading

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import check_gemm, random
from pantile.tools.tensor_descriptor import TensorDescriptor
from test_graphs import matmul_kernel


@triton.jit
def scale_kernel(out_ptr, x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


def scale(kernel, gpu, n, seed, **options):
    """Launch on `gpu`, compare, and return the compiled kernel."""
    x = random(n, seed=seed)
    out = gpu.output(n, "fp32")
    compiled = kernel[(triton.cdiv(n, 64),)](
        out.array, gpu.to(x), n, 1.5 + seed, BLOCK=64, **options
    )
    np.testing.assert_array_equal(out.numpy(), x * np.float32(1.5 + seed))
    return compiled


def test_arrays_decide_where_a_kernel_runs(gpus):
    """And it is compiled once, where the GPUs are alike."""
    kernel = triton.jit(scale_kernel.fn)
    made = [scale(kernel, gpu, 500, seed) for seed, gpu in enumerate(gpus * 3)]
    if len({gpu.arch for gpu in gpus}) == 1:
        assert all(one is made[0] for one in made)
    for gpu in gpus:
        if getattr(gpu, "on_gpu", False):
            assert gpu.torch.cuda.current_device() == 0, "the caller's device stays"


def test_arrays_of_two_gpus_are_refused(gpus):
    x, out = gpus[0].to(random(64)), gpus[1].to(random(64, seed=1))
    with pytest.raises(ValueError, match="two devices: `out_ptr` on device 1, `x_ptr` on device 0"):
        scale_kernel[(1,)](out, x, 64, 2.0, BLOCK=64)
    for gpu in reversed(gpus):
        scale(scale_kernel, gpu, 64, 3)


def test_streams_of_another_gpu_are_refused(gpus):
    x = random(100, seed=2)
    for here, there in (gpus[:2], gpus[1::-1]):
        own, other = here.stream(), there.stream()
        array, out = here.to(x), here.output(100, "fp32")
        compiled = scale_kernel[(2,)](out.array, array, 100, 1.0, BLOCK=64)
        for _ in range(2):
            with pytest.raises(
                triton.LaunchError,
                match=f"works on GPU {here.index}, but its stream belongs to GPU {there.index}",
            ):
                compiled[(2, 1, 1)](out.array, array, 100, 7.0, stream=other.cuda_stream)
            compiled[(2, 1, 1)](out.array, array, 100, 5.0, stream=own.cuda_stream)
        here.torch.cuda.synchronize(*([here.index] if getattr(here, "on_gpu", False) else []))
        np.testing.assert_array_equal(out.numpy(), x * np.float32(5))


def test_threads_on_gpus_of_their_own(gpus):
    kernel, failures = triton.jit(scale_kernel.fn), []

    def work(number):
        try:
            for turn in range(12):
                gpu = gpus[(number + turn // 4) % len(gpus)]
                scale(kernel, gpu, 300 + 7 * number, 10 * number + turn)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


@pytest.mark.parametrize("num_stages", [2, 4])
def test_gemms(gpus, num_stages):
    """Tensor maps, more shared memory than the default limit, as many CTAs as run at once."""
    M, N, K = 264, 136, 200
    for seed, gpu in enumerate([gpus[1], gpus[0], gpus[-1]]):
        a, b = random((M, K), "fp16", seed), random((K, N), "fp16", seed + 5)
        c = gpu.output((M, N), "fp16")
        matmul_kernel[(3, 2)](
            gpu.to(a), gpu.to(b), c.array, M, N, K, K, N, N,
            BM=128, BN=128, BK=64, num_stages=num_stages,
        )  # fmt: skip
        check_gemm(c.numpy(), a, b)


@triton.jit
def transpose_kernel(out, x, BM: tl.constexpr, BN: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    out.store([column, row], tl.trans(x.load([row, column])))


def test_descriptors(gpus):
    """Descriptors are of the GPU of their arrays."""
    x = random((96, 80), "fp16", seed=6)
    for gpu in (gpus[1], gpus[0]):
        array = gpu.to(x)
        out = gpu.to(np.full((80, 96), np.nan, np.float16))
        transpose_kernel[(3, 3)](
            TensorDescriptor(out, [80, 96], [96, 1], [32, 32]),
            TensorDescriptor(array, [96, 80], [80, 1], [32, 32]),
            BM=32, BN=32,
        )  # fmt: skip
        np.testing.assert_array_equal(gpu.numpy(out), x.T)


@triton.jit
def add_to_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(out_ptr + offsets, mask=offsets < n)
    total += tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, total, mask=offsets < n)


def test_tuning_measures_where_the_arrays_are(gpus, monkeypatch, tmp_path):
    for gpu in (gpus[1], gpus[0]):
        monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path / str(gpu.index)))
        n = 1 << (23 if getattr(gpu, "on_gpu", False) else 10)
        configs = [triton.Config({"BLOCK": size}) for size in (256, 512)]
        tuned = triton.autotune(configs, key=["n"], restore_value=["out_ptr"])(
            triton.jit(add_to_kernel.fn)
        )
        x, start = random(n), random(n, seed=1)
        out = gpu.to(start)
        for _ in range(2):
            tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, gpu.to(x), n)
        np.testing.assert_array_equal(gpu.numpy(out), start + x + x)
        # No GPU moves 10 TB/s: times taken elsewhere would be those of nothing.
        assert all(times[0] > 12 * n / 1e10 for times in tuned.configs_timings.values())


def test_facts_of_each_gpu(gpus):
    from pantile.runtime import driver

    for gpu in gpus:
        assert driver.active.get_device_capability(gpu.index) == divmod(gpu.arch, 10)
        assert driver.active.utils.get_device_properties(gpu.index)["warpSize"] == 32
    assert driver.active.get_current_device() == 0
    with pytest.raises(triton.DriverError, match=f"the properties of GPU {len(gpus)}"):
        driver.active.utils.get_device_properties(len(gpus))


def test_a_graph_of_another_gpu(gpus):
    if not getattr(gpus[1], "on_gpu", False):
        pytest.skip("graphs are not emulated")
    gpu, torch = gpus[1], gpus[1].torch
    kernel = triton.jit(scale_kernel.fn)
    x = gpu.to(random(300, seed=8))
    out = torch.full_like(x, float("nan"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(1), torch.cuda.graph(graph):
        kernel[(5,)](out, x, 300, 4.0, BLOCK=64)
    graph.replay()
    torch.cuda.synchronize(1)
    np.testing.assert_array_equal(gpu.numpy(out), gpu.numpy(x) * np.float32(4))


def test_unlike_gpus_are_tuned_separately(gpus, monkeypatch):
    """A choice holds for GPUs of one kind; each is measured where its arrays are."""
    from pantile.runtime import autotuner, tuning_cache

    known = tuning_cache.device_name(0)
    for names, count in ((lambda device: known, 1), (lambda device: f"GPU {device}", len(gpus))):
        monkeypatch.setattr(tuning_cache, "device_name", names)
        autotuner._kind_of.cache_clear()
        measured = []

        def bench(call, quantiles):
            call()
            measured.append(call)
            return [1.0, 1.0, 1.0]

        configs = [triton.Config({"BLOCK": block}) for block in (32, 64)]
        tuned = triton.autotune(configs, key=["n"], do_bench=bench)(triton.jit(scale_kernel.fn))
        for gpu in [*gpus, *reversed(gpus)]:
            x, out = random(200, seed=5), gpu.output(200, "fp32")
            tuned[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](out.array, gpu.to(x), 200, 2.5)
            np.testing.assert_array_equal(out.numpy(), x * np.float32(2.5))
        assert len(tuned.cache) == count and len(measured) == 2 * count
        assert next(iter(tuned.cache))[0] == 200, "keys of the first GPU's kind stay as they are"
    autotuner._kind_of.cache_clear()
