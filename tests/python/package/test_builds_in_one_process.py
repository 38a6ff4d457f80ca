"""Two builds of the package in one process, as the benchmark record loads them, on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pantile

ROOT = Path(__file__).resolve().parents[3]
KERNELS = """
import pantile
import pantile.language as tl


@pantile.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)
"""
PROGRAM = """
import importlib.util
import sys

import numpy as np
from builds import Build


def kernels():
    spec = importlib.util.spec_from_file_location("kernels_of_a_build", sys.argv[2])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


builds = [Build(name, sys.argv[1]) for name in ("old", "new")]
modules, files = [], set()
for build in builds:
    with build.active():
        modules.append(kernels())
x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
for number, (build, module) in enumerate(2 * list(zip(builds, modules))):
    out = np.full_like(x, np.nan)
    with build.active() as package:
        module.scale_kernel[(4,)](x, out, 1000, 2.0 + number, BLOCK=256)
        assert package.runtime.stats()["launches"] == 1 + number // 2, package.runtime.stats()
        files.add(package._pantile.__file__)
    np.testing.assert_array_equal(out, x * np.float32(2 + number))
for build, module in zip(builds, modules):
    with build.active() as package:
        try:
            module.scale_kernel[(4,)](x, out, "many", 2.0, BLOCK=256)
        except package.CompilationError:
            continue
    raise AssertionError("no error of that build")
assert len(files) == 2 and "pantile" not in sys.modules
print("both ran")
"""


def test_each_build_runs_its_own_library(tmp_path):
    kernels = tmp_path / "kernels_of_a_build.py"
    kernels.write_text(KERNELS, encoding="utf-8")
    folder = Path(pantile.__file__).parents[1]
    command = [sys.executable, "-c", PROGRAM, str(folder), str(kernels)]
    settings = {"PYTHONPATH": str(ROOT / "tests/gpu/bench"), "PANTILE_CACHE_DIR": str(tmp_path)}
    environment = {**os.environ, **settings}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "both ran"
