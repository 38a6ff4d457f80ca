"""Loops that count in any step, up and down, in 32 and 64 bits, also near the ends of int32.

Needs: draft, pieces_counts.
Gives: draw_loops.
How:   each program runs one loop, two after each other, or one within another. An iteration reads the
       row of its number, by index or through pointers that move on, and adds it up, multiplies it, or
       stores it in a row of its own; the counters themselves are mixed into a number that differs if
       one is missing, added, or out of order. Rows lie where the last iterations end: what is read for
       an iteration that there is not leaves its array.
"""

from .draft import HALVES, Draft, launch_options
from .pieces_counts import count_loop, draw_count, number_of


def draw_loops(seed):
    return _Loops(seed).draw()


class _Loops:
    """A kernel of loops that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("loops", seed)
        self.width = draft.pick(16, 32, 64, 64)
        self.programs = draft.pick(1, 2, 3, 8)
        self.dtype = draft.pick(*HALVES)

    def draw(self):
        draft, width = self.draft, self.width
        launch_options(draft)
        draft.case.grid = (self.programs,)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"r = tl.arange(0, {width})")
        draft.line("mixed = tl.full([], 7, tl.int64)")
        draft.line(f"total = tl.zeros(({width},), tl.int32)")
        draft.line(f"acc = tl.zeros(({width}, {width}), tl.float32)")
        for _ in range(draft.pick(1, 1, 2)):
            self._loop()
        for name, dtype, index, each in (
            ("mixed", "i64", "pid", 1),
            ("total", "i32", f"pid * {width} + r", width),
            ("acc", "fp32", f"pid * {width * width} + r[:, None] * {width} + r[None, :]", width**2),
        ):
            out = draft.output(dtype, self.programs * each)
            draft.line(f"tl.store({out} + {index}, {name})")
        return draft.finish()

    def _loop(self):
        draft = self.draft
        self.count = count = draw_count(draft)
        works = [
            self._add_row,
            self._add_row,
            self._multiply,
            self._store_row,
            self._compare,
            self._divide,
        ]
        if abs(count.step) <= 64:
            works.append(self._add_at_counter)
        chosen = draft.rng.sample(works, draft.rng.randint(1, 2))
        self.before = draft.place()
        with count_loop(draft, count) as counter:
            if draft.chance(0.1) and count.trips:
                self._jump(counter)
            number = number_of(draft, count, counter)
            draft.line(f"mixed = mixed * 31 + {counter}.to(tl.int64)")
            for work in chosen:
                work(counter, number)
            if draft.chance(0.2):
                draft.pick(self._inner_loop, self._rest_of_counters)(counter, number)
        if count.trips and draft.chance(0.3):
            draft.line(f"mixed = mixed * 37 + {counter}.to(tl.int64)")

    def _jump(self, counter):
        draft, count = self.draft, self.count
        if counter.startswith("at"):  # a `while` would stay there
            return
        at = count.start + draft.rng.randrange(count.trips) * count.step
        with draft.block(f"if {counter} == {draft.number(at)}:"):
            draft.line(draft.pick("break", "continue"))

    def _inner_loop(self, counter, number):
        draft = self.draft
        inner = draw_count(draft, 3)
        with count_loop(draft, inner) as within:
            draft.line(f"mixed = mixed * 33 + {within}.to(tl.int64) - {counter}")
            row = number_of(draft, inner, within)
            draft.line(f"total = total * 5 + {self._row(f'{number} + {row}', 8)}")

    def _rest_of_counters(self, counter, number):
        """From the counter to the end of the loop around."""
        draft, count = self.draft, self.count
        step = count.step * draft.pick(1, 2)
        if not -(2**31) <= step < 2**31:
            step = count.step
        text = str(step) if step < 0 else draft.number(step)
        within = draft.fresh("j")
        with draft.block(f"for {within} in range({counter}, {draft.number(count.stop)}, {text}):"):
            draft.line(f"mixed = mixed * 35 + {within}.to(tl.int64)")
            draft.line(f"total = total * 7 + {self._row(number)}")

    def _row(self, number, more=0):
        """The row of an iteration."""
        draft, rows = self.draft, self.count.trips + more
        source = draft.array("x", "i32", self.programs * rows * self.width, -9, 9)
        return f"tl.load({source} + (pid * {rows} + {number}) * {self.width} + r)"

    def _add_row(self, counter, number):
        draft = self.draft
        if draft.chance(0.5):
            return draft.line(f"total = total * 3 + {self._row(number)}")
        rows = self.count.trips  # a pointer that moves on
        source = draft.array("x", "i32", self.programs * rows * self.width, -9, 9)
        first = f"{source} + pid * {rows * self.width}"
        with draft.at(self.before):
            pointer = draft.let("p", draft.pick(f"{first} + r", first))
        at = pointer if draft.lines[self.before.index - 1].endswith("+ r") else f"{pointer} + r"
        draft.line(f"total = total * 3 + tl.load({at})")
        draft.line(f"{pointer} += {self.width}")
        return None

    def _add_at_counter(self, counter, number):
        """The counter is the index itself, from a pointer before or after the array."""
        draft, count = self.draft, self.count
        last = count.start + max(0, count.trips - 1) * count.step
        least, span = min(count.start, last), abs(last - count.start)
        size = span + self.width
        source = draft.array("x", "i32", self.programs * size, -9, 9)
        if least < -(2**31) or last > 2**31 or draft.chance(0.5):
            at = f"{source} + pid * {size} + ({counter}.to(tl.int64) - ({least})) + r"
        else:
            with draft.at(self.before):
                base = draft.let("base", f"{source} + pid * {size} - ({least})")
            at = f"{base} + {counter} + r"
        draft.line(f"total = total + tl.load({at})")

    def _multiply(self, counter, number):
        draft, width, count = self.draft, self.width, self.count
        depth = max(1, count.trips) * width
        x = draft.array("a", self.dtype, self.programs * depth * width, -1, 1)
        y = draft.array("b", self.dtype, depth * width, -1, 1)
        step = f"{number} * {width}"
        at = f"{x} + pid * {depth * width} + r[:, None] * {depth} + ({step} + r)[None, :]"
        left = draft.let("a", f"tl.load({at})")
        right = draft.let("b", f"tl.load({y} + ({step} + r)[:, None] * {width} + r[None, :])")
        draft.line(f"acc = tl.dot({left}, {right}, acc)")

    def _store_row(self, counter, number):
        draft, width, rows = self.draft, self.width, max(1, self.count.trips)
        out = draft.output("i64", self.programs * rows * width)
        value = draft.pick(f"{counter}.to(tl.int64) + r", "total.to(tl.int64) + mixed")
        draft.line(f"tl.store({out} + (pid * {rows} + {number}) * {width} + r, {value})")

    def _divide(self, counter, number):
        """Quotients and remainders, not of negative numbers: of these NumPy has others than the language."""
        draft = self.draft
        by = draft.number(draft.pick(1, 2, 3, 7, 128, 1000, 65537, 2**31 - 1))
        if draft.chance(0.2):
            by = f"({draft.pick(3, 126, 65533)} + {number} % 2)"  # changes in the loop
        for _ in range(draft.pick(1, 2)):
            operation, factor = draft.pick("//", "%"), draft.rng.randint(1, 9999)
            value = f"({number} % 1000 * {factor} + 5) {operation} {by}"
            draft.line(f"mixed = mixed * 29 + ({value}).to(tl.int64)")
            tile = (
                f"({number} % 1000 * {factor} + r * {draft.pick(1, 1001, 65537)}) {operation} {by}"
            )
            draft.line(f"total = total * 3 + ({tile}).to(tl.int32)")

    def _compare(self, counter, number):
        """Masks of comparisons of the counter with bounds."""
        draft, count = self.draft, self.count
        at = count.start + draft.rng.randint(0, max(0, count.trips - 1)) * count.step
        order = draft.pick("<", "<=", ">", ">=", "==", "!=")
        mask = f"({counter} {order} {draft.number(at)}) & (r < {draft.rng.randint(1, self.width)})"
        row = self._row(number)[:-1]
        draft.line(f"total += {row}, mask={mask}, other={draft.rng.randint(-3, 3)})")
