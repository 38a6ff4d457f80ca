"""`pantile.testing` without measuring and comparing, which test_host_functions.py covers; and tuning on disk."""

import json
import subprocess
import sys
import time

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile import _pantile, knobs, testing
from pantile.backends.target import GPUTarget
from pantile.runtime.device import active_device
from pantile.runtime.driver import driver


class H200:
    """A driver that says what an H200 says."""

    class utils:
        @staticmethod
        def get_device_properties(device=0):
            return {
                "target": "sm_90a",
                "multiprocessor_count": 132,
                "sm_clock_rate": 1980000,
                "mem_clock_rate": 3201000,
                "mem_bus_width": 6144,
                "max_shared_mem": 232448,
            }

    def get_current_device(self):
        return 0


@pytest.fixture
def h200():
    driver.set_active(H200())
    yield
    driver.reset_active()


def test_peaks(h200):
    """The peaks of an H200 are those of its data sheet."""
    # The data sheet: 4.8 TB/s; 989 and 1979 TFLOP/s dense at a boost clock of 1.83 GHz; 67 in fp32.
    assert testing.get_dram_gbps() == pytest.approx(4917, rel=1e-3)
    assert testing.get_max_tensorcore_tflops(tl.float16, 1830e3) == pytest.approx(989, rel=0.01)
    assert testing.get_max_tensorcore_tflops(tl.float8e5, 1830e3) == pytest.approx(1979, rel=0.01)
    assert testing.get_max_tensorcore_tflops(np.float32, 1830e3) == pytest.approx(495, rel=0.01)
    assert testing.get_max_tensorcore_tflops("torch.bfloat16") == pytest.approx(1070, rel=0.01)
    assert testing.get_max_simd_tflops(tl.float32) == pytest.approx(66.9, rel=0.01)
    with pytest.raises(RuntimeError, match="not supported on the tensor cores"):
        testing.get_max_tensorcore_tflops(tl.int64)


def test_names_of_older_versions():
    x = np.ones(8, np.float32)
    testing.assert_allclose(x, x + 0.005)
    testing.assert_almost_equal(x, x + 0.01, decimal=2)
    with pytest.raises(AssertionError):
        testing.assert_almost_equal(x, x + 0.02, decimal=2)
    assert testing.allclose(x, x + np.float32(0.05), tol=0.1)
    middle, low, high = testing.do_bench(
        lambda: time.sleep(1e-4), 1, 3, percentiles=(0.5, 0.2, 0.8), fast_flush=True, on_host=True
    )
    assert low <= middle <= high


def test_gradients_are_dropped():
    class Tensor:
        grad = "something"

    tensor = Tensor()
    testing.do_bench(lambda: None, 1, 1, grad_to_none=[tensor], on_host=True)
    assert tensor.grad is None


def test_reports_make_a_page(tmp_path):
    def benchmark(name):
        return testing.Benchmark(["N"], [1, 2, 4], "kind", ["a"], ["A"], name, {})

    @testing.perf_report([benchmark("first"), benchmark("second")])
    def bench(N, kind):
        return N * 2.5

    bench.run(save_path=str(tmp_path))
    page = (tmp_path / "results.html").read_text()
    assert 'src="first.png"' in page and 'src="second.png"' in page
    assert page.count("<tr><td>4</td><td>10</td></tr>") == 2
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.html",
        *(f"{name}.{kind}" for name in ("first", "second") for kind in ("png", "csv")),
    }
    first, second = bench.run(return_df=True)
    assert list(second["A"]) == [2.5, 5.0, 10.0] and list(first.columns) == ["N", "A"]


def test_memcheck_leaves_other_tests_alone():
    calls = []

    @testing.cuda_memcheck(size=3)
    def test(size, request=None):
        calls.append(size)

    test(size=2)
    assert calls == [2]


def test_bench_on_the_gpu_without_torch(gpu):
    from pantile.testing.bench import _DriverTimer

    x = gpu.to(random(1 << 20))
    times = _DriverTimer().times(lambda: x.add_(1), 5, lambda: None)
    assert len(times) == 5 and all(0 < ms < 50 for ms in times)


