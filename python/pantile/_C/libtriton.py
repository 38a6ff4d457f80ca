"""What libraries probe of Triton's extension module; its compiler is not in here."""

import os
from types import SimpleNamespace

from ..knobs import flag
from . import cublas, ir

__all__ = ["getenv", "getenv_bool", "ir", "nvidia"]

nvidia = SimpleNamespace(cublas=cublas)


def getenv(name, default=None):
    return os.environ.get(name, default)


def getenv_bool(name, default=False):
    """Return whether an environment variable is set to a true value."""
    return flag(name, default=default)


def get_cache_invalidating_env_vars():
    """Return the environment variables that kernels depend on and that are set."""
    from ..compiler.keys import get_cache_invalidating_env_vars as found

    return found()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"`triton._C.libtriton.{name}` does not exist: Pantile's compiler is another one; "
        "see `pantile.compiler` and the program pantilec"
    )
