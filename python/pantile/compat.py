"""Standing in for the package triton.

After `install()`, `import triton` and `from triton.x import y` anywhere in the process give the
modules of this package: the same objects, under both names. `python -m pantile.compat script.py
arguments...` (or `-m module`) runs a program that way. Both hold for child processes too.

Children find the stand-in in one of two ways. Where Pantile is installed from its wheel, a .pth file
reads `PANTILE_AS_TRITON`. Elsewhere a folder on the path (`_stand_in`) has a package triton.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import runpy
import sys

_OURS = __name__.rpartition(".")[0]
_SWITCH = "PANTILE_AS_TRITON"
_STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_stand_in")
_before = {}  # the variables that children inherit, as they were before `install`


def _our_name(name):
    return _OURS + name[len("triton") :]


class _Loader(importlib.abc.Loader):
    """Gives a module of ours; it keeps its own name and spec."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has just given the module the spec of its other name.
        module.__spec__ = self._spec

    def get_code(self, name):
        """The code that `python -m` runs."""
        return importlib.util.find_spec(self._name).loader.get_code(self._name)


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("triton")` reads."""

    def read_text(self, filename):
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: triton\nVersion: {sys.modules[_OURS].__version__}\n"

    def locate_file(self, path):
        from pathlib import Path

        return Path(sys.modules[_OURS].__file__).parent / path


class Finder(importlib.abc.MetaPathFinder):
    """Finds `triton` and all below it."""

    def find_spec(self, name, path=None, target=None):
        if name != "triton" and not name.startswith("triton."):
            return None
        ours = _our_name(name)
        try:
            known = importlib.util.find_spec(ours)
        except ModuleNotFoundError:
            known = None
        if known is None:
            return None
        is_package = known.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, _Loader(ours), is_package=is_package)

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):  # noqa: B008
        return [_Distribution()] if context.name == "triton" else []


def is_installed():
    """Return whether `import triton` gives this package."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install(children=True):
    """Have `import triton` find this package from now on.

    Parameters
    ----------
    children : bool, optional
        Also in child processes: sets `PANTILE_AS_TRITON`, and puts a folder with a package triton
        at the front of `PYTHONPATH` and next to the front of `sys.path`, which `multiprocessing`
        and torch's compile workers pass on. Pass False to leave environment and path alone.

    Raises
    ------
    RuntimeError
        If another triton was imported before: its functions may be in use.
    """
    ours = importlib.import_module(_OURS)
    found = sys.modules.get("triton")
    if found is not None and found is not ours:
        place = getattr(found, "__file__", "?")
        raise RuntimeError(
            f"another triton is imported already ({place}): call `pantile.compat.install()` before "
            "anything that imports it, such as torch's compiler"
        )
    if not is_installed():
        sys.meta_path.insert(0, Finder())
    # Generated programs, such as torch's, import `triton` and write annotations by this name.
    importlib.import_module("triton.language.core").constexpr.__module__ = "triton.language.core"
    if children:
        _tell_children()


def _tell_children():
    if _before:
        return
    _before.update({name: os.environ.get(name) for name in (_SWITCH, "PYTHONPATH")})
    os.environ[_SWITCH] = "1"
    rest = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join((_STAND_IN, rest) if rest else (_STAND_IN,))
    # The first entry belongs to the program: its own folder.
    sys.path.insert(1, _STAND_IN)


def _untell_children():
    for name, value in _before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    if _before:
        sys.path[:] = [entry for entry in sys.path if entry != _STAND_IN]
    _before.clear()


def uninstall():
    """Undo `install`: modules that were imported keep what they have."""
    _untell_children()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    constexpr = importlib.import_module(f"{_OURS}.language.constexpr").constexpr
    constexpr.__module__ = f"{_OURS}.language.constexpr"
    for name in [n for n in sys.modules if n == "triton" or n.startswith("triton.")]:
        if sys.modules[name] is sys.modules.get(_our_name(name)):
            del sys.modules[name]


def main():
    """Run a script, or with -m a module, as `python` would."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or sys.argv[1:] == ["-m"]:
        print("usage: python -m pantile.compat [-m module | script.py] arguments...")
        return 0 if len(sys.argv) > 1 and sys.argv[1] != "-m" else 2
    install()
    if sys.argv[1] == "-m":
        del sys.argv[:2]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return 0
    del sys.argv[0]
    from pathlib import Path

    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    # The module under its own name: `__main__` would be a second one with a second finder class.
    sys.exit(importlib.import_module(f"{__package__}.compat").main())
