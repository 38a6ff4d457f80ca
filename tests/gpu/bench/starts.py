"""Small products, where what counts is how soon a block starts to multiply.

For each size a block or two, with and without a producer, Triton's code of the same text and block,
and the library's. All write the same array and are checked against float64, then timed in turn,
round after round, by medians of single launches with a cold L2.

Usage: starts.py [--rounds 5] [--budget-ms 6] [--json FILE]
"""

import argparse
import json
import statistics

import checking
import kernels
import matmul
import torch

# Size, block, stages, warps.
CASES = [
    (256, (32, 64, 32), 5, 2),
    (256, (32, 64, 64), 5, 4),
    (384, (64, 64, 64), 5, 4),
    (384, (64, 64, 128), 4, 4),
    (512, (64, 64, 64), 5, 4),
    (512, (64, 64, 128), 5, 4),
    (640, (64, 64, 64), 5, 4),
    (1024, (64, 64, 64), 5, 4),
    (1664, (128, 256, 64), 4, 8),
    (1792, (128, 256, 64), 3, 8),
]
VARIANTS = {"ours": {}, "alone": {"disabled_passes": "nv-specialise-warps"}}


def launcher(module, operands, output, case, options):
    """A function without arguments that computes the product into `output`, an array and its buffer."""
    size, block, stages, warps = case
    c, buffer = output
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
    constants = dict(zip(names, block, strict=True), GROUP_SIZE_M=8, ACTIVATION="")
    grid = module.grid(size, size)(constants)
    arguments = module.matmul_arguments(*operands, c)

    def launch():
        module.matmul_kernel[grid](
            *arguments, **constants, num_stages=stages, num_warps=warps, **options
        )

    c.fill_(float("nan"))
    launch()
    checking.check_product(*operands, c, "")
    checking.check_guards(buffer)
    return launch


def measure(case, modules, timer, rounds):
    """Microseconds of each contestant, medians over the rounds."""
    size = case[0]
    operands = tuple(torch.randn(size, size, dtype=torch.float16, device="cuda") for _ in range(2))
    output = checking.guarded(size, size, torch.float16)
    contestants = {"cublas": matmul.library(*operands, output[0])}
    contestants["triton"] = launcher(modules["triton"], operands, output, case, {})
    for name, options in VARIANTS.items():
        contestants[name] = launcher(modules["pantile"], operands, output, case, options)
    times = {name: [] for name in contestants}
    for number in range(rounds):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            times[name].append(1e3 * timer.median(contestants[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def print_table(rows):
    """Microseconds, and Triton's time over ours: above 1, ours is faster."""
    columns = ["cublas", "triton", *VARIANTS]
    print(
        f"=== table: starts, microseconds, Triton's time over ours, {torch.cuda.get_device_name()}"
    )
    print(f"{'size':>5} {'block':>15} " + " ".join(f"{name:>12}" for name in columns))
    for (size, block, stages, warps), times in rows:
        told = f"{'x'.join(map(str, block))} {stages} {warps}"
        cells = []
        for name in columns:
            share = f"({times['triton'] / times[name]:.2f})" if name in times else ""
            cells.append(f"{times[name]:6.2f}{share:>6}" if name in times else f"{'-':>12}")
        print(f"{size:5d} {told:>15} " + " ".join(cells))


def main():
    """Measure every case, print the table, write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=6.0)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    modules = {name: kernels.load(name) for name in ("triton", "pantile")}
    timer = matmul.Timer(arguments.budget_ms)
    rows = [(case, measure(case, modules, timer, arguments.rounds)) for case in CASES]
    print_table(rows)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([{"case": case, "us": times} for case, times in rows], file, indent=1)


if __name__ == "__main__":
    main()
