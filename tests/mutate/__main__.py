"""Plants mistakes in generated code one at a time, and names those that no test notices.

`python -m tests.mutate --record` runs the tests once on the emulated GPU and keeps what they launch; `python -m
tests.mutate` then takes every mutant through the tests that reach it. `--list` shows the mutants. Status 1 if a mutant
survives. Everything is kept in build/mutate.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from .planted_mutants import PLANTED_MUTANTS
from .ptx_mutants import PTX_MUTANTS
from .record import ROOT, SUITE, TARGETS, Record, take
from .running import judge

MUTANTS = PTX_MUTANTS + PLANTED_MUTANTS


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests.mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    parser.add_argument(
        "--record",
        action="store_true",
        help="run the tests without mutants, and keep what they launch",
    )
    parser.add_argument(
        "--each", type=int, default=0, help="with --record: cases of each test function; 0: all"
    )
    parser.add_argument(
        "--tests", nargs="+", default=SUITE, help="with --record: instead of the whole suite"
    )
    parser.add_argument("--target", choices=TARGETS, help="only this one")
    parser.add_argument("--only", help="mutants whose names contain one of these, with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, default=120, help="of recorded time that a mutant may take"
    )
    parser.add_argument("--seeds", type=int, default=1, help="orders of warps and copies to try")
    parser.add_argument("--json", type=Path, help="write the result there too")
    return parser.parse_args()


def chosen_mutants(options):
    parts = options.only.split(",") if options.only else [""]
    return [
        mutant
        for mutant in MUTANTS
        if options.target in (None, mutant.target) and any(part in mutant.name for part in parts)
    ]


def run(mutants, options):
    """The verdicts, in the order of the mutants; each is printed when it is known."""
    records = {target: Record(options.build, target) for target in {m.target for m in mutants}}
    for target, record in records.items():
        if not record.tests:
            sys.exit(
                f"no test is recorded for {target}: `python -m tests.mutate --record` comes first"
            )
    verdicts = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [
            pool.submit(
                judge, mutant, records[mutant.target], options.build, options.seconds, options.seeds
            )
            for mutant in mutants
        ]
        for future in as_completed(futures):
            verdict = future.result()
            verdicts[verdict.name] = verdict
            print(row(verdict), flush=True)
    return [verdicts[mutant.name] for mutant in mutants]


def row(verdict):
    what = verdict.by.rpartition("/")[2] or verdict.sentence
    counts = f"{verdict.kernels:5} {verdict.tests:5} {verdict.reached:5} {verdict.seconds:7.1f}"
    return f"{verdict.name:20} {verdict.target:7} {verdict.verdict:11} {counts}  {what}"


def report(verdicts):
    """Print what was not caught, and the sums."""
    for kind in ("survived", "not reached", "refused"):
        named = [verdict for verdict in verdicts if verdict.verdict == kind]
        print(f"\n{len(named)} {kind}")
        for verdict in named:
            print(f"  {verdict.name}: {verdict.sentence}; {verdict.reached} runs reached it")
    caught = sum(verdict.verdict == "caught" for verdict in verdicts)
    print(f"\n{caught} of {len(verdicts)} mutants are caught")


def main():
    options = parse_arguments()
    mutants = chosen_mutants(options)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:20} {mutant.target:7} {mutant.sentence}")
        return 0
    if options.record:
        for target in [options.target] if options.target else TARGETS:
            record = take(options.build, target, options.jobs, options.tests, options.each)
            print(f"{target}: {len(record.tests)} tests launch {len(record.instructions)} texts")
        return 0
    print(f"{'mutant':20} {'target':7} {'verdict':11} texts tests reach seconds")
    verdicts = run(mutants, options)
    report(verdicts)
    if options.json:
        options.json.write_text(json.dumps([v.as_json() for v in verdicts], indent=1) + "\n")
    return int(any(verdict.verdict == "survived" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
