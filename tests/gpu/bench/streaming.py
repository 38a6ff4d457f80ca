"""Workloads of the memory's speed: ours, Triton's, the library's, and a copy of the same traffic.

Ours and Triton's run the same source and take the fastest of the same few configurations, each of
which is compared with float64 first. Then all run interleaved, each measurement
being the median of single launches with a cold L2. GB/s count every byte read or written once.
Workloads of a few microseconds have their arrays elsewhere in memory in each round, there are more
rounds, and all are the medians of more launches: where arrays lie costs each kernel another share.
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
from finals import ROUNDS, final
from matmul import Timer

STREAMS = Path(__file__).with_name("streams.py")
SMALL, PLACES = 40e6, 6  # up to how many bytes arrays lie elsewhere in each round, and how often


class Place:
    """A workload whose arrays lie after a gap of its own."""

    def __init__(self, make):
        pages = int(torch.randint(1, 256, ()))
        self.gap = torch.empty(pages << 12, dtype=torch.int8, device="cuda")
        self.workload = make()
        self.copy = copy_of(self.workload.bytes)


def places_of(make):
    """One place, or several where it is small."""
    first = Place(make)
    count = PLACES if first.workload.bytes <= SMALL else 1
    return [first, *(Place(make) for _ in range(count - 1))]


def fastest(places, module, quick):
    """The fastest configuration and its launch in each place; every one is checked, timed there and
    back, and the near equals once more, interleaved."""
    launches = [place.workload.launches(module) for place in places]
    for place, here in zip(places, launches, strict=True):
        for launch in here.values():
            place.workload.poison()
            launch()
            place.workload.check()
    times = {config: quick.median(launch) for config, launch in launches[0].items()}
    for config, launch in reversed(launches[-1].items()):
        times[config] += quick.median(launch)
    rounds = max(ROUNDS, len(places))
    best = final(times, lambda config, n: launches[n % len(places)][config], quick, count=rounds)[0]
    return best, [here[best] for here in launches]


def copy_of(size):
    """A device-to-device copy that moves `size` bytes in all."""
    source = torch.randint(0, 127, (size // 2,), dtype=torch.int8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def measure(name, make, modules, options):
    """Print one row of the table and return it."""
    torch.cuda.empty_cache()
    places = places_of(make)
    workload = places[0].workload
    contestants = {"copy": [place.copy for place in places]}
    if workload.library:
        contestants["torch"] = [place.workload.library for place in places]
    notes, quick = {}, Timer(2.0)
    for package, module in modules.items():
        try:
            notes[package], contestants[package] = fastest(places, module, quick)
        except Exception as error:
            notes[package] = f"{type(error).__name__}: {error}"[:200]
    timer, rounds = Timer(options.budget_ms), {contestant: [] for contestant in contestants}
    for number in range(max(options.rounds, 2 * len(places) if len(places) > 1 else 0)):
        order = list(contestants)
        for contestant in order if number % 2 == 0 else reversed(order):
            launches = contestants[contestant]
            time = timer.median(launches[number // 2 % len(launches)])
            rounds[contestant].append(1e-6 * workload.bytes / time)
    rates = {contestant: statistics.median(values) for contestant, values in rounds.items()}
    print_row(name, workload.bytes, rates, notes)
    return {"name": name, "bytes": workload.bytes, "rates": rates, "notes": str(notes)}


def print_row(name, size, rates, notes):
    """The rates, and ours relative to the copy's and to each peer's."""
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
