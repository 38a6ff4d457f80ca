"""The wheel: CMake builds the library and the binding, setuptools packs them with python/pantile.

Needs: the Debian packages of `scripts/setup`; `CMAKE_ARGS` adds options.
Gives: a wheel with libpantile.so beside the binding, for the interpreter that runs this file.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


def version():
    """The project's version, as CMake has it."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(pantile VERSION ([\d.]+)", text).group(1)


class CMakeBuild(build_ext):
    """Builds and installs the `python` component into the package's folder."""

    def build_extension(self, extension):
        target = Path(self.get_ext_fullpath(extension.name)).resolve().parent
        build = ROOT / "build-wheel"
        configure = ["cmake", "--preset", "wheel", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run(
            configure + shlex.split(os.environ.get("CMAKE_ARGS", "")), cwd=ROOT, check=True
        )
        jobs = subprocess.run(
            [ROOT / "scripts/jobs"], capture_output=True, text=True
        ).stdout.strip()
        subprocess.run(["cmake", "--build", build, "-j", jobs or "2"], check=True)
        install = ["cmake", "--install", build, "--component", "python", "--prefix", target]
        subprocess.run(install, check=True)
        subprocess.run(["strip", *target.glob("*.so*")], check=True)
        self.write_stubs(target)

    def write_stubs(self, package):
        """The table that stubs are made of is in the library just built; build_py ran before."""
        if package == ROOT / "python" / "pantile":
            return  # editable: the source tree stays as it is
        command = [sys.executable, "-m", "pantile.language.stubs", package / "language"]
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        subprocess.run(command, check=True, cwd=package.parent, env=environment)


setup(
    version=version(),
    package_dir={"": "python"},
    packages=find_packages("python", include=["pantile", "pantile.*"]),
    package_data={"pantile": ["*.pyi", "**/*.pyi", "py.typed"]},
    ext_modules=[Extension("pantile._pantile", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
