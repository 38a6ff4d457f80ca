"""What each technique gives to the product: block by block, with and without it, beside cuBLAS.

Usage: steps.py [--sizes 2048 4096 8192] [--rounds 5]
Gives: a table of TFLOP/s and of shares of cuBLAS. Every result is compared with float64 first; all
       contestants of a size take turns, round after round.
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
]
STEPS = {
    "cp.async": "nv-specialise-warps",
    "producer warp": "nv-make-persistent",
    "persistence": None,
}


def launcher(module, a, b, c, block, disabled):
    """A function without arguments that computes `c` with one block, checked."""
    m, n, k, stages, warps = block
    sizes = {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}
    grid = (-(-c.shape[0] // m) * -(-c.shape[1] // n),)
    arguments = module.matmul_arguments(a, b, c)
    options = {"num_stages": stages, "num_warps": warps, "disabled_passes": disabled}

    def launch():
        module.matmul_kernel[grid](*arguments, ACTIVATION="", **sizes, **options)

    c.fill_(float("nan"))
    launch()
    checking.check_product(a, b, c)
    return launch


def measure(module, size, rounds, timer):
    """Medians in TFLOP/s by contestant."""
    a, b = (torch.randn(size, size, dtype=torch.float16, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    contestants = {"cublas": lambda: torch.matmul(a, b, out=c)}
    for block in BLOCKS:
        for step, disabled in STEPS.items():
            try:
                contestants[block, step] = launcher(module, a, b, c, block, disabled)
            except Exception as error:
                print(f"{size} {block} {step}: {type(error).__name__}: {error}"[:200])
    times = {name: [] for name in contestants}
    for number in range(rounds):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            times[name].append(timer.median(contestants[name]))
    return {name: 2e-9 * size**3 / statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(0)
    module, timer = kernels.load("pantile"), Timer(30.0)
    rows = {size: measure(module, size, options.rounds, timer) for size in options.sizes}
    print(f"=== table: the product by block and technique, {torch.cuda.get_device_name()}")
    for size, result in rows.items():
        print(f"{size}: cuBLAS {result['cublas']:.1f} TFLOP/s")
        for block in BLOCKS:
            cells = [
                f"{step} {result[block, step]:.1f} ({result[block, step] / result['cublas']:.2f})"
                for step in STEPS
                if (block, step) in result
            ]
            m, n, k, stages, warps = block
            print(f"  {m}x{n}x{k} {stages} stages {warps} warps: " + ", ".join(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
