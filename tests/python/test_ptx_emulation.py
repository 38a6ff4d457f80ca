"""GPU code without a GPU: kernel tests and generated programs on the emulated driver, each in a process of its own.

The tests that run are those of the other files, in a pytest of their own with `PANTILE_EMULATE`: a process has one
driver. What the emulator must find is tested here as well: code that lacks a barrier or leaves its memory.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated_device import library_path

TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")


def run(command, **variables):
    """The output of a process that has the emulated GPU; fails if it fails."""
    result = subprocess.run(
        [sys.executable, *command],
        cwd=TESTS.parent,
        env={**os.environ, "PANTILE_EMULATE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    return result.stdout


PORTABLE = "test_vector_add.py test_softmax.py test_reductions.py test_gather.py test_sort.py"
HOPPER = "test_matmul.py test_attention.py test_descriptors.py test_dot_types.py"


@pytest.mark.parametrize(
    "target, files", [("sm_90a", HOPPER), ("sm_80", PORTABLE), ("sm_80", "test_matmul.py")]
)
def test_kernels(target, files):
    paths = [str(TESTS / "python" / name) for name in files.split()]
    options = ["-q", "-p", "no:cacheprovider", "--maxfail=3"]
    output = run(["-m", "pytest", *options, *paths], PANTILE_EMULATED_TARGET=target)
    assert " passed" in output
