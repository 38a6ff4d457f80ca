"""The emulated GPU itself: it notices code that lacks a barrier or leaves its memory; generated programs run on it.

Each run is a process of its own, as a process has one driver. The other files' tests run on it with `PANTILE_EMULATE`
(`scripts/test emulated`).
"""

import os
import subprocess
import sys
from pathlib import Path

import pantile
import pytest
from emulated_device import library_path

TESTS = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")


def run(command, **variables):
    """A finished process that had the emulated GPU."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=TESTS.parent,
        env={**os.environ, "PANTILE_EMULATE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )


def run_tests(paths, **variables):
    options = ["-q", "-p", "no:cacheprovider", "--maxfail=3", "--tb=short"]
    return run(["-m", "pytest", *options, *paths], **variables)


TMA_STORES = str(TESTS / "python/passes/test_tma_stores.py")


@pytest.mark.parametrize(
    "instruction",
    ["cp.async.bulk.wait_group.read", "fence.proxy.async", "cp.async.bulk.commit_group"],
)
def test_missing_fences_of_a_tma_store_are_reported(instruction):
    case = f"{TMA_STORES}::test_gemms[emulated-(128, 256, 64, 3, 8)-(257, 1048, 40)]"
    result = run_tests([case], PANTILE_EMULATION_WITHOUT=instruction)
    assert "1 failed" in result.stdout, result.stdout[-4000:]


TEST_OF_MATMUL = "tests/python/dots/test_matmul.py::test_every_configuration[emulated-128x128x32]"


@pytest.mark.parametrize(
    "target, instruction",
    [
        ("sm_90a", "mbarrier.try_wait"),
        ("sm_90a", "wgmma.wait_group"),
        ("sm_90a", "mbarrier.arrive.expect_tx"),
        ("sm_90a", "cp.async.bulk"),
        ("sm_90a", "wgmma.fence"),
        ("sm_90a", "fence.mbarrier_init"),
        ("sm_90a", "bar.warp.sync"),
        ("sm_80", "bar.sync"),
        ("sm_80", "cp.async.wait_group"),
        ("sm_80", "cp.async.commit_group"),
    ],
)
def test_what_is_left_out_is_noticed(target, instruction):
    """Kernel tests fail when an instruction that orders or copies is left out."""
    result = run_tests(
        [TEST_OF_MATMUL], PANTILE_EMULATED_TARGET=target, PANTILE_EMULATION_WITHOUT=instruction
    )
    assert "1 failed" in result.stdout, result.stdout[-4000:]


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_generated_programs(target, tmp_path):
    options = "--programs 25 --seed emulated --jobs 1 --compile-every 0 --no-reduce".split()
    result = run(
        ["-m", "tests.fuzz", "--device", "emulated", *options, "--out", str(tmp_path)],
        PANTILE_EMULATED_TARGET=target,
    )
    assert result.returncode == 0 and "25 of 25 programs agree" in result.stdout, result.stdout


def test_lowering_of_single_operations():
    tool = Path(pantile.__file__).absolute().parents[2] / "compiler/tools/pantile-lower"
    if not tool.exists():
        pytest.skip("pantile-lower is not built")
    paths = [str(TESTS / "gpu/lowering"), str(TESTS / "python")]
    script = f"import sys; sys.path[:0] = {paths}; import emulated; sys.exit(emulated.run({str(tool)!r}))"
    result = run(["-c", script])
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


STORE = "tl.store(out + i, i, mask=i <= n)"
PREFETCH = (
    'tl.inline_asm_elementwise("prefetch.global.L2 [$1]; mov.b32 $0, 0;", "=r,l", '
    "[(out + i % (n + 1)).to(tl.int64)], tl.int32, False, 1)"
)


@pytest.mark.parametrize("line, name", [(STORE, "st.global"), (PREFETCH, "prefetch.global")])
def test_an_access_outside_of_its_array_names_the_place(tmp_path, line, name):
    script = tmp_path / "outside.py"
    script.write_text(OUTSIDE.replace("ACCESS", line))
    result = run([str(script)], PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:{TESTS / 'python'}")
    assert "not allocated" in result.stderr and name in result.stderr, result.stderr


OUTSIDE = """
import emulated_device

emulated_device.start()
import numpy as np
import pantile
import pantile.language as tl


@pantile.jit
def touch(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ACCESS


device = emulated_device.EmulatedDevice()
touch[(4,)](device.to(np.zeros(900, np.int32)), 900, BLOCK=256)
"""


@pytest.mark.parametrize("blocks, fails", [(2, False), (3, True)])
def test_boxes_outside_of_all_extents_touch_the_base(tmp_path, blocks, fails):
    """As on an H200. Here the base is far before A, and coordinates lead back."""
    script = tmp_path / "far.py"
    script.write_text(FAR.replace("BLOCKS", str(blocks)))
    result = run([str(script)], PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:{TESTS / 'python'}")
    shown = result.stdout + result.stderr  # without a fault it tells what was mapped
    assert ("base is not in memory" in result.stderr) == fails, shown
    assert fails or result.returncode == 0, result.stderr


FAR = """
import emulated_device

emulated_device.start()
import numpy as np
import pantile
import pantile.language as tl


@pantile.jit
def matmul(a, b, c, M, K, bytes, far, B: tl.constexpr):
    rows, cols = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        x = tl.load(a - bytes + (far + rows)[:, None].to(tl.int64) * K + (k + cols)[None, :], mask=rows[:, None] < M, other=0.0)
        acc = tl.dot(x, tl.load(b + (k + cols)[:, None] * B + cols[None, :]), acc)
    tl.store(c + rows[:, None] * B + cols[None, :], acc, mask=rows[:, None] < M)


def is_mapped(address):
    with open("/proc/self/maps") as maps:
        ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps]
    near = 1 << 30  # what is mapped later may lie next to what is mapped now
    return any(first - near <= address < last + near for first, last in ranges)


device = emulated_device.EmulatedDevice()
a, b = (np.random.default_rng(i).standard_normal(shape).astype(np.float16) for i, shape in enumerate([(100, 128), (128, 64)]))
# malloc maps 40 MB again, far up: what is small may lie in a heap that begins below 64 GiB, which is no base at all.
above = np.concatenate([a, np.zeros((40 << 12, 128), np.float16)])
out, left = device.output((100, 64), "fp32"), device.to(above)
start = left.data_ptr()
far = next(rows for rows in range(1 << 28, 1 << 29, 1 << 20) if not is_mapped(start - rows * 256))
kernel = matmul[(BLOCKS,)](left, device.to(b), out.array, 100, 128, far * 128, far, B=64)
assert "cp.async.bulk.tensor" in kernel.asm["ptx"]
np.testing.assert_allclose(out.numpy(), a.astype(np.float64) @ b, rtol=1e-3, atol=1e-2)
print("no fault: A is at", hex(start), "and the base at", hex(start - far * 256))
print(open("/proc/self/maps").read())
"""
