"""Elements beyond 2^31, and bytes beyond 2^31 and 2^32, from the start of their array.

Needs: draft, pieces_*.
Gives: draw_far.
How:   an array of some gigabytes, of which a window is filled, is mapped but never touched elsewhere.
       The way to the window is drawn: 64-bit products of rows or batches, an offset that is an
       argument, pointers that advance by large strides, a descriptor. Where the count of elements
       stays below 2^31, offsets may be computed in 32 bits although the bytes do not fit.
"""

from .draft import Draft, launch_options
from .dtypes import bits
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import Sweep, sweep_loop

MOST_BYTES = 9 << 30


def draw_far(seed):
    return _Far(seed).draw()


class _Far:
    """A kernel with far accesses that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("far", seed)
        self.dtype = draft.pick("fp16", "fp16", "bf16", "fp32", "i8")
        width = bits(self.dtype) // 8
        goals = [2**31 // width, 2**32 // width, 2**31, 2**31, 2**32]
        self.goal = draft.pick(*[goal for goal in goals if goal * width <= MOST_BYTES - (1 << 28)])
        self.block = (draft.pick(16, 64, 64, 128), draft.pick(32, 64), draft.pick(32, 64))
        self.trips = draft.pick(1, 2, 3)
        self.programs = draft.pick(1, 2, 3, 5)
        self.depth = self.block[2] * self.trips

    def draw(self):
        draft = self.draft
        launch_options(draft)
        draft.case.grid = (self.programs,)
        m, n, k = self.block
        way = draft.pick("rows", "rows", "batch", "batch", "base", "advance", "descriptor")
        self._layout(way)
        self.far = draft.array("far", self.dtype, self.size, -1, 1)
        draft.case.places[self.far] = self.window
        small = draft.array("b", self.dtype, self.depth * n, -1, 1)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"rm = tl.arange(0, {m})")
        draft.line(f"rn = tl.arange(0, {n})")
        draft.line(f"rk = tl.arange(0, {k})")
        out = "tl.int32" if self.dtype == "i8" else "tl.float32"
        draft.line(f"acc = tl.zeros(({m}, {n}), {out})")
        address = getattr(self, f"_{way}")()
        with sweep_loop(draft, Sweep(0, self.depth, k)) as first:
            x = draft.let("x", address(first))
            y = draft.let("y", f"tl.load({small} + ({first} + rk)[:, None] * {n} + rn[None, :])")
            draft.line(f"acc = tl.dot({x}, {y}, acc)")
            if self.advance:
                draft.line(self.advance)
        if self.dtype == "i8":
            draft.line("acc = acc.to(tl.float32)")
        if draft.chance(0.3):
            self._store_far()
        else:
            draft.line(f"rows = pid * {m} + rm")
            epilogue(draft, Plane(
                "acc", "rows", "rn", (m, n), (self.programs * m, n), None, None,
                f"pid * {m}", "0", "", self.programs * m * n,
            ), 1)  # fmt: skip
        return draft.finish()

    def _layout(self, way):
        """Strides so that the window lies across the goal, and its limits."""
        draft, m = self.draft, self.block[0]
        self.advance = ""
        pitch = draft.padded(self.depth)
        if way in ("rows", "descriptor"):
            pitch = draft.pick(self.depth, 1024, 4096, 40064, 65536, 131072)
        self.pitch = max(pitch, self.depth)
        self.batch = draft.pick(m * self.pitch, 40064, 65520, 65520, 1 << 20, 100_000_000)
        self.batch = max(self.batch, m * self.pitch)
        step = self.pitch * m if way in ("rows", "descriptor", "base", "advance") else self.batch
        if way == "advance":
            step = self.batch = self.goal // draft.pick(2, 3) // 16 * 16
        self.step = step
        self.first = max(0, self.goal // step - self.programs // 2)
        if way == "advance":
            self.first, self.trips, self.depth = 0, 4, 4 * self.block[2]
            self.size = 5 * step + self.programs * m * self.pitch + self.pitch
            self.size = min(self.size, MOST_BYTES * 8 // bits(self.dtype))
        last = self.first + self.programs
        self.size = max(getattr(self, "size", 0), last * step + self.pitch)
        begin = self.first * step
        self.window = (begin, min(self.size, begin + min(self.programs * step, 1 << 21)))
        if way == "advance":
            self.window = (0, 1)

    def _wide(self, text):
        """A number in 64 bits, or in 32 where the elements can be counted so."""
        if self.size < 2**31 and self.draft.chance(0.6):
            return text
        return f"({text}).to(tl.int64)"

    def _load(self, base):
        pitch = self.draft.number(self.pitch)
        return lambda first: f"tl.load({base} + rm[:, None] * {pitch} + ({first} + rk)[None, :])"

    def _rows(self):
        """Rows are numbered from the start of the array."""
        draft, m = self.draft, self.block[0]
        first = draft.number(self.first * m)
        draft.line(f"row = {first} + pid * {m} + rm")
        wide = self._wide("row")
        pitch = draft.number(self.pitch)
        return lambda k: f"tl.load({self.far} + {wide}[:, None] * {pitch} + ({k} + rk)[None, :])"

    def _batch(self):
        draft = self.draft
        first, batch = draft.number(self.first), draft.number(self.batch)
        draft.line(f"batch = pid + {first}")
        base = f"{self.far} + {self._wide('batch')} * {batch}"
        if draft.chance(0.5):
            base = draft.let("matrix", base)
        return self._load(base)

    def _base(self):
        """The offset is an argument of 64 bits."""
        draft = self.draft
        offset = draft.scalar(self.first * self.step, "offset")
        base = draft.let("matrix", f"{self.far} + {offset} + {self._wide('pid')} * {self.step}")
        return self._load(base)

    def _advance(self):
        """Pointers that pass the goal within the loop."""
        draft, m = self.draft, self.block[0]
        k = self.block[2]
        stride = self.batch - self.batch % 16
        self.size = 4 * stride + self.programs * m * self.pitch + self.pitch
        draft.case.arrays[self.far] = (self.dtype, self.size, *draft.case.arrays[self.far][2:])
        shift = 2 * stride if draft.chance(0.5) else 3 * stride
        self.window = (shift, shift + self.programs * m * self.pitch)
        draft.case.places[self.far] = self.window
        start = (
            f"{self.far} + ({self._wide('pid')} * {m} + rm)[:, None] * {self.pitch} + rk[None, :]"
        )
        pointers = draft.let("p", start)
        self.advance = f"{pointers} += {draft.number(stride)}"
        assert k
        return lambda first: f"tl.load({pointers})"

    def _descriptor(self):
        draft, (m, _, k) = self.draft, self.block
        if self.size // self.pitch >= 2**31 or self.pitch % 16:
            return self._rows()
        rows = self.size // self.pitch
        first = draft.number(self.first * m)
        window = draft.let(
            "window",
            f"tl.make_tensor_descriptor({self.far}, [{draft.number(rows)}, {self.depth}], "
            f"[{self.pitch}, 1], [{m}, {k}])",
        )
        return lambda at: f"{window}.load([{first} + pid * {m}, {at}])"

    def _store_far(self):
        """The result goes far, too."""
        draft, (m, n, _) = self.draft, self.block
        goal = draft.pick(2**30, 2**31)
        stride = draft.pick(m * n, 40064 * 2, 1 << 20)
        first = goal // stride - self.programs // 2
        size = (first + self.programs + 1) * stride
        out = draft.output("fp32" if goal == 2**30 else "fp16", size)
        draft.case.places[out] = (first * stride, min(size, (first + self.programs) * stride))
        draft.line(f"to = (pid + {draft.number(first)}).to(tl.int64) * {draft.number(stride)}")
        value = "acc" if goal == 2**30 else "acc.to(tl.float16)"
        if draft.chance(0.3):
            draft.line(f"tl.atomic_add({out} + to + rm[:, None] * {n} + rn[None, :], {value})")
        else:
            draft.line(f"tl.store({out} + to + rm[:, None] * {n} + rn[None, :], {value})")
