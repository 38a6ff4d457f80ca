"""The wheel: packed from the outputs of this build, installed where nothing of the project is, and run."""

import fcntl
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pantile
import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(pantile.__file__).parents[2]

KERNELS = """
import pantile as triton
import pantile.language as tl


@triton.jit
def scale(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 3 + 1, mask=i < n)


@triton.jit
def needs_libdevice(out):
    tl.store(out, tl.extra.cuda.libdevice.j0(tl.load(out)))
"""

PROGRAM = """
import sys
import numpy as np
import pantile
from kernels import scale
assert "site-packages" in pantile.__file__, pantile.__file__
x = np.random.default_rng().standard_normal(1000).astype(np.float32)
out = np.zeros_like(x)
scale[(8,)](out, x, 1000, BLOCK=128)
np.testing.assert_allclose(out, x.astype(np.float64) * 3 + 1, rtol=1e-6, atol=1e-6)
assert "torch" not in sys.modules
print("right")
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def once(tmp_path_factory, worker_id, name, make):
    """What `make(folder)` gives, made by the first of the workers that run tests at once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / name
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            (folder / "made").touch()
    return folder


def pack(folder):
    environment = {**os.environ, "PANTILE_BUILD": str(BUILD), "PANTILE_PACKING": str(folder / "p")}
    environment.pop("PYTHONPATH", None)
    options = ["-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder]
    run(sys.executable, "-m", "pip", "wheel", *options, ROOT, env=environment)


@pytest.fixture(scope="module")
def worker_id(request):
    return os.environ.get("PYTEST_XDIST_WORKER", "master")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, worker_id):
    if not (BUILD / "compiler/tools/pantilec").exists():
        pytest.skip("the package does not lie in a folder in which all of it was built")
    (path,) = once(tmp_path_factory, worker_id, "wheel", pack).glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory, worker_id):
    """An environment with the wheel, and NumPy as the only other package."""

    def make(home):
        run(sys.executable, "-m", "venv", home)
        options = ["-q", "--no-deps", "--no-index"]
        run(home / "bin/python", "-m", "pip", "install", *options, wheel)
        (site,) = home.glob("lib/python3*/site-packages")
        theirs = Path(numpy.__file__).parents[1]
        for name in ("numpy", "numpy.libs"):
            if (theirs / name).exists():
                (site / name).symlink_to(theirs / name)
        (home / "kernels.py").write_text(KERNELS)

    return once(tmp_path_factory, worker_id, "environment", make)


def environment_of(home, **more):
    """No way to the source tree, to a toolkit, or to another cache."""
    return {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(home), **more}


def test_what_is_inside(wheel):
    """Pantile's wheel has the library, the tools, the stubs, the stand-in and the notices."""
    files = zipfile.ZipFile(wheel)
    names = files.namelist()
    assert re.search(r"-cp3\d+-cp3\d+-manylinux_2_35_x86_64\.whl$", wheel.name), wheel.name
    for name in ("pantile/libpantile.so", "pantile/bin/pantilec", "pantile/language/core.pyi"):
        assert name in names
    for name in (
        "pantile_as_triton.pth",
        "pantile_as_triton.py",
        "pantile/_stand_in/triton/__init__.py",
    ):
        assert name in names
    notices = next(n for n in names if n.endswith("THIRD_PARTY_NOTICES.txt"))
    text = files.read(notices).decode()
    for (
        work
    ) in "LLVM fmt Boost.Math Zstandard zlib CLI11 xxHash ConvertUTF BLAKE3 pybind11".split():
        assert re.search(rf"(?m)^{re.escape(work)}\b.*(linked|compiled) into", text), work
    assert "LLVM Exceptions to the Apache 2.0 License" in text
    assert next(n for n in names if n.endswith("licenses/LICENSE"))
    assert not [n for n in names if n.endswith((".bc", ".cubin")) or "tests/" in n]


