"""Values that are written to memory and read back within a program, also through other arguments.

Needs: draft, pieces_*.
Gives: draw_scratch.
How:   each program has its own part of a scratch array. A tile is stored, whole or masked, and loaded
       through the same tile of pointers, or after a barrier transposed, shifted, in another shape, or
       through another argument that is a view of the same array. What is loaded again is changed, is an operand of a
       dot, or is stored again, within a loop or without one.
"""

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_elements import change
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import draw_sweep, sweep_loop


def draw_scratch(seed):
    return _Scratch(seed).draw()


class _Scratch:
    """A kernel with scratch memory that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("scratch", seed)
        self.side = draft.pick(16, 32, 32, 64, 64)  # of the square tiles
        self.programs = draft.pick(1, 2, 3, 5, 8, 12)
        self.dtype = draft.pick(*HALVES, "fp32")
        self.has_dot = draft.chance(0.6)

    def draw(self):
        draft, side = self.draft, self.side
        launch_options(draft)
        draft.case.grid = (self.programs,)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"r = tl.arange(0, {side})")
        draft.line(f"tile = r[:, None] * {side} + r[None, :]")
        self.room = 3 * side * side
        self.scratch = draft.output(self.dtype, self.programs * self.room, "scratch")
        self.others = [self.scratch]
        if draft.chance(0.6):
            self.others.append(draft.view(self.scratch))
        self.shift = 0
        if draft.chance(0.3):
            self.shift = draft.pick(1, 8, side)
            self.shifted = draft.view(self.scratch, self.shift)
        draft.line(f"mine = pid * {draft.number(self.room)}")
        draft.line(f"acc = tl.zeros(({side}, {side}), tl.float32)")
        if draft.chance(0.75):
            sweep = draw_sweep(draft, side, 6)
            self.before = draft.place()
            self.length = sweep.lo + sweep.trips * side + side
            with sweep_loop(draft, sweep) as first:
                self._round(first)
        else:
            self.before, self.length = draft.place(), 2 * side
            self._round(str(draft.pick(0, side)))
            if draft.chance(0.4):
                draft.line("tl.debug_barrier()")
                self._round("0")
        size = self.programs * side * side
        plane = Plane(
            "acc", "rows", "r", (side, side), (self.programs * side, side), None, None,
            f"pid * {side}", "0", "", size,
        )  # fmt: skip
        draft.line(f"rows = pid * {side} + r")
        epilogue(draft, plane, 1)
        return draft.finish()

    def _input(self, first):
        """A tile that depends on the iteration."""
        draft, side = self.draft, self.side
        source = draft.array("x", draft.pick(*HALVES), self.programs * self.length * side, -2, 2)
        at = f"{source} + pid * {self.length * side} + {first} * {side} + tile"
        return draft.let("x", f"tl.load({at})")

    def _place(self, which):
        side = self.side
        return f"mine + {which * side * side}" if which else "mine"

    def _round(self, first):
        """Store, order, load, use; perhaps twice."""
        draft = self.draft
        for _ in range(draft.pick(1, 1, 2)):
            x = self._input(first)
            wide = draft.let("w", f"{x}.to(tl.float32)")
            if draft.chance(0.6):
                wide = draft.let("w", change(draft, wide, (), ["acc"] if draft.odd(0.3) else []))
            value = f"tl.minimum(tl.maximum({wide}, -32.0), 32.0).to({NAMES[self.dtype]})"
            value = draft.let("v", value)
            back = self._through_memory(value)
            self._use(back, first)

    def _through_memory(self, value):
        draft, side = self.draft, self.side
        which = draft.rng.randint(0, 2 if not self.shift else 1)
        place = self._place(which)
        way = draft.pick("same", "same", "turned", "turned", "argument", "shape", "shifted", "rows")
        pointers = f"{self.scratch} + {place} + tile"
        if way == "same":
            return self._same_pointers(pointers, value)
        mask = f", mask=(r < {draft.rng.randint(1, side)})[:, None]" if draft.chance(0.2) else ""
        draft.line(f"tl.store({pointers}, {value}{mask})")
        draft.line("tl.debug_barrier()")
        base = draft.pick(*self.others)
        if way == "turned":
            text = f"tl.load({base} + {place} + r[:, None] + r[None, :] * {side})"
        elif way == "argument":
            text = f"tl.load({self.others[-1]} + {place} + tile)"
        elif way == "shape":
            flat = f"tl.arange(0, {side * side})"
            text = f"tl.reshape(tl.load({base} + {place} + {flat}), ({side}, {side}))"
        elif way == "shifted" and self.shift:
            text = f"tl.load({self.shifted} + {place} + tile)"
        else:
            roll = draft.rng.randint(1, side - 1)
            text = f"tl.load({base} + {place} + ((r + {roll}) % {side})[:, None] * {side} + r[None, :])"
        back = draft.let("back", text)
        draft.line("tl.debug_barrier()")
        return back

    def _same_pointers(self, pointers, value):
        """Through one tile of pointers, which needs no barrier within an iteration."""
        draft = self.draft
        is_outside = draft.chance(0.5)
        if is_outside:
            with draft.at(self.before):
                at = draft.let("at", pointers)
        else:
            at = draft.let("at", pointers)
        if draft.chance(0.3):  # what was there before counts too
            old = draft.let("old", f"tl.load({at})")
            mixed = f"({value}.to(tl.float32) + {old}.to(tl.float32) * 0.5)"
            value = draft.let(
                "v", f"tl.minimum(tl.maximum({mixed}, -8.0), 8.0).to({NAMES[self.dtype]})"
            )
        mask = (
            f", mask=(r < {draft.rng.randint(1, self.side)})[None, :]" if draft.chance(0.2) else ""
        )
        draft.line(f"tl.store({at}, {value}{mask})")
        back = draft.let("back", f"tl.load({at})")
        if draft.chance(0.3):
            draft.line(f"tl.store({at}, ({back}.to(tl.float32) * 0.5).to({NAMES[self.dtype]}))")
            back = draft.let("back", f"tl.load({at})") if draft.chance(0.6) else back
        draft.line("tl.debug_barrier()")  # other rounds come through other tiles of pointers
        return back

    def _use(self, back, first):
        draft = self.draft
        if not self.has_dot:
            draft.line(f"acc = {draft.pick('acc * 0.5', 'acc')} + {back}.to(tl.float32)")
            return
        half = back
        other = self._input(first)
        if self.dtype == "fp32":
            half = draft.let("half", f"{back}.to({other}.dtype)")
        elif draft.chance(0.9):
            half = draft.let("half", f"{back}.to({other}.dtype)")
        left, right = draft.pick((half, other), (other, half), (f"tl.trans({half})", other))
        draft.line(f"acc = tl.dot({left}, {right}.to({left_name(left)}.dtype), acc)")


def left_name(text):
    return text.removeprefix("tl.trans(").removesuffix(")")
