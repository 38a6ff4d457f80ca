"""What each technique gives to the product: block by block, with and without it, beside cuBLAS.

Usage: steps.py [--of loads|epilogue] [--sizes 2048 4096 8192] [--rounds 5] [--blocks 10]
Gives: a table of TFLOP/s and of shares of cuBLAS, and the mean gain of each step over the one
       before it. Every result is compared with float64 first; all contestants of a size take turns,
       round after round.
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
# What is loaded how, and how results leave.
STEPS = {
    "loads": {
        "cp.async": {"disabled_passes": "nv-specialise-warps"},
        "producer warp": {"disabled_passes": "nv-make-persistent"},
        "persistence": {},
    },
    "epilogue": {
        "through the block": {"disabled_passes": "in-warp-stores,nv-raise-stores"},
        "in warps": {"disabled_passes": "nv-raise-stores"},
        "copy engine": {"enabled_passes": "nv-raise-stores"},
        "as it is": {},
    },
}


def launcher(module, a, b, c, block, passes):
    """A function without arguments that computes `c` with one block, checked."""
    m, n, k, stages, warps = block
    sizes = {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}
    grid = (-(-c.shape[0] // m) * -(-c.shape[1] // n),)
    arguments = module.matmul_arguments(a, b, c)
    options = {"num_stages": stages, "num_warps": warps, **passes}

    def launch():
        module.matmul_kernel[grid](*arguments, ACTIVATION="", **sizes, **options)

    c.fill_(float("nan"))
    launch()
    checking.check_product(a, b, c)
    return launch


def measure(module, size, steps, options, timer):
    """Medians in TFLOP/s by contestant."""
    a, b = (torch.randn(size, size, dtype=torch.float16, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    contestants = {"cublas": lambda: torch.matmul(a, b, out=c)}
    for block in BLOCKS[: options.blocks]:
        for step, passes in steps.items():
            try:
                contestants[block, step] = launcher(module, a, b, c, block, passes)
            except Exception as error:
                print(f"{size} {block} {step}: {type(error).__name__}: {error}"[:200])
    times = {name: [] for name in contestants}
    for number in range(options.rounds):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            times[name].append(timer.median(contestants[name]))
    return {name: 2e-9 * size**3 / statistics.median(values) for name, values in times.items()}


def print_size(size, result, steps):
    """One size: a line a block, and what each step gave over the one before it."""
    print(f"{size}: cuBLAS {result['cublas']:.1f} TFLOP/s")
    gains = {}
    for block in BLOCKS:
        known = [step for step in steps if (block, step) in result]
        if not known:
            continue
        cells = [
            f"{step} {result[block, step]:.1f} ({result[block, step] / result['cublas']:.2f})"
            for step in known
        ]
        m, n, k, stages, warps = block
        print(f"  {m}x{n}x{k} {stages} stages {warps} warps: " + ", ".join(cells))
        for before, step in zip(known, known[1:]):
            gains.setdefault(step, []).append(result[block, step] / result[block, before])
    for step, ratios in gains.items():
        print(
            f"  {step}: {statistics.geometric_mean(ratios):.3f} times the one before, {min(ratios):.3f} to {max(ratios):.3f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=STEPS, default="loads")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=len(BLOCKS))
    options = parser.parse_args()
    torch.manual_seed(0)
    module, timer, steps = kernels.load("pantile"), Timer(30.0), STEPS[options.of]
    print(f"=== table: the product by block and technique, {torch.cuda.get_device_name()}")
    for size in options.sizes:
        print_size(size, measure(module, size, steps, options, timer), steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
