"""Draws a program: statement by statement, each evaluated at once on every program of the grid.

Needs: program, the op_* modules (for OPS), draw_* (what can be drawn, with weights).
Gives: draw_program(seed).
How:   a candidate statement that the model calls Undefined (out of bounds, division by 0, overflow,
       an ambiguous comparison) is dropped, so that what remains has one right answer. A block is
       drawn on the states that reach it, then the whole construct is run again from the snapshot.
"""

import copy
import random

import numpy as np

from . import op_blocks, op_combine, op_elementwise, op_memory, op_shape  # noqa: F401  (they fill OPS)
from .dtypes import FLOATS, NUMPY, WIDE_FLOATS, is_float
from .program import GRID_NAME, Call, Memory, Program, State
from .values import Undefined
from .warps import warps_or_any

MAX_ELEMENTS = 4096  # of a tile; accumulators of a dot may have more
INPUT_SIZE = 32768


class Generator:
    """The program so far, the states of its grid, and the dice."""

    def __init__(self, seed, any_extents=False):
        self.rng = random.Random(seed)
        self.any_extents = any_extents
        self.data_rng = np.random.default_rng(self.rng.getrandbits(64))
        self.program = Program(seed)
        self.program.grid = self.rng.choice([1, 1, 2, 3])
        self.program.num_warps = warps_or_any(self.rng.choice([1, 2, 4, 4, 8]), seed)
        self.program.num_stages = self.rng.choice([1, 2, 3, 3, 4])
        # 1 would be a constant of the kernel, whose `//` is Python's.
        for name, value in (("n0", self.rng.randint(2, 40)), ("n1", self.rng.randint(2, 9))):
            self.program.scalars[name] = ("i32", value)
        self.program.scalars["f0"] = ("fp32", self.rng.randint(-16, 16) / 4)
        self.memory = Memory({})
        self.states = [State(self.program, pid, self.memory) for pid in range(self.program.grid)]
        self.bodies = [self.program.body]
        self.names = [GRID_NAME, *self.program.scalars]
        self.counter = 0
        self.depth = 0
        self.loops = []  # (variable, most iterations) of the loops around
        self.in_helper = False
        self.stored = set()

    def extent(self, log):
        """2**log, or where any extent may be drawn one that rounds up to it."""
        if not self.any_extents or log == 0 or self.chance(0.3):
            return 1 << log
        return self.rng.randint((1 << log) // 2 + 1, 1 << log)

    # Names and types.
    def fresh(self, prefix="v"):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def value(self, name):
        return self.states[0].env[name]

    def dtype(self, name):
        return self.value(name).dtype

    def shape(self, name):
        return self.value(name).shape

    def pick(self, accept=lambda value: True):
        """A visible name whose value is accepted, recent ones rather; None if there is none."""
        found = [name for name in self.names if name in self.states[0].env]
        found = [name for name in found if accept(self.value(name))]
        if not found:
            return None
        recent = found[-6:] if self.rng.random() < 0.6 else found
        return self.rng.choice(recent)

    def pick_tile(self, accept=lambda value: True):
        return self.pick(lambda value: value.shape and accept(value))

    def chance(self, probability):
        return self.rng.random() < probability

    # Statements.
    def add(self, op, args=(), params=None, results=1):
        """Add a statement if it is defined on every state; its targets, or None."""
        targets = tuple(self.fresh() for _ in range(results))
        statement = Call(targets, op, tuple(args), params or {})
        return targets if self.add_statement(statement, targets) else None

    def add_statement(self, statement, targets=()):
        saved = self.snapshot()
        try:
            for state in self.states:
                statement.execute(state)
            if (
                any(self._too_large(self.value(name)) for name in targets)
                and statement.op != "full"
            ):
                raise Undefined("too large")
        except Undefined:
            self.restore(saved)
            return False
        self.bodies[-1].append(statement)
        self.names += targets
        return True

    @staticmethod
    def _too_large(value):
        return value.data.size > MAX_ELEMENTS

    def snapshot(self):
        return copy.deepcopy(self.memory.__dict__), [dict(state.env) for state in self.states]

    def restore(self, saved):
        self.memory.__dict__.update(copy.deepcopy(saved[0]))
        for state, env in zip(self.states, saved[1]):
            state.env = dict(env)

    # Memory.
    def input(self, dtype):
        """An input of this type, perhaps one that is there."""
        same = [name for name, (kind, _) in self.program.inputs.items() if kind == dtype]
        if same and self.chance(0.7):
            return self.rng.choice(same)
        name = f"in{len(self.program.inputs)}"
        self.program.inputs[name] = (dtype, self.random_data(dtype))
        return name

    def random_data(self, dtype):
        """Normal or coarse floats; small or any integers."""
        rng = self.data_rng
        if dtype == "i1":
            return rng.integers(0, 2, INPUT_SIZE).astype(bool)
        if is_float(dtype):
            if self.chance(0.5):
                data = rng.integers(-16, 17, INPUT_SIZE) / 4
            else:
                data = rng.standard_normal(INPUT_SIZE)
            if dtype in FLOATS and FLOATS[dtype].bits == 8:
                data = np.where(np.abs(data) < 2.0**-4, 0.25, data)
            return data.astype(NUMPY[dtype])
        limits = np.iinfo(NUMPY[dtype])
        if self.chance(0.6):
            low = 0 if limits.min == 0 else -100
            return rng.integers(low, 100, INPUT_SIZE).astype(NUMPY[dtype])
        return rng.integers(limits.min, limits.max, INPUT_SIZE, dtype=NUMPY[dtype], endpoint=True)

    def output(self, dtype, size, initial=None):
        name = f"out{len(self.program.outputs)}"
        if initial is None:
            initial = np.full(size, 1 if dtype == "i1" else 77).astype(NUMPY[dtype])
        self.program.outputs[name] = (dtype, initial)
        fresh = Memory({name: (dtype, initial)})
        for part, values in fresh.__dict__.items():
            getattr(self.memory, part).update(values)
        return name


def draw_any_extents(seed):
    """The program of this seed, whose tiles are of any extents."""
    return draw_program(seed, any_extents=True)


def draw_program(seed, any_extents=False):
    """The program of this seed."""
    from .draw import draw_statement, store_rest

    generator = Generator(seed, any_extents)
    budget = generator.rng.randint(6, 26)
    for _ in range(budget * 6):
        draw_statement(generator)
        if len(generator.program.body) >= budget:
            break
    store_rest(generator)
    return generator.program


def random_shape(generator, most=MAX_ELEMENTS):
    """A shape of 1 to 3 dimensions."""
    rng = generator.rng
    rank = rng.choice([1, 1, 2, 2, 2, 3])
    total = rng.randint(rank, min(12, most.bit_length() - 1))
    cuts = sorted(rng.randint(0, total) for _ in range(rank - 1))
    logs = [b - a for a, b in zip([0, *cuts], [*cuts, total])]
    rng.shuffle(logs)
    return tuple(generator.extent(log) for log in logs)


def random_dtype(generator):
    return generator.rng.choice(
        ["i8", "i16", "i32", "i32", "i64", "u8", "u16", "u32", "u64", "i1", "fp8e4nv", "fp8e5"]
        + ["fp16", "fp16", "bf16", "bf16", "fp32", "fp32", "fp32", "fp64"]
    )


__all__ = [
    "Generator",
    "draw_any_extents",
    "draw_program",
    "random_dtype",
    "random_shape",
    "WIDE_FLOATS",
]
