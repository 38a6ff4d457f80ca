"""torch.compile on models and programs, with the real Triton and with Pantile in its place.

Each measurement is a process of its own with empty caches. A batch of cases compiles at once, both
sides together (compiled/batch.py); then each is timed while nothing else runs, the sides interleaved. A
case passes where it runs and its results differ from eager execution by at most twice what they
differ under Triton, or by 1e-5 of the largest element.

Usage: compiled_models.py [--only TEXT ...] [--exactly CASE ...] [--batch 7] [--minutes 9]
                          [--threads 2] [--rounds 7] [--processes 1] [--limit 300]
                          [--json FILE [--resume]]
                          [--skip-json FILE ...] [--alone CASE ...] [--list]
       --exactly: a `+` stands for a space ("gemma+training"). --processes: time so many of each
       side, one after the other; the first one compiles. --minutes: begin no batch later. --json:
       written again after each batch; --resume keeps what stands there and leaves those cases
       out, unless --exactly names them. --alone: the cold compilation of these cases with one
       process at a time and 16 threads, before the batches; only these with --batch 0.
Gives: by case compilation and run times, their ratios (above 1, Pantile is faster), warnings and
       counters that Triton does not give, and failures.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compiled import processes, report  # noqa: E402
from compiled.batch import Batch  # noqa: E402

ALONE_THREADS = 16


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--exactly", nargs="*", default=[])
    parser.add_argument("--alone", nargs="*", default=[])
    parser.add_argument("--batch", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300, help="seconds of a child's compilation")
    parser.add_argument("--sides", nargs="*", default=list(processes.SIDES))
    parser.add_argument("--json")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--skip-json", nargs="*", default=[])
    parser.add_argument(
        "--not-ahead", action="store_true", help="start no batch before the last ended"
    )
    parser.add_argument("--same", action="store_true", help="both sides plain: tries this script")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def device():
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"


def commit():
    """The commit of the checkout; a variable has it on a machine without one."""
    if "PANTILE_COMMIT" in os.environ:
        return os.environ["PANTILE_COMMIT"]
    if not shutil.which("git"):
        return ""
    done = subprocess.run(
        ["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    return done.stdout.strip()


class Record:
    """The file of results: read to go on from, written after each batch."""

    def __init__(self, options):
        self.path = Path(options.json) if options.json else None
        self.packages = ("triton", "triton" if options.same else "pantile")
        self.found = {"rows": {}, "alone": {}}
        if options.resume and self.path and self.path.exists():
            self.found |= json.loads(self.path.read_text())
        how = {n: getattr(options, n) for n in ("batch", "threads", "rounds", "processes")}
        self.found |= {
            "date": datetime.date.today().isoformat(),
            "device": device(),
            "cpus": os.cpu_count(),
            "commit": commit(),
            "script": "tests/gpu/bench/compiled_models.py",
            "how": how | {"alone_threads": ALONE_THREADS},
            **{n: version(n) for n in ("torch", "triton", "transformers", "torchvision")},
        }
        self.skipped = set(self.found["rows"])
        for path in options.skip_json:
            self.skipped |= set(json.loads(Path(path).read_text())["rows"])

    def take(self, part, rows):
        for row in rows.values():
            row["verdict"] = report.verdict(row, self.packages)
        self.found[part].update(rows)
        if self.path:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.found, indent=1))
            new.replace(self.path)
        for name, row in rows.items():
            print(report.line_of(name, row), flush=True)


def measured_alone(name, case, options):
    """The row of a case whose processes run one after the other."""
    row = {}
    alone = argparse.Namespace(**vars(options) | {"threads": ALONE_THREADS})
    for side in options.sides:
        one = Batch({name: case}, [side], alone)
        try:
            one.compile()
            one.time()
            row |= one.rows[name]
        finally:
            one.end()
    return row


class Queue:
    """The batches: one is measured, and while its last children compile, the next one starts."""

    def __init__(self, cases, options):
        self.options = options
        self.end = time.monotonic() + 60 * options.minutes
        names = list(cases)
        sizes = range(0, len(names), options.batch)
        self.left = [{n: cases[n] for n in names[i : i + options.batch]} for i in sizes]
        self.next = None

    def begin(self, kind="ahead"):
        """Start the next batch, unless that was done or the time is over."""
        if self.left and not self.next and time.monotonic() < self.end:
            self.next = Batch(self.left.pop(0), self.options.sides, self.options)
            self.next.prepare(kind)

    def take(self):
        """The next batch, started; None at the end."""
        self.begin("")
        batch, self.next = self.next, None
        return batch

    def measure(self, batch):
        """All phases of a batch. What was started before has to be idle when times are taken."""
        may_begin = os.geteuid() == 0 and not self.options.not_ahead  # root may undo `nice`
        batch.compile(few_left=self.begin if may_begin else None)
        if self.next:
            self.next.wait_prepared()
        batch.warm_up()
        batch.time()


def in_batches(cases, options, record):
    """Measure all cases, a batch at a time, until the time is over."""
    batches = Queue(cases, options)
    try:
        while batch := batches.take():
            start = time.monotonic()
            try:
                batches.measure(batch)
                record.take("rows", batch.rows)
            finally:
                batch.end()
            print(f"--- {time.monotonic() - start:.0f} s for the batch", flush=True)
    finally:
        if batches.next:
            batches.next.end()


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))  # so that the children are ended
    if options.same:
        processes.SIDES.update(dict.fromkeys(processes.SIDES, ()))
    from compiled.cases import CASES

    record = Record(options)
    names = [name.replace("+", " ") for name in options.exactly] or [
        n for n in CASES if any(t in n for t in options.only) and n not in record.skipped
    ]
    if options.list:
        print(*names, sep="\n")
        return 0
    for name in options.alone:
        row = measured_alone(name, CASES[name], options)
        record.take("alone", {name: row})
    if options.batch:
        in_batches({name: CASES[name] for name in names}, options, record)
    rows = record.found["rows"]
    print(*report.summary(rows, list(dict.fromkeys([*rows, *names]))), sep="\n")
    return 1 if any(row["verdict"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
