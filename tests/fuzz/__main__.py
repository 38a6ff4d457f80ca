"""Generated programs through the interpreter, the GPU and the compilers.

`python -m tests.fuzz --programs 2000 --jobs 16 --seed S --device cuda`: status 1 if any program fails.
Program N of seed S is always the same: `--seed S --only N` runs it again. Failures are shortened and
saved under --out. A worker that dies or hangs counts as a failure of the program it was at.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

from .campaign import run_all, set_up, shorten
from .generator import draw_program
from .running import check_program


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
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--skip", default="", help="operations not to draw, separated by commas")
    return parser.parse_args()


def main():
    options = parse_arguments()
    options.out = options.out or tempfile.mkdtemp(prefix="pantile-fuzz-")
    Path(options.out).mkdir(parents=True, exist_ok=True)
    if options.only is not None:
        devices = set_up(options)
        program = draw_program(f"{options.seed}.{options.only}")
        print(program.text())
        failure = check_program(program, options.out, "only", devices, 1, options.only)
        print(failure or "passes")
        return 1 if failure else 0
    print(f"seed {options.seed}: {options.programs} programs, device {options.device}", flush=True)
    start = time.time()
    failures = run_all(options, range(options.first, options.first + options.programs))
    if not options.no_reduce:
        shorten(options, failures)
    kinds = collections.Counter(failure.kind for failure in failures.values())
    print(
        f"seed {options.seed}: {options.programs - len(failures)} of {options.programs} programs agree"
        f" in {time.time() - start:.0f} s; {dict(kinds)}; modules in {options.out}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
