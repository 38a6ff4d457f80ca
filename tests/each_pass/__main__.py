"""Run kernel tests on the CPU with every launch repeated on the IR after each pass, and compared.

Needs: pantile, pytest.
Gives: by target and pass how many launches were equal, different, or not runnable since the interpreter
       lacks an operation; why; status 1 if a test fails, as it does for a launch that differs.

Usage: python -m tests.each_pass [--targets sm_80,sm_90a] [pytest's arguments; tests/kernels without any]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = ("equal", "different", "not runnable", "not compared")


def run_tests(targets, arguments, folder):
    """The tests' exit status; the reports lie in `folder`."""
    environment = {**os.environ, "PANTILE_CHECK_EACH_PASS": targets}
    environment["PANTILE_CHECK_EACH_PASS_REPORT"] = folder
    environment.pop("PANTILE_EMULATE", None)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not gpu", "-n", str(os.cpu_count())]
    return subprocess.run(
        [*command, *(arguments or ["tests/kernels"])], cwd=ROOT, env=environment
    ).returncode


def read_report(folder):
    """Counts of verdicts by (target, pass), in the order of passes, and of reasons."""
    counts, reasons = {}, Counter()
    for path in sorted(Path(folder).glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            target, step, verdict, kernel, reason = line.split("\t")
            counts.setdefault((target, step), Counter())[verdict] += 1
            if verdict == "different":
                reasons[f"{verdict}: {target}, {step}, `{kernel}`, {reason}"] += 1
            elif verdict != "equal":
                reasons[f"{verdict}: {target}, {reason}"] += 1
    return counts, reasons


def print_report(counts, reasons):
    print(f"{'target':28} {'pass':28}", *(f"{verdict:>12}" for verdict in VERDICTS))
    for (target, step), found in counts.items():
        print(f"{target:28} {step:28}", *(f"{found[verdict]:12}" for verdict in VERDICTS))
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")


def main():
    parser = argparse.ArgumentParser(prog="tests.each_pass", description=__doc__.splitlines()[0])
    parser.add_argument("--targets", default="1", help="with commas")
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        status = run_tests(options.targets, arguments, folder)
        print_report(*read_report(folder))
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
