"""Indices with runs of equal elements, in the ways that kernels write them, and masks over them.

Needs: draft, numpy_language (to find the least and the largest index).
Gives: Run, draw_run, mask_of_run, tile_of_runs, tile_numbers.
How:   an index is a text over `at`, the positions of a row or column. It is evaluated over all positions
       of the grid, and shifted so that the least one is 0. Dividends may be negative, which in C are
       rounded to zero. A remainder of such a one is not an address as it is: the language supposes that
       none is.
"""

from dataclasses import dataclass

import numpy as np

from .numpy_language import Language, tile
from .numpy_memory import Memory

GROUPS = (2, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 128, 256, 3, 12, 48, 96, 100)
FAR = 2**31


@dataclass
class Run:
    """An index: its text, positions that it is made of, their extent, and the divisor."""

    text: str
    at: str
    count: int  # positions of the grid
    extent: int  # the index is from 0 on below that
    group: int


def draw_run(draft, axis, tiles, block):
    """An index along `axis` ("m" or "n") of so many tiles."""
    shift = draft.pick(0, 0, 0, 0, 3, 8, 16, 64)
    at = f"r{axis}"
    if shift:
        first = f"pid_{axis} * {block} + {draft.number(shift)}"
        at = draft.let("at", f"{first} + tl.arange(0, {block})")
    elif draft.chance(0.15):
        at = draft.let("at", f"{at}.to(tl.int64)")
    group = draft.pick(*GROUPS)
    name = _index(draft, at, group, tiles * block)
    found = _evaluated(draft, name, at, np.arange(tiles * block) + shift)
    least, most = int(found.min()), int(found.max())
    text = name if least == 0 else f"{name} + {-least}" if least < 0 else f"{name} - {least}"
    return Run(text, at, tiles * block + shift, most - least + 1, group)


def _evaluated(draft, text, at, positions):
    """The text over all positions, without rounding or wrapping."""
    language = Language(Memory({}), (1,))
    names = {at: tile(positions, np.int64), "tl": language}
    numbers = {name: tile(value, np.int64) for name, value in draft.case.scalars.items()}
    return np.asarray(eval(text, {}, {**names, **numbers, **draft.case.constants}))


