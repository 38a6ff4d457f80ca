"""torch.compile on models and programs, with the real Triton and with Pantile in its place.

Each measurement is a process of its own with empty caches. A case passes where it runs and its
results differ from eager execution by at most twice what they differ under Triton, or by 1e-5 of
the largest element.

Usage: compiled_models.py [--only TEXT ...] [--jobs 1] [--sides triton pantile] [--minutes 9]
                          [--threads 8] [--json FILE]
       With more than one job times are those of processes that share the machine.
Gives: by case compilation and run times, their ratios (above 1, Pantile is faster), warnings that
       Triton does not give, and failures.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALLOWED = 1e-5  # difference from eager execution, of the largest element
SIDES = {"triton": (), "pantile": ("-m", "pantile.compat")}


def run_child(name, side, threads, timeout=400):
    folder = tempfile.mkdtemp(prefix="compiled-")
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "PANTILE_CACHE_DIR": "pantile",
    }
    environment = os.environ | {k: str(Path(folder, v)) for k, v in caches.items()}
    environment |= {"TORCHINDUCTOR_COMPILE_THREADS": str(threads), "PYTHONFAULTHANDLER": "1"}
    command = [sys.executable, *SIDES[side], str(HERE / "compiled/child.py"), name]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"more than {timeout} s"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [t for t in done.stdout.splitlines() if t.startswith("RESULT ")]
    if not lines:
        return {"failure": f"exit status {done.returncode}", "trace": done.stderr[-6000:]}
    return json.loads(lines[-1][len("RESULT ") :])


def verdict(row):
    """What is wrong with the row; "" if nothing."""
    ours, theirs = row.get("pantile", {}), row.get("triton", {})
    if "failure" in ours:
        return ("both fail: " if "failure" in theirs else "") + ours["failure"]
    allowed = max(ALLOWED, 2 * theirs.get("error", 0.0))
    if ours and not ours["error"] <= allowed:
        return f"differs by {ours['error']:.2g} of the largest element, Triton by {theirs.get('error')}"
    return ""


def line_of(name, row):
    ours, theirs = row.get("pantile", {}), row.get("triton", {})
    cells = [f"{name:28}"]
    for key in ("compile_s", "run_ms"):
        a, b = theirs.get(key), ours.get(key)
        ratio = f"{a / b:6.2f}" if a and b else "     -"
        cells.append(f"{a or math.nan:8.2f} {b or math.nan:8.2f} {ratio}")
    new = [w for w in ours.get("warnings", []) if w not in theirs.get("warnings", [])]
    cells.append(f"{len(new)} warnings" if new else "")
    return "  ".join(cells) + ("  FAILED " + row["verdict"][:160] if row["verdict"] else "")


def geometric_mean(rows, key):
    both = [(r["triton"], r["pantile"]) for r in rows.values() if len(r) > 2]
    ratios = [a[key] / b[key] for a, b in both if key in a and key in b]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--exactly", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--sides", nargs="*", default=list(SIDES))
    parser.add_argument("--json")
    return parser.parse_args()


def main():
    options = arguments()
    sys.path.insert(0, str(HERE))
    from compiled.zoo import CASES

    names = options.exactly or [n for n in CASES if any(t in n for t in options.only)]
    end = time.monotonic() + 60 * options.minutes
    rows = {}

    def one(name):
        if time.monotonic() > end:
            return
        row = {side: run_child(name, side, options.threads) for side in options.sides}
        row["verdict"] = verdict(row)
        rows[name] = row
        print(line_of(name, row), flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, names))
    print("=== table: case, compilation in s (Triton, Pantile, ratio), run in ms (the same)")
    for name in names:
        print(line_of(name, rows[name]) if name in rows else f"{name:28}  not begun")
    for key in ("compile_s", "run_ms"):
        print(f"geometric mean of {key}: {geometric_mean(rows, key):.3f}")
    failed = [n for n, row in rows.items() if row["verdict"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} right; failed: {', '.join(failed) or 'none'}")
    for name, row in rows.items():
        for warning in row.get("pantile", {}).get("warnings", []):
            if warning not in row.get("triton", {}).get("warnings", []):
                print(f"warning of {name}: {warning}")
        if "trace" in row.get("pantile", {}) and row["verdict"]:
            print(f"--- {name}\n{row['pantile']['trace']}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
