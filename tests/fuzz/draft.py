"""A kernel that is being written: its lines, arguments and launch, and the dice.

Needs: case.
Gives: Draft, with which the kind_* modules write kernels; `finish()` gives the Case.
How:   numbers are passed in any of the ways that kernels pass them: a literal, an argument, a
       constexpr. Values of arrays are small whole numbers times a power of two, so that dots in
       fp16 with fp32 accumulators are exact.
"""

import contextlib
import random
from dataclasses import dataclass

from .case import Case
from .warps import warps_or_any

HALVES = ("fp16", "fp16", "bf16")
NAMES = {"fp16": "tl.float16", "bf16": "tl.bfloat16", "fp32": "tl.float32", "i32": "tl.int32"}
NAMES |= {"i8": "tl.int8", "i64": "tl.int64", "fp8e4nv": "tl.float8e4nv", "fp8e5": "tl.float8e5"}


@dataclass
class Place:
    """Before which line, and how deep."""

    index: int
    depth: int


class Draft:
    """Lines of a kernel that is being drawn."""

    def __init__(self, kind, seed):
        self.rng = random.Random(f"{kind}.{seed}")
        self.case = Case(kind, str(seed))
        self.lines, self.depth, self.helpers, self.counter = [], 1, [], 0
        self.counts_up = True  # the loop that was opened last
        self.tidy = self.chance(
            0.7
        )  # pitches that TMA takes, warp groups, a stage to prefetch into

    # Dice.
    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, *choices):
        return self.rng.choice(choices)

    def pick_warps(self, *choices):
        return warps_or_any(self.pick(*choices), self.case.seed)

    def odd(self, probability):
        """Whether to write something that keeps passes away; a tidy kernel has little of it."""
        return self.chance(probability * (0.3 if self.tidy else 1.0))

    # Text.
    def fresh(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def let(self, prefix, expression):
        """A new variable."""
        name = self.fresh(prefix)
        self.line(f"{name} = {expression}")
        return name

    @contextlib.contextmanager
    def block(self, header):
        """Lines within stand below the header."""
        self.line(header)
        self.depth += 1
        yield
        self.depth -= 1

    def place(self):
        """Here, for lines that are found out to be needed later."""
        return Place(len(self.lines), self.depth)

    @contextlib.contextmanager
    def at(self, place):
        """Lines within stand there, after those that were put there before."""
        later, depth = self.lines[place.index :], self.depth
        del self.lines[place.index :]
        self.depth = place.depth
        yield
        place.index, self.depth = len(self.lines), depth
        self.lines += later

    # Arguments.
    def array(self, prefix, dtype, size, low=-1, high=1, step=1):
        """A new array of small numbers, and a parameter for it."""
        name = self.fresh(prefix)
        seed = self.rng.getrandbits(30)
        self.case.arrays[name] = (dtype, max(1, int(size)), seed, low, high, step)
        self.case.views[name] = (name, 0)
        return name

    def output(self, dtype, size, prefix="out"):
        return self.array(prefix, dtype, size, 5, 7)

    def view(self, array, first=0, prefix="view"):
        """Another argument for an array."""
        name = self.fresh(prefix)
        self.case.views[name] = (array, first)
        return name

    def scalar(self, value, prefix="n"):
        name = self.fresh(prefix)
        self.case.scalars[name] = value
        return name

    def constant(self, value, prefix="C"):
        name = self.fresh(prefix)
        self.case.constants[name] = value
        return name

    def padded(self, extent):
        """A pitch for rows of so many elements."""
        if self.tidy:
            return -(-extent // 16) * 16 + self.pick(0, 0, 16)
        return extent + self.pick(0, 0, 3, 8)

    def number(self, value):
        """A whole number as text: written out, an argument, or a constexpr."""
        way = self.rng.random()
        if way < 0.35:
            return str(value)
        return self.scalar(value) if way < 0.75 else self.constant(value)

    def finish(self):
        """The case."""
        case = self.case
        parameters = [*case.parameters(), *(f"{name}: tl.constexpr" for name in case.constants)]
        head = ["import pantile as triton", "import pantile.language as tl", ""]
        body = ["", "@triton.jit", f"def kernel({', '.join(parameters)}):", *self.lines]
        case.source = "\n".join([*head, *self.helpers, *body]) + "\n"
        return case


def launch_options(draft):
    """Warps, stages, and now and then passes that are left out."""
    warps = (4, 4, 8) if draft.tidy else (1, 2, 4, 4, 8)
    stages = (2, 3, 3, 4) if draft.tidy else (1, 2, 3, 4, 5)
    options = {"num_warps": draft.pick_warps(*warps), "num_stages": draft.pick(*stages)}
    if draft.odd(0.25):
        names = draft.rng.sample(optional_passes(), draft.rng.randint(1, 4))
        options["disabled_passes"] = ",".join(names)
    if draft.chance(0.2):
        names = ("nv-stream-k", "third-cta", "nv-tma-stores", "tile-combine-factors")
        options["enabled_passes"] = draft.pick(*names)
    draft.case.options = options
    return options


NEEDED = {"tile-order-memory", "nv-insert-barriers"}
"""Passes that can be left out, without which threads race."""


def optional_passes():
    from pantile.compiler.remarks import list_passes

    return [
        p.name for p in list_passes() if p.is_optional and p.is_default and p.name not in NEEDED
    ]
