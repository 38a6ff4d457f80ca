"""The page on torch.compile is made from what was measured, and follows it."""

import importlib.util
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/compiled_models_page.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="scripts are not on this machine")


def made_up(generator):
    """Results of a run, with random numbers."""

    def side():
        names = "compile_s triton_s run_ms back_to_back_ms device_ms first_result_s".split()
        result = {name: generator.uniform(0.5, 50) for name in names}
        result |= {"error": generator.uniform(0, 1e-5), "warnings": ["both say this"]}
        return result | {"run_rounds": [1.0], "phases": {"a": 1.0}, "counters": {}}

    names = ["bert", "bert training", "aot pointwise", "warm bert", "mixtral"]
    rows = {n: {"triton": side(), "pantile": side(), "verdict": ""} for n in names}
    for s in ("triton", "pantile"):
        rows["warm bert"][s]["cold_first_result_s"] = generator.uniform(1, 9)
    rows["bert"]["pantile"]["warnings"] = ["both say this", "only we say this"]
    rows["t5"] = {
        "triton": side(),
        "pantile": {"failure": "SIGSEGV after stage `made`\nmore", "trace": "", "stderr": "x"},
        "verdict": "SIGSEGV after stage `made`\nmore",
    }
    alone = {"bert": {"triton": side(), "pantile": side(), "verdict": ""}}
    how = {"batch": 7, "threads": 2, "rounds": 7, "alone_threads": 16}
    return {"rows": rows, "alone": alone, "device": "a GPU", "cpus": 16, "how": how}


def page_script():
    spec = importlib.util.spec_from_file_location("page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells_of(text, name, heading):
    """The cells of the line of a case below a heading."""
    part = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    line = next(t for t in part.splitlines() if t.startswith(f"| {name} |"))
    return [c.strip() for c in line.strip("|").split("|")]


def test_page(tmp_path):
    """The page has the ratios of the measured rows."""
    found = made_up(random.Random(3))
    script = page_script()
    text = script.page(script.kept(found))
    assert "the rounds. Ratios" in text
    found["how"]["processes"] = 3
    again = script.page(script.kept(found))
    assert "the rounds, then the fastest of 3 processes of each side. Ratios" in again
    sides = [row["triton"] for row in found["rows"].values()]
    shares = [1 - side["triton_s"] / side["compile_s"] for side in sides]
    left = np.exp(np.mean(np.log([share for share in shares if share > 0])))
    assert f"{left:.2f} of Triton's whole" in text
    groups = {"bert": "Models, forward", "bert training": "Models, a training step"}
    for name, heading in (groups | {"aot pointwise": "Programs and modes"}).items():
        a, b = found["rows"][name]["triton"], found["rows"][name]["pantile"]
        expected = [a["error"], b["error"]]
        expected += [a["compile_s"], b["compile_s"], a["compile_s"] / b["compile_s"]]
        expected += [a["triton_s"], b["triton_s"]]
        expected += [a["run_ms"], b["run_ms"], a["run_ms"] / b["run_ms"]]
        expected += [a["device_ms"] / b["device_ms"]]
        cells = [float(c) for c in cells_of(text, name, heading)[1:]]
        np.testing.assert_allclose(cells, expected, rtol=0.06)
        np.testing.assert_allclose(cells[2:], expected[2:], rtol=6e-3)
    a, b = (found["rows"]["warm bert"][s] for s in ("triton", "pantile"))
    keys = ("first_result_s", "cold_first_result_s")
    expected = [a[keys[0]], b[keys[0]], *(a[k] / b[k] for k in keys)]
    cells = [float(c) for c in cells_of(text, "warm bert", "Warm second process")[1:]]
    np.testing.assert_allclose(cells, expected, rtol=6e-3)


def test_means_and_failures_of_the_page():
    found = made_up(random.Random(4))
    script = page_script()
    text = script.page(script.kept(found))
    rows = found["rows"]
    cold = [n for n in rows if n not in ("warm bert", "t5")]
    for what, key in (("cold compilation", "compile_s"), ("run time of a call", "run_ms")):
        ratios = np.array([rows[n]["triton"][key] / rows[n]["pantile"][key] for n in cold])
        line = next(t for t in text.splitlines() if t.startswith(f"| {what} |"))
        cells = [c.strip() for c in line.strip("|").split("|")]
        mean = np.exp(np.log(ratios).mean())
        numbers = [float(c.split(" ")[0]) for c in cells[1:]]
        np.testing.assert_allclose(numbers[:2], [mean, 1 / mean], atol=2e-3)
        np.testing.assert_allclose(numbers[2:4], [ratios.min(), ratios.max()], atol=0.02)
        assert cold[ratios.argmin()] in cells[3] and cold[ratios.argmax()] in cells[4]
        assert numbers[4] == len(cold)
    assert "5 of 6 cases are right." in text and "- `t5`: SIGSEGV after stage `made`\n" in text
    assert "- bert: `only we say this`" in text and "both say this" not in text
    slow = [
        n
        for n in rows
        if n != "t5" and rows[n]["triton"]["run_ms"] < 0.97 * rows[n]["pantile"]["run_ms"]
    ]
    line = next(t for t in text.splitlines() if t.startswith("Run time below"))
    for name in rows:
        assert bool(re.search(rf"[:,] {name} \(", line)) == (name in slow)


def test_page_follows_what_is_kept(tmp_path):
    pytest.importorskip("matplotlib")
    script = page_script()
    assert script.main(["--check"], tmp_path) == 0
    (tmp_path / "found.json").write_text(json.dumps(made_up(random.Random(5))))
    assert script.main([str(tmp_path / "found.json")], tmp_path) == 0
    assert script.main(["--check"], tmp_path) == 0
    assert (tmp_path / "images/compiled-models.svg").stat().st_size > 1000
    kept = tmp_path / "measurements/compiled-models.json"
    again = json.loads(kept.read_text())
    again["rows"]["bert"]["pantile"]["run_ms"] *= 3
    kept.write_text(json.dumps(again))
    assert script.main(["--check"], tmp_path) == 1
    assert script.main([], tmp_path) == 0 and script.main(["--check"], tmp_path) == 0


def test_runs_are_joined():
    script = page_script()
    first, second = (made_up(random.Random(seed)) for seed in (6, 7))
    del second["rows"]["bert"], first["rows"]["mixtral"]
    second["alone"] = {}
    rows = script.joined([first, second])["rows"]
    assert set(rows) == set(first["rows"]) | {"mixtral"}
    for name, row in rows.items():
        assert row == (first if name == "bert" else second)["rows"][name]
    assert script.joined([first, second])["alone"] == first["alone"]


def test_page_of_the_repository():
    assert page_script().main(["--check"]) == 0
