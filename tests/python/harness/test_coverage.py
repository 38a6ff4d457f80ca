"""Every name of the language and of libdevice has a test that runs on both devices."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_no_name_is_without_a_test():
    """`python -m tests.coverage` writes the table."""
    command = [sys.executable, "-m", "tests.coverage", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-2000:]}"
