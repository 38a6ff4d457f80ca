"""`PANTILE_CHECK_EACH_PASS`: launches on the CPU also run the IR after each pass, and compare."""

import os
import subprocess
import sys

import pytest

TEXT = """
import numpy as np
import pantile as triton
import pantile.language as tl

@triton.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    rows, columns, deep = (tl.arange(0, BLOCK) for _ in range(3))
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        at = k + deep
        x = tl.load(a + rows[:, None] * K + at[None, :], mask=(rows < M)[:, None] & (at < K)[None, :], other=0.0)
        y = tl.load(b + at[:, None] * N + columns[None, :], mask=(at < K)[:, None] & (columns < N)[None, :], other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows < M)[:, None] & (columns < N)[None, :])

draw = np.random.default_rng(1)
M, N, K = 40, 48, 432
a, b = (draw.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
c = np.full((M, N), np.nan, np.float32)
matmul[(1,)](a, b, c, M, N, K, BLOCK=64, num_stages=3, enabled_passes="{planted}")
np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-2)
"""
# Mistakes that change what is computed; not those of order, since the interpreter runs in order.
PLANTED = (
    "nv-allocate-shared+test-plant-error:kind=overlap-buffers at=0",
    "nv-allocate-shared+test-plant-error:kind=short-buffer at=0",
    "tile-select-mma+test-plant-error:kind=drop-load-mask at=0",
)


def launch(tmp_path, planted="", targets="1"):
    """The process that launched, and the lines of its report: target, pass, verdict, kernel, reason."""
    script, report = tmp_path / "script.py", tmp_path / "report"
    script.write_text(TEXT.replace("{planted}", planted))
    report.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"PANTILE_CHECK_EACH_PASS": targets}
    environment |= {"PANTILE_CHECK_EACH_PASS_REPORT": str(report)}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=300
    )
    lines = [line for path in report.iterdir() for line in path.read_text().splitlines()]
    return done, [line.split("\t") for line in lines]


def test_every_state_gives_the_same(tmp_path):
    done, report = launch(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {row[2] for row in report} == {"equal"}
    for target in ("sm_80", "sm_90a", "sm_90a without tensor maps"):
        passes = [row[1] for row in report if row[0] == target]
        assert passes.index("tile-assign-layouts") < passes.index("nv-expand-pipeline")
        assert passes.index("nv-expand-pipeline") < passes.index("nv-insert-barriers")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_mistake_is_found_after_its_pass(tmp_path, planted, target):
    done, report = launch(tmp_path, planted, target)
    assert done.returncode != 0
    wrong = [row for row in report if row[2] == "different"]
    assert wrong[0][1] == "test-plant-error", wrong
    assert f"for {wrong[0][0]} gives another result after `test-plant-error`: " in done.stderr
    before = report[: report.index(wrong[0])]
    assert "different" not in {row[2] for row in before if row[0] == wrong[0][0]}


@pytest.mark.parametrize("kind", ["moved-load", "wide-tensor", "moved-store"])
def test_a_mistake_of_a_producer_is_found(tmp_path, kind):
    step = "nv-tma-stores" if kind == "moved-store" else "nv-specialise-warps"
    planted = f"nv-tma-stores,{step}+test-plant-error:kind={kind} at=0"
    done, report = launch(tmp_path, planted, "sm_90a")
    assert done.returncode != 0
    wrong = [row for row in report if row[2] == "different"]
    assert wrong[0][:2] == ["sm_90a", "test-plant-error"], wrong
    assert "sm_90a without tensor maps" not in {row[0] for row in wrong}


def test_an_unknown_target_is_named(tmp_path):
    done, _ = launch(tmp_path, targets="sm_1")
    assert "PANTILE_CHECK_EACH_PASS names no target: sm_1" in done.stderr
