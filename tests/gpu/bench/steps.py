"""What each technique gives to the GEMM: tile by tile, with and without it, relative to cuBLAS.

`ladder` has all of them, one after the other, for a kernel source without a tile order: the
masked GEMM over a grid of two axes. `loads` and `epilogue` take the tutorial's source. `gathered`
takes A's rows in the order of a table, so that TMA can load B alone. `order` compares the order of programs that the compiler chooses for the plain source with the one that the
tutorial writes out. What was expected of each step stands in PREDICTED.

Usage: steps.py [--of ladder|loads|epilogue|gathered|order] [--sizes 2048 4096 8192] [--rounds 5]
                [--blocks 10] [--budget-ms 30] [--markdown FILE]
Gives: a table of TFLOP/s and of shares of cuBLAS, and the mean gain of each step over the one
       before it. Every result is compared with float64 first; all contestants of a size run
       interleaved.
"""

import argparse
import statistics
import sys

import checking
import kernels
import torch
from matmul import Timer

BLOCKS = [
    (128, 256, 64, 3, 8),
    (128, 256, 64, 4, 8),
    (256, 128, 64, 3, 8),
    (128, 128, 64, 4, 8),
    (128, 128, 64, 4, 4),
    (128, 256, 32, 3, 8),
    (128, 128, 32, 4, 4),
    (128, 64, 64, 4, 4),
    (64, 128, 64, 5, 4),
    (64, 256, 32, 4, 4),
]


def without(*passes, **options):
    """Options of a launch that leaves passes out."""
    return {"disabled_passes": ",".join(passes), **options}


RAISED = {"enabled_passes": "nv-tma-stores"}
# What is loaded how, how results leave, and in which order programs run. `group`: how many rows of
# tiles the tutorial's kernel groups; without it the kernel is the plain one.
STEPS = {
    "ladder": {
        "cp.async": without("nv-specialise-warps", "nv-tma-stores"),
        "tensor maps, producer": without("nv-make-persistent", "nv-tma-stores"),
        "persistence": without("nv-order-raster", "nv-tma-stores"),
        "epilogue": without("nv-order-raster", **RAISED),
        "tile order": RAISED,
    },
    "loads": {
        "cp.async": without("nv-specialise-warps", group=8),
        "producer warp": without("nv-make-persistent", group=8),
        "persistence": {"group": 8},
    },
    "epilogue": {
        "through the block": without("in-warp-stores", "nv-tma-stores", group=8),
        "in warps": without("nv-tma-stores", group=8),
        "copy engine": {"group": 8, **RAISED},
        "as it is": {"group": 8},
    },
    "gathered": {
        "cp.async": {"gathered": True, "disabled_passes": "mixed-transports"},
        "mixed transports": {"gathered": True},
    },
    "order": {
        "as numbered": without("nv-order-raster"),
        "in bands": {},
        "tutorial, 8": {"group": 8},
        "tutorial, 16": {"group": 16},
    },
}
# Gains over the step before, at 2048, 4096 and 8192, written down before the first run.
PREDICTED = {
    "tensor maps, producer": {2048: 1.08, 4096: 1.12, 8192: 1.15},
    "persistence": {2048: 1.00, 4096: 1.03, 8192: 1.04},
    "epilogue": {2048: 1.02, 4096: 1.01, 8192: 1.005},
    "tile order": {2048: 1.00, 4096: 1.01, 8192: 1.03},
    "mixed transports": {2048: 1.05, 4096: 1.08, 8192: 1.10},
    "in bands": {2048: 1.00, 4096: 1.01, 8192: 1.03, 16384: 1.10},
    "tutorial, 16": {2048: 1.00, 4096: 1.00, 8192: 1.00, 16384: 1.02},
}


