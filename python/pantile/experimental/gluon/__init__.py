"""Gluon's names: what imports them works, and `@gluon.jit` functions say at their launch what they are.

Gluon is another language than Triton's, with layouts and shared memory written out. It is not
compiled here; programs that hold a Gluon kernel next to others can be imported and run all the same.
"""

from ... import language as tl
from ...marks import must_use_result
from .modules import make_modules
from .runtime import GluonASTSource, GluonJITFunction, constexpr_function, jit

language, nvidia, amd = make_modules(__name__, tl)


__all__ = [
    "GluonASTSource",
    "GluonJITFunction",
    "amd",
    "constexpr_function",
    "jit",
    "language",
    "must_use_result",
    "nvidia",
]
