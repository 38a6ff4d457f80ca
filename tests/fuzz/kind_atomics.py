"""Atomics whose old values are used, and atomics between programs.

Needs: draft, pieces_*.
Gives: draw_atomics.
How:   results must not depend on the order of programs: each program has counters of its own, or
       programs add to one place and only the total counts, or a ticket that `atomic_add` drew is used
       so that the sum over all tickets is always the same.
"""

from .draft import Draft, launch_options
from .pieces_loops import draw_sweep, sweep_loop


def draw_atomics(seed):
    return _Atomics(seed).draw()


class _Atomics:
    """A kernel of atomics that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("atomics", seed)
        self.count = draft.pick(1, 16, 32, 64, 128, 256, 512)
        self.programs = draft.pick(1, 2, 4, 9, 20)

    def draw(self):
        draft = self.draft
        launch_options(draft)
        draft.case.options["num_warps"] = draft.pick_warps(1, 2, 4, 8)
        draft.case.grid = (self.programs,)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"r = tl.arange(0, {self.count})")
        draft.line(f"total = tl.zeros(({self.count},), tl.int32)")
        ways = [
            self._own,
            self._own,
            self._ticket,
            self._shared,
            self._swap,
            self._tile,
            self._scalar,
        ]
        for way in [draft.pick(*ways) for _ in range(draft.pick(1, 2, 3))]:
            if draft.chance(0.4):
                with sweep_loop(draft, draw_sweep(draft, draft.pick(1, 2, 16), 4, 0)) as first:
                    way(first)
            elif draft.chance(0.15):
                with draft.block(f"if pid % 2 == {draft.rng.randint(0, 1)}:"):
                    way("0")
            else:
                way("0")
        out = draft.output("i32", self.programs * self.count)
        draft.line(f"tl.store({out} + pid * {self.count} + r, total)")
        return draft.finish()

    def _mask(self):
        draft = self.draft
        if not draft.chance(0.4):
            return ""
        return draft.pick(
            f", mask=r < {draft.number(draft.rng.randint(0, self.count))}",
            ", mask=(r & 1) == 0",
        )

    def _sem(self, *scopes):
        """Memory order or scope; `scopes` that include all threads that access the element."""
        return self.draft.pick("", "", ", sem='relaxed'", ", sem='acq_rel'", *scopes)

    def _values(self, first):
        """Small numbers of each element."""
        return self.draft.pick(f"(r % 7 - 3 + {first})", "r", "(pid + r % 5)", "(r * 0 + 1)")

    def _kept(self, old, mask):
        """The results of masked elements are not used."""
        return f"tl.where({mask.removeprefix(', mask=')}, {old}, 0)" if mask else old

    def _own(self, first):
        """Each program and element has a counter: the old value is certain."""
        draft = self.draft
        name = draft.pick("add", "max", "min", "and", "or", "xor", "xchg")
        out = draft.array("own", "i32", self.programs * self.count, -9, 9)
        mask = self._mask()
        shift = draft.pick("r", "r", f"({self.count - 1} - r)", f"(r ^ {self.count // 2})")
        text = f"tl.atomic_{name}({out} + pid * {self.count} + {shift}, {self._values(first)}"
        sem = self._sem(", scope='cta'")
        old = draft.let("old", f"{text}{mask}{sem})")
        sign = draft.pick("+", "-", "^")
        draft.line(f"total = total {sign} {self._kept(old, mask)}")

    def _ticket(self, first):
        """Programs draw numbers; the sum of what they add for them is certain."""
        draft = self.draft
        counter = draft.array("ticket", "i32", 1, 0, 0)
        sums = draft.array("sums", "i32", self.count, 0, 5)
        ticket = draft.let("ticket", f"tl.atomic_add({counter}, 1)")
        draft.line(f"tl.atomic_add({sums} + r, {ticket} * {draft.rng.randint(1, 5)})")

    def _shared(self, first):
        """All programs and several elements access one address."""
        draft = self.draft
        kind = draft.pick("i32", "i32", "fp32", "i64")
        name = "add" if kind == "fp32" else draft.pick("add", "max", "min", "xor")
        places = draft.pick(1, 3, 16, self.count)
        out = draft.array("shared", kind, places, -9, 9)
        value = self._values(first)
        value = {"fp32": f"({value}).to(tl.float32)", "i64": f"({value}).to(tl.int64)"}.get(
            kind, value
        )
        at = f"{out} + r % {places}" if places > 1 else f"{out} + r * 0"
        sem = self._sem(", scope='sys'")
        draft.line(f"tl.atomic_{name}({at}, {value}{self._mask()}{sem})")

    def _swap(self, first):
        """Compare and swap of own places, of which some compare equal."""
        draft = self.draft
        out = draft.array("cas", "i32", self.programs * self.count, 0, 2)
        at = f"{out} + pid * {self.count} + r"
        compare = draft.pick("tl.zeros_like(r)", "r % 3", "r * 0 + 1")
        compare = compare.replace("tl.zeros_like(r)", "r * 0")
        old = draft.let("old", f"tl.atomic_cas({at}, {compare}, {self._values(first)})")
        draft.line(f"total = total * 2 + {old}")

    def _scalar(self, first):
        """One element of the program itself, used by all its threads."""
        draft = self.draft
        out = draft.array("one", "i32", self.programs, -5, 5)
        name = draft.pick("add", "max", "xchg", "xor")
        old = draft.let(
            "old", f"tl.atomic_{name}({out} + pid, {draft.pick('3', 'pid + 2', f'{first} + 1')})"
        )
        draft.line(f"total += {old} * {draft.pick('1', 'r', '3')}")
        if draft.chance(0.4):
            with draft.block(f"if {old} > {draft.rng.randint(-2, 2)}:"):
                draft.line(f"total += {draft.rng.randint(1, 9)}")

    def _tile(self, first):
        """A tile of two axes, whose old values are reduced or transposed."""
        draft, side = self.draft, self.draft.pick(4, 16, 32)
        columns = draft.let("c", f"tl.arange(0, {side})")
        out = draft.array("tile", "i32", self.programs * side * side, -9, 9)
        along = f"{columns}[:, None] * {side} + {columns}[None, :]"
        if draft.chance(0.3):
            along = f"{columns}[:, None] + {columns}[None, :] * {side}"
        mask = draft.pick("", "", f", mask={columns}[:, None] <= {columns}[None, :]")
        value = draft.pick(
            "1", f"{columns}[:, None] + {first}", f"{columns}[None, :] - {columns}[:, None]"
        )
        name = draft.pick("add", "max", "xchg", "xor")
        value = f"{value} + {columns}[None, :] * 0 + {columns}[:, None] * 0"
        at = f"{out} + pid * {side * side} + {along}"
        old = draft.let("old", f"tl.atomic_{name}({at}, {value}{mask})")
        seen = self._kept(old, mask)
        if draft.chance(0.5):
            draft.line(f"total += tl.sum(tl.sum({seen}, 1), 0)")
        else:
            store = draft.output("i32", self.programs * side * side)
            text = f"tl.trans({seen})" if draft.chance(0.5) else seen
            place = (
                f"{store} + pid * {side * side} + {columns}[:, None] * {side} + {columns}[None, :]"
            )
            if first == "0":
                draft.line(f"tl.store({place}, {text})")
            else:
                draft.line(f"tl.atomic_add({place}, {text})")
