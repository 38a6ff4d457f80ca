"""Generated programs through the interpreter, the GPU and the compilers.

`python -m tests.fuzz --programs 2000 --jobs 16 --seed S --device cuda`: status 1 if any program fails.
`--kind gemm,rows` draws programs of some kinds alone. Program N of seed S and kinds K is always the
same: `--seed S --kind K --only N` runs it again. Failures are shortened and saved under --out, and
`--file` runs such a file. A worker that dies or hangs counts as a failure of the program it was at.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from . import kinds
from .campaign import program_of, restart_emulation, run_all, set_up, shorten, target_of
from .case import Case


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--only", type=int, help="run this program alone and print it")
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count()))
    parser.add_argument("--device", choices=["cpu", "cuda", "emulated"], default="cpu")
    parser.add_argument("--compile-every", type=int, default=1, help="0: never; only without a GPU")
    parser.add_argument("--out", default="", help="folder for modules and failures")
    parser.add_argument(
        "--timeout", type=float, default=120, help="seconds that a program may take"
    )
    parser.add_argument("--tries", type=int, default=200, help="programs to try in a reduction")
    parser.add_argument("--seconds", type=float, help="begin no program after that time")
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--report", help="file for the counts, as JUnit")
    parser.add_argument("--kind", default="", help=f"some of {', '.join(kinds.WEIGHTS)}")
    parser.add_argument(
        "--target",
        default=os.environ.get("PANTILE_EMULATED_TARGET", "sm_90a,sm_90a,sm_80"),
        help="what is emulated, one after the other",
    )
    parser.add_argument("--file", help="check the program that a failure was reduced to")
    parser.add_argument(
        "--figures-every", type=int, default=8, help="of how many programs one tells its remarks"
    )
    parser.add_argument("--skip", default="", help="operations not to draw, separated by commas")
    return parser.parse_args()


def main():
    options = parse_arguments()
    options.out = options.out or tempfile.mkdtemp(prefix="pantile-fuzz-")
    options.kinds = kinds.kinds_named(options.kind)
    Path(options.out).mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers share the cores
    if options.only is not None or options.file:
        return run_one(options)
    print(f"seed {options.seed}: {options.programs} programs, device {options.device}", flush=True)
    start = time.time()
    summary = run_all(options, range(options.first, options.first + options.programs))
    seconds = time.time() - start
    print(summary.text(), flush=True)
    failures = summary.failures
    if options.report:
        write_report(options, summary)
    if not options.no_reduce:
        shorten(options, failures)
    checked = summary.programs()
    found = collections.Counter(failure.kind for failure in failures.values())
    print(
        f"seed {options.seed}: {checked - len(failures)} of {checked} programs agree"
        f" in {seconds:.0f} s; {dict(found)}; modules in {options.out}"
    )
    return 1 if failures else 0


def write_report(options, summary):
    """A test case for each program."""
    failures = summary.failures
    suite = ElementTree.Element("testsuite", name="tests.fuzz")
    for number in range(options.first, options.first + options.programs):
        case = ElementTree.SubElement(suite, "testcase", name=f"{options.seed}.{number}")
        if number in failures:
            ElementTree.SubElement(case, "failure", message=failures[number].message[:500])
    ElementTree.ElementTree(suite).write(options.report)


def run_one(options):
    """Check one program here, and print it."""
    number = options.only or 0
    devices = set_up(options, target_of(options, number))
    program = Case.of_file(options.file) if options.file else program_of(options, number)
    print(program.text())
    restart_emulation(options)
    report = kinds.check(program, options, "only", devices, number)
    print(report.failure or "passes")
    return 1 if report.failure else 0


if __name__ == "__main__":
    sys.exit(main())
