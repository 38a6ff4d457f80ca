"""Rows that are reduced, normalised or scanned, of one tile or in a loop over tiles.

Needs: draft, pieces_*.
Gives: draw_rows.
How:   a program has one row, several rows of a tile, or loops over rows; a row fits one tile or is
       read in a loop, once or in two passes. Vectors are loaded early, kept over reductions, updated
       in place, and stored through a remainder or a negative stride.
"""

from .draft import NAMES, Draft, launch_options
from .pieces_elements import change, clamp
from .pieces_loops import draw_sweep, sweep_loop


def draw_rows(seed):
    return _Rows(seed).draw()


class _Rows:
    """A kernel over rows that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("rows", seed)
        self.dtype = draft.pick("fp32", "fp16", "fp16", "bf16", "i32", "i8")
        self.width = draft.pick(16, 64, 128, 128, 256, 512, 1024, 2048)
        self.height = draft.pick(1, 1, 2, 4, 8, 16)
        while self.width * self.height > 8192:
            self.height //= 2
        self.programs = draft.pick(1, 2, 4, 7, 12, 30)

    def draw(self):
        draft = self.draft
        launch_options(draft)
        if draft.chance(0.5):
            draft.case.options["num_warps"] = draft.pick_warps(1, 2, 4, 8)
        way = draft.pick("grid", "grid", "walk")
        height = self.height
        if way == "grid":
            draft.case.grid = (self.programs,)
            self.blocks = self.programs
            self._shapes()
            draft.line("block = tl.program_id(0)")
            self._block()
        else:
            self.blocks = self.programs
            draft.case.grid = (max(1, self.programs // draft.pick(1, 2, 3, 5)),)
            self._shapes()
            stages = draft.pick("", ", num_stages=2", ", num_stages=3", ", num_stages=4")
            stop = draft.number(self.blocks)
            header = f"for block in tl.range(tl.program_id(0), {stop}, tl.num_programs(0){stages}):"
            with draft.block(header):
                self._block()
        assert height == self.height
        return draft.finish()

    def _shapes(self):
        """Extents, and the indices that all rows have in common."""
        draft = self.draft
        self.sweep = draw_sweep(draft, self.width, 4, 0) if draft.chance(0.5) else None
        self.columns = self.width
        if self.sweep:
            self.columns = max(1, self.sweep.hi)
        elif draft.chance(0.5):
            self.columns -= draft.rng.randint(0, self.width - 1)
        self.rows = self.blocks * self.height
        if self.height > 1 and draft.chance(0.4):
            self.rows -= draft.rng.randint(1, self.height - 1)
        self.pitch = draft.padded(self.columns)
        self.count = draft.number(self.columns)
        self.row_count = draft.number(self.rows) if self.rows < self.blocks * self.height else None
        draft.line(f"r = tl.arange(0, {self.width})")
        names = "xyz"[: draft.pick(1, 1, 2)]
        self.sources = [draft.array(n, self.dtype, self._size(), -4, 4) for n in names]
        self.pitch_text = draft.number(self.pitch)

    def _size(self):
        return self.rows * self.pitch + self.width

    def _block(self):
        draft = self.draft
        draft.line(f"rows = block * {self.height} + tl.arange(0, {self.height})[:, None]")
        self.reduced = {}
        for name in draft.rng.sample(["sum", "max", "min", "squares"], draft.pick(1, 1, 2, 3)):
            start = {"max": "-1000.0", "min": "1000.0"}.get(name, "0.0")
            self.reduced[name] = draft.let(
                name, f"tl.full(({self.height}, 1), {start}, tl.float32)"
            )
        kept = self._pass(self._reduce)
        self.kept = kept
        if self.sweep:
            if draft.chance(0.7):
                self._pass(self._write)
        else:
            self._write(*kept)
        for name, value in self.reduced.items():
            out = draft.output("fp32", self.rows)
            mask = f", mask=rows < {self.row_count}" if self.row_count else ""
            draft.line(f"tl.store({out} + rows, {value}{mask})")
            self.reduced[name] = value

    def _pass(self, body):
        """Load the tiles of the rows, one or in a loop."""
        draft = self.draft
        if not self.sweep:
            self.limit = self.columns < self.width
            return self._tile("0", body)
        self.limit = not self.sweep.is_whole
        with sweep_loop(draft, self.sweep) as first:
            return self._tile(first, body)

    def _tile(self, first, body):
        draft = self.draft
        cols = draft.let("cols", f"({first} + r)[None, :]")
        terms = [f"(rows < {self.row_count})"] if self.row_count else []
        terms += [f"({cols} < {self.count})"] if self.limit else []
        mask = f", mask={' & '.join(terms)}" if terms else ""
        other = draft.pick("0", "0", "-3", "7")
        loads = []
        for source in self.sources:
            at = self._address(source, cols)
            fill = f", other={other}" if mask else ""
            hint = draft.pick("", "", ", eviction_policy='evict_first'")
            loads.append(draft.let("t", f"tl.load({at}{mask}{fill}{hint})"))
        wide = draft.let("w", " + ".join(f"{t}.to(tl.float32)" for t in loads))
        for _ in range(draft.pick(0, 1, 1)):
            wide = draft.let("w", change(draft, wide))
        wide = draft.let("w", clamp(-40, 40, wide))
        result = (wide, cols, mask, loads[0])
        body(*result)
        return result

    def _address(self, source, cols):
        draft, last = self.draft, self.columns - 1
        if draft.odd(0.2) and not self.sweep and self.limit:
            return f"{source} + rows * {self.pitch_text} + ({last} - {cols})"  # from the end
        if draft.odd(0.15):
            return f"{source} + rows * {self.pitch_text} + {cols} % {self.count}"
        return f"{source} + rows * {self.pitch_text} + {cols}"

    def _reduce(self, wide, cols, mask, loaded):
        draft = self.draft
        inside = f"tl.where({mask.removeprefix(', mask=')}, {wide}, 0.0)" if mask else wide
        for name, value in self.reduced.items():
            if name == "sum":
                draft.line(f"{value} += tl.sum({inside}, 1)[:, None]")
            elif name == "squares":
                draft.line(f"{value} += tl.sum({inside} * {inside}, 1)[:, None]")
            else:
                draft.line(f"{value} = tl.{name}imum({value}, tl.{name}({inside}, 1)[:, None])")

    def _write(self, wide, cols, mask, loaded):
        """What the row is, with what it was reduced to."""
        draft = self.draft
        value = draft.pick(*self.reduced.values())
        ways = [f"{wide} - {value}", f"tl.where({wide} > {value} * 0.5, {wide}, {value})"]
        ways += [
            f"{wide} + {loaded}.to(tl.float32) - {value}",
            f"tl.maximum({wide}, {value} * 0.25)",
        ]
        result = draft.let("y", draft.pick(*ways))
        if draft.chance(0.2) and self.width >= 16:
            result = draft.let("y", f"tl.cumsum({result}, 1)")
        dtype = draft.pick("fp32", "fp16", "i32")
        value = f"tl.minimum(tl.maximum({result}, -30000.0), 30000.0).to({NAMES[dtype]})"
        way = draft.pick("store", "store", "in place", "atomic")
        if way == "in place":
            out = draft.output(dtype, self._size(), "inout")
            at = draft.let("at", f"{out} + rows * {self.pitch} + {cols}")
            old = draft.let("old", f"tl.load({at}{mask})")
            mixed = f"tl.minimum(tl.maximum({result} + {old}.to(tl.float32), -30000.0), 30000.0)"
            draft.line(f"tl.store({at}, {mixed}.to({NAMES[dtype]}){mask})")
        elif way == "atomic":
            out = draft.array("sums", "fp32", self.columns + self.width, 0, 3)
            at = f"{out} + {cols} + rows * 0"
            draft.line(f"tl.atomic_add({at}, {result}{mask})")
        else:
            out = draft.output(dtype, self._size())
            draft.line(f"tl.store({out} + rows * {self.pitch} + {cols}, {value}{mask})")
