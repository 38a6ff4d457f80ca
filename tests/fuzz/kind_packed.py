"""GEMMs whose right operand has 4 bits per element, two per byte, in loops whose pointers advance by different amounts.

Needs: draft, pieces_*.
Gives: draw_packed.
How:   the counter runs over elements of K, while the bytes' pointers move by half of that, those of
       scales by one row per block. Bytes lie in rows of N or of K // 2, which the kernel divides itself.
       Sums are plain accumulators, or of scaled dots, and often split by stream-K. Scales are one per
       block, column or row, or several columns share one, so that TMA cannot load them all. Numbers
       and scales have few bits, so that all sums are exact.
"""

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import draw_sweep, sweep_loop

# Rows, columns, elements of K per iteration.
SIZES = [(16, 64, 64), (64, 64, 64), (64, 32, 32), (64, 128, 64), (128, 64, 128), (16, 32, 128)]
SIZES += [(128, 128, 64), (64, 64, 32)]


def draw_packed(seed):
    return _Packed(seed).draw()


class _Packed:
    """A kernel over packed weights that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("packed", seed)
        self.m, self.n, self.k = draft.pick(*SIZES)
        self.tiles = draft.pick(1, 1, 2), draft.pick(1, 2, 3)
        self.dtype = draft.pick(*HALVES)
        self.is_turned = draft.chance(0.4)  # rows of K // 2 bytes
        self.scale = draft.pick("", "", "column", "block", "row", "row", "shared", "row shared")

    def draw(self):
        draft = self.draft
        options = launch_options(draft)
        if draft.chance(0.5):
            options["enabled_passes"] = "nv-stream-k"
        if self.scale and draft.chance(0.7):  # a producer has vectors to load
            left_out = options.get("disabled_passes", "")
            options["disabled_passes"] = f"{left_out},occupancy-first".strip(",")
        self._sizes(most_more=32 if draft.chance(0.4) else 0)
        self._programs()
        self.before = draft.place()
        draft.line(f"acc = tl.zeros(({self.m}, {self.n}), tl.float32)")
        with sweep_loop(draft, self.sweep) as first:
            self._iteration(first)
        self._store()
        return draft.finish()

    def _sizes(self, most_more):
        """The matrices, with bytes that have both of their elements. Long loops are worth a split."""
        draft = self.draft
        self.sweep = sweep = draw_sweep(draft, self.k)
        sweep.hi += sweep.hi % 2 + draft.rng.randint(most_more // 2, most_more) * self.k
        self.depth = max(2, sweep.hi, sweep.lo)
        self.rows, self.columns = self.tiles[0] * self.m, self.tiles[1] * self.n
        self.kept = self.columns - (draft.rng.randint(1, self.n - 1) if draft.odd(0.5) else 0)
        self.a = draft.array("a", self.dtype, self.rows * self.depth)
        self.w = draft.array("w", "u8", self.depth // 2 * self.columns, 0, 255)
        self.length = draft.number(self.depth)

    def _programs(self):
        draft = self.draft
        draft.case.grid = (self.tiles[0] * self.tiles[1],)
        across = draft.number(self.tiles[1])
        draft.line("pid = tl.program_id(0)")
        draft.line(f"rm = pid // {across} * {self.m} + tl.arange(0, {self.m})")
        draft.line(f"rn = pid % {across} * {self.n} + tl.arange(0, {self.n})")
        draft.line(f"rk, rb = tl.arange(0, {self.k}), tl.arange(0, {self.k // 2})")

    def _iteration(self, first):
        draft = self.draft
        inside = bytes_inside = None
        if not self.sweep.is_whole:
            stop = draft.number(self.sweep.hi)
            inside = f"{first} + rk < {stop}"
            bytes_inside = f"{first} // 2 + rb < {stop} // 2"
        at = self._pointers(self.a, f"rm[:, None] * {self.length}", "rk[None, :]", first, 1)
        left = draft.let("left", f"tl.load({at}{self._mask(inside, '[None, :]')})")
        right = self._unpacked(self._bytes(first, bytes_inside))
        scale = self._scale(first)
        if scale:
            draft.line(f"acc += tl.dot({left}, {right}) * {scale}")
        else:
            product = f"tl.dot({left}, {right}"
            draft.line(draft.pick(f"acc = {product}, acc)", f"acc += {product})"))

    @staticmethod
    def _mask(inside, suffix):
        return f", mask=({inside}){suffix}, other=0" if inside else ""

    def _pointers(self, array, fixed, moving, first, pace, factor=""):
        """Where the block at `first` lies: by its index, or from pointers that move on behind the load."""
        draft, start = self.draft, self.sweep.lo // pace
        if not draft.counts_up or draft.chance(0.3):
            at = f"{first} // {pace}" if pace > 1 else first
            return f"{array} + {fixed} + ({at} + {moving}){factor}"
        with draft.at(self.before):
            pointers = draft.let("at", f"{array} + {fixed} + ({start} + {moving}){factor}")
        now = draft.let("now", pointers)
        draft.line(f"{pointers} += {self.k // pace}{factor}")
        return now

    def _bytes(self, first, inside):
        draft = self.draft
        if self.is_turned:
            pitch = f"({self.length} // 2)" if draft.chance(0.7) else str(self.depth // 2)
            at = self._pointers(self.w, f"rn[:, None] * {pitch}", "rb[None, :]", first, 2)
            return draft.let("bytes", f"tl.load({at}{self._mask(inside, '[None, :]')})")
        pitch = draft.number(self.columns)
        at = self._pointers(self.w, "rn[None, :]", "rb[:, None]", first, 2, f" * {pitch}")
        return draft.let("bytes", f"tl.load({at}{self._mask(inside, '[:, None]')})")

    def _unpacked(self, packed):
        """Both halves of each byte, one after the other along K, as numbers from -8 to 7."""
        draft, kind = self.draft, NAMES[self.dtype]
        halves = (f"{packed} & 15", f"{packed} >> 4")
        low, high = (draft.let("half", f"({text}).to(tl.int8) - 8") for text in halves)
        if draft.chance(0.5):  # joined as bytes, or as what the dot reads
            low, high = f"{low}.to({kind})", f"{high}.to({kind})"
        both = draft.let("both", f"tl.join({low}, {high})")
        if self.is_turned:
            text = f"tl.trans(tl.reshape({both}, ({self.n}, {self.k})))"
        else:
            text = f"tl.reshape(tl.permute({both}, (0, 2, 1)), ({self.k}, {self.n}))"
        return draft.let("right", f"{text}.to({kind})")

    def _scale(self, first):
        """Factors of the dot of the block at `first`, such as `one[:, None] * two[None, :]`."""
        return " * ".join(self._scale_of(which, first) for which in self.scale.split())

    def _scale_of(self, which, first):
        draft, blocks = self.draft, self.depth // self.k + 1
        sharing = draft.pick(2, 8, self.n)
        groups = -(-self.columns // sharing)
        width, index = {
            "column": (self.columns, "rn"),
            "shared": (groups, f"rn // {draft.number(sharing)}"),
            "row": (1, f"rm * {draft.number(blocks)}"),
            "block": (1, "0"),
        }[which]
        count = blocks * (self.rows if which == "row" else width)
        array = draft.array("scales", "fp32", count, 1, 2, 0.5)
        at = self._pointers(array, index, "0", first, self.k, f" * {width}")
        suffix = {"block": "", "row": "[:, None]"}.get(which, "[None, :]")
        return draft.let("scale", f"tl.load({at})") + suffix

    def _store(self):
        draft = self.draft
        plane = Plane(
            "acc", "rm", "rn", (self.m, self.n), (self.rows, self.columns), None,
            draft.number(self.kept) if self.kept < self.columns else None,
            f"pid // {self.tiles[1]} * {self.m}", f"pid % {self.tiles[1]} * {self.n}", "",
            self.rows * self.columns,
        )  # fmt: skip
        epilogue(draft, plane, 1)
