"""The benchmark record: every benchmark with one build of Pantile, or with an old and a new one.

Both builds are in one process and run interleaved, in an order drawn for each round, on the same
arrays. Each build takes its own fastest configuration: all are sampled once, then those that won in
either build are timed in both, and a build's time is its least median. A row in which the new build
has less than 0.98 of the old one's speed is timed again, in three times as many rounds, which
then count.

Usage: record.py [--old DIR] [--new DIR] [--only TABLE ...] [--rows TEXT ...] [--quick] [--rounds 5]
                 [--budget-ms 6] [--minutes 9] [--json FILE]
       DIR is what PYTHONPATH would name for that build, such as build/python. New is by default
       the one that PYTHONPATH names. TABLE is the beginning of a table's name.
Gives: for each table the medians of both, the old time over the new (above 1, new is faster) and
       the geometric mean of these; rows below 0.98 are marked and listed last. Status 1 if there
       are any, or if a row failed in the new build. After `--minutes` no further row is begun.
"""

import argparse
import importlib.util
import json
import random
import statistics
import sys
import time
import traceback
from pathlib import Path

import torch
from builds import Build
from matmul import Timer

LEAST = 0.98  # what the new build must have of the old one's speed
AGAIN = 3  # times as many rounds for rows that have less


def measure(row, builds, options):
    """The row for the file: each build's samples by configuration, and its best median."""
    quick, timer = Timer(1.5, least=3, most=40), Timer(options.budget_ms, least=5)
    contestants, failures = prepare(row, builds, quick)
    kept = {best for best in map(fastest, contestants.values()) if best is not None}
    run = {
        (build, config): samples[config]
        for build, samples in ((build, s) for build, (s, _) in contestants.items())
        for config in kept
        if config in samples
    }
    result = described(row, in_turn(run, timer, options.rounds), failures)
    if result.get("ratio", 1.0) < LEAST:
        first = result["ratio"]
        times = in_turn(run, timer, AGAIN * options.rounds)
        result = described(row, times, failures) | {"first_ratio": first}
    return result


def prepare(row, builds, quick):
    """By build its samples and one time of each, and what failed."""
    contestants, failures = {}, {}
    for build in builds:
        try:
            with build.active():
                samples = row.make(build)
                times = {config: sample(quick) for config, sample in samples.items()}
            if not times:
                raise RuntimeError("no configuration runs")
            contestants[build] = samples, times
        except Exception as error:
            failures[build.name] = f"{type(error).__name__}: {error}"[:300]
            traceback.print_exc()
    configs = {build.name: set(samples) for build, (samples, _) in contestants.items()}
    if lost := configs.get("old", set()) - configs.get("new", configs.get("old", set())):
        failures["new"] = f"only the old build runs {sorted(map(str, lost))}"
    return contestants, failures


def fastest(contestant):
    """The configuration whose one sample is least."""
    _, times = contestant
    return min(times, key=times.get)


def in_turn(run, timer, rounds):
    """The samples of each of `run` over that many rounds, each in an order of its own."""
    times, draw = {key: [] for key in run}, random.Random(rounds)
    for _ in range(rounds):
        for build, config in draw.sample(list(run), len(run)):
            with build.active():
                times[build, config].append(run[build, config](timer))
    return times


def described(row, times, failures):
    """The row of the file."""
    result = {"name": row.name, "unit": row.unit, "work": row.work, "failures": failures}
    for (build, config), samples in times.items():
        median = statistics.median(samples)
        if median < result.get(build.name, {}).get("ms", float("inf")):
            rounds = [round(sample, 6) for sample in samples]
            result[build.name] = {"ms": median, "config": str(config), "rounds": rounds}
    if "old" in result and "new" in result:
        result["ratio"] = result["old"]["ms"] / result["new"]["ms"]
    return result


def print_row(row):
    """Rates or times of the builds, and the ratio."""
    cells = []
    for build in ("old", "new"):
        if build in row:
            time_ms = row[build]["ms"]
            rate = row["work"] / time_ms if row["work"] else 1e3 * time_ms
            cells.append(f"{build} {rate:9.4g} {row['unit'] if row['work'] else 'us'}")
    if "ratio" in row:
        cells.append(f"{row['ratio']:.3f}" + (" <" if row["ratio"] < LEAST else ""))
    told = "; ".join(f"{build}: {text}" for build, text in row["failures"].items())
    print(f"{row['name']:36} {'  '.join(cells)} {row.get('new', {}).get('config', '')} {told}")
    sys.stdout.flush()


def mean(rows):
    """Geometric mean of the ratios; None without any."""
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    return statistics.geometric_mean(ratios) if ratios else None


def summary(record):
    """Print what each table came to, and every row that is slower or failed; return the status."""
    print(f"=== table: benchmark record, {record['device']}")
    for build, version in record["builds"].items():
        print(f"{build}: {version}")
    bad = []
    for name, table in record["tables"].items():
        rows = table["rows"]
        ratios = [row["ratio"] for row in rows if "ratio" in row]
        least = f", least {min(ratios):.3f}, mean {table['mean']:.3f}" if ratios else ""
        print(f"{name}: {len(rows)} rows{least}")
        bad += [(name, row) for row in rows if row.get("ratio", 1.0) < LEAST or row["failures"]]
    for name, row in bad:
        told = f"{row['ratio']:.3f}" if "ratio" in row else "failed"
        print(f"below {LEAST}: {name}, {row['name']}: {told} {row['failures'] or ''}")
    if record["left_out"]:
        print(f"no time for: {', '.join(record['left_out'])}")
    return 1 if any("new" in row["failures"] or "ratio" in row for _, row in bad) else 0


def record_all(builds, options):
    """The whole record; the file is written after every row."""
    from record_tables import TABLES

    record = {
        "date": time.strftime("%Y-%m-%d"),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "builds": {build.name: build.version for build in builds},
        "rounds": options.rounds,
        "tables": {},
        "left_out": [],
    }
    end = time.monotonic() + 60 * options.minutes
    for name, rows_of in TABLES.items():
        if options.only and not name.startswith(tuple(options.only)):
            continue
        if time.monotonic() > end:
            record["left_out"].append(name)
            continue
        print(f"=== {name}, {time.monotonic() - end + 60 * options.minutes:.0f} s", flush=True)
        table = record["tables"][name] = {"rows": [], "mean": None}
        try:
            for row in rows_of(options):
                if time.monotonic() > end:
                    record["left_out"].append(f"{name} from {row.name}")
                    break
                if not options.rows or any(text in row.name for text in options.rows):
                    add_row(record, table, measure(row, builds, options), options)
        except Exception as error:
            traceback.print_exc()
            failures = {"new": f"{type(error).__name__}: {error}"[:300]}
            add_row(record, table, {"name": "the rest", "failures": failures}, options)
    return record


def add_row(record, table, row, options):
    """Enter a row, print it, and write the file as far as it is known."""
    table["rows"].append(row)
    table["mean"] = mean(table["rows"])
    print_row(row)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


def main():
    """Load the builds, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="folder with the package of the build before")
    parser.add_argument("--new", type=Path, help="folder with the package of the build to judge")
    parser.add_argument("--only", nargs="+", metavar="TABLE")
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only rows with this in their name"
    )
    parser.add_argument("--quick", action="store_true", help="every third row, or one length")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=6.0)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    new = options.new or Path(importlib.util.find_spec("pantile").origin).parents[1]
    folders = {"old": options.old, "new": new} if options.old else {"new": new}
    builds = [Build(name, folder) for name, folder in folders.items()]
    return summary(record_all(builds, options))


if __name__ == "__main__":
    sys.exit(main())
