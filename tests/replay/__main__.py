"""Hashes of the PTX of a set of kernels, to compare before and after a change that should alter nothing.

Needs: pantile, as it was and as it is; pytest.
Gives: `record FILE` writes a line per kernel and target, `compare FILE` names those that differ, are
       new or are gone, and exits with status 1 if there are any. `record --texts FOLDER FILE` also
       keeps the code, of which `compare --texts FOLDER --diff NAME FILE` shows what changed in the
       kernels whose names have NAME in them.
How:   generated programs, the tutorials, what the benchmarks launch, kernels of torch.compile, and each
       kernel that tests/kernels compile while they run on the CPU; all for each target of `recorder.py`.

Usage: python -m tests.replay record|compare FILE [--texts FOLDER] [--diff NAME] [--only TEXT ...] [--jobs N]
"""

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .recorder import read_lines, text_path
from .task import ROOT, TASKS

KERNELS = "kernels"
PYTEST = ["-q", "-p", "tests.replay.plugin", "-m", "not gpu", "--dist", "loadfile"]


def commands(only, jobs):
    """What is to run, by name; the tests last, by as many processes as there are jobs."""
    wanted = [name for name in (*TASKS, KERNELS) if not only or any(text in name for text in only)]
    result = {
        name: [sys.executable, "-m", "tests.replay.task", name] for name in wanted if name in TASKS
    }
    if KERNELS in wanted:
        tests = [sys.executable, "-m", "pytest", *PYTEST, "-n", str(jobs), "tests/kernels"]
        result[KERNELS] = tests
    return result


def run(command, folder, has_texts):
    """What the process said if it failed; None if it did not."""
    environment = {**os.environ, "REPLAY_FOLDER": str(folder)}
    environment["PANTILE_CACHE_DIR"] = str(Path(folder) / "cache")
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment.pop("PANTILE_EMULATE", None)
    if has_texts:
        environment["REPLAY_TEXTS"] = "1"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return (done.stdout + done.stderr)[-3000:] if done.returncode else None


def record(folder, options):
    """Run all parts; {(name, target): (hashes, description)}. RuntimeError for a part that fails."""
    parts = commands(options.only, options.jobs)
    tests = parts.pop(KERNELS, None)
    with ThreadPoolExecutor(options.jobs) as pool:
        said = pool.map(lambda name: run(parts[name], folder, options.texts), parts)
        failures = dict(zip(parts, said))
    if tests:
        failures[KERNELS] = run(tests, folder, options.texts)
    for name, text in failures.items():
        if text is not None:
            raise RuntimeError(f"`{name}` failed, so that kernels are missing:\n{text}")
    return read_lines(folder)


def line_of(key, hashes):
    return f"{' '.join(key)} {','.join(hashes)}"


def read_record(path):
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {(name, target): hashes.split(",") for name, target, hashes in rows}


def show_difference(folders, key, hashes):
    """Print the unified difference of the kernel's code in two folders."""
    texts = []
    for folder, values in zip(folders, hashes):
        paths = [text_path(folder, *key, value) for value in values]
        texts.append([line for p in paths if p.exists() for line in p.read_text().splitlines()])
    names = [f"{' '.join(key)} {name}" for name in ("before", "now")]
    print(*difflib.unified_diff(*texts, *names, lineterm=""), sep="\n")


def compare(before, now, options):
    """Print what is other than before; return the number of such kernels."""
    changed = [key for key in now if key in before and now[key][0] != before[key]]
    new = [key for key in now if key not in before]
    gone = [] if options.only else [key for key in before if key not in now]
    for title, keys in (("other code", changed), ("new", new), ("gone", gone)):
        for key in keys:
            about = f" ({now[key][1]})" if key in now else ""
            print(f"{title}: {' '.join(key)}{about}")
    for key in changed:
        if options.diff and options.diff in key[0]:
            show_difference((options.texts, options.folder), key, (before[key], now[key][0]))
    print(
        f"of {len(now)}: {len(changed)} have other code, {len(new)} are new, {len(gone)} are gone"
    )
    return len(changed) + len(new) + len(gone)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests.replay", description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="where the code is kept")
    parser.add_argument("--diff", metavar="NAME", help="show what changed in these kernels")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="parts with these names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    if options.diff and not options.texts:
        parser.error("`--diff` needs `--texts`, the folder of the record")
    return options


def main(arguments=None):
    options = parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        now = record(folder, options)
        if options.action == "record":
            lines = [line_of(key, hashes) for key, (hashes, _) in now.items()]
            options.file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            if options.texts:
                shutil.rmtree(Path(folder) / "cache", ignore_errors=True)
                shutil.copytree(folder, options.texts, dirs_exist_ok=True)
            print(f"{len(now)} hashes in {options.file}")
            return 0
        options.folder = folder
        return 1 if compare(read_record(options.file), now, options) else 0


if __name__ == "__main__":
    sys.exit(main())