def _index(draft, at, group, count):
    """The text of an index."""
    number, other = draft.number, draft.pick(2, 4, 8, 16, 3)

    def g():
        return number(group)

    way = draft.pick(*WAYS)
    rest = draft.pick(16, 64, 128, count // 2, count, 96, 304)
    whole = draft.pick(group, 2 * group, 128, 1, 5, 64)
    far, wide = FAR - 2 * count - whole - 64, f"{at}.to(tl.int64)"
    texts = {
        "plain": lambda: f"{at} // {g()}",
        "shift": lambda: f"({at} >> {draft.pick(2, 3, 5, 7)})",
        "mask": lambda: f"({at} & {draft.pick(31, 63, 127)}) // {g()}",
        "remainder": lambda: f"({at} % {number(rest)}) // {g()}",
        "remainder of sum": lambda: f"(({at} + {number(whole)}) % {number(rest)}) // {g()}",
        # By 1 it would be contiguous, of which no negative dividend is supposed.
        "remainder of difference": lambda: (
            f"(({at} - {number(whole)}) % {number(rest)}) // {number(max(group, 2))}"
        ),
        "chosen": lambda: (
            f"tl.where(({at} - {number(whole)}) % {number(rest)} // {g()} == 0, 5, 7)"
        ),
        "twice": lambda: f"({at} // {number(other)}) // {g()}",
        "product": lambda: f"({at} * {number(other)}) // {g()}",
        "sum": lambda: f"({at} + {number(whole)}) // {g()}",
        "difference": lambda: f"({at} - {number(whole)}) // {g()}",
        "back": lambda: f"({number(count)} - {at}) // {g()}",
        "start": lambda: f"({at} // {g()}) * {other}",
        "start of run": lambda: f"({at} - {at} % {g()})",
        "two": lambda: f"({at} // {g()} + {at} // {draft.pick(4, 16, 64)})",
        "both": lambda: f"({at} // {g()} + {at} % 2)",
        "least": lambda: f"tl.minimum({at} // {g()}, {draft.pick(0, 1, 2, 3)})",
        "choice": lambda: f"tl.where({at} < {draft.pick(8, 40)}, {at} // {g()}, {at} // {other})",
        "far": lambda: f"(({at} + {number(far)}) // {g()} - {far // group})",
        "farther": lambda: (
            f"(({wide} + {FAR - draft.pick(0, 32, group)}) // {g()} - {FAR // group})"
        ),
        "far product": lambda: f"({wide} * {2**24} // {group * 2**24})",
        "same": lambda: f"{at} * 0",
    }
    return texts[way]()


WAYS = ["plain"] * 4 + ["remainder"] * 4 + ["twice", "sum", "remainder of sum", "difference"] * 2
WAYS += ["product", "back", "start", "start of run", "two", "both", "least", "choice"]
WAYS += ["far", "farther", "far product", "shift", "shift", "mask", "same"]
WAYS += ["remainder of difference", "chosen"] * 2


def mask_of_run(draft, run):
    """The mask of a load as text, and whether what it masks off has a value."""
    if draft.chance(0.6):
        return "", True
    bound = draft.number(draft.rng.randint(0, run.count))
    low = draft.number(draft.pick(run.group, 64, 5))
    rest = draft.pick(16, 64, 100)
    masks = [f"{run.at} < {bound}"] * 2 + [f"{run.at} >= {bound}", f"{run.at} != {bound}"]
    masks += [f"{run.at} // {draft.pick(8, 16, 64, run.group)} < {draft.pick(1, 2, 3)}"]
    masks += [f"({run.at} - {low}) % {rest} // {draft.pick(4, 16)} > -1"]
    masks += [f"({run.at} - {low}) // {draft.pick(4, 16)} > -1", f"{run.at} % 3 != 1"]
    masks += [f"step * 16 + {run.at} < {bound}", f"({run.at} & 16) == 0", "step != 1"]
    masks += [f"({run.at} < {bound}) & ({run.at} >= {low})"]
    mask = draft.pick(*masks)
    other = draft.pick(*[", other=0"] * 4, ", other=1", "")
    return f", mask={mask}{other}", bool(other)


def tile_of_runs(draft, rows, columns):
    """A loaded tile in fp32 with an index for each axis; one of them may count up instead."""
    pitch = columns.extent
    index = columns.text
    if draft.chance(0.5):  # contiguous, so that a buffer may hold it
        index, pitch = columns.at, -(-columns.count // 16) * 16
    pitch += draft.pick(0, 0, 16)
    dtype = draft.pick("fp32", "fp32", "fp16")
    array = draft.array("scales", dtype, rows.extent * pitch, 0, 2, 0.5)
    at = f"({rows.text})[:, None] * {draft.number(pitch)} + ({index})[None, :]"
    return draft.let("t", f"tl.load({array} + {at}).to(tl.float32)")


def tile_numbers(draft, tiles):
    """The numbers of a tile: of a plane of programs, of a line, or of a loop over tiles."""
    down, across = tiles
    way = draft.pick("plane", "plane", "line", "groups", *["walk"] * draft.odd(1.0))
    draft.case.grid = (down * across,)
    if way == "plane":
        draft.case.grid = tiles
        return draft.line("pid_m, pid_n = tl.program_id(0), tl.program_id(1)")
    if way == "walk":
        draft.case.grid = (draft.rng.randint(1, down * across),)
        stop = draft.number(down * across)
        draft.line(f"for tile in tl.range(tl.program_id(0), {stop}, tl.num_programs(0)):")
        draft.depth += 1
    else:
        draft.line("tile = tl.program_id(0)")
    columns = draft.number(across)
    if way != "groups":
        draft.line(f"pid_m, pid_n = tile // {columns}, tile % {columns}")
        return None
    group = draft.pick(1, 2, 8)
    draft.line(f"first = tile // ({group} * {columns}) * {group}")
    draft.line(f"height = min({down} - first, {group})")
    draft.line(f"pid_m = first + tile % ({group} * {columns}) % height")
    draft.line(f"pid_n = tile % ({group} * {columns}) // height")
    return None
