"""The benchmark of torch.compile: its processes, its ratios and its errors.

The processes are played by a script that answers as tests/gpu/bench/compiled/child.py does.
"""

import argparse
import importlib
import json
import math
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT / "tests/gpu/bench"
SHARED = "libstdc++.so.6"

PLAYED = """
import json, os, signal, sys, time
name, log = sys.argv[1], os.environ["PLAYED_LOG"]
warm = os.path.exists("cache") and os.environ["COMPILED_SECOND"] == "1"
def say(stage, **values):
    print(json.dumps({"stage": stage, **values}), flush=True)
def note(what):
    with open(log, "a") as file:
        file.write(f"{name} {os.environ.get('PLAYED_SIDE', '')}{what}\\n")
print("a library talks")
sys.stderr.write("words before the end\\n")
say("made")
idle = time.perf_counter()
assert sys.stdin.readline() == "compile\\n"
idle = time.perf_counter() - idle
note("compile")
open("cache", "w").close()
if name == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
if name == "hangs":
    time.sleep(60)
if name == "refuses":
    say("failed", failure="ValueError: no", trace="a trace")
    sys.exit()
time.sleep(0.1)
say("ready", compile_s=1.0 if warm else 3.0, waited_s=0.0, triton_s=0.5, phases={}, counters={},
    error=0.0, warnings=[], triton="x/triton/y.py", first_result_at=time.time(), idle_s=idle)
for line in sys.stdin:
    if line.strip() == "end":
        break
    note(line.strip())
    if name == "dies when timed":
        sys.exit(3)
    if line.strip() == "run":
        say("ran", run_ms=float(len(open(log).readlines())))
    else:
        say("device", device_ms=0.25, back_to_back_ms=0.5)
"""


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCH))
    try:
        from compiled import batch, processes, report

        return argparse.Namespace(batch=batch, processes=processes, report=report)
    finally:
        sys.path.remove(str(BENCH))


@pytest.fixture
def played(bench, tmp_path, monkeypatch):
    """Children are played ones."""
    script = tmp_path / "played.py"
    script.write_text(PLAYED)
    monkeypatch.setattr(bench.processes, "CHILD", script)
    monkeypatch.setattr(bench.processes, "SIDES", {"triton": (), "pantile": ()})
    monkeypatch.setenv("PLAYED_LOG", str(tmp_path / "log"))


@pytest.fixture
def measured(bench, played):
    """A function that measures played cases, given by name, and returns their batch."""
    started = []

    def measure(cases, limit=30, processes=1):
        options = argparse.Namespace(threads=1, rounds=3, limit=limit, processes=processes)
        batch = bench.batch.Batch(
            {n: argparse.Namespace(warm=w) for n, w in cases.items()},
            ["triton", "pantile"],
            options,
        )
        started.append(batch)
        batch.compile()
        batch.warm_up()
        batch.time()
        batch.end()
        return batch

    yield measure
    for batch in started:
        batch.end()


