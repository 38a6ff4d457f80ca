"""Small GEMMs, where what counts is how soon a CTA issues its first MMA.

For each size a tile or two, with and without a producer, Triton's code of the same source and tile,
and the library's. All are checked against float64, then timed interleaved, by medians
of single launches with a cold L2; each round on arrays elsewhere in memory, the same for all.

Usage: starts.py [--rounds 5] [--budget-ms 6] [--json FILE]
"""

import argparse
import json
import statistics

import checking
import kernels
import matmul
import torch

# Size, tile, stages, warps.
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


def launchers(module, places, case, options, activation=""):
    """For each place a function without arguments that computes the GEMM there, checked."""
    size, block, stages, warps = case
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
    constants = dict(zip(names, block, strict=True), GROUP_SIZE_M=8, ACTIVATION=activation)
    grid = module.grid(size, size)(constants)

    def launch_at(place):
        arguments = module.matmul_arguments(*place.operands, place.c)
        return lambda: module.matmul_kernel[grid](
            *arguments, **constants, num_stages=stages, num_warps=warps, **options
        )

    launches = [launch_at(place) for place in places]
    for place, launch in zip(places, launches):
        place.c.fill_(float("nan"))
        launch()
        checking.check_product(*place.operands, place.c, activation)
        checking.check_guards(place.buffer)
    return launches


def measure(case, modules, timer, rounds):
    """Microseconds of each contestant, medians over the rounds."""
    size = case[0]
    a, b = (torch.randn(size, size, dtype=torch.float16, device="cuda") for _ in range(2))
    places = [matmul.Place(a, b) for _ in range(rounds)]
    contestants = {"cublas": [matmul.library(*place.operands, place.c) for place in places]}
    contestants["triton"] = launchers(modules["triton"], places, case, {})
    for name, options in VARIANTS.items():
        contestants[name] = launchers(modules["pantile"], places, case, options)
    times = {name: [] for name in contestants}
    for number in range(rounds):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            times[name].append(1e3 * timer.median(contestants[name][number]))
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
