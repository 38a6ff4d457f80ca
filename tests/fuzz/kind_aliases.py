"""Arguments that are the same memory, whose accesses the values alone order.

Needs: draft, pieces_*.
Gives: draw_aliases.
How:   each program owns a part of an array that it reaches through several arguments, some of which
       begin further on. A step loads a tile through one or two of them, and stores it where it was
       loaded through another one: changed, normalised, or after a dot that it was an operand of.
       Nothing but the value itself says that the store comes after the loads. What a step loaded is
       used after the store if threads hold no copies of it; what it stored is loaded again after a
       barrier. Steps stand alone or in a loop, over tiles of one or two axes.
"""

from .draft import NAMES, Draft, launch_options
from .pieces_elements import change, clamp
from .pieces_loops import draw_sweep, sweep_loop
from .warps import has_replicas


def draw_aliases(seed):
    return _Aliases(seed).draw()


class _Aliases:
    """A kernel over one array under many names."""

    def __init__(self, seed):
        self.draft = draft = Draft("aliases", seed)
        self.dtype = draft.pick("fp32", "fp32", "fp16", "fp16", "fp16", "bf16", "i32", "i8")
        self.is_vector = draft.chance(0.3)
        self.rows = 1 if self.is_vector else draft.pick(1, 2, 4, 16, 32, 32, 64, 64)
        self.columns = draft.pick(
            *((16, 64, 256, 1024, 2048) if self.is_vector else (2, 8, 16, 32, 32, 64, 64))
        )
        self.programs = draft.pick(1, 2, 3, 7, 12)
        if self.dtype in ("fp16", "bf16") and draft.chance(0.4):
            self.is_vector, self.rows, self.columns = False, draft.pick(64, 64, 128), 64
        self.has_dot = self.dtype in ("fp16", "bf16") and min(self.rows, self.columns) >= 16

    def draw(self):
        draft = self.draft
        options = launch_options(draft)
        if draft.chance(0.6):
            options["num_warps"] = draft.pick_warps(1, 1, 2, 4)
        # Of a small tile threads hold copies, which may load what the store left.
        warps = options["num_warps"]
        self.is_kept = self.rows * self.columns >= 512 * warps and not has_replicas(warps)
        draft.case.grid = (self.programs,)
        draft.line("pid = tl.program_id(0)")
        self._indices()
        self.blocks = draft.pick(1, 1, 2, 3, 5)
        self.room = self.blocks * self.rows * self.columns
        self.array = draft.output(self.dtype, self.programs * self.room + 64, "inout")
        self.names = {self.array: 0}
        for _ in range(draft.pick(1, 1, 2, 3)):
            first = draft.pick(0, 0, 0, 16, 1)
            self.names[draft.view(self.array, first)] = first
        draft.line(f"mine = pid * {draft.number(self.room)} + {max(self.names.values())}")
        self._shape_of_tiles()
        draft.line(f"acc = tl.zeros({self.shape}, tl.float32)")
        for phase in range(draft.pick(1, 1, 2, 3)):
            if phase:
                draft.line("tl.debug_barrier()")
            self._phase()
        out = draft.output("fp32", self.programs * self.rows * self.columns)
        base = f"{out} + pid * {self.rows * self.columns} + "
        draft.line(f"tl.store({base}{self.plain}, {clamp(-30000, 30000, 'acc')})")
        return draft.finish()

    def _indices(self):
        draft = self.draft
        draft.line(f"c = tl.arange(0, {self.columns})")
        if not self.is_vector:
            draft.line(f"r = tl.arange(0, {self.rows})")

    def _shape_of_tiles(self):
        """How the elements of a tile lie, for all steps: in rows or in columns."""
        if self.is_vector:
            self.plain, self.shape, self.tile = "c", f"({self.columns},)", "c"
            self.some = f"c < {self.draft.rng.randint(1, self.columns)}"
            return
        self.plain = f"r[:, None] * {self.columns} + c[None, :]"
        self.shape = f"({self.rows}, {self.columns})"
        turned = f"r[:, None] + c[None, :] * {self.rows}"
        self.tile = self.draft.pick(self.plain, self.plain, turned)
        self.some = f"(r[:, None] < {self.draft.rng.randint(1, self.rows)}) & (c[None, :] >= 0)"

    def _phase(self):
        """A step for each block, or for one."""
        draft = self.draft
        if draft.chance(0.5):
            return self._step(str(draft.rng.randrange(self.blocks)))
        sweep = draw_sweep(draft, 1, self.blocks, 0)
        with sweep_loop(draft, sweep) as block:
            self._step(block)
        return None

    def _at(self, name, block):
        size = self.rows * self.columns
        offset = f"mine + {block} * {size}" if block != "0" else "mine"
        shift = f" - {self.names[name]}" if self.names[name] else ""
        return f"{name} + {offset}{shift} + ({self.tile})"

    def _wide(self, name, block, mask):
        """A tile of the array, and the same in fp32."""
        draft = self.draft
        if not mask:
            loaded = draft.let("x", f"tl.load({self._at(name, block)})")
        else:
            loaded = draft.let("x", f"tl.load({self._at(name, block)}, mask={self.some}, other=0)")
        return loaded, draft.let("w", f"{loaded}.to(tl.float32)")

    def _step(self, block):
        draft = self.draft
        masked = draft.chance(0.2)
        names = [draft.pick(*self.names) for _ in range(draft.pick(1, 1, 2))]
        loaded, wide = zip(*(self._wide(name, block, masked) for name in names), strict=True)
        value = wide[0] if len(wide) == 1 else draft.let("w", f"{wide[0]} + {wide[1]} * 0.5")
        for _ in range(draft.pick(0, 1, 1, 2)):
            others = [self._other(block)] if draft.chance(0.4) else []
            value = draft.let("w", change(draft, value, (), others))
        if draft.chance(0.3):
            value = draft.let("w", self._normalised(value))
        if self.is_kept and self.has_dot and draft.chance(0.6):
            self._multiply(loaded[0])
        if self.is_kept and draft.chance(0.4):
            self._use(wide[0])
        stored = f"({clamp(-60, 60, value)}).to({NAMES[self.dtype]})"
        mask = f", mask={self.some}" if masked else ""
        draft.line(f"tl.store({self._at(draft.pick(*self.names), block)}, {stored}{mask})")
        if self.is_kept and draft.chance(0.6):
            self._use(draft.pick(*wide, value))

    def _other(self, block):
        """A tile of another array, at the same places or at others."""
        draft = self.draft
        source = draft.array("y", draft.pick("fp32", "fp16"), self.room, -4, 4)
        size = self.rows * self.columns
        offsets = draft.pick(self.plain, self.tile)
        return draft.let("y", f"tl.load({source} + {block} * {size} + ({offsets})).to(tl.float32)")

    def _normalised(self, value):
        axis = 0 if self.is_vector else self.draft.pick(0, 1)
        keep = "" if self.is_vector else ("[None, :]" if axis == 0 else "[:, None]")
        name = self.draft.pick("max", "min", "sum")
        small = clamp(-8, 8, value)
        return f"{value} - tl.{name}({small}, {axis}){keep}"

    def _multiply(self, loaded):
        """The tile is an operand of a dot, whose other one is a matrix of the same type."""
        draft = self.draft
        side = self.columns
        matrix = draft.array("b", self.dtype, side * side, -1, 1)
        right = draft.let("b", f"tl.load({matrix} + c[:, None] * {side} + c[None, :])")
        small = f"tl.minimum(tl.maximum({loaded}, -16.0), 16.0).to({loaded}.dtype)"
        left = draft.pick(loaded, small)
        draft.line(f"acc = {clamp(-4000, 4000, f'tl.dot({left}, {right}, acc)')}")

    def _use(self, value):
        draft = self.draft
        draft.line(f"acc = {clamp(-4000, 4000, f'acc * 0.5 + {value}')}")
