"""Ranges of counters: steps of either sign, known or not, in 32 and 64 bits, also near the ends of a type.

Needs: draft.
Gives: Count; `draw_count`; `count_loop`, which opens the loop, and `number_of`, which iteration it is.
How:   counters start near 0, near an end of int32, or in 64 bits beyond it; a step that counts down is
       written out or a constexpr, as the language has it, and one that counts up may be an argument or
       come from memory. A `while` adds its step, whatever its sign, where the sum fits.
"""

import contextlib
from dataclasses import dataclass

LIMITS = {"i32": (-(2**31), 2**31 - 1), "i64": (-(2**63) + 4096, 2**63 - 1)}
STEPS = (1, 1, 2, 3, 5, 7, 16, 64, 1000, 1 << 20, 1 << 29, 1 << 30, 1 << 31)


@dataclass
class Count:
    """Counters `start`, `start + step`, ... before `stop`, in integers of type `dtype`."""

    start: int
    stop: int
    step: int
    dtype: str

    @property
    def trips(self):
        return len(range(self.start, self.stop, self.step))

    @property
    def can_pass(self):
        """Whether the step and the counter that ends the loop are of the type."""
        low, high = LIMITS[self.dtype]
        return abs(self.step) <= high and low <= self.start + self.trips * self.step <= high


def draw_count(draft, most=6):
    """A range of at most so many counters."""
    dtype = draft.pick("i32", "i32", "i64")
    size, trips = draft.pick(*STEPS), draft.rng.randint(0, most)
    if dtype == "i64" and draft.chance(0.2):
        size = draft.pick(1 << 31, (1 << 32) + 3, 1 << 40)
    low, high = LIMITS[dtype]
    trips = max(1, min(trips, (high - low) // size - 1)) if trips else 0
    length = max(0, trips - 1) * size  # from the first counter to the last one
    least = _least(draft, dtype, length)
    slack = draft.rng.randint(1, min(size, high - least - length))
    if draft.chance(0.5):
        start, stop = least, least + length + slack
        return Count(start, stop if trips else start - slack % 3, size, dtype)
    slack = draft.rng.randint(1, min(size, least - low))
    start, stop = least + length, least - slack
    return Count(start, stop if trips else start + slack % 3, -size, dtype)


def _least(draft, dtype, length):
    """The least counter; there is room for one more on both sides of what `length` spans."""
    low, high = LIMITS[dtype]
    near = draft.rng.randint(0, 9)
    ways = [near, -length // 2 - near, low + 4 + near, high - length - 4 - near]
    ways += [low + 4, high - length - 4]
    if dtype == "i64":
        border = draft.pick(2**31, -(2**31), 2**32, 2**40)
        ways += [border - length // 2 - near, border - near] * 2
    return min(max(draft.pick(*ways), low + 4), high - length - 4)


def _typed(draft, value, dtype):
    """A number of this type as text."""
    fits = LIMITS["i32"][0] <= value <= LIMITS["i32"][1]
    if dtype == "i64" and fits:
        return f"tl.full([], {draft.number(value)}, tl.int64)"
    if draft.chance(0.2):
        source = draft.array("bounds", dtype, 3, value, value)
        return draft.let("bound", f"tl.load({source} + {draft.rng.randint(0, 2)})")
    return f"({value})" if draft.chance(0.3) else draft.number(value)


def _step(draft, count):
    if count.step < 0:
        return draft.pick(str(count.step), draft.constant(count.step))
    way = draft.rng.random()
    if way < 0.2:
        source = draft.array("steps", "i32" if count.step < 2**31 else "i64", 2, count.step, count.step)  # fmt: skip
        return draft.let("step", f"tl.load({source})")
    return draft.scalar(count.step) if way < 0.6 else draft.number(count.step)


@contextlib.contextmanager
def count_loop(draft, count):
    """Open a loop; gives the counter as text."""
    start, stop = _typed(draft, count.start, count.dtype), _typed(draft, count.stop, count.dtype)
    draft.counts_up = False  # pointers do not follow positions
    if draft.chance(0.15) and count.can_pass:
        with _while_loop(draft, count, start, stop) as counter:
            yield counter
        return
    name, hints = draft.fresh("i"), ""
    if draft.chance(0.5):
        hints = draft.pick("", f", num_stages={draft.rng.randint(1, 4)}")
        hints += draft.pick("", "", f", loop_unroll_factor={draft.rng.randint(2, 4)}")
    header = "tl.range" if hints or draft.chance(0.2) else "range"
    with draft.block(f"for {name} in {header}({start}, {stop}, {_step(draft, count)}{hints}):"):
        yield name


@contextlib.contextmanager
def _while_loop(draft, count, start, stop):
    counter = draft.let("at", f"{start} + tl.full([], 0, {_name(count.dtype)})")
    step = draft.scalar(count.step) if draft.chance(0.5) else f"({count.step})"
    with draft.block(f"while {counter} {'<' if count.step > 0 else '>'} {stop}:"):
        yield counter
        draft.line(f"{counter} += {step}")


def _name(dtype):
    return {"i32": "tl.int32", "i64": "tl.int64"}[dtype]


def number_of(draft, count, counter):
    """The number of the iteration, from 0, in 64 bits."""
    wide = f"{counter}.to(tl.int64)"
    if count.step > 0:
        return draft.let("n", f"({wide} - ({count.start})) // {count.step}")
    return draft.let("n", f"(({count.start}) - {wide}) // {-count.step}")
