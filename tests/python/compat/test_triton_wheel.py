"""The wheel pantile-triton: built, installed into a folder, and imported from it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pantile
import pytest

SOURCES = Path(__file__).parents[3] / "python" / "pantile_triton"
ROOT = str(Path(pantile.__file__).parents[1])

PROGRAM = """
import importlib.metadata, os, sys
assert importlib.metadata.version("triton") == sys.argv[1]
assert importlib.metadata.version("pantile-triton") == sys.argv[1].rpartition("+pantile.")[2]
import triton
assert triton.__version__ == sys.argv[1] and triton.__version__.startswith("3.6.0+")
from triton.language.extra import libdevice
import triton.language, pantile.language
assert triton.language is pantile.language and libdevice is pantile.language.extra.libdevice
from triton.compiler.compiler import ASTSource
assert importlib.metadata.version("triton") == triton.__version__
assert "PANTILE_AS_TRITON" not in os.environ
print("right")
"""


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("name")
    pip = [sys.executable, "-m", "pip"]
    quiet = ["-q", "--no-deps", "--no-index", "--disable-pip-version-check"]
    run(*pip, "wheel", *quiet, "-w", folder, SOURCES)
    (wheel,) = folder.glob("*.whl")
    run(*pip, "install", *quiet, "--target", folder / "site", wheel)
    return wheel, folder / "site"


def test_what_is_inside(installed):
    """The wheel `pantile-triton` has a package triton and its metadata, and nothing else."""
    wheel, site = installed
    assert wheel.name == f"pantile_triton-{pantile.version}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    # Installers refuse a wheel with two records at its top.
    assert len({n.split("/")[0] for n in names if n.split("/")[0].endswith(".dist-info")}) == 1
    found = sorted(path.name for path in site.iterdir())
    assert found == [
        f"pantile_triton-{pantile.version}.dist-info",
        "triton",
        f"triton-{pantile.__version__}.dist-info",
    ]


@pytest.mark.parametrize("program", [PROGRAM, "import triton.language\n" + PROGRAM])
def test_import(installed, program):
    """`import triton` finds the installed wheel."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, str(installed[1])])}
    environment.pop("PANTILE_AS_TRITON", None)
    said = run(sys.executable, "-c", program, pantile.__version__, env=environment)
    assert said == "right\n"


def test_without_pantile_it_says_what_is_missing(installed):
    command = [sys.executable, "-c", "import triton"]
    environment = {**os.environ, "PYTHONPATH": str(installed[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode != 0 and "No module named 'pantile'" in done.stderr