def test_all_compile_before_any_is_timed(measured, tmp_path):
    batch = measured({"one": False, "two": False})
    noted = [line.rsplit(maxsplit=1) for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted(noted[:4]) == [["one", "compile"]] * 2 + [["two", "compile"]] * 2
    assert noted[4:] == [["one", w] for w in ["run"] * 6 + ["device"] * 2] + [
        ["two", w] for w in ["run"] * 6 + ["device"] * 2
    ]
    # Each answer is the count of lines in the log: rounds begin with either side alternately.
    assert batch.rows["one"]["triton"]["run_rounds"] == [5.0, 8.0, 9.0]
    assert batch.rows["one"]["pantile"]["run_rounds"] == [6.0, 7.0, 10.0]
    assert batch.rows["one"]["triton"]["run_ms"] == 8.0
    for row in batch.rows.values():
        for side in ("triton", "pantile"):
            assert row[side]["compile_s"] == 3.0 and row[side]["device_ms"] == 0.25
            assert 0.1 <= row[side]["first_result_s"] < 30


def test_failures_do_not_stop_the_others(measured):
    names = ("crashes", "refuses", "dies when timed", "good")
    rows = measured(dict.fromkeys(names, False)).rows
    for side in ("triton", "pantile"):
        assert rows["crashes"][side]["failure"] == "SIGSEGV after stage `made`"
        assert "words before the end" in rows["crashes"][side]["stderr"]
        assert rows["refuses"][side]["failure"] == "ValueError: no"
        assert rows["refuses"][side]["trace"] == "a trace"
        assert rows["dies when timed"][side]["failure"].startswith("exit status 3")
        assert "run_ms" not in rows["dies when timed"][side]
        assert rows["good"][side]["run_ms"] > 0


def test_a_hanging_child_is_ended(measured):
    start = time.monotonic()
    batch = measured({"hangs": False, "good": False}, limit=5)
    assert time.monotonic() - start < 25
    for side in ("triton", "pantile"):
        assert batch.rows["hangs"][side]["failure"] == "more than 5 s after stage `made`"
        assert "run_ms" in batch.rows["good"][side]
        with pytest.raises(ProcessLookupError):
            os.kill(batch.children["hangs", side].process.pid, 0)
    assert not batch.root.exists()


def test_a_warm_case_is_measured_in_its_second_process(measured):
    rows = measured({"cached": True, "fresh": False}).rows
    for side in ("triton", "pantile"):
        assert rows["cached"][side]["compile_s"] == 1.0
        assert rows["cached"][side]["cold_compile_s"] == 3.0
        assert rows["fresh"][side]["compile_s"] == 3.0


def test_more_processes_of_a_case_are_timed(measured, tmp_path):
    """Noise only adds to a time, and differs more from process to process than from call to call."""
    rows = measured({"one": False, "crashes": False, "two": False}, processes=3).rows
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines.count("one compile") == lines.count("two compile") == 6
    assert lines.count("crashes compile") == 2
    assert lines.count("one run") == 18 and lines.count("one device") == 2
    for name in ("one", "two"):
        for side in ("triton", "pantile"):
            row = rows[name][side]
            assert row["compile_s"] == 3.0  # of the first process, which had no caches
            assert len(row["run_processes"]) == 3
            assert row["run_ms"] == min(row["run_processes"]) < max(row["run_processes"])
    assert "run_ms" not in rows["crashes"]["triton"]


def test_what_is_kept_of_a_crash(bench):
    """The stack of C++ is printed before that of Python, and may be far from the end."""
    stack = "SIGSEGV(11), PID: 7, Thread 7: \n frame #0: here\n"
    told = bench.processes.told_last("a warning\n" + stack + "and more\n" * 2000)
    assert told.startswith(stack) and len(told) == 6000
    assert bench.processes.told_last("x" * 7000 + "the end") == "x" * 5993 + "the end"
    row = {"pantile": {"failure": "SIGSEGV", "trace": "", "stderr": told}}
    assert "frame #0: here" in "\n".join(bench.report.details("case", row))


@pytest.mark.parametrize(
    "own, plain, expected",
    [(SHARED, SHARED, "own"), ("", SHARED, "g++"), ("", "", "own")],
    ids=["shared", "of its own", "nothing better"],
)
def test_the_compiler_of_inductor_shares_libstdcxx(
    bench, tmp_path, monkeypatch, own, plain, expected
):
    for name, links in {"own": own, "g++": plain}.items():
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nfor last; do :; done\necho "{links}" > "$last"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("CXX", str(tmp_path / "own"))
    bench.processes.brings_libstdcxx.cache_clear()
    chosen = bench.processes.environment(tmp_path, 1, "")["CXX"]
    bench.processes.brings_libstdcxx.cache_clear()
    assert Path(chosen).name == expected


@pytest.fixture
def driver(bench, monkeypatch):
    """compiled_models.py, on a machine without torch."""
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("compiled_models")
    monkeypatch.setattr(module, "device", lambda: "no GPU")
    return module


def test_batches_are_recorded_one_by_one(driver, played, tmp_path):
    path = tmp_path / "found.json"
    options = argparse.Namespace(
        **{"threads": 1, "rounds": 2, "limit": 30, "batch": 2, "minutes": 5, "not_ahead": False},
        processes=1,
        **{
            "sides": ["triton", "pantile"],
            "json": str(path),
            "resume": True,
            "skip_json": [],
            "same": True,
        },
    )
    cases = {n: argparse.Namespace(warm=False) for n in ("one", "crashes", "two", "three", "four")}
    record = driver.Record(options)
    written = []
    take = record.take
    record.take = lambda *rows: (
        take(*rows),
        written.append(list(json.loads(path.read_text())["rows"])),
    )
    driver.in_batches(cases, options, record)
    assert written == [list(cases)[:2], list(cases)[:4], list(cases)]
    again = driver.Record(options)
    assert again.skipped == set(cases) and again.found["rows"] == record.found["rows"]
    rows = record.found["rows"]
    assert rows["crashes"]["verdict"].startswith("both fail: SIGSEGV")
    assert all(rows[n]["triton"]["run_ms"] > 0 for n in cases if n != "crashes")


def test_no_batch_begins_after_the_time(driver, played, tmp_path):
    options = argparse.Namespace(
        **{"threads": 1, "rounds": 2, "limit": 30, "batch": 1, "minutes": 0, "not_ahead": False},
        processes=1,
        **{"sides": ["triton"], "json": None, "resume": False, "skip_json": [], "same": True},
    )
    record = driver.Record(options)
    driver.in_batches({"one": argparse.Namespace(warm=False)}, options, record)
    assert record.found["rows"] == {} and not (tmp_path / "log").exists()


def test_verdicts(bench):
    """An error is reported where it is larger than twice the other's, or is no number."""
    generator = random.Random(6)
    for _ in range(50):
        theirs, ours = (10 ** generator.uniform(-8, -2) for _ in range(2))
        row = {"triton": {"error": theirs}, "pantile": {"error": ours}}
        assert bool(bench.report.verdict(row)) == (ours > max(1e-5, 2 * theirs))
    for error in (math.nan, math.inf):
        row = {"triton": {"error": 1e-6}, "pantile": {"error": error}}
        assert bench.report.verdict(row)
    row = {s: {"error": 0.0, "triton": f"/x/{s}/__init__.py"} for s in ("triton", "pantile")}
    assert not bench.report.verdict(row)
    for side, other in (("triton", "pantile"), ("pantile", "triton")):
        wrong = {**row, side: {"error": 0.0, "triton": f"/x/{other}/__init__.py"}}
        assert bench.report.verdict(wrong) == f"the package that was measured is `{other}`"
    both = {side: {"failure": "no"} for side in ("triton", "pantile")}
    assert bench.report.verdict(both) == "both fail: no"


def test_means(bench):
    """Means of ratios are geometric, without the missing ones."""
    ratios = np.random.default_rng(7).uniform(0.2, 5, 40)
    found = bench.report.geometric_mean([*ratios, None])
    np.testing.assert_allclose(found, np.exp(np.log(ratios).mean()), rtol=1e-12)


def test_errors_of_results():
    torch = pytest.importorskip("torch")
    sys.path.insert(0, str(BENCH))
    from compiled import comparison

    generator = np.random.default_rng(8)
    a, b = generator.standard_normal((2, 30, 7))
    small = generator.standard_normal(9) * 1e-6
    found = {"x": torch.tensor(a), "y": [torch.tensor(small)]}
    expected = [torch.tensor(b), (torch.tensor(small[::-1].copy()),)]
    truth = max(
        abs(a - b).max() / abs(b).max(), abs(small - small[::-1]).max() / (1e-3 * abs(b).max())
    )
    np.testing.assert_allclose(comparison.error(found, expected), truth, rtol=1e-12)
    masked = torch.tensor([1.0, -math.inf, 3.0])
    assert comparison.error([masked], [masked.clone()]) == 0
    assert comparison.error([torch.tensor([1.0, 2.0, 3.0])], [masked]) == math.inf
    assert comparison.error([torch.tensor([math.nan, -math.inf, 3.0])], [masked]) == math.inf
    one, other = (
        f"took {t} s in /tmp/compiled-{p}/c{p * 6}.py at {hex(id(t))}"
        for t, p in ((1.5, "ab12"), (22, "zz9x"))
    )
    assert comparison.normalised(one) == comparison.normalised(other)
