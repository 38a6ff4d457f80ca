"""Workloads of the memory's speed: ours, Triton's, the library's, and a copy of the same traffic.

Ours and Triton's run the same text and take the fastest of the same few configurations, each of
which is compared with float64 first. Then all take turns, round after round, each measurement
being the median of single launches with a cold L2. GB/s count every byte read or written once.
With --variant, ours comes a second time, compiled with one more option.

Usage: streaming.py [--only add softmax ...] [--rounds 5] [--budget-ms 8] [--variant maxnreg=255]
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import kernels
import torch
import workloads
from finals import final
from matmul import Timer

STREAMS = Path(__file__).with_name("streams.py")


def fastest(workload, module, quick):
    """The fastest configuration and its launch; every one is checked, timed there and back, and the
    near equals once more in turn."""
    launches = workload.launches(module)
    for launch in launches.values():
        workload.poison()
        launch()
        workload.check()
    times = {config: quick.median(launch) for config, launch in launches.items()}
    for config, launch in reversed(launches.items()):
        times[config] += quick.median(launch)
    best = final(times, lambda config, _: launches[config], quick)[0]
    return best, launches[best]


def copy_of(size):
    """A device-to-device copy that moves `size` bytes in all."""
    source = torch.randint(0, 127, (size // 2,), dtype=torch.int8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def measure(name, make, modules, options):
    """Print one row of the table and return it."""
    torch.cuda.empty_cache()
    workload = make()
    contestants, notes = {"copy": copy_of(workload.bytes)}, {}
    if workload.library:
        contestants["torch"] = workload.library
    for package, module in modules.items():
        try:
            notes[package], contestants[package] = fastest(workload, module, Timer(2.0))
        except Exception as error:
            notes[package] = f"{type(error).__name__}: {error}"[:200]
    timer, rounds = Timer(options.budget_ms), {contestant: [] for contestant in contestants}
    for number in range(options.rounds):
        order = list(contestants)
        for contestant in order if number % 2 == 0 else reversed(order):
            rounds[contestant].append(1e-6 * workload.bytes / timer.median(contestants[contestant]))
    rates = {contestant: statistics.median(values) for contestant, values in rounds.items()}
    print_row(name, workload.bytes, rates, notes)
    return {"name": name, "bytes": workload.bytes, "rates": rates, "notes": str(notes)}


def print_row(name, size, rates, notes):
    """The rates, and ours as a share of the copy's and of each peer's."""
    nan = float("nan")
    ours = rates.get("pantile", nan)
    cells = [f"{rates.get(c, nan):8.0f}" for c in ("copy", "torch", "triton", "pantile", "variant")]
    shares = [f"{ours / rates.get(c, nan):8.3f}" for c in ("copy", "torch", "triton")]
    print(
        f"{name:20} {size / 1e6:7.0f}",
        *cells,
        *shares,
        f" ours {notes.get('pantile')} {notes.get('variant', '')} triton {notes.get('triton')}",
        flush=True,
    )


def main():
    """Measure what was asked for; fail if a package failed anywhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of workloads' names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=8.0)
    parser.add_argument("--packages", nargs="+", default=["triton", "pantile"])
    parser.add_argument("--variant", help="NAME=VALUE, an option of the compiler")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.manual_seed(0)
    modules = {package: kernels.load(package, STREAMS) for package in options.packages}
    if options.variant:
        name, value = options.variant.split("=")
        modules["variant"] = kernels.load("pantile", STREAMS)
        modules["variant"].OPTIONS[name] = int(value) if value.isdigit() else value
    print(f"=== table: GB/s, {torch.cuda.get_device_name()}")
    print(
        f"{'workload':20} {'MB':>7} {'copy':>8} {'torch':>8} {'triton':>8} {'ours':>8} {'variant':>8}"
        f" {'/copy':>8} {'/torch':>8} {'/triton':>8}"
    )
    rows = [
        measure(name, make, modules, options)
        for name, make in workloads.workloads().items()
        if not options.only or name.startswith(tuple(options.only))
    ]
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if all("pantile" in row["rates"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
