"""Vectors with runs of equal elements next to the dots of a loop, as block scales have them.

Needs: draft, pieces_*, pieces_runs (addresses and masks).
Gives: draw_runs.
How:   each iteration loads one to three vectors of scales or biases, per row or per column, whose
       addresses are quotients: of sums, of remainders, of quotients. They are used next to a dot in
       fp8 or 16 bits, once or twice, in the same layout or another, before the dot or after it. In
       between there may be a barrier, a store through another argument, or one of the values that the
       next iteration loads.
"""

from dataclasses import dataclass, replace

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_elements import clamp
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import Sweep, draw_sweep, sweep_loop
from .pieces_runs import Run, draw_run, mask_of_run, tile_numbers, tile_of_runs

BLOCKS = [(64, 64, 64), (64, 128, 64), (128, 64, 64), (128, 128, 64), (64, 64, 128)]
BLOCKS += [(128, 128, 128), (64, 256, 64), (64, 32, 64), (64, 96, 64), (128, 80, 64), (192, 64, 64)]
BLOCKS += [(32, 32, 32)]
TYPES = ["fp32"] * 7 + ["i32"] * 4 + ["i64", "fp16", "bf16", "i8"]


@dataclass
class Vector:
    """A vector of an iteration: its array, the run of its address, and how it is loaded."""

    array: str
    run: Run
    axis: int
    row: int  # elements of an iteration
    mask: str
    is_early: bool
    is_whole: bool  # no element is masked off, or what is masked off has a value
    name: str = ""

    def spread(self):
        return f"{self.name}{('[:, None]', '[None, :]')[self.axis]}"


def draw_runs(seed):
    return _Runs(seed).draw()


