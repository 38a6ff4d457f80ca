"""Accesses whose masks end anywhere within a vector.

Needs: draft, pieces_elements.
Gives: draw_bounds.
How:   programs load one to four arrays up to a bound, whose last element is the last that may be
       touched, and store or add up what they compute. The comparison is spelled in many ways, also
       with two bounds or a hole; indices are shifted, reversed or 64 bits wide; rows have a pitch.
       What is masked off has a value of its own, or none, and then only the mask's elements are
       stored. Several blocks may be taken one after the other, and an array may be updated in place.
"""

from .draft import NAMES, Draft, launch_options
from .pieces_elements import change, clamp

BLOCKS = (32, 64, 128, 256, 512, 512, 1024, 2048, 96, 200, 384, 768)
TYPES = ("fp32", "fp32", "fp16", "fp16", "bf16", "i32", "i8", "i64")


def draw_bounds(seed):
    return _Bounds(seed).draw()


class _Bounds:
    """A kernel of elements that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("bounds", seed)
        self.block = draft.pick(*BLOCKS)
        self.blocks = draft.pick(1, 1, 2, 3)
        self.total = self.block * (self.blocks - 1) + draft.rng.randint(1, self.block)
        self.rows = draft.pick(1, 2, 5, 8, 16) if draft.chance(0.4) else 0

    def draw(self):
        draft = self.draft
        launch_options(draft)
        if draft.chance(0.5):
            draft.case.options["num_warps"] = draft.pick_warps(1, 2, 4, 8)
        self.count = draft.number(self.total)
        if draft.chance(0.3):
            with draft.block(f"for number in range(0, {draft.number(self.blocks)}):"):
                self._block("number")
        else:
            draft.case.grid = (self.blocks,)
            self._block("tl.program_id(0)")
        return draft.finish()

    def _block(self, number):
        """What is done with one block of elements."""
        draft = self.draft
        draft.line(f"at = {number} * {self.block} + tl.arange(0, {self.block})")
        if draft.odd(0.2):
            draft.line("at = at.to(tl.int64)")
        mask = self._mask()
        self.pitch = draft.padded(self.total)
        self.place = "at"
        if self.rows:
            height = draft.rng.randint(1, self.rows)
            least = 1 << (self.rows - 1).bit_length()
            draft.line(f"row = tl.arange(0, {least})[:, None]")
            mask = draft.let("mask", f"{mask}[None, :] & (row < {draft.number(height)})")
            self.place = f"row * {draft.number(self.pitch)} + at[None, :]"
            self.size = (height - 1) * self.pitch + self.total
            self.extent = f"({least}, {self.block})"
        else:
            self.size, self.extent = self.total, f"({self.block},)"
        self.mask = mask
        loaded = [self._load() for _ in range(draft.pick(1, 2, 2, 3, 4))]
        value = loaded[0]
        for other in loaded[1:]:
            value = draft.let("y", clamp(-2000, 2000, f"{value} {draft.pick('+', '-')} {other}"))
        for _ in range(draft.pick(0, 1, 2)):
            value = draft.let("y", clamp(-30, 30, change(draft, value)))
        for _ in range(draft.pick(1, 1, 2)):
            self._store(value)

    def _mask(self):
        draft, n = self.draft, self.count
        ways = [f"at < {n}", f"at < {n}", f"{n} > at", f"at <= {n} - 1", f"{n} - 1 >= at"]
        mask = draft.pick(*ways)
        if draft.odd(0.3):
            first = draft.number(draft.rng.randint(0, self.block // 2))
            mask = draft.pick(
                f"({mask}) & (at >= {first})",
                f"({mask}) & (at != {first})",
                f"({mask}) & (at % 3 != 1)",
                f"({mask}) & (at + {first} < {n} + {first})",
                f"~(at >= {n})",
            )
        return draft.let("mask", mask)

    def _load(self):
        """A loaded tile in fp32; the array ends with the last element that the mask allows."""
        draft = self.draft
        dtype = draft.pick(*TYPES)
        shift = draft.pick(1, 4, 16, 64) if draft.odd(0.3) else 0
        array = draft.array("x", dtype, self.size + shift, -4, 4)
        place = f"{self.place} + {draft.number(shift)}" if shift else self.place
        if not self.rows and draft.odd(0.15):
            place = f"{self.total - 1 + shift} - at"
        self.newest = f"{array} + {place}", dtype
        others = [", other=0", ", other=2", f", other=tl.full({self.extent}, 1, tl.float32)", ""]
        how = ", cache_modifier='.cg'" if draft.odd(0.1) else ""
        how = how or (", eviction_policy='evict_first'" if draft.odd(0.2) else "")
        other = draft.pick(*others) if not dtype.startswith("i") else draft.pick(others[0], "")
        loaded = f"tl.load({array} + {place}, mask={self.mask}{other}{how})"
        if not other:
            loaded = f"tl.where({self.mask}, {loaded}, 0)"
        return draft.let("x", f"{loaded}.to(tl.float32)")

    def _store(self, value):
        """Stores under the mask, over a loaded array as well, and sums."""
        draft = self.draft
        way = draft.pick("atomic", "sum", "over") if draft.odd(0.5) else "store"
        if way == "sum":
            out = draft.array("sums", "fp32", 1, 0, 3)
            kept = draft.let("y", f"tl.where({self.mask}, {value}, 0.0)")
            total = f"tl.sum(tl.sum({kept}, 1), 0)" if self.rows else f"tl.sum({kept}, 0)"
            draft.line(f"tl.atomic_add({out}, {total})")
        elif way == "atomic":
            out = draft.array("sums", "fp32", self.size, 0, 3)
            draft.line(f"tl.atomic_add({out} + {self.place}, {value}, mask={self.mask})")
        elif way == "over" and self.newest[1] in NAMES:
            pointers, dtype = self.newest
            draft.line(f"tl.store({pointers}, {value}.to({NAMES[dtype]}), mask={self.mask})")
        else:
            dtype = draft.pick("fp32", "fp16", "bf16", "i32", "i8")
            out = draft.output(dtype, self.size)
            kept = clamp(-100, 100, value) if dtype == "i8" else value
            draft.line(
                f"tl.store({out} + {self.place}, ({kept}).to({NAMES[dtype]}), mask={self.mask})"
            )
