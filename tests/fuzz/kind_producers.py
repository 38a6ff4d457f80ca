"""Loops of dots after what their loads have to wait for, and next to relaxed sums.

Needs: draft.
Gives: draw_producers.
How:   a program multiplies rows of A by B. Before its loops it stores rows, adds by atomics, passes
       a barrier, or learns from a ticket, memory or a tile which rows they are. The loops stand in
       branches, some of which do not come to them, or in a loop, and may add relaxed sums. Between
       them flags may be polled, which the program has set itself. Each ticket has a result of its own,
       so the order of programs does not matter.
"""

import contextlib

from .draft import HALVES, Draft, launch_options

DEPTH = 64  # of a block


def draw_producers(seed):
    return _Producers(seed).draw()


class _Producers:
    """A kernel that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("producers", seed)
        self.side = draft.pick(64, 64, 128)
        self.depth = DEPTH * draft.rng.randint(1, 4)
        self.programs = draft.pick(1, 2, 3, 5)
        self.dtype = draft.pick(*HALVES)

    def draw(self):
        draft, side = self.draft, self.side
        launch_options(draft)
        draft.case.grid = (self.programs,)
        self.rows = self.programs * side
        self.a = draft.array("a", self.dtype, self.rows * self.depth)
        self.b = draft.array("b", self.dtype, self.depth * side)
        out = draft.output("fp32", self.rows * side)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"r, d = tl.arange(0, {side}), tl.arange(0, {DEPTH})")
        draft.line("block = pid")
        draft.line(f"acc = tl.zeros(({side}, {side}), tl.float32)")
        if draft.chance(0.4):
            self._ticket()
        for _ in range(draft.pick(0, 1, 1, 2, 3)):
            draft.pick(self._store, self._add, self._barrier, self._sum, self._read)()
        self._multiply()
        place = f"(block * {side} + r)[:, None] * {side} + r[None, :]"
        draft.line(f"tl.store({out} + {place}, acc)")
        return draft.finish()

    # What comes before.

    def _tile(self, base, block, k="0"):
        pitch = self.depth
        return f"{base} + ({block} * {self.side} + r)[:, None] * {pitch} + ({k} + d)[None, :]"

    @contextlib.contextmanager
    def _each_part(self):
        """A loop over the depth, or one part of it."""
        draft = self.draft
        if draft.chance(0.5):
            k = draft.fresh("k")
            with draft.block(f"for {k} in range(0, {self.depth}, {DEPTH}):"):
                yield k
        else:
            yield str(DEPTH * draft.rng.randrange(self.depth // DEPTH))

    def _store(self):
        """The program's rows are changed, through A or another argument that is A."""
        draft = self.draft
        with self._each_part() as k:
            x = draft.let("x", f"tl.load({self._tile(self.a, 'block', k)})")
            at = self._tile(self.a, "block", k)
            draft.line(f"tl.store({at}, {x} * {draft.pick('2', '0.5', '-1')})")
        draft.line("tl.debug_barrier()")
        if draft.chance(0.3):
            other = draft.view(self.a)
            x = draft.let("x", f"tl.load({self._tile(self.a, 'block')})")
            draft.line("tl.debug_barrier()")
            draft.line(f"tl.store({self._tile(other, 'block')}, {x} + 1)")
            draft.line("tl.debug_barrier()")

    def _add(self):
        """An atomic of the program's own, whose old value may be used."""
        draft = self.draft
        own = draft.array("own", "fp32", self.rows, 0, 3)
        sem = draft.pick("", "", ", sem='relaxed'", ", sem='acquire'")
        old = draft.let("old", f"tl.atomic_add({own} + block * {self.side} + r, 1.0{sem})")
        if draft.chance(0.5):
            draft.line(f"acc += {old}[:, None]")

    def _barrier(self):
        self.draft.line("tl.debug_barrier()")

    def _sum(self):
        """A tile says which rows; the same ones."""
        draft = self.draft
        kind = draft.pick("tl.int32", "tl.float32", "tl.int64")
        total = f"tl.sum(tl.where(r == 3, 1, 0).to({kind}))"
        draft.line(f"block = block + ({total} - 1).to(tl.int32)")

    def _read(self):
        """Memory that an atomic of the program has changed says it."""
        draft = self.draft
        table = draft.array("table", "i32", self.programs, 0, 0)
        old = draft.let("old", f"tl.atomic_add({table} + pid, {draft.pick('1', 'pid + 1')})")
        draft.line(f"block = block + tl.where({old} < 0, 1, 0)")

    def _ticket(self):
        """Programs take the rows in any order."""
        draft = self.draft
        counter = draft.array("ticket", "i32", 1, 0, 0)
        ticket = draft.let("ticket", f"tl.atomic_add({counter}, 1)")
        draft.line(f"block = {ticket}")

    # The loops.

    def _multiply(self):
        draft = self.draft
        self.sums = draft.array("sums", "i32", self.side, 0, 3) if draft.chance(0.4) else None
        self.flags = self._flags() if draft.chance(0.5) else None
        way = draft.pick("plain", "plain", "branch", "results", "else", "twice", "around", "around")
        draft.line("block = tl.maximum(block, 0)")
        if way == "plain":
            self._loop()
        elif way in ("branch", "results", "else"):
            chosen = draft.pick("block % 2 == 0", "block > 0", "block < 0", "acc.shape[0] > 1")
            header = f"if {chosen}:"
            with draft.block(header):
                if draft.chance(0.4):
                    draft.pick(self._store, self._add, self._barrier)()
                self._loop()
            if way == "else":
                with draft.block("else:"):
                    draft.line("acc += 3.0")
        elif way == "twice":
            self._loop()
            if draft.chance(0.5):
                draft.pick(self._barrier, self._add, self._poll)()
            self._loop()
        else:
            with draft.block(f"for i in range({draft.number(draft.rng.randint(0, 4))}):"):
                if draft.chance(0.3):
                    draft.pick(self._store, self._barrier, self._poll, self._poll)()
                self._poll()
                draft.line("acc = acc * 0.5")
                self._loop()
                if draft.chance(0.3):
                    self._poll()

    # Flags, which the program itself has set.

    def _flags(self):
        draft = self.draft
        flags = draft.array("flags", draft.pick("i32", "i32", "i64"), 4 * self.programs, 0, 0)
        for i in range(4):
            draft.line(f"tl.atomic_store({flags} + block * 4 + {i}, {i + 1}, sem='release')")
        return flags

    def _poll(self):
        """Of one flag or several, in a branch or not; the old value may be used."""
        draft = self.draft
        if not self.flags:
            return
        sem = draft.pick("acquire", "acquire", "relaxed")
        with contextlib.ExitStack() as around:
            i = draft.pick("0", "1", "3")
            if draft.chance(0.3):
                i = draft.fresh("f")
                loop = f"for {i} in range({draft.pick('0', 'block % 2')}, {draft.pick('1', '4')}):"
                around.enter_context(draft.block(loop))
            if draft.chance(0.3):
                around.enter_context(draft.block(f"if block {draft.pick('>', '<')} 1:"))
            poll = f"tl.atomic_poll({self.flags} + block * 4 + {i}, {i} + 1, sem='{sem}')"
            if draft.chance(0.1):
                draft.line(f"acc += {poll}")
            else:
                draft.line(poll)

    def _loop(self):
        draft, side = self.draft, self.side
        k, hints = draft.fresh("k"), ""
        if draft.chance(0.3):
            hints = f", num_stages={draft.rng.randint(1, 5)}"
        end = draft.number(draft.pick(self.depth, self.depth, self.depth - DEPTH))
        with draft.block(f"for {k} in tl.range(0, {end}, {DEPTH}{hints}):"):
            x = draft.let("x", f"tl.load({self._tile(self.a, 'block', k)})")
            y = draft.let("y", f"tl.load({self.b} + ({k} + d)[:, None] * {side} + r[None, :])")
            draft.line(f"acc = tl.dot({x}, {y}, acc)")
            if self.sums:
                draft.line(f"tl.atomic_add({self.sums} + r, r % 3, sem='relaxed')")
