"""A batch of launches as one launch: the axes of `vmap` become an axis of the grid.

The kernel of the batch calls the user's with each array moved to an element of the batch. It needs
an axis of the grid on which the kernel is one program and which it does not read.
"""

import math
import re

from .parameters import Constant

_MOST_ALONG = (2**31 - 1, 65535, 65535)  # programs along each axis of a grid
# Programs that wait for others, which a larger grid may keep from running, and what cannot be seen into.
_WAITING = re.compile(r"tile\.atomic_rmw poll|scf\.while(?s:.)*(tile\.atomic|isVolatile)")
_OPAQUE = re.compile(r'tile\.inline_asm|tile\.extern_call "(?!__nv_)')  # not those of libdevice
_NAMES = ("_pantile_kernel", "_pantile_language", "_pantile_element", "_pantile_batch")


def fold(launch, operands, prepared):
    """Return (the library's kernel of all launches of a batch, its grid); None if there is none.

    Parameters
    ----------
    launch : Launch
        One launch, with its batch.
    operands : sequence
        Shapes and dtypes of the operands, with the batch.
    prepared : Prepared
        The kernel of one launch.
    """
    count = math.prod(launch.sizes)
    if count == 0 or prepared.options.get("launch_cooperative_grid"):
        return None
    axis = _free_axis(launch.grid, count, prepared.tile_ir())
    if axis is None:
        return None
    grid = list(launch.grid)
    grid[axis] = count
    return prepared.compile(_program(launch, operands, prepared, axis)), tuple(grid)


def _free_axis(grid, count, text):
    """The last axis of the grid that can take `count` programs; None if there is none."""
    if _WAITING.search(text) or _OPAQUE.search(text):
        return None
    for axis in (2, 1, 0):
        is_used = re.search(rf"tile\.(program_id|num_programs) {axis}\b", text)
        if grid[axis] == 1 and count <= _MOST_ALONG[axis] and not is_used:
            return axis
    return None


def _program(launch, operands, prepared, axis):
    """The compiler's Program of the batch: its kernel calls the user's."""
    from .. import _pantile

    kernel, language, element, caller = _NAMES
    values = dict(launch.values)
    arguments = ", ".join(
        name + _offset(launch, operands, values.get(name), element)
        for name in prepared.fn.arg_names
    )
    text = (
        f"def {caller}({', '.join(prepared.fn.arg_names)}):\n"
        f"    {element} = {language}.program_id({axis}).to({language}.int64)\n"
        f"    {kernel}({arguments})\n"
    )
    calling = {kernel: _pantile.FunctionRef(0), language: _pantile.BuiltinRef("tl.")}
    name = prepared.kernel_name() or prepared.fn.__name__
    return prepared.snapshot.calling_program(name, text, calling)


def _offset(launch, operands, source, element):
    """What is added to an array's pointer, as text."""
    if source is None or isinstance(source, Constant):
        return ""
    terms, inner = [], 1
    steps = launch.steps(source, operands)
    for place in reversed(range(len(steps))):
        index = element if inner == 1 else f"{element} // {inner}"
        if place > 0:
            index += f" % {launch.sizes[place]}"
        if steps[place]:
            terms.append(f" + {index} * {steps[place]}")
        inner *= launch.sizes[place]
    return "".join(terms)