class _Runs:
    """A kernel of dots and vectors with runs that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("runs", seed)
        draft.tidy = draft.tidy or draft.chance(0.7)
        self.block = draft.pick(*BLOCKS)
        if draft.tidy and self.block[0] == 32:
            self.block = (64, *self.block[1:])
        self.dtype = draft.pick(*HALVES, "fp8e4nv", "fp8e4nv", "fp8e5")
        self.tiles = draft.pick((1, 1), (1, 1), (2, 1), (1, 2), (1, 3), (2, 2), (3, 2))
        self.is_k_first = self.dtype.startswith("fp8") and draft.tidy or draft.chance(0.7)
        self.sweep = draw_sweep(draft, self.block[2], 4, 0)
        if self.sweep.trips < 2 and draft.chance(0.7):
            self.sweep = Sweep(0, 3 * self.block[2], self.block[2])
        self.room = self.sweep.trips + 1
        self.vectors, self.others = [], []

    def draw(self):
        draft = self.draft
        self._launch()
        self._programs()
        m, n, _ = self.block
        draft.line(f"acc = tl.zeros(({m}, {n}), tl.float32)")
        self.vectors = [self._vector() for _ in range(draft.pick(1, 1, 2, 2, 3))]
        a, b = self._operands()
        for _ in range(draft.pick(1, 1, 1, 1, 1, 2)):  # loops may share circular buffers
            self._loop(a, b)
        self._results()
        return draft.finish()

    def _loop(self, a, b):
        draft = self.draft
        self.before, self.advances = draft.place(), []
        with sweep_loop(draft, self.sweep) as first:
            draft.line(f"step = {first} // {self.block[2]}")
            for vector in self.vectors:
                if vector.is_early:
                    self._load(vector)
            self._multiply(a.format(first=first), b.format(first=first))
            for vector in self.vectors:
                if draft.chance(0.25):
                    self._read_again(vector)
            self._disturb()
            for text in self.advances:
                draft.line(text)

    # The launch.
    def _launch(self):
        draft = self.draft
        options = launch_options(draft)
        if draft.tidy and self.block[0] >= 64:
            options["num_warps"] = draft.pick_warps(4, 4, 8)
        if draft.chance(0.5):  # few CTAs per SM: registers for a second result
            left_out = options.get("disabled_passes", "")
            options["disabled_passes"] = f"{left_out},occupancy-first".strip(",")

    def _programs(self):
        draft, (m, n, k) = self.draft, self.block
        tile_numbers(draft, self.tiles)
        draft.line(f"rm = pid_m * {m} + tl.arange(0, {m})")
        draft.line(f"rn = pid_n * {n} + tl.arange(0, {n})")
        draft.line(f"rk = tl.arange(0, {k})")

    def _operands(self):
        """The texts of both loads, with a place for the first position."""
        draft, depth = self.draft, self.draft.padded(max(1, self.sweep.hi))
        texts = []
        for axis, (index, rows_first) in enumerate((("rm", True), ("rn", self.is_k_first))):
            extent = self.tiles[axis] * self.block[axis]
            across, along = (depth, 1) if rows_first else (1, draft.padded(extent))
            size = extent * across + (depth + self.block[2]) * along
            array = draft.array("ab"[axis], self.dtype, size, -1, 1)
            outer, inner = ("[:, None]", "[None, :]")[:: 1 - 2 * axis]
            inside = ""
            if not self.sweep.is_whole:
                end = draft.number(self.sweep.hi)
                inside = f", mask=({{first}} + rk < {end}){inner}, other=0.0"
            at = f"{index}{outer} * {across} + ({{first}} + rk){inner} * {along}"
            texts.append(f"tl.load({array} + {at}{inside})")
        return texts

    # Vectors.
    def _vector(self):
        """Draw a vector; what does not change in the loop is computed before it or within."""
        draft, axis = self.draft, self.draft.pick(1, 1, 1, 0)
        run = draw_run(draft, "mn"[axis], self.tiles[axis], self.block[axis])
        row = run.extent + draft.pick(0, 0, 5, 16)
        dtype = draft.pick(*TYPES)
        step = 1 if dtype[0] == "i" else draft.pick(0.5, 1, 0.25)
        array = draft.array("scale", dtype, self.room * row, -1, 2, step)
        if draft.chance(0.6):
            run = replace(run, text=draft.let("group", run.text))
        mask, is_whole = mask_of_run(draft, run)
        return Vector(array, run, axis, row, mask, draft.chance(0.6), is_whole)

    def _load(self, vector):
        draft, row = self.draft, self.draft.number(vector.row)
        at = f"step * {row}" if draft.chance(0.8) else f"(step // 2) * {row}"
        text = f"tl.load({vector.array} + {at} + {vector.run.text}{vector.mask})"
        if draft.counts_up and draft.chance(0.15):
            with draft.at(self.before):
                pointers = draft.let("p", f"{vector.array} + {vector.run.text}")
            self.advances.append(f"{pointers} += {row}")
            text = f"tl.load({pointers}{vector.mask})"
        if not vector.is_whole:
            text = f"tl.where({vector.mask.removeprefix(', mask=')}, {text}, 0)"
        name = draft.let("v", text)
        vector.name = draft.let("f", f"{name}.to(tl.float32)") if draft.chance(0.9) else name

    # What an iteration computes.
    def _multiply(self, a, b):
        draft = self.draft
        a, b = draft.let("x", a), draft.let("y", b)
        if self.dtype in HALVES and draft.chance(
            0.25
        ):  # groups of K have a scale, as 4-bit weights
            group, (_, n, k) = draft.pick(4, 8, 16, 32, 64, 128, 24), self.block
            groups = Run(
                f"(step * {k} + rk) // {group}", "rk", k, (self.room * k) // group + 1, group
            )
            tile = tile_of_runs(draft, groups, draw_run(draft, "n", self.tiles[1], n))
            b = draft.let("y", f"({b}.to(tl.float32) * {tile}).to({NAMES[self.dtype]})")
        result = draft.let("dot", f"tl.dot({a}, {b})")
        for vector in self.vectors:
            if not vector.is_early:
                self._load(vector)
        if draft.chance(0.2):
            result = draft.let("s", f"{result} * {self._tile()}")
        for vector in self.vectors:
            spread = vector.spread()
            ways = [f"{result} * {spread}"] * 4 + [f"{result} + {spread}", f"{result} - {spread}"]
            ways += [f"tl.where({spread} > 0, {result}, 0.0)", f"tl.maximum({result}, {spread})"]
            result = draft.let("s", draft.pick(*ways))
        text = f"acc += {result}"
        if draft.odd(0.1):
            with draft.block(f"if step != {draft.rng.randint(0, 3)}:"):
                draft.line(text)
        else:
            draft.line(text)

    def _tile(self):
        """A tile of results with runs along rows or columns."""
        runs = [
            draw_run(self.draft, "mn"[axis], self.tiles[axis], self.block[axis]) for axis in (0, 1)
        ]
        return tile_of_runs(self.draft, *runs)

    def _read_again(self, vector):
        """A second use: in the loop's own sum, as a whole, or in memory, of which no other reads."""
        draft, axis = self.draft, vector.axis
        extent, index = self.block[axis], ("rm", "rn")[axis]
        way = draft.pick("sum", "total", "stored", "after")
        if way == "after":
            draft.line(f"acc += {vector.spread()}")
        elif way == "sum":
            with draft.at(self.before):
                name = draft.let("sum", f"tl.zeros(({extent},), tl.float32)")
            draft.line(f"{name} += {vector.name}.to(tl.float32)")
            self.others.append((name, axis))
        elif way == "total":
            with draft.at(self.before):
                name = draft.let("total", f"tl.zeros(({extent},), tl.float32)")
            draft.line(f"{name} += tl.sum({vector.name}.to(tl.float32), 0)")
            self.others.append((name, axis))
        else:
            whole = extent * self.tiles[axis]
            size = self.tiles[0] * self.tiles[1] * self.room * whole
            out = draft.output("fp32", size)
            place = f"((pid_m * {self.tiles[1]} + pid_n) * {self.room} + step) * {whole}"
            draft.line(f"tl.store({out} + {place} + {index}, {vector.name}.to(tl.float32))")

    def _disturb(self):
        """A barrier, or a store of what the next iteration loads through another argument."""
        draft, vector = self.draft, self.draft.pick(*self.vectors)
        if draft.odd(0.15):
            draft.line("tl.debug_barrier()")
        if self.tiles != (1, 1) or not draft.odd(0.3):
            return
        made = draft.case.arrays[vector.array]
        if made[1] < self.room * vector.row + 1024:
            draft.case.arrays[vector.array] = (made[0], made[1] + 1024, *made[2:])
        view = draft.view(vector.array) if draft.chance(0.6) else vector.array
        lanes = 1 << (vector.row - 1).bit_length()
        draft.line("tl.debug_barrier()")
        draft.line(f"fill = tl.arange(0, {lanes})")
        value = f"({clamp(0, 3, 'step * 1.0')} - fill % 3)"
        at = f"{view} + (step + 1) * {vector.row} + fill"
        cast = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}.get(made[0])
        cast = cast or {"i32": "int32", "i64": "int64", "i8": "int8"}[made[0]]
        draft.line(f"tl.store({at}, {value}.to(tl.{cast}), mask=fill < {vector.row})")
        draft.line("tl.debug_barrier()")

    # After the loop.
    def _results(self):
        draft, (m, n, _) = self.draft, self.block
        for name, axis in self.others:
            whole = self.block[axis] * self.tiles[axis]
            out = draft.output("fp32", self.tiles[0] * self.tiles[1] * whole)
            at = f"(pid_m * {self.tiles[1]} + pid_n) * {whole} + {('rm', 'rn')[axis]}"
            draft.line(f"tl.store({out} + {at}, {name})")
        rows, columns = self.tiles[0] * m, self.tiles[1] * n
        plane = Plane(
            "acc", "rm", "rn", (m, n), (rows, columns), None, None,
            f"pid_m * {m}", f"pid_n * {n}", "", rows * columns,
        )  # fmt: skip
        epilogue(draft, plane, draft.pick(1, 1, 1, 2))
