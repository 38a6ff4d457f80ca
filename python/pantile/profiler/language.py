"""Scopes inside of kernels: they compile to nothing, as Triton's do without instrumentation."""

from ..language.constexpr import constexpr
from ..runtime.jit import jit


def _check(semantic_name):
    if semantic_name not in ("triton", "gluon"):
        raise ValueError(f"the semantic is `{semantic_name}`, but must be one of `triton`, `gluon`")


def enable_semantic(semantic_name):
    """Allow scopes in kernels of a language, "triton" or "gluon"; ValueError for another one.

    They are allowed everywhere: nothing changes.
    """
    _check(semantic_name)


def disable_semantic(semantic_name):
    """Undo `enable_semantic`; ValueError for a language that is none."""
    _check(semantic_name)


@jit
def enter_scope(name: constexpr):
    """Begin a scope in a kernel."""
    pass


@jit
def exit_scope(name: constexpr):
    """End a scope in a kernel."""
    pass
