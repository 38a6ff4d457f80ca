"""Checking and measuring: `assert_close`, `do_bench`, `perf_report`, what a GPU can reach."""

from .bench import do_bench, do_bench_cudagraph
from .compare import allclose, assert_allclose, assert_almost_equal, assert_close
from .hardware import (
    cuda_memcheck,
    get_dram_gbps,
    get_max_simd_tflops,
    get_max_tensorcore_tflops,
    nvsmi,
    set_gpu_clock,
)
from .report import Benchmark, Mark, perf_report

__all__ = [
    "Benchmark",
    "Mark",
    "allclose",
    "assert_allclose",
    "assert_almost_equal",
    "assert_close",
    "cuda_memcheck",
    "do_bench",
    "do_bench_cudagraph",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
    "set_gpu_clock",
]