def test_it_runs_on_older_systems(wheel, tmp_path):
    """Ubuntu 22.04 has glibc 2.35 and the libstdc++ of GCC 12."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    files = [*tmp_path.glob("pantile/*.so"), tmp_path / "pantile/bin/pantilec"]
    assert len(files) == 3
    for path in files:
        symbols = run("objdump", "-T", path)
        versions = {
            kind: max(
                tuple(map(int, v.split("."))) for v in re.findall(rf"\({kind}_([\d.]+)", symbols)
            )
            for kind in ("GLIBC", "GLIBCXX")
        }
        assert versions["GLIBC"] <= (2, 35) and versions["GLIBCXX"] <= (3, 4, 30), (path, versions)
        needed = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path)))
        allowed = (
            "libpantile.so libstdc++.so.6 libm.so.6 libgcc_s.so.1 libc.so.6 ld-linux-x86-64.so.2"
        )
        assert needed <= set(allowed.split()), path
        runpath = re.findall(r"R(?:UN)?PATH\s+(\S+)", run("objdump", "-p", path))
        assert not [p for r in runpath for p in r.split(":") if not p.startswith("$ORIGIN")], (
            runpath
        )


def test_it_runs_alone(installed):
    program = installed / "program.py"
    program.write_text(PROGRAM)
    python, environment = installed / "bin/python", environment_of(installed)
    assert run(python, program, env=environment, cwd=installed) == "right\n"
    demo = [python, "-m", "pantile.demo", "--size", "256", "--tutorials", ROOT / "tutorials"]
    assert "within" in run(*demo, env=environment, cwd=installed)


AS_TRITON = """
import os, subprocess, sys
assert "pantile" not in sys.modules
import importlib.metadata, triton, triton.language as tl
from triton.language.extra import libdevice
import pantile
assert triton is pantile and tl is pantile.language
print(importlib.metadata.version("triton") == triton.__version__)
if len(sys.argv) > 1:
    subprocess.run([sys.executable, "-I", __file__], check=True)
"""


def test_a_variable_makes_it_triton(installed):
    """Also in the children, and in processes that look at no variable of Python's."""
    program = installed / "as_triton.py"
    program.write_text(AS_TRITON)
    environment = environment_of(installed, PANTILE_AS_TRITON="1")
    for options in ((), ("-I",)):
        said = run(installed / "bin/python", *options, program, "1", env=environment)
        assert said == "True\nTrue\n"
    environment["PANTILE_AS_TRITON"] = "0"
    find = "import importlib.util as u, sys; print(u.find_spec('triton'), 'pantile_as_triton' in sys.modules)"
    found = run(installed / "bin/python", "-c", find, env=environment, cwd=installed)
    assert found == "None False\n"


def test_its_compiler_needs_nothing_up_to_ptx(installed):
    command = [installed / "bin/pantilec", "kernels.py", "--kernel", "scale", "--target", "sm_90a"]
    command += ["--signature", "*fp32:16, *fp32:16, i32", "-D", "BLOCK=128"]
    environment = environment_of(installed, CUDA_HOME="/nowhere")
    ptx = run(*command, "--emit", "ptx", env=environment, cwd=installed)
    assert ".visible .entry scale" in ptx or ".entry scale" in ptx


def test_missing_libdevice_names_the_function(installed):
    """Also where a toolkit is installed: a path that is given is the only one used."""
    command = [installed / "bin/pantilec", "kernels.py", "--kernel", "needs_libdevice"]
    command += ["--target", "sm_80", "--signature", "*fp32", "--emit", "ptx"]
    environment = environment_of(installed, PANTILE_LIBDEVICE_PATH="/nowhere/libdevice.10.bc")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=installed)
    assert done.returncode == 1 and "`__nv_j0f`" in done.stderr, done.stderr
    assert "/nowhere/libdevice.10.bc" in done.stderr, done.stderr
