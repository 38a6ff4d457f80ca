"""Tensor-core workloads next to their libraries: one kernel source in both compilers, interleaved.

Each row of tensor_core_rows/ is drawn once. Both packages run the row's configurations, each result
is compared with float64, and each package's fastest ones are timed again; then the best of each
and the library's calls run interleaved, in an order drawn for each round, with a cold L2.

Usage: tensor_cores.py [--only TEXT ...] [--rounds 5] [--budget-ms 10] [--minutes 9] [--json FILE]
                       [--packages pantile triton] [--without PASS ...] [--part I/N] [--compile] [--list]
       --only: rows with one of these in their titles. --part: every Nth row, from the Ith on.
       --compile: launches each configuration once and times nothing, which fills the caches.
       --without: Pantile without each of these passes or choices, too, which shows what one costs a row.
       After --minutes no further row is begun.
Gives: rates by contestant and the configurations chosen. Status 1 if a configuration of ours failed.
"""

import argparse
import json
import sys
import time
import traceback
from pathlib import Path

import kernels
import torch
from finals import final, in_turn
from matmul import Timer

FAMILIES = sorted((Path(__file__).parent / "tensor_core_rows").glob("*.py"))


def rows_of(package):
    """All rows with the kernels of a package, by family and title."""
    found = {}
    for path in FAMILIES:
        for row in kernels.load(package, path).ROWS:
            found[path.stem, row.title] = row
    return found


WITHOUT = "pantile without "


def configurations(row, package):
    """Those of both packages, and for Pantile its own, also where it leaves out a pass."""
    found = [*row.configs, *(row.own if package.startswith("pantile") else ())]
    if not package.startswith(WITHOUT):
        return found
    return [{**config, "disabled_passes": package.removeprefix(WITHOUT)} for config in found]


def checked(row, arrays, config):
    """The launch of a configuration, after its results were compared."""
    for output in row.outputs(arrays):
        output.view(torch.uint8).fill_(0xFF)
    call = row.launch(arrays, config)
    call()
    torch.cuda.synchronize()
    row.check(arrays)
    return row.timed(call)


def tune(row, package, arrays, options):
    """The fastest configuration's launch with its text, and what failed."""
    launches, times, failures = {}, {}, {}
    quick = Timer(options.budget_ms / 3, least=3, most=40)
    for config in configurations(row, package):
        name = ", ".join(f"{key}={value}" for key, value in config.items())
        try:
            launches[name] = checked(row, arrays, config)
            times[name] = quick.median(launches[name])
        except Exception as error:
            failures[f"{package}: {name}"] = f"{type(error).__name__}: {error}"[:300]
            torch.cuda.synchronize()
    if not times:
        return None, failures
    best = final(times, lambda name, _: launches[name], quick, finalists=3, count=4)[0]
    return (best, launches[best]), failures


def measure(key, packages, options):
    """One row of the table."""
    torch.cuda.empty_cache()
    torch.manual_seed(1)
    row = packages["pantile"][key]
    arrays, contestants, chosen, failures = row.arrays(), {}, {}, {}
    for package, rows in packages.items():
        best, failed = tune(rows[key], package, arrays, options)
        failures |= failed
        if best:
            chosen[package], contestants[package] = best
    for name, call in row.libraries(arrays).items():
        try:
            call()
            contestants[name] = call
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"[:200]
    times = in_turn(contestants, Timer(options.budget_ms, least=5), options.rounds)
    rates = {name: row.rate(milliseconds) for name, milliseconds in times.items()}
    return {
        "table": key[0],
        "name": row.title,
        "unit": row.unit,
        "rates": rates,
        "chosen": chosen,
        "failures": failures,
    }


def compile_all(keys, packages):
    """Launch every configuration once."""
    for key in keys:
        torch.cuda.empty_cache()
        arrays = packages["pantile"][key].arrays()
        for package, rows in packages.items():
            for config in configurations(rows[key], package):
                try:
                    rows[key].launch(arrays, config)()
                    torch.cuda.synchronize()
                except Exception as error:
                    print(f"{key[1]}: {package} {config}: {str(error)[:150]}", flush=True)


def print_row(row):
    """Rates and what they are of ours."""
    ours = row["rates"].get("pantile")
    cells = [f"{name} {rate:.4g}" for name, rate in row["rates"].items()]
    for name, rate in row["rates"].items():
        if ours and name != "pantile":
            faster = rate / ours if row["unit"] == "us" else ours / rate
            cells.append(f"{faster:.3f} x {name}")
    print(f"{row['name']} ({row['unit']}): {', '.join(cells)}; {row['chosen'].get('pantile', '')}")
    for name, text in row["failures"].items():
        print(f"    failed: {name}: {text[:160]}")
    sys.stdout.flush()


def picked(keys, options):
    """What --only and --part leave."""
    keys = [k for k in keys if not options.only or any(text in k[1] for text in options.only)]
    if options.part:
        first, count = map(int, options.part.split("/"))
        keys = keys[first::count]
    return keys


def main():
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="TEXT")
    parser.add_argument("--packages", nargs="+", default=["pantile", "triton"])
    parser.add_argument("--without", nargs="+", default=[], metavar="PASS")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=10.0)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--part", metavar="I/N")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    packages = {package: rows_of(package) for package in options.packages}
    packages |= {WITHOUT + name: packages["pantile"] for name in options.without}
    keys = picked(packages["pantile"], options)
    if options.list:
        print("\n".join(title for _, title in keys))
        return 0
    if options.compile:
        compile_all(keys, packages)
        return 0
    print(f"=== table: tensor-core workloads, {torch.cuda.get_device_name()}", flush=True)
    results = []
    for key in keys:
        if time.monotonic() > end:
            print(f"not begun: {key[1]}")
            continue
        try:
            results.append(measure(key, packages, options))
            print_row(results[-1])
        except Exception:
            print(f"{key[1]}: no result")
            traceback.print_exc()
        if options.json:
            options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return any(name.startswith("pantile") for row in results for name in row["failures"])


if __name__ == "__main__":
    sys.exit(main())
