"""What the compiler says about a kernel's speed, and the passes that it can leave out."""

from typing import NamedTuple

__all__ = ["Pass", "Remark", "list_passes"]


class Remark(NamedTuple):
    """One finding; `str()` gives it with the source line and its notes.

    `kind` is "applied", "missed" or "figure"; `technique` one of "tensor cores", "tensor maps",
    "warp specialisation", "pipelining", "persistence", "registers", "shared memory",
    "global memory", "other". `line` and `column` count from 1; 0 where there is no place.
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
    """A pass by the name that the launch option `disabled_passes` takes, if it is optional.

    Where `is_default` is false it runs only if the launch option `enabled_passes` names it.
    """

    name: str
    summary: str
    is_optional: bool
    is_default: bool


def list_passes():
    """Return the compiler's passes over the tile IR, in the order in which they first run."""
    from .. import _pantile

    return [Pass(*row) for row in _pantile.list_passes()]
