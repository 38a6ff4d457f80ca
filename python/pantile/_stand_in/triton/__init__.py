"""Stands for the package triton: importing it gives pantile.

Found before another triton where its folder comes first on the path; `pantile.compat` puts it there
for child processes. The wheel pantile-triton installs this file as the package triton.
"""

import sys


def _import_compat():
    """Return `pantile.compat`, found by the path or next to this file."""
    import importlib

    try:
        return importlib.import_module("pantile.compat")
    except ModuleNotFoundError as error:
        if error.name != "pantile":
            raise
    import os

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(folder))))
    return importlib.import_module("pantile.compat")


if __name__ == "triton":
    # The import system takes what stands in `sys.modules` when this file has run.
    del sys.modules[__name__]
    _import_compat().install(children=False)
