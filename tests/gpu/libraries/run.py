"""Libraries that are written in Triton, with the real Triton and with Pantile in its place.

Each suite runs in processes of its own, twice. What passes with Triton should pass with Pantile.

Usage: run.py FOLDER [--only SUITE ...] [--sides triton pantile] [--jobs 7] [--minutes 8]
              [--together 1] [--json FILE]
       --minutes: of one suite. --together: suites that run at once, spread over the GPUs.
       --json: written again after each suite.
       FOLDER holds what tests/gpu/libraries/pack packed: `site` and `tests`.
Gives: by suite how many tests pass with each, how many of Triton's pass with Pantile, and the names
       of those that do not.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIGER = "tests/liger/test"
# Suite: its tests, under FOLDER where they came with the library.
SUITES = {
    "vLLM": ["test_vllm_attention.py", "test_vllm_kernels.py"],
    "SGLang": ["test_sglang.py"],
    "triton_kernels": ["test_triton_kernels.py"],
    "helion": ["test_helion.py"],
    "bitsandbytes": ["test_bitsandbytes.py"],
    "torchao": ["test_torchao.py"],
    "flash-linear-attention": ["test_fla.py"],
    "FlagGems": ["test_flaggems.py"],
    "Liger-Kernel": [f"{LIGER}/ops", f"{LIGER}/transformers", f"{LIGER}/chunked_loss"],
}
# Cases per test function, where all of them take too long.
CASES = {"flash-linear-attention": 40, "FlagGems": 320, "Liger-Kernel": 2}
SIDES = {"triton": (), "pantile": ("-m", "pantile.compat")}


def outcomes(report):
    """Names of tests by whether they passed, None for those that were skipped, from a JUnit file."""
    found = {}
    for case in Xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = None if "skipped" in kinds else not kinds & {"failure", "error"}
    return found


def interrupt(process, patience=15):
    """Stop pytest as Ctrl-C does, so that it reports what has run."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()


def device_of(name):
    """The GPU of a suite, for CUDA_VISIBLE_DEVICES: suites take turns."""
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return str(list(SUITES).index(name) % max(1, len(listed.stdout.splitlines())))


def run_suite(folder, name, side, options):
    places = [str(HERE / t) if t.endswith(".py") else str(folder / t) for t in SUITES[name]]
    places = [place for place in places if Path(place).exists()]
    scratch = Path(tempfile.mkdtemp(prefix="libraries-"))
    report = scratch / "junit.xml"
    parts = [HERE, folder / "site", (folder / LIGER).parent, os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": device_of(name),
        "PYTHONPATH": ":".join(map(str, parts)),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        "PANTILE_CACHE_DIR": str(scratch / "pantile"),
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
    }
    command = [sys.executable, *SIDES[side], "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-n", str(options.jobs), "-rfE", "--tb=short", "--continue-on-collection-errors"]
    command += [f"--junit-xml={report}", "-p", "sampling", "--cases", str(CASES.get(name, 0))]
    command += ["--timeout", "60"]
    log = options.logs / f"{name}-{side}.log"
    with log.open("w") as file:
        started = subprocess.Popen(
            [*command, *places], env=environment, cwd=scratch, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            started.wait(60 * options.minutes)
        except subprocess.TimeoutExpired:
            print(f"{name} with {side}: more than {options.minutes} minutes", flush=True)
            interrupt(started)
    return outcomes(report) if report.exists() else {}


def row_of(name, found):
    theirs = {n for n, passed in found["triton"].items() if passed}
    ours = {n for n, passed in found["pantile"].items() if passed}
    return {
        "suite": name,
        "tests": len(set(found["triton"]) | set(found["pantile"])),
        "skipped": sum(passed is None for passed in found["pantile"].values()),
        "triton": len(theirs),
        "pantile": len(ours),
        "both": len(theirs & ours),
        "lost": sorted(name for name in theirs - ours if name in found["pantile"]),
        "unreached": sum(name not in found["pantile"] for name in theirs),
        "gained": sorted(ours - theirs),
    }


def compare(folder, name, options):
    """Run a suite with every side at once, and print what it gave."""
    with ThreadPoolExecutor(len(SIDES)) as pool:
        runs = {s: pool.submit(run_suite, folder, name, s, options) for s in options.sides}
        found = {side: run.result() for side, run in runs.items()}
    row = row_of(name, dict.fromkeys(SIDES, {}) | found)
    share = 100 * row["both"] / max(1, row["triton"])
    lines = [
        f"{name:24} {row['tests']:5} tests, {row['skipped']} skipped; Triton {row['triton']:5},"
        f" Pantile {row['pantile']:5}, both {row['both']:5}, {share:6.2f} %,"
        f" {row['unreached']} of Triton's not reached",
        *(f"    lost: {lost[:150]}" for lost in row["lost"][:25]),
    ]
    print("\n".join(lines), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SUITES))
    parser.add_argument("--sides", nargs="*", default=list(SIDES))
    parser.add_argument("--jobs", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--logs", type=Path, default=Path(tempfile.mkdtemp()))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    folder, rows = options.folder.resolve(), []
    with ThreadPoolExecutor(options.together) as pool:
        for row in pool.map(lambda name: compare(folder, name, options), options.only):
            rows.append(row)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    return any(row["lost"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
