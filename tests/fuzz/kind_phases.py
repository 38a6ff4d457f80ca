"""Loops of dots over memory that the same program wrote before, or overwrites afterwards.

Needs: draft, pieces_*.
Gives: draw_phases.
How:   each program has a strip of blocks of its own. Phases follow each other with a barrier between
       them: one fills blocks of the strip, in a loop or at once; one multiplies them, loaded in a
       loop through any argument for the strip, or through a descriptor; one changes them in place.
       Loads must neither move before the barrier nor after the next one.
"""

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_elements import clamp
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import Sweep, sweep_loop


def draw_phases(seed):
    return _Phases(seed).draw()


class _Phases:
    """A kernel of phases that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("phases", seed)
        self.dtype = draft.pick(*HALVES)
        self.m, self.n, self.k = (
            draft.pick(64, 64, 128, 32),
            draft.pick(64, 64, 32),
            draft.pick(64, 32),
        )
        self.blocks = draft.pick(1, 2, 3, 4, 5)
        self.programs = draft.pick(1, 2, 3, 4, 7)
        self.depth = self.k * self.blocks

    def draw(self):
        draft, m, n = self.draft, self.m, self.n
        launch_options(draft)
        m_text = draft.number(m * self.depth)
        self._programs()
        draft.line(f"rm = tl.arange(0, {m})")
        draft.line(f"rn = tl.arange(0, {n})")
        draft.line(f"rk = tl.arange(0, {self.k})")
        self.strip = draft.array("strip", self.dtype, self.programs * m * self.depth, -1, 1)
        self.names = [self.strip, *(draft.view(self.strip) for _ in range(draft.pick(0, 1, 1, 2)))]
        self.right = draft.array("b", self.dtype, self.depth * n, -1, 1)
        draft.line(f"mine = pid * {m_text}")
        draft.line(f"acc = tl.zeros(({m}, {n}), tl.float32)")
        phases = [self._fill, self._multiply, self._change, self._multiply, self._fill_from_dots]
        chosen = [draft.pick(*phases) for _ in range(draft.pick(1, 2, 3))] + [self._multiply]
        for i, phase in enumerate(chosen):
            if i:
                draft.line("tl.debug_barrier()")
            phase()
        draft.line(f"rows = pid * {m} + rm")
        epilogue(draft, Plane(
            "acc", "rows", "rn", (m, n), (self.programs * m, n), None, None,
            f"pid * {m}", "0", "", self.programs * m * n,
        ), 1)  # fmt: skip
        return draft.finish()

    def _programs(self):
        draft = self.draft
        if draft.odd(0.4):
            draft.case.grid = (draft.rng.randint(1, 3),)
            stop = draft.number(self.programs)
            draft.line(f"for pid in tl.range(tl.program_id(0), {stop}, tl.num_programs(0)):")
            draft.depth += 1
        else:
            draft.case.grid = (self.programs,)
            draft.line("pid = tl.program_id(0)")

    def _block(self, name, first):
        """Pointers to the block at `first`."""
        return f"{name} + mine + rm[:, None] * {self.depth} + ({first} + rk)[None, :]"

    def _sweep(self):
        draft = self.draft
        count = draft.pick(self.blocks, self.blocks, draft.rng.randint(0, self.blocks))
        return Sweep(0, count * self.k, self.k)

    def _fill(self):
        """Blocks of the strip come from elsewhere."""
        draft = self.draft
        source = draft.array("x", self.dtype, self.programs * self.m * self.depth, -2, 2)
        with sweep_loop(draft, self._sweep()) as first:
            x = draft.let("x", f"tl.load({self._block(source, first)})")
            value = draft.pick(x, f"({x}.to(tl.float32) * 0.5).to({NAMES[self.dtype]})")
            draft.line(f"tl.store({self._block(draft.pick(*self.names), first)}, {value})")

    def _change(self):
        """Blocks are read, changed and written back through one tile of pointers."""
        draft = self.draft
        with sweep_loop(draft, self._sweep()) as first:
            at = draft.let("at", self._block(draft.pick(*self.names), first))
            old = draft.let("old", f"tl.load({at})")
            change = draft.pick("{0} + 1.0", "-{0}", "tl.maximum({0}, 0.0)").format(
                f"{old}.to(tl.float32)"
            )
            value = f"({clamp(-8, 8, f'({change})')}).to({NAMES[self.dtype]})"
            mask = (
                f", mask=(rm < {draft.rng.randint(1, self.m)})[:, None]"
                if draft.chance(0.2)
                else ""
            )
            draft.line(f"tl.store({at}, {value}{mask})")

    def _multiply(self):
        """The strip is the left operand of a loop of dots."""
        draft, name, window = self.draft, self.draft.pick(*self.names), None
        if draft.chance(0.25):
            shape = f"[{self.programs * self.m}, {self.depth}], [{self.depth}, 1]"
            window = draft.let(
                "window", f"tl.make_tensor_descriptor({name}, {shape}, [{self.m}, {self.k}])"
            )
        with sweep_loop(draft, self._sweep()) as first:
            if window:
                x = draft.let("x", f"{window}.load([pid * {self.m}, {first}])")
            else:
                x = draft.let("x", f"tl.load({self._block(name, first)})")
            at = f"{self.right} + ({first} + rk)[:, None] * {self.n} + rn[None, :]"
            y = draft.let("y", f"tl.load({at})")
            if draft.chance(0.6):
                draft.line(f"acc = tl.dot({x}, {y}, acc)")
            else:
                draft.line(f"acc += tl.dot({x}, {y})")
        draft.line(f"acc = {clamp(-60, 60, 'acc')}")

    def _fill_from_dots(self):
        """What was multiplied so far goes into a block, if it fits."""
        draft = self.draft
        if self.n != self.k:
            return self._fill()
        first = self.k * draft.rng.randrange(self.blocks)
        value = f"({clamp(-8, 8, 'acc')}).to({NAMES[self.dtype]})"
        draft.line(f"tl.store({self._block(draft.pick(*self.names), str(first))}, {value})")
        return None
