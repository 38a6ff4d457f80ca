"""What the compiler says about a kernel's speed, and the passes that it can leave out."""

from typing import NamedTuple

__all__ = ["Pass", "Remark", "list_passes"]


class Remark(NamedTuple):
    """One finding; `str()` gives it with the source line and its notes.

    Attributes
    ----------
    kind : {"applied", "missed", "figure"}
        What was done for speed, what was not, or a number.
    technique : str
        "tensor cores", "tensor maps", "warp specialisation", "pipelining", "persistence",
        "registers", "shared memory", "global memory" or "other".
    message : str
        One line.
    rendered : str
        The message with its place, the source line and notes.
    file : str
        Path of the kernel's file; "" where there is no place.
    line, column : int
        From 1; 0 where there is no place.
    """

    kind: str
    technique: str
    message: str
    rendered: str
    file: str
    line: int
    column: int

    def __str__(self):
        return self.rendered


class Pass(NamedTuple):
    """A pass of the compiler.

    Attributes
    ----------
    name : str
        As the launch options `disabled_passes` and `enabled_passes` take it.
    summary : str
        One line.
    is_optional : bool
        Whether `disabled_passes` may name it.
    is_default : bool
        Whether it runs without being named; else `enabled_passes` switches it on.
    """

    name: str
    summary: str
    is_optional: bool
    is_default: bool


def list_passes():
    """Return the compiler's passes over the tile IR, in the order in which they first run."""
    from .. import _pantile

    return [Pass(*row) for row in _pantile.list_passes()]
