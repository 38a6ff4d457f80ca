"""`pantilec` for tests: where it is, and running it."""

import shutil
import subprocess
from pathlib import Path

import pantile._pantile as extension
import pytest


def pantilec_path():
    """Return the program that belongs to the module under test, or skip the test."""
    built = Path(extension.__file__).resolve().parents[2] / "compiler" / "tools" / "pantilec"
    found = str(built) if built.exists() else shutil.which("pantilec")
    if found is None:
        pytest.skip("needs pantilec")
    return found


def pantilec(*arguments, cwd=None, env=None, status=0):
    """Run `pantilec` and return what it printed; its exit status has to be `status`."""
    done = subprocess.run(
        [pantilec_path(), *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr
