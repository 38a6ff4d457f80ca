"""The wheel: CMake builds the library and the binding, setuptools packs them with python/pantile.

Needs: the Debian packages of `scripts/setup`; `CMAKE_ARGS` adds options. `PANTILE_BUILD` names a
       finished build folder, whose products are then packed as they are.
Gives: a wheel with libpantile.so and pantilec, for the interpreter that runs this file and for any
       Linux with the C library that its symbols ask for, glibc 2.35 at least.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
OLDEST_GLIBC = 35  # of glibc 2


def version():
    """The project's version, as CMake has it."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(pantile VERSION ([\d.]+)", text).group(1)


def newest_glibc(files):
    """The minor number of the newest symbol version of glibc 2 that `files` need."""
    command = ["objdump", "-T", *files]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return max(int(minor) for minor in re.findall(r"\(GLIBC_2\.(\d+)", text))


class Build(build):
    """Keeps away from `build`, CMake's folder."""

    def initialize_options(self):
        super().initialize_options()
        self.build_base = os.environ.get("PANTILE_PACKING", "build-wheel/packing")


class PythonBuild(build_py):
    """Puts the file that Python reads when it starts next to the packages."""

    def run(self):
        super().run()
        if not self.editable_mode:
            name = "pantile_as_triton.pth"
            self.copy_file(str(ROOT / "python" / name), os.path.join(self.build_lib, name))


class CMakeBuild(build_ext):
    """Builds and installs the `python` component into the package's folder."""

    def build_extension(self, extension):
        target = Path(self.get_ext_fullpath(extension.name)).resolve().parent
        folder = Path(os.environ.get("PANTILE_BUILD") or self.build_products()).resolve()
        install = ["cmake", "--install", folder, "--component", "python", "--prefix", target]
        subprocess.run(install, check=True)
        subprocess.run(["strip", *target.glob("*.so*"), target / "bin/pantilec"], check=True)
        self.write_stubs(target)

    def build_products(self):
        """The folder in which CMake has built everything."""
        folder = ROOT / "build-wheel"
        configure = ["cmake", "--preset", "wheel", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run(
            configure + shlex.split(os.environ.get("CMAKE_ARGS", "")), cwd=ROOT, check=True
        )
        jobs = subprocess.run(
            [ROOT / "scripts/jobs"], capture_output=True, text=True
        ).stdout.strip()
        subprocess.run(["cmake", "--build", folder, "-j", jobs or "2"], check=True)
        return folder

    def write_stubs(self, package):
        """The table that stubs are made of is in the library just built; build_py ran before."""
        if package == ROOT / "python" / "pantile":
            return  # editable: the source tree stays as it is
        command = [sys.executable, "-m", "pantile.language.stubs", package / "language"]
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        subprocess.run(command, check=True, cwd=package.parent, env=environment)


class Wheel(bdist_wheel):
    """Says which systems the wheel is for."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        package = Path(self.bdist_dir or "") / "pantile"
        files = [*package.glob("*.so*"), *package.glob("bin/pantilec")]
        if platform.startswith("linux_") and files:
            minor = max(OLDEST_GLIBC, newest_glibc(files))
            platform = platform.replace("linux_", f"manylinux_2_{minor}_", 1)
        return python, abi, platform


setup(
    version=version(),
    package_dir={"": "python"},
    packages=find_packages("python", include=["pantile", "pantile.*"]),
    py_modules=["pantile_as_triton"],
    package_data={"pantile": ["*.pyi", "**/*.pyi", "py.typed"]},
    ext_modules=[Extension("pantile._pantile", sources=[])],
    cmdclass={
        "build": Build,
        "build_py": PythonBuild,
        "build_ext": CMakeBuild,
        "bdist_wheel": Wheel,
    },
)
