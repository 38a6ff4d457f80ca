"""A transformer block of Pantile's kernels, split over ranks by columns and rows, equals the whole one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("tensor_parallel_program.py")
NUMBERED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "PANTILE_RUN_ID", "PANTILE_EMULATE")


@pytest.mark.parametrize("kind", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_transformer_block(tmp_path, kind, count):
    """By torchrun, with gloo on the CPU and NCCL on GPUs; all ranks have the same bits and configuration."""
    torch = pytest.importorskip("torch")
    if kind == "cuda" and torch.cuda.device_count() < count:
        pytest.skip(f"needs {count} GPUs")
    environment = {name: text for name, text in os.environ.items() if name not in NUMBERED}
    environment.update(
        PANTILE_CACHE_DIR=str(tmp_path / "cache"), PANTILE_TUNE_CPU="1", OMP_NUM_THREADS="1",
        PYTHONPATH=os.pathsep.join(sys.path),
    )  # fmt: skip
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    done = subprocess.run(
        [sys.executable, *launcher, PROGRAM, kind, tmp_path],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reports = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(count)]
    assert all(report["error"] < 1e-5 and report["same"] for report in reports), reports
    assert len({report["choice"] for report in reports}) == 1