WITHOUT_TORCH = """
import sys
import pantile, pantile.language as tl
from pantile import testing
from pantile.backends.nvidia.libcuda import Libcuda

class Array:
    def __init__(self, count):
        cuda.use(0)
        self.address = cuda.allocate(4 * count)
        self.__cuda_array_interface__ = dict(
            shape=(count,), typestr="<f4", data=(self.address, False), version=3
        )

@pantile.jit
def double(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

cuda = Libcuda.of_process()
n = 1 << 24
x, out = Array(n), Array(n)
run = lambda: double[(n // 1024,)](out, x, n, BLOCK=1024)
plain = testing.do_bench(run, 5, 20, return_mode="median")
graph = testing.do_bench_cudagraph(run, 5, return_mode="median")
peak = 8 * n / testing.get_dram_gbps() / 1e6
print(f"do_bench {plain:.4f} ms, do_bench_cudagraph {graph:.4f} ms, at the peak {peak:.4f} ms")
assert 0.5 * peak < plain < 20 * peak and 0.3 * peak < graph < 20 * peak
assert "torch" not in sys.modules
"""


def test_cuda_graphs_without_torch(gpu, tmp_path):
    script = tmp_path / "without_torch.py"
    script.write_text(WITHOUT_TORCH)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_cuda_graphs_need_a_gpu(monkeypatch):
    monkeypatch.setattr(testing.bench, "_torch_with_gpu", lambda: None)
    monkeypatch.setattr(driver.active, "is_active", lambda: False, raising=False)
    with pytest.raises(RuntimeError, match="needs a GPU"):
        testing.do_bench_cudagraph(lambda: None)
    with pytest.raises(ValueError, match="return_mode"):
        testing.do_bench_cudagraph(lambda: None, return_mode="most")


def test_driver_interface():
    active = driver.active
    for name in """get_current_target get_current_device get_current_stream get_active_torch_device
    get_device_interface get_benchmarker get_empty_cache_for_benchmark clear_cache launcher_cls
    map_python_to_cpp_type""".split():
        assert callable(getattr(active, name))
    assert active.get_benchmarker() is testing.do_bench
    assert active.map_python_to_cpp_type("*fp16") == "CUdeviceptr"
    assert active.map_python_to_cpp_type("i64") == "int64_t"
    assert driver.default is driver.active is active_device() and driver.driver is driver
    assert triton.runtime.driver.active is active


def test_set_allocator():
    from pantile.runtime import _allocation

    with pytest.raises(RuntimeError, match="set_allocator"):
        _allocation.NullAllocator()(16, 128, None)
    triton.set_allocator(lambda size, alignment, stream: bytearray(size))
    assert len(_allocation._allocator.get()(16, 128, None)) == 16
    triton.set_allocator(_allocation._NULL_ALLOCATOR)


def tuned(**options):
    @triton.autotune(
        [triton.Config({"BLOCK": b}, num_warps=w) for b in (32, 64) for w in (2, 4)],
        key=["n"],
        **options,
    )
    @triton.jit
    def negate(out, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, -tl.load(x + i, mask=i < n), mask=i < n)

    return negate


def launch(kernel, device, n=100):
    x = random(n, seed=n)
    out = device.output(n, "fp32")
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out.array, device.to(x), n)
    np.testing.assert_array_equal(out.numpy(), -x)


