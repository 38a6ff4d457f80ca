"""The tables of the benchmark record: for each row, what a build runs, and how one sample is taken.

Gives: `TABLES`, by name a function (options) that yields rows. `row.make(build)` gives by
       configuration a function (timer) that takes one sample, in milliseconds. It is called, and
       what it gives is used, while `build` is active. There each result is compared with float64.
How:   the problems and kernels are those of the other benchmarks of this folder.
"""

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import attention
import attention_kernels
import field
import kernels
import launch
import launch_kernels
import matmul
import ragged
import starts
import torch
import workloads

HERE = Path(__file__).parent
MODULES = {}  # by name of build and stem of the file


@dataclass
class Row:
    """One row: `work` of a sample is in `unit`s times a millisecond, 0 where time is reported."""

    name: str
    make: Callable
    work: float = 0.0
    unit: str = "ms"


def kernels_of(build, stem):
    """The kernels of a file of this folder, which belong to the active build."""
    if (build.name, stem) not in MODULES:
        MODULES[build.name, stem] = kernels.load("pantile", HERE / f"{stem}.py")
    return MODULES[build.name, stem]


def medians(launches):
    """Samples of launches that were checked: medians of single ones with a cold L2."""
    return {c: lambda timer, f=f: timer.median(f) for c, f in launches.items()}


def those_that_run(configs, make):
    """`make(config)` of each configuration, without those that fail, which are printed."""
    launches = {}
    for config in configs:
        try:
            launches[config] = make(config)
        except Exception as error:
            print(f"  failed: {config}: {type(error).__name__}: {str(error)[:150]}", flush=True)
    return launches


def picked(options, points):
    """All points, or with --quick every third from the end."""
    return list(points)[::-3][::-1] if options.quick else list(points)


# ===-- GEMM ------------------------------------------------------------------------===

SMALL_BLOCKS = [((32, 32, 64), 5, 4), ((64, 32, 128), 3, 4), ((64, 64, 128), 5, 4)]
SMALL_BLOCKS += [((64, 128, 64), 7, 4)]
LARGE_BLOCKS = [((64, 128, 64), 7, 4), ((128, 128, 64), 4, 8), ((128, 128, 64), 4, 4)]
LARGE_BLOCKS += [((128, 256, 64), 3, 8), ((128, 256, 64), 4, 8), ((256, 128, 64), 3, 8)]
STREAM_K = [((128, 128, 64), 5, 8), ((128, 256, 64), 3, 8)]
CALLABLE_GRIDS = ("3 tensors, 6 integers", "autotuned")  # launches that are timed by one, too
ROWS_OF_EIGHT = (1000, 2056, 4040)  # strides that are multiples of 16 bytes, not of 16 elements
ODD_ROWS = (1001, 4095)
SIZES = (256, 384, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096, 8192, 16384)


def gemm(size, dtype, activation="", blocks=None, **passes):
    """C = A B of square matrices, by blocks that win at that size."""
    a, b = (torch.randn(size, size, dtype=dtype, device="cuda") for _ in range(2))
    places = [matmul.Place(a, b)]

    def make(build):
        module = kernels_of(build, "kernels")

        def launch_by(config):
            return starts.launchers(module, places, (size, *config), passes, activation)[0]

        configs = blocks or (SMALL_BLOCKS if size <= 1024 else LARGE_BLOCKS)
        return medians(those_that_run(configs, launch_by))

    return Row(str(size), make, 2e-9 * size**3, "TFLOP/s")


def matmul_fp16(options):
    for size in picked(options, SIZES):
        yield gemm(size, torch.float16)


def matmul_bf16(options):
    for size in picked(options, SIZES[::2] + SIZES[-1:]):
        yield gemm(size, torch.bfloat16)


def matmul_strides(options):
    for size in picked(options, ROWS_OF_EIGHT + ODD_ROWS):
        yield gemm(size, torch.float16, blocks=LARGE_BLOCKS)


def matmul_leaky_relu(options):
    for size in picked(options, SIZES[1::2]):
        yield gemm(size, torch.float16, "leaky_relu")


def matmul_stream_k(options):
    for size in picked(options, (1536, 2176, 3072, 3328, 8192)):
        yield gemm(size, torch.float16, blocks=STREAM_K, enabled_passes="nv-stream-k")


# ===-- attention -------------------------------------------------------------------===


def attention_row(head, length, causal, kind="pointers", backward=False):
    """Attention as attention.py has it, over that file's blocks."""
    problem = attention.Problem(head, length, causal)
    of, configs = (attention.forward, attention.FORWARD)
    if backward:
        of = attention.backward
        configs = attention.SUMS if kind == "sums" else attention.BACKWARD

    def make(build):
        if build.name not in attention.MODULES:
            attention.MODULES[build.name] = attention_kernels.load("pantile")
            tools = __import__("pantile.tools.tensor_descriptor", fromlist=["TensorDescriptor"])
            attention.DESCRIPTORS[build.name] = tools.TensorDescriptor
        # The part under the mask would read past the last row by blocks of more keys than queries.
        fitting = [c for c in configs[head] if backward or not causal or c[1] <= c[0]]
        launch_by = lambda config: of(build.name, kind, problem, config, {})
        return medians(those_that_run(fitting, launch_by))

    name = f"{kind}, d={head}{', causal' if causal else ''}, N={length}"
    return Row(name, make, problem.flops * (2.5 if backward else 1) * 1e-9, "TFLOP/s")


