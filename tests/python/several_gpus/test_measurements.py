"""The programs of `tests/gpu/run several-gpus`, as far as they run on the CPU, with gloo."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT / "tests/gpu/bench"


@pytest.fixture(scope="module")
def steps():
    spec = importlib.util.spec_from_file_location("steps", BENCH / "several_gpus.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["steps"] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def python(*arguments, seconds=300):
    environment = {name: text for name, text in os.environ.items() if "RANK" not in name}
    environment.update(PYTHONPATH=os.pathsep.join([str(BENCH), *sys.path]), OMP_NUM_THREADS="1")
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_exchanges_of_one_rank(tmp_path):
    """Every kernel at every size, and what it is compared with, equals float64."""
    said = python(BENCH / "exchanges.py", "--json", tmp_path / "found.json")
    assert said == "10 sizes are right on 1 ranks\n"
    rows = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert len(rows) == 10 and all(0 < row["errors"]["ours"] < 2e-3 for row in rows)


@pytest.mark.parametrize("ranks", [1, 2])
def test_models_that_ranks_share(tmp_path, ranks):
    """DDP, FSDP2 and tensor parallelism under torch.compile train as one rank does."""
    pytest.importorskip("torch")
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    program = ["-m", "pantile.compat", BENCH / "parallel_models.py"]
    python(*torchrun, *program, "--json", tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["ranks"] == ranks
    assert [row["way"] for row in found["rows"]] == ["DDP", "FSDP2", "tensor parallel"]
    assert all(row["error"] < 1e-4 and row["kernels"] for row in found["rows"])


def test_the_steps_fit_in_nine_minutes(steps, tmp_path):
    """With the seconds that ending a step may take."""
    assert sum(step.seconds for step in steps.steps(2, 2, tmp_path)) < 8 * 60
    names = [step.name for step in steps.steps(2, 0, tmp_path)]
    assert names == [step.name for step in steps.steps(2, 2, tmp_path)]
    for step in steps.steps(2, 2, tmp_path):
        files = [
            part for part in map(str, step.command) if part.startswith(("tests/", "tutorials/"))
        ]
        assert files and all((ROOT / file).exists() for file in files)


def test_a_step_that_fails_or_hangs_ends(steps, tmp_path):
    """Its own program is ended, and the log's last lines are kept."""
    fails = steps.Step("fails", ["-c", "print('a reason'); exit(3)"], 20)
    assert steps.run(fails, 20, tmp_path) == "exit status 3"
    assert steps.last_lines(tmp_path / "fails.log", "exit status 3") == ["a reason"]
    hangs = steps.Step("hangs", ["-c", "import time; time.sleep(600)"], 1)
    assert steps.run(hangs, 1, tmp_path) == "ended after 1 s"
    table = steps.Step("table", ["-c", "print('noise\\n=== table\\nrow')"], 20)
    assert steps.run(table, 20, tmp_path) == "right"
    assert steps.last_lines(tmp_path / "table.log", "right") == ["row"]


def test_the_stack_of_a_crash_is_shown(steps, tmp_path):
    """Although more lines follow it than are shown of other failures."""
    text = "import os; print(flush=True); os.kill(os.getpid(), 11)"
    crash = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {text!r}])"
    step = steps.Step("crash", ["-c", f"{crash}; print('\\n' * 99); sys.exit(1)"], 60)
    ended = steps.run(step, 60, tmp_path)
    assert ended == "exit status 1"
    shown = steps.last_lines(tmp_path / "crash.log", ended)
    assert any(line.startswith("Fatal Python error: Segmentation fault") for line in shown)
