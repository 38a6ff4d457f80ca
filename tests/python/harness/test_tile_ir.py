"""`python -m tests.tile_ir` names each file on which the passes fail, and goes on after it."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).parents[3]
# Stands in for `pantile-passes`: ends where a file has the word.
TOOL = """#!/bin/sh
for file; do
  echo "$file: as asked for"
  if grep -q wrong "$file"; then echo "use after free" >&2; exit 1; fi
done
"""


def run(tool, *arguments):
    command = [sys.executable, "-m", "tests.tile_ir", "--tool", tool, *arguments]
    report = tool.parent / "report.xml"
    done = subprocess.run(
        [*command, "--report", report], cwd=ROOT, capture_output=True, text=True, timeout=100
    )
    return done, report


def test_each_failure_is_named(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        for i in range(60):
            (folder / f"{folder.name}{i:02}.mlir").write_text(
                "wrong" if i in (0, 1, 39, 58) else ""
            )
        (folder / "both.mlir").write_text("wrong")
    done, report = run(tool, *folders)
    assert done.returncode == 1
    assert done.stdout.count("use after free") == 9
    assert "121 kernels: 9 failed" in done.stdout
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert len(cases) == 121
    assert failed == {*(f"{f}{i}" for f in "ab" for i in ("00", "01", "39", "58")), "both"}


def test_nothing_to_run_is_a_failure(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    done, _ = run(tool, tmp_path)
    assert done.returncode == 1


def test_a_seed_draws_one_of_each_form_and_some_others(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    for i in range(400):
        (tmp_path / f"add{i}.mlir").write_text(f"%0 = add : tensor<{i}xf{i % 3}>")
    (tmp_path / "one.mlir").write_text("%0 = multiply : tensor<16xf32>")
    drawn = []
    for seed in ("first", "first", "second"):
        _, report = run(tool, "--seed", seed, tmp_path)
        drawn.append({case.get("name") for case in ElementTree.parse(report).iter("testcase")})
    assert all("one" in names and 30 < len(names) < 80 for names in drawn)
    assert drawn[0] == drawn[1] != drawn[2]
