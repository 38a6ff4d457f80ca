"""The hashes of generated code that guard changes: the same in each process, other for other options."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("rounded", "launches")


@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def replay(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "tests.replay", *map(str, arguments), "--only", *PARTS]
    return subprocess.run(
        [*command, "--jobs", "2"], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_two_runs_are_equal_and_a_difference_is_shown(tmp_path):
    file, texts = tmp_path / "record", tmp_path / "texts"
    done = replay("record", file, "--texts", texts)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = file.read_text().splitlines()
    assert len(lines) >= 30
    done = replay("compare", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"of {len(lines)}: 0 have other code" in done.stdout

    name, target, value = next(line for line in lines if "attention" in line).split()
    text = texts / name.replace("#", "-") / f"{target}-{value}.ptx"
    text.rename(text.with_name(f"{target}-{'0' * 16}.ptx")).write_text("// as it was\n")
    file.write_text("\n".join(lines).replace(value, "0" * 16) + "\n")
    done = replay("compare", file, "--texts", texts, "--diff", "attention")
    assert done.returncode == 1
    assert f"other code: {name} {target} (q: *fp16" in done.stdout
    assert "-// as it was" in done.stdout and "+.visible .entry" in done.stdout


def test_what_is_new_or_gone_is_named(tmp_path):
    file = tmp_path / "record"
    assert replay("record", file).returncode == 0
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[1:], "bench/rounded/none#0 sm_80 0"]) + "\n")
    done = replay("compare", file)
    assert done.returncode == 1
    assert "new: " + " ".join(lines[0].split()[:2]) in done.stdout


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from tests.replay import recorder

    made = recorder.Recorder(tmp_path)
    return lambda: recorder.read_lines(tmp_path), made


def test_options_types_and_constants_make_other_kernels(recorder):
    read, made = recorder
    x, y = np.zeros(256, np.float32), np.zeros(256, np.float32)
    launches = [
        ((x, y, 256, 64), {}),
        ((x, y, 256, 64), {"num_warps": 8}),
        ((x, y, 1, 64), {}),
        ((x, y, 256, 128), {}),
        ((x.astype(np.float16), y, 256, 64), {}),
    ]
    for args, options in launches:
        made.record("test", scale_kernel, scale_kernel.dispatcher.prepare(*args, **options))
    found = read()
    assert len(found) == len(launches) * 3  # targets
    for target in ("sm_90a", "sm_80", "sm_120"):
        assert len({tuple(h) for (_, t), (h, _) in found.items() if t == target}) == len(launches)