def attention_points(options):
    """Depths, masks and lengths, in the order of the table."""
    points = [
        (head, length, causal)
        for head in (64, 128)
        for causal in (0, 1)
        for length in (1024, 4096, 16384)
    ]
    return [p for p in points if p[1] == 4096] if options.quick else points


def attention_forward(options):
    for head, length, causal in attention_points(options):
        yield attention_row(head, length, causal)
    for head in (64, 128):
        yield attention_row(head, 4096, 0, "descriptors")


def attention_backward(options):
    for head, length, causal in attention_points(options):
        yield attention_row(head, length, causal, backward=True)
    for head, causal in ((64, 0), (128, 0), (128, 1)):
        yield attention_row(head, 4096, causal, "sums", backward=True)


# ===-- the rest --------------------------------------------------------------------===


def streaming(options):
    """Workloads of the memory's speed, GB/s."""
    for name, make_workload in picked(options, workloads.workloads().items()):
        torch.cuda.empty_cache()
        workload = make_workload()

        def make(build, workload=workload):
            launches = workload.launches(kernels_of(build, "streams"))

            def checked(config):
                workload.poison()
                launches[config]()
                workload.check()
                return launches[config]

            return medians(those_that_run(launches, checked))

        yield Row(name, make, 1e-6 * workload.bytes, "GB/s")


def ragged_rows(options):
    """Groups of rows, matrices by tile, sequences of any length, indices modulo the extent."""
    for name, prepare in ragged.PREPARE.items():
        blocks, launch_block, pairs, out, flops = prepare(torch)

        def make(build, blocks=blocks, launch_block=launch_block, pairs=pairs, out=out):
            module = kernels_of(build, "ragged")

            def checked(block):
                run = lambda: launch_block(module, block, {})
                out.fill_(float("nan"))
                run()
                ragged.check(pairs())
                return run

            return medians(those_that_run(blocks, checked))

        yield Row(name, make, 1e-9 * flops, "TFLOP/s")


def launches_of_the_host(options):
    """Host time of a warm launch, the queue drained outside of the clock."""
    for name, _, make_case in launch_kernels.CASES:
        loops = {name: "loop"}
        if name in CALLABLE_GRIDS:
            loops[f"{name}, callable grid"] = "callable_loop"
        for row_name, loop in loops.items():

            def make(build, make_case=make_case, loop=loop):
                made = make_case(__import__("pantile"), launch.SETS)
                batch = launch.timed(getattr(made, loop), made.sets)
                return {"": lambda _: host_time(batch)}

            yield Row(row_name, make)


def host_time(batch, batches=8, count=256):
    """Milliseconds of one launch, the least of a few batches, one of them before to warm up."""
    times = []
    for _ in range(batches + 1):
        times.append(batch(count))
        torch.cuda.synchronize()
    return 1e-6 * min(times[1:])


def cold_compile(options):
    """From the kernel's source to machine code, the matmul of the tutorial."""
    a = torch.zeros(512, 512, dtype=torch.float16, device="cuda")
    blocks = SMALL_BLOCKS[:1] + LARGE_BLOCKS[1:4:2]
    for (m, n, k), stages, warps in picked(options, blocks):
        sizes = {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}
        settings = {**sizes, "ACTIVATION": "", "num_stages": stages, "num_warps": warps}

        def sample(timer, settings=settings):
            return min(compile_once(a, settings) for _ in range(3))

        yield Row(f"{m}x{n}x{k}, {stages}, {warps}", lambda build, s=sample: {"": s})


def compile_once(a, settings):
    """Milliseconds of one compilation, of kernels that were just loaded and without the cache."""
    module = kernels.load("pantile")
    with mock.patch.dict(os.environ, PANTILE_ALWAYS_COMPILE="1"):
        start = time.perf_counter()
        arguments = module.matmul_arguments(a, a, a)
        module.matmul_kernel.warmup(*arguments, grid=(1,), **settings)
        return 1e3 * (time.perf_counter() - start)


def field_rows(options):
    """The kernels of the field."""
    for path in picked(options, field.FAMILIES):
        for case in kernels.load("pantile", path).CASES:
            torch.cuda.empty_cache()
            problem_of = functools.cache(lambda case=case: field.Problem(case, case.full))

            def make(build, path=path, name=case.name, problem_of=problem_of):
                cases = kernels_of(build, f"field/{path.stem}").CASES
                mine = next(case for case in cases if case.name == name)
                return medians({"": problem_of().launch_of(mine)})

            yield Row(case.name, make)


TABLES = {
    "matmul fp16": matmul_fp16,
    "matmul bf16": matmul_bf16,
    "matmul strides": matmul_strides,
    "matmul leaky relu": matmul_leaky_relu,
    "matmul stream-K": matmul_stream_k,
    "attention forward": attention_forward,
    "attention backward": attention_backward,
    "streaming": streaming,
    "ragged": ragged_rows,
    "launch": launches_of_the_host,
    "cold compile": cold_compile,
    "field": field_rows,
}
