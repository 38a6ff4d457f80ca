"""Reads `PANTILE_AS_TRITON`: a file of the wheel, imported by its .pth when Python starts.

Pantile itself is imported when triton is: most processes that inherit the variable import neither.
"""

import importlib.abc
import sys


class _Switch(importlib.abc.MetaPathFinder):
    """Gives way to `pantile.compat`'s finder when somebody looks for triton."""

    def _give_way(self):
        from pantile import compat

        if self in sys.meta_path:
            sys.meta_path.remove(self)
        compat.install(children=False)
        return next(finder for finder in sys.meta_path if isinstance(finder, compat.Finder))

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "triton":
            return None
        return self._give_way().find_spec(name, path, target)

    def find_distributions(self, context):
        return self._give_way().find_distributions(context) if context.name == "triton" else []


def install():
    """Have `import triton` give pantile in this process, from the first one on."""
    sys.meta_path.insert(0, _Switch())
