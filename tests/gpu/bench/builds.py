"""Several builds of Pantile in one process, so that runs of an old and a new library can be interleaved.

Needs: for each build the folder that PYTHONPATH would name, such as `build/python`, with the
       extension module `_pantile` in its package. That module finds the library.
Gives: `Build(name, folder)`. Within `with build.active():`, `import pantile` means that build.
       Whatever belongs to a build, its kernels above all, is used only there.
How:   each build's package is copied to a folder of its own, since Python loads a file once.
       In the copies the library has another soname: the dynamic loader loads one library of a name.
       pybind11 gets other keys for its tables of types and of modules, which a process shares.
       The entries of `sys.modules` change with the build.
"""

import atexit
import contextlib
import itertools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_PACKAGE = "pantile"
_LIBRARY = "libpantile.so"
_numbers = itertools.count()


class Build:
    """One build, loaded at once."""

    def __init__(self, name, folder):
        self.name, self.folder = name, Path(folder).resolve()
        package = self.folder / _PACKAGE
        if not list(package.glob("_pantile*.so")):
            raise FileNotFoundError(f"no extension module `_pantile` in `{package}`")
        self._place = Path(tempfile.mkdtemp(prefix=f"pantile-{name}-"))
        atexit.register(shutil.rmtree, self._place, ignore_errors=True)
        _copy_package(package, self._place / _PACKAGE, next(_numbers))
        self._modules = {}
        with self.active() as loaded:
            self.version = loaded.runtime.info().splitlines()[0]
            self._check_that_it_is_itself()

    @contextlib.contextmanager
    def active(self):
        """`pantile` is this build within."""
        outside = _taken_modules()
        sys.modules.update(self._modules)
        sys.path.insert(0, str(self._place))
        try:
            yield __import__(_PACKAGE)
        finally:
            sys.path.remove(str(self._place))
            self._modules = _taken_modules()
            sys.modules.update(outside)

    def _check_that_it_is_itself(self):
        """Raise where the process took another build's module or library for this one's."""
        module = Path(sys.modules[f"{_PACKAGE}._pantile"].__file__)
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        loaded = {path.name for path in self._place.rglob("*.so") if str(path) in maps}
        if module.parent != self._place / _PACKAGE or len(loaded) != 2:
            raise ImportError(f"`{self.folder}` got `{module}`, and of its own files {loaded}")


def _taken_modules():
    """The package's entries of `sys.modules`, taken out of it."""
    names = [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]
    return {name: sys.modules.pop(name) for name in names}


def _copy_package(package, target, number):
    """Copy a package and its library; `number` makes what both register in the process unique."""
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    module = next(package.glob("_pantile*.so"))
    library = f"libpan{number:04}.so"
    for source, name in ((module, module.name), (_library_of(module), library)):
        data = source.read_bytes()
        for before, after in (
            (f"\0{_LIBRARY}\0", f"\0{library}\0"),
            ("__pybind11_internals_v", f"__pybind11_inter{number:04}_v"),
            ("__pybind11_module_cache", f"__pybind11_module_c{number:04}"),
        ):
            assert len(before) == len(after)
            data = data.replace(before.encode(), after.encode())
        (target / name).write_bytes(data)


def _library_of(module):
    """The library that the dynamic loader finds for an extension module."""
    text = subprocess.run(["ldd", module], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if name == _LIBRARY and rest.startswith("/"):
            return Path(rest.rpartition(" (")[0])
    raise FileNotFoundError(f"`{module}` finds no `{_LIBRARY}`")