@pytest.mark.parametrize("by", ["argument", "knob"])
def test_tuning_is_kept_on_disk(device, tmp_path, by):
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(1)
        return [10.0 - len(measured), 1.0, 20.0]

    with knobs.cache.scope(), knobs.autotuning.scope():
        knobs.cache.dir = str(tmp_path)
        knobs.autotuning.tune_cpu = True
        knobs.autotuning.cache = by == "knob"
        first = tuned(do_bench=bench, cache_results=by == "argument")
        launch(first, device)
        assert len(measured) == 4 and first.best_config == first.configs[3]
        entries = [json.loads(payload) for _, _, payload in _pantile.cache_entries("tuning")]
        assert {entry["config"] for entry in entries} == {str(c) for c in first.configs}
        assert all(entry["kernel"] == "negate" and entry["error"] is None for entry in entries)
        second = tuned(do_bench=bench, cache_results=by == "argument")
        launch(second, device)
        assert len(measured) == 4 and second.best_config == first.best_config
        assert second.configs_timings == first.configs_timings
        launch(second, device, n=101)
        assert len(measured) == 8
        damaged = next(path for path in tmp_path.glob("??/*") if b'"negate"' in path.read_bytes())
        damaged.write_bytes(damaged.read_bytes()[:-1])
        with pytest.warns(RuntimeWarning, match="is damaged"):
            launch(tuned(do_bench=bench, cache_results=by == "argument"), device)
            launch(tuned(do_bench=bench, cache_results=by == "argument"), device, n=101)
        assert len(measured) == 9, "the damaged one alone is measured again"


def test_printing_of_a_choice(device, capsys):
    with knobs.autotuning.scope():
        knobs.autotuning.print = knobs.autotuning.tune_cpu = True
        launch(tuned(do_bench=lambda call, quantiles: [1.0, 1.0, 1.0]), device)
    text = capsys.readouterr().out
    assert text.startswith("Triton autotuning for function negate,\nwith key as (")
    assert "best config selected: BLOCK: 32, num_warps: 2" in text


def test_forms_of_config():
    config = triton.Config({"N": 3}, num_stages=2, num_warps=8)
    assert config == triton.Config(meta={"N": 3}, num_stages=2, num_warps=8)
    assert config.all_kwargs() == {"N": 3, "num_warps": 8, "num_ctas": 1, "num_stages": 2}
    assert str(config) == "N: 3, num_warps: 8, num_ctas: 1, num_stages: 2, maxnreg: None"
    assert triton.Config({}, num_buffers_warp_spec=2, num_consumer_groups=1) == triton.Config({})
    with pytest.raises(TypeError, match="has no parameter `warps`"):
        triton.Config({}, warps=3)
    with pytest.raises(TypeError, match="dict of meta-parameters"):
        triton.Config()


def test_rules_of_pruning():
    kernel = tuned(prune_configs_by={"perf_model": lambda BLOCK, **_: BLOCK, "top_k": 2.5})
    kernel.nargs = {}
    with pytest.raises(TypeError, match="top_k must be either"):
        kernel.prune_configs({})
    kernel.configs_top_k = 0.5
    assert [c.kwargs["BLOCK"] for c in kernel.prune_configs({})] == [32, 32]
    kernel.configs_top_k = 3
    assert [c.kwargs["BLOCK"] for c in kernel.prune_configs({})] == [32, 32, 64]


class Recorded(triton.runtime.Autotuner):
    """As libraries derive from it: measures and keeps choices by themselves."""

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        key = (args[2], *(str(a.dtype) for a in args if hasattr(a, "dtype")))
        if key not in self.cache:
            times = {c: self._bench(*args, config=c, **kwargs) for c in self.prune_configs(kwargs)}
            self.cache[key] = min(times, key=times.get)
        return self.fn.run(*args, **kwargs, **self.cache[key].all_kwargs())


def test_derived_tuners(device):
    configs = [triton.Config({"BLOCK": block}) for block in (32, 64)]
    times = iter([3.0, 2.0])
    inner = tuned().fn
    kernel = Recorded(
        inner,
        inner.arg_names,
        configs,
        ["n"],
        None,
        None,
        do_bench=lambda call, quantiles: call() or [next(times)] * 3,
    )
    launch(kernel, device)
    launch(kernel, device)
    assert list(kernel.cache.values()) == [configs[1]]


def test_a_driver_that_is_set_answers_everywhere():
    class Elsewhere(type(driver.default)):
        def get_current_target(self):
            return GPUTarget("cuda", 80, 32)

    driver.set_active(Elsewhere())
    try:
        assert driver.active is active_device() is not driver.default
        assert tl.target_info.cuda_capability_geq(8) and not tl.target_info.cuda_capability_geq(9)
    finally:
        driver.reset_active()
    assert driver.active is active_device() is driver.default
