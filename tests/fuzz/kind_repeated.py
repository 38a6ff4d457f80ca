"""Vectors that tiles of different layouts repeat along their rows or columns.

Needs: draft, pieces_*.
Gives: draw_repeated.
How:   a program loads one to three vectors, masked, strided, through a table or backwards, computes
       with them, and repeats each in two or more tiles: of another height, another type, another
       order in memory, or the result of a dot. Tiles are stored, added by atomics or reduced, in a
       loop or without one. Between two uses there may be a barrier, or a store over the vector.
"""

from dataclasses import dataclass

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_elements import change, clamp
from .pieces_loops import draw_sweep, sweep_loop

WIDTHS = (8, 16, 32, 64, 64, 128, 128, 256, 24, 48, 96, 200)
HEIGHTS = (1, 2, 4, 8, 16, 16, 32, 64, 128, 3, 12, 40)
MOST_ELEMENTS = 8192


@dataclass
class Vector:
    """A loaded vector: its variable, its type in memory and the array."""

    name: str
    dtype: str
    array: str
    pointers: str
    mask: str


def draw_repeated(seed):
    return _Repeated(seed).draw()


class _Repeated:
    """A kernel over vectors and tiles that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("repeated", seed)
        self.width = draft.pick(*WIDTHS)
        self.heights = [self._height() for _ in range(draft.pick(2, 2, 3))]
        if draft.tidy:  # a low tile and a high one, which take different layouts
            self.width = draft.pick(32, 64, 64, 128, 48, 96)
            self.heights = draft.pick([32, 4], [32, 4], [64, 8], [4, 64], [40, 2], [8, 1])
        self.programs = draft.pick(1, 1, 2, 3)
        self.columns = self.width
        if draft.chance(0.4):
            self.columns -= draft.rng.randint(0, self.width - 1)

    def _height(self):
        height = self.draft.pick(*HEIGHTS)
        while height * self.width > MOST_ELEMENTS:
            height //= 2
        return height

    def draw(self):
        draft = self.draft
        launch_options(draft)
        if draft.chance(0.6) and not draft.tidy:
            draft.case.options["num_warps"] = draft.pick_warps(1, 1, 2, 4, 8)
        draft.case.grid = (self.programs,)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"n = tl.arange(0, {self.width})")
        self.count = draft.number(self.columns) if self.columns < self.width else None
        self.start = draft.place()
        if draft.chance(0.4):
            sweep = draw_sweep(draft, 1, 4)
            self.room = sweep.lo + sweep.trips + 1
            before = [self._vector("0")] if draft.chance(0.5) else []
            with sweep_loop(draft, sweep) as first:
                self._round(first, before)
        else:
            self.room = 1
            self._round("0", [])
        return draft.finish()

    def _round(self, first, vectors):
        """The vectors of an iteration, and the tiles that repeat them."""
        draft = self.draft
        self.first = first
        vectors = vectors + [self._vector(first) for _ in range(draft.pick(1, 1, 2))]
        self.value = [self._computed(vector) for vector in vectors]
        for height in self.heights:
            self._tile(height)
            if draft.chance(0.1):
                draft.line("tl.debug_barrier()")
        if draft.odd(0.35):
            self._use_alone(vectors)

    # Vectors.
    def _vector(self, first):
        draft = self.draft
        dtype = draft.pick("fp32", "fp32", "fp16", "fp16", "bf16", "i32", "i8")
        row = self.width * 3 + 8
        array = draft.array("vec", dtype, self.programs * self.room * row, -4, 4)
        at = f"(pid * {self.room} + {first}) * {row}"
        way = draft.pick("strided", "backwards", "table", "shifted") if draft.odd(0.6) else "plain"
        if way == "strided":
            at += f" + n * {draft.pick('3', draft.scalar(3))}"
        elif way == "backwards":
            at += f" + ({self.width - 1} - n)"
        elif way == "table":
            table = draft.array("table", "i32", self.width, 0, self.width - 1, "permutation")
            at += f" + tl.load({table} + n)"
        else:
            at += f" + n{' + 5' if way == 'shifted' else ''}"
        pointers = draft.let("p", f"{array} + {at}")
        mask = f", mask=n < {self.count}, other={draft.pick('0', '2')}" if self.count else ""
        if draft.chance(0.1):
            mask = mask or ", mask=n >= 1, other=1"
        return Vector(draft.let("c", f"tl.load({pointers}{mask})"), dtype, array, pointers, mask)

    def _computed(self, vector):
        """What is made of a vector, in fp32."""
        draft = self.draft
        name = vector.name
        if vector.dtype != "fp32" or draft.chance(0.1):
            name = draft.let("f", f"{name}.to(tl.float32)")
        for _ in range(draft.pick(0, 0, 1, 1, 2)):
            name = draft.let("f", clamp(-30, 30, change(draft, name)))
        if draft.odd(0.15):
            name = draft.let("f", f"{name} - tl.sum({name}, 0)")
        return name

    # Tiles.
    def _tile(self, height):
        """A tile that repeats some of the vectors, and where it goes."""
        draft = self.draft
        draft.line(f"m = tl.arange(0, {height})")
        is_turned = draft.chance(0.3)
        outer, inner = ("[None, :]", "[:, None]") if is_turned else ("[:, None]", "[None, :]")
        values = [f"{value}{inner}" for value in self.value if draft.chance(0.8)]
        values = values or [f"{self.value[0]}{inner}"]
        tile = self._source(height, outer, inner, is_turned)
        for value in values:
            sums = [f"{tile} + {value}", f"{tile} * {value}", f"{tile} - {value}"]
            tile = draft.let("y", draft.pick(*sums, f"tl.maximum({tile}, {value})"))
            if draft.chance(0.3):
                tile = draft.let("y", f"tl.where({value} > 0, {tile}, {value} * 0.5)")
        tile = draft.let("y", clamp(-2000, 2000, tile))
        self._stored(tile, height, outer, inner)

    def _source(self, height, outer, inner, is_turned):
        """A tile of memory, in rows or columns, a dot's result, or nothing but zeros."""
        draft, width = self.draft, self.width
        way = draft.pick("columns", "dot", "zeros", "rows") if draft.odd(0.7) else "rows"
        if way == "dot" and width % 16 == 0 and height % 16 == 0 and not is_turned:
            return self._dot(height)
        if way == "zeros":
            shape = (width, height) if is_turned else (height, width)
            return draft.let("x", f"tl.full({shape}, {draft.pick('0.0', '1.0')}, tl.float32)")
        dtype = draft.pick("fp32", "fp16", "bf16", "i8")
        if draft.tidy:
            dtype = draft.pick("fp16", "fp16", "fp32")
        array = draft.array("x", dtype, self.programs * self.room * height * width, -3, 3)
        base = f"{array} + (pid * {self.room} + {self.first}) * {height * width}"
        offsets = f"m{outer} * {width} + n{inner}"
        if way == "columns":
            offsets = f"m{outer} + n{inner} * {height}"
        mask = f", mask=(n < {self.count}){inner}, other=0" if self.count else ""
        return draft.let("x", f"tl.load({base} + {offsets}{mask}).to(tl.float32)")

    def _dot(self, height):
        draft, dtype = self.draft, self.draft.pick(*HALVES)
        depth = draft.pick(16, 32, 64)
        a = draft.array("a", dtype, height * depth)
        b = draft.array("b", dtype, depth * self.width)
        draft.line(f"k = tl.arange(0, {depth})")
        left = draft.let("l", f"tl.load({a} + m[:, None] * {depth} + k[None, :])")
        right = draft.let("r", f"tl.load({b} + k[:, None] * {self.width} + n[None, :])")
        return draft.let("x", f"tl.dot({left}, {right})")

    def _stored(self, tile, height, outer, inner):
        draft, width = self.draft, self.width
        size = height * width
        offsets = f"m{outer} * {width} + n{inner}"
        if draft.chance(0.25):
            offsets = f"m{outer} + n{inner} * {height}"
        mask = f", mask=(n < {self.count}){inner}" if self.count else ""
        place = f"(pid * {self.room} + {self.first}) * {size}"
        way = draft.pick("sum", "atomic", "store") if draft.odd(0.6) else "store"
        if way == "store":
            dtype = draft.pick("fp32", "fp16", "bf16", "i32")
            out = draft.output(dtype, self.programs * self.room * size)
            draft.line(f"tl.store({out} + {place} + {offsets}, {tile}.to({NAMES[dtype]}){mask})")
        elif way == "atomic":
            out = draft.array("sums", "fp32", size, 0, 3)
            draft.line(f"tl.atomic_add({out} + {offsets}, {tile}{mask})")
        else:
            axis = draft.pick(0, 1)
            kept = "n" if (axis == 0) == (inner == "[None, :]") else "m"
            extent = width if kept == "n" else height
            out = draft.array("sums", "fp32", extent, 0, 3)
            if self.count:
                tile = f"tl.where((n < {self.count}){inner}, {tile}, 0.0)"
            draft.line(f"tl.atomic_add({out} + {kept}, tl.sum({tile}, {axis}))")

    def _use_alone(self, vectors):
        """The vector itself is stored, or what it was loaded from is written."""
        draft, vector = self.draft, vectors[-1]
        way = draft.pick("store", "over", "after a barrier")
        if way == "store":
            out = draft.output("fp32", self.programs * self.room * self.width)
            at = f"{out} + (pid * {self.room} + {self.first}) * {self.width} + n"
            draft.line(f"tl.store({at}, {self.value[-1]})")
            return
        mask = vector.mask.split(", other")[0]
        if way == "after a barrier":
            draft.line("tl.debug_barrier()")
        draft.line(f"tl.store({vector.pointers}, {vector.name} + {vector.name}{mask})")
