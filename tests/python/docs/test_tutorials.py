"""The tutorials run as they ship, and the demonstration says what it did."""

import subprocess
import sys
from pathlib import Path

import compiled_kernels
import pytest

TUTORIALS = sorted((Path(__file__).resolve().parents[3] / "tutorials").glob("[0-9]*.py"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial(path, tmp_path):
    """A tutorial runs as it ships, and agrees with the library."""
    script = [compiled_kernels.__file__, path] if compiled_kernels.FOLDER else [path]
    done = subprocess.run(
        [sys.executable, *script], cwd=tmp_path, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert "ours and the library agree" in done.stdout
    assert list((tmp_path / ".out").glob("*.png")), "the benchmark saved no plot"


def test_demo(tmp_path):
    """The demonstration reports the device and its errors, and succeeds."""
    command = [
        sys.executable,
        "-m",
        "pantile.demo",
        "--size",
        "256",
        "--tutorials",
        TUTORIALS[0].parent,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "device" in done.stdout and "within" in done.stdout
