"""What programs that look into Triton's IR read: a kernel's operations under Triton's names.

`ASTSource.make_ir` makes a `module`. Its `walk(fn)` calls `fn` for each `operation`, those of a
region before the one around it. `value`, `region` and `block` have an `id()`, equal for what is the
same in one module. The IR is the tile IR before any pass, calls inlined; it cannot be changed.
"""


class context:
    """What Triton makes modules in; ours need none."""


def load_dialects(context):
    """Do nothing: all dialects are compiled in."""


_CLASSES = ("block", "module", "operation", "region", "value")

__all__ = [*_CLASSES, "context", "load_dialects"]


def __getattr__(name):
    if name not in _CLASSES:
        raise AttributeError(
            f"`triton._C.libtriton.ir.{name}` does not exist: Pantile's IR is read through "
            "`ASTSource.make_ir(...).walk`, and built by no one else"
        )
    from .. import _pantile

    return getattr(_pantile.ir, name)