def launcher(module, a, b, c, block, step):
    """A function without arguments that computes `c` with one tile, checked."""
    m, n, k, stages, warps = block
    options = {"num_stages": stages, "num_warps": warps, **step}
    group, gathered = options.pop("group", None), options.pop("gathered", False)
    rows, columns = -(-c.shape[0] // m), -(-c.shape[1] // n)
    expected = a
    if gathered:
        table = torch.randperm(a.shape[0], dtype=torch.int32, device="cuda")
        expected = a[table]
        kernel, grid = module.gathered_matmul_kernel, (rows, columns)
        arguments = (a, b, c, table, a.shape[1], a.stride(0), b.stride(0), c.stride(0))
        options |= {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    elif group is None:
        kernel, grid = module.masked_matmul_kernel, (rows, columns)
        sizes = (c.shape[0], c.shape[1], a.shape[1])
        arguments = (a, b, c, *sizes, a.stride(0), b.stride(0), c.stride(0))
        options |= {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    else:
        kernel, grid = module.matmul_kernel, (rows * columns,)
        arguments = module.matmul_arguments(a, b, c)
        options |= {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k}
        options |= {"GROUP_SIZE_M": group, "ACTIVATION": ""}

    def launch():
        kernel[grid](*arguments, **options)

    c.fill_(float("nan"))
    launch()
    checking.check_product(expected, b, c)
    return launch


def measure(module, size, steps, options, timer):
    """Medians in TFLOP/s by contestant."""
    a, b = (torch.randn(size, size, dtype=torch.float16, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    contestants = {"cublas": lambda: torch.matmul(a, b, out=c)}
    for block in BLOCKS[: options.blocks]:
        for name, step in steps.items():
            try:
                contestants[block, name] = launcher(module, a, b, c, block, step)
            except Exception as error:
                print(f"{size} {block} {name}: {type(error).__name__}: {error}"[:200])
    times = {name: [] for name in contestants}
    for number in range(options.rounds):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            times[name].append(timer.median(contestants[name]))
    return {name: 2e-9 * size**3 / statistics.median(values) for name, values in times.items()}


def gains_of(result, steps):
    """By step, what it gave over the one before it, tile by tile."""
    names = list(steps)
    return {
        step: [
            result[block, step] / result[block, before]
            for block in BLOCKS
            if (block, step) in result and (block, before) in result
        ]
        for before, step in zip(names, names[1:])
    }


def print_size(size, result, steps):
    """One size: a line per tile, and what each step gave over the one before it."""
    print(f"{size}: cuBLAS {result['cublas']:.1f} TFLOP/s")
    for block in BLOCKS:
        cells = [
            f"{step} {result[block, step]:.1f} ({result[block, step] / result['cublas']:.2f})"
            for step in steps
            if (block, step) in result
        ]
        if cells:
            m, n, k, stages, warps = block
            print(f"  {m}x{n}x{k} {stages} stages {warps} warps: " + ", ".join(cells))
    for step, ratios in gains_of(result, steps).items():
        if not ratios:
            continue
        expected = PREDICTED.get(step, {}).get(size)
        print(
            f"  {step}: {statistics.geometric_mean(ratios):.3f} times the one before,"
            f" {min(ratios):.3f} to {max(ratios):.3f}"
            + (f", predicted {expected:.3f}" if expected else ""),
            flush=True,
        )


def write_markdown(results, steps, path):
    """Speeds relative to cuBLAS by tile, and gains by step, predicted and measured."""
    with open(path, "w", encoding="utf-8") as file:
        print(f"| block, stages, warps | {' | '.join(map(str, results))} |", file=file)
        print("| --- |" + " --- |" * len(results), file=file)
        for block in BLOCKS:
            cells = [
                " ".join(
                    f"{result[block, step] / result['cublas']:.2f}"
                    for step in steps
                    if (block, step) in result
                )
                for result in results.values()
            ]
            if any(cells):
                m, n, k, stages, warps = block
                print(f"| {m}×{n}×{k}, {stages}, {warps} | {' | '.join(cells)} |", file=file)
        print(f"\n| step | {' | '.join(map(str, results))} |", file=file)
        print("| --- |" + " --- |" * len(results), file=file)
        for step in list(steps)[1:]:
            cells = []
            for size, result in results.items():
                ratios = gains_of(result, steps)[step]
                expected = PREDICTED.get(step, {}).get(size)
                told = f"{100 * expected - 100:+.1f} %" if expected else "-"
                cells.append(f"{told}, {100 * statistics.geometric_mean(ratios) - 100:+.1f} %")
            print(f"| {step} | {' | '.join(cells)} |", file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=STEPS, default="ladder")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=len(BLOCKS))
    parser.add_argument("--budget-ms", type=float, default=30.0)
    parser.add_argument("--markdown")
    options = parser.parse_args()
    torch.manual_seed(0)
    module, steps = kernels.load("pantile"), STEPS[options.of]
    timer = Timer(options.budget_ms, least=3)
    print(f"=== table: the product by block and technique, {torch.cuda.get_device_name()}")
    results = {}
    for size in options.sizes:
        results[size] = measure(module, size, steps, options, timer)
        print_size(size, results[size], steps)
    if options.markdown:
        write_markdown(results, steps, options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
