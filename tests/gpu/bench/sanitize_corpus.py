"""The corpus under compute-sanitizer: memcheck, racecheck and synccheck on every kernel.

Needs: a GPU, compute-sanitizer, pytest and the corpus (tests/kernels).
Gives: a table of files against tools; status 1 if a tool reports anything or a test fails.
How:   one process a file and tool, several at a time. PyTorch's cache of memory is off, so that an access
       past an array is one past an allocation.

Usage: sanitize_corpus.py [--jobs 12] [--tools memcheck racecheck synccheck] [FILE ...]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ("memcheck", "racecheck", "synccheck")
FAILED = 86


def find_sanitizer():
    found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    return found if Path(found).exists() else sys.exit("error: no compute-sanitizer")


def run(sanitizer, tool, path, out):
    """(tool, file, verdict, seconds)"""
    start = time.time()
    command = [
        *(sanitizer, "--tool", tool, "--error-exitcode", str(FAILED), "--print-limit", "5"),
        *(
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:warnings",
        ),
        *("-k", "cuda", str(path)),
    ]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    (out / f"{path.stem}.{tool}.log").write_text(done.stdout)
    tests = re.search(r"(\d+) passed", done.stdout)
    if done.returncode == 0 and tests:
        verdict = f"clean ({tests[1]})"
    else:
        verdict = "REPORTS" if done.returncode == FAILED else f"status {done.returncode}"
    return tool, path.stem, verdict, time.time() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    options = parser.parse_args()
    files = options.files or sorted((ROOT / "tests/kernels").glob("test_*.py"))
    out = Path(os.environ.get("OUT", ROOT / "build-gpu/out")) / "sanitize"
    out.mkdir(parents=True, exist_ok=True)
    sanitizer = find_sanitizer()
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(run, sanitizer, tool, path, out) for path in files for tool in options.tools
        ]
        results = [job.result() for job in jobs]
    verdicts = {(name, tool): (verdict, seconds) for tool, name, verdict, seconds in results}
    print("=== table: the corpus under compute-sanitizer: verdict (tests), seconds")
    for path in files:
        cells = [
            f"{tool} {verdicts[path.stem, tool][0]} {verdicts[path.stem, tool][1]:.0f} s"
            for tool in options.tools
        ]
        print(f"{path.stem:32s} " + ", ".join(cells))
    return any(not verdict.startswith("clean") for verdict, _ in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
