"""What the benchmarks launch, at their sizes: GEMMs, attention, memory-bound kernels, the field.

Needs: `phantoms.install_torch()` and a Recorder in `launching.py`, so that launches compile only.
Gives: `PARTS`: functions without arguments, by name; each launches all of its kernels.
How:   arrays are phantoms. Configurations are those of the benchmarks themselves: none is named here
       that a benchmark has a list of.
"""

import contextlib
import itertools
import sys
from pathlib import Path
from types import SimpleNamespace

from .phantoms import Phantom, install_torch

BENCH = Path(__file__).resolve().parents[1] / "gpu/bench"
SIZE = 4096
# Sizes and strides are divisible by 16, or not, which is another kernel.
ODD = 4097


def products():
    """The tutorial's kernel with the configurations that it is tuned over, for each type."""
    import kernels

    torch = install_torch()
    for config in kernels.tutorial_configs():
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int8):
            launch_product(kernels, config, dtype, SIZE, "")
        launch_product(kernels, config, torch.float16, ODD, "")


def larger_products():
    """The further configurations; an epilogue."""
    import kernels

    dtype = install_torch().float16
    for config in [*kernels.larger_configs(), *kernels.own_configs()]:
        launch_product(kernels, config, dtype, SIZE, "")
        launch_product(kernels, config, dtype, SIZE, "leaky_relu")
    for config in kernels.larger_configs()[::3]:
        launch_product(kernels, config, dtype, ODD, "")


def launch_product(module, config, dtype, size, activation):
    a, b, c = (Phantom((size, size), dtype) for _ in range(3))
    arguments = module.matmul_arguments(a, b, c)
    module.matmul_kernel[1,](*arguments, ACTIVATION=activation, **config.all_kwargs())


def ladder():
    """The GEMM without and with each technique, every other tile."""
    import kernels
    import steps

    a, b, c = (Phantom((SIZE, SIZE), install_torch().float16) for _ in range(3))
    steps.checking = SimpleNamespace(check_product=lambda *arrays: None)
    for named, block in itertools.product(steps.STEPS.values(), steps.BLOCKS[::2]):
        for step in named.values():
            steps.launcher(kernels, a, b, c, block, step)


def attention_forward():
    """Each configuration over pointers and descriptors; each variant of the first one of a depth."""
    bench = attention_bench()
    for head, causal in itertools.product(bench.FORWARD, (0, 1)):
        problem = attention_problem(head, causal)
        for config, kind in itertools.product(bench.FORWARD[head], ("pointers", "descriptors")):
            bench.forward("pantile", kind, problem, config, {})
        for options in bench.VARIANTS.values():
            bench.forward("pantile", "pointers", problem, bench.FORWARD[head][0], options)


def attention_backward():
    """Each configuration; each variant of the first one of a depth."""
    bench = attention_bench()
    for head, causal in itertools.product(bench.BACKWARD, (0, 1)):
        problem = attention_problem(head, causal)
        for config in bench.BACKWARD[head]:
            bench.backward("pantile", "pointers", problem, config, {})
        for config in bench.SUMS[head]:
            bench.backward("pantile", "sums", problem, config, {})
        for options in bench.VARIANTS.values():
            bench.backward("pantile", "pointers", problem, bench.BACKWARD[head][0], options)


def attention_bench():
    import attention as bench
    from pantile.tools.tensor_descriptor import TensorDescriptor

    bench.MODULES["pantile"] = bench.attention_kernels.load("pantile")
    bench.DESCRIPTORS["pantile"] = TensorDescriptor
    return bench


def attention_problem(head, causal):
    shape = (32, SIZE, head)
    arrays = {name: Phantom(shape, install_torch().float16) for name in ("q", "k", "v", "do")}
    return SimpleNamespace(
        shape=shape, head=head, causal=causal, scale=head**-0.5, check=lambda *_: None, **arrays
    )


def launches():
    """What `launch.py` times the host with."""
    import launch_kernels

    for _, _, make in launch_kernels.CASES:
        with contextlib.suppress(AttributeError):  # it reads the maps of the compiled kernel
            make(SimpleNamespace(__name__="pantile"), 1)


def memory_bound():
    """Every configuration of every workload."""
    import streams
    import workloads

    streams.OPTIONS = {}
    for make in workloads.workloads().values():
        for launch in make().launches(streams).values():
            launch()


def ragged():
    """With and without a producer."""
    import ragged as bench

    torch = install_torch()
    bench.starts_of = lambda torch, count, *_: Phantom((count + 1,), torch.int32)
    for prepare in bench.PREPARE.values():
        blocks, launch, *_ = prepare(torch)
        for block, options in itertools.product(
            blocks, ({}, {"disabled_passes": "nv-specialise-warps"})
        ):
            launch(bench, block, options)


def rounded():
    """Attention whose rounded weights are used twice."""
    import rounded as bench

    torch = install_torch()
    for shape, is_rounded in itertools.product(bench.SHAPES, (False, True)):
        heads, n, depth, bm, bn, warps, stages = shape
        q, k, v = (Phantom((heads, n, depth), torch.float16) for _ in range(3))
        bench.attention[n // bm, heads](
            q, k, v, Phantom((heads, n, depth)), n, 0.125, BM=bm, BN=bn, D=depth,
            ROUNDED=is_rounded, num_warps=warps, num_stages=stages,
        )  # fmt: skip


def field():
    """The kernels of the field at the sizes of models."""
    import field_case
    import kernels

    from .phantom_draws import Draws

    for path in sorted((BENCH / "field").glob("*.py")):
        for case in kernels.load("pantile", path).CASES:
            inputs = case.inputs(Draws(), **case.full)
            outputs = {
                name: Draws().normal(shape, dtype)
                for name, (shape, dtype) in case.outputs(**case.full).items()
            }
            case.launch(field_case.namespace(inputs, outputs), **case.full)


PARTS = {
    part.__name__: part
    for part in (
        larger_products,
        ladder,
        products,
        attention_backward,
        attention_forward,
        field,
        memory_bound,
        ragged,
        launches,
        rounded,
    )
}


def run(name):
    install_torch()
    sys.path.append(str(BENCH))
    PARTS[name]()
