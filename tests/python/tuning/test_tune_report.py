"""`python -m pantile tune report`: the table, the file of rows and the picture."""

import csv
import subprocess
import sys

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile.__main__ import main

CONFIGS = [triton.Config({"BLOCK": size}) for size in (8, 16, 32, 64, 128, 256)]


@triton.jit
def negate_for_report(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 16)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, -x, mask=offsets < n)


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A kernel cache with the times of two sizes; the median of BLOCK is 1 + |BLOCK - 64| ms."""
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PANTILE_TUNE_CPU", "1")
    sizes = iter([16, 32, 64, 128, 256] * 2)

    def bench(call, quantiles):
        call()
        median = 1.0 + abs(next(sizes, 64) - 64)
        return [median, median * 0.9, median * 1.2]

    rows = sorted(CONFIGS[1:], key=lambda config: config.kwargs["BLOCK"])
    tuned = triton.autotune(CONFIGS, key=["n"], do_bench=bench, cache_results=True)(
        negate_for_report
    )
    for n in (100, 1000):
        x = np.random.default_rng().normal(size=n).astype(np.float32)
        out = np.empty_like(x)
        sizes = iter(config.kwargs["BLOCK"] for config in [CONFIGS[0], *rows])
        next(sizes)
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
        np.testing.assert_array_equal(out, -x)
    return tmp_path


def test_the_table(measured, capsys):
    assert main(["tune", "report"]) == 0
    text = capsys.readouterr().out
    titles = [line for line in text.splitlines() if not line.startswith(" ")]
    assert len(titles) == 2 and titles[0].startswith("negate_for_report(n=")
    assert text.count("1.00x  BLOCK: 64") == 2 and text.count("and 1 slower or failed") == 2
    first = text.splitlines()[1]
    assert first.split()[:2] == ["1.0000", "0.9000-1.2000"]
    assert main(["tune", "report", "--all"]) == 0
    assert capsys.readouterr().out.count("BLOCK: 8, ") == 2
    assert main(["tune", "report", "--kernel", "nothing"]) == 1


def test_files(measured):
    """The report writes a picture, and a row per measurement."""
    plot, rows = measured / "plot.png", measured / "rows.csv"
    pytest.importorskip("matplotlib")
    assert main(["tune", "report", "--plot", str(plot), "--csv", str(rows)]) == 0
    assert plot.read_bytes()[:4] == b"\x89PNG" and plot.stat().st_size > 5000
    with open(rows) as file:
        table = list(csv.DictReader(file))
    assert len(table) == 12
    failed = [row for row in table if row["error"]]
    assert len(failed) == 2 and all(row["config"].startswith("BLOCK: 8,") for row in failed)
    times = {row["config"].split(",")[0]: float(row["median"]) for row in table if row["median"]}
    assert times["BLOCK: 64"] == 1 and times["BLOCK: 128"] == 65


def test_as_a_program():
    done = subprocess.run([sys.executable, "-m", "pantile", "tune"], capture_output=True, text=True)
    assert done.returncode == 2 and "report" in done.stderr
    done = subprocess.run([sys.executable, "-m", "pantile"], capture_output=True, text=True)
    assert done.returncode == 2 and "tune report" in done.stderr
