"""Loops over blocks of positions, written in the ways that kernels write them.

Needs: draft.
Gives: Sweep, positions [lo, hi) in blocks of `step`; `sweep_loop`, which opens the loop.
How:   a loop counts elements or blocks, up or down, from 0 or from elsewhere, with `range`, `tl.range`
       or `while`, or scalars end it by `break`; its bounds are literals, arguments, constexprs or
       numbers from memory. A loop may run zero times.
"""

import contextlib
import random
from dataclasses import dataclass


@dataclass
class Sweep:
    """Positions [lo, hi); only the last block may be cut off."""

    lo: int
    hi: int
    step: int

    @property
    def trips(self):
        return max(0, -(-(self.hi - self.lo) // self.step))

    @property
    def is_whole(self):
        return (self.hi - self.lo) % self.step == 0


def bound(draft, value):
    """A bound of a loop as text."""
    if value == 0 and not draft.odd(0.7):
        return "0"
    if draft.odd(0.2):
        source = draft.array("lengths", "i32", 4, value, value)
        return draft.let("bound", f"tl.load({source} + {draft.rng.randint(0, 3)})")
    return draft.number(value)


@contextlib.contextmanager
def sweep_loop(draft, sweep, keywords=""):
    """Open a loop; gives the first position of the block as text."""
    ways = ["elements", "elements", "elements", "blocks"]
    if sweep.is_whole:
        ways += ["down", "blocks down"]
    if sweep.lo % sweep.step:
        ways = [way for way in ways if "blocks" not in way]
    way = draft.pick(*ways) if draft.odd(0.8) else draft.pick("elements", "blocks")
    way = "elements" if way not in ways else way
    way = "while" if draft.odd(0.15) else way
    draft.counts_up = "down" not in way
    if exit_way := drawn_exit(draft, sweep):
        draft.counts_up = True
        with _left_loop(draft, sweep, exit_way) as first:
            yield first
        return
    if way == "while":
        with _while_loop(draft, sweep) as first:
            yield first
        return
    name = draft.fresh("i")
    header = "tl.range" if keywords or draft.chance(0.25) else "range"
    bounds, first = _bounds(draft, sweep, way, name)
    if header == "tl.range" and draft.chance(0.5):
        keywords += f", num_stages={draft.rng.randint(1, 4)}"
    with draft.block(f"for {name} in {header}({bounds}{keywords}):"):
        yield first


def _bounds(draft, sweep, way, name):
    """The arguments of `range`, and the first position."""
    step = draft.number(sweep.step) if draft.chance(0.3) else str(sweep.step)
    end = sweep.lo + sweep.trips * sweep.step
    if way == "elements":
        stop = bound(draft, sweep.hi)
        return f"{bound(draft, sweep.lo)}, {stop}, {step}", name
    if way == "down":
        start, stop = bound(draft, end - sweep.step), bound(draft, sweep.lo)
        return f"{start}, {stop} - 1, -{sweep.step}", name
    low, high = sweep.lo // sweep.step, end // sweep.step
    if way == "blocks down":
        return f"{bound(draft, high)} - 1, {bound(draft, low)} - 1, -1", f"{name} * {step}"
    if draft.chance(0.3):
        return f"tl.cdiv({bound(draft, sweep.hi - sweep.lo)}, {step})", (
            f"({draft.number(sweep.lo)} + {name} * {step})" if sweep.lo else f"{name} * {step}"
        )
    return f"{bound(draft, low)}, {bound(draft, high)}", f"{name} * {step}"


def drawn_exit(draft, sweep):
    """How one loop of eight ends before its range does, by dice of its own."""
    dice = random.Random(f"exit of {draft.case.seed} {draft.counter}")
    if dice.random() >= 1 / 8:
        return None
    ways = ["first", "first", "and", "forever", "else"]
    return dice.choice(ways + ["last", "last"] if sweep.trips else ways)


@contextlib.contextmanager
def _left_loop(draft, sweep, way):
    """A loop that scalars end: before its body, or after it."""
    step, stop = sweep.step, bound(draft, sweep.hi)
    start, end = bound(draft, sweep.lo), draft.number(sweep.hi + draft.pick(0, 1, step, 5 * step))
    if way in ("and", "forever"):
        counter = draft.let("at", f"{start} + 0")
        both = f"({counter} < {stop}) & ({counter} < {end})"
        with draft.block("while True:" if way == "forever" else f"while {both}:"):
            if way == "forever":
                _break_if(draft, f"{counter} >= {stop}")
            yield counter
            draft.line(f"{counter} += {step}")
        return
    counter = draft.fresh("i")
    with draft.block(f"for {counter} in range({start}, {end}, {step}):"):
        if way != "last":
            _break_if(draft, f"{counter} >= {stop}")
        yield counter
        if way == "last":
            _break_if(draft, f"{counter} + {step} >= {stop}")
    if way == "else":
        with draft.block("else:"):
            draft.line(f"{draft.fresh('ended')} = 1")


def _break_if(draft, condition):
    with draft.block(f"if {condition}:"):
        draft.line("break")


@contextlib.contextmanager
def _while_loop(draft, sweep):
    stop = bound(draft, sweep.hi)
    counter = draft.fresh("at")
    draft.line(f"{counter} = {bound(draft, sweep.lo)} + 0")
    with draft.block(f"while {counter} < {stop}:"):
        yield counter
        draft.line(f"{counter} += {sweep.step}")


def draw_sweep(draft, step, most=6, lo=None):
    """Some positions: from 0 or elsewhere, a whole number of blocks or not, perhaps none."""
    start = lo if lo is not None else draft.odd(1.0) * draft.pick(0, step, 2 * step, step // 2)
    trips = draft.pick(0, 1, 2, 3, 3, 4, 5, 6)
    trips = min(trips, most)
    end = start + trips * step
    if trips and step > 1 and draft.chance(0.35):
        end -= draft.rng.randint(1, step - 1)
    return Sweep(start, end, step)
