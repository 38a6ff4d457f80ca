"""complex64: loads, stores, arithmetic, parts, reductions, scans, moves and dots, of any extent.

Needs: draft.
Gives: draw_complex.
How:   an expression is its text and a bound of both parts of its values, all whole numbers: what could
       leave fp32 is clamped by `small`, so every element is exact, but where a magnitude is drawn
       that is no whole number. A loop reads and adds one tile per iteration.
"""

from .draft import Draft, launch_options

MOST = 1 << 20  # of a part
EXTENTS = (1, 2, 3, 5, 7, 8, 12, 16, 17, 24, 32, 33, 40, 48, 64, 100)
DEPTHS = (16, 24, 32, 40, 48)
SMALL = """
@triton.jit
def small(z):
    re = tl.minimum(tl.maximum(z.real, -4.0), 4.0)
    return tl.complex(re, tl.minimum(tl.maximum(z.imag, -4.0), 4.0))
"""


def draw_complex(seed):
    return _Complex(seed).draw()


class _Complex:
    """A kernel of complex tiles in the making."""

    def __init__(self, seed):
        self.draft = draft = Draft("complex", seed)
        self.m, self.n = draft.pick(*EXTENTS), draft.pick(*EXTENTS)
        while self.m * self.n > 2048:
            self.m, self.n = draft.pick(*EXTENTS), draft.pick(*EXTENTS)
        self.programs = draft.pick(1, 1, 2, 3)
        self.tiles, self.count = ["z", "w"], self.programs * self.m * self.n

    def draw(self):
        draft, m, n = self.draft, self.m, self.n
        draft.helpers.append(SMALL)
        launch_options(draft)
        draft.case.grid = (self.programs,)
        draft.line("pid = tl.program_id(0)")
        draft.line(f"r, c = tl.arange(0, {m}), tl.arange(0, {n})")
        draft.line(f"inside = r[:, None] * {n} + c[None, :]")
        draft.line(f"at = pid * {draft.number(m * n)} + inside")
        for name in self.tiles:
            draft.line(f"{name} = {self._load('at')}")
        reals = draft.array("x", draft.pick("fp32", "fp32", "fp16", "bf16"), self.count, -4, 4)
        draft.line(f"x = tl.load({reals} + at).to(tl.float32)")
        draft.line(f"zero = tl.zeros(({m}, {n}), tl.complex64)")
        for _ in range(draft.rng.randint(2, 5)):
            self._statement()
        for name in self.tiles:
            self._store(name)
        return draft.finish()

    # Memory.
    def _mask(self):
        row, column = self.draft.rng.randint(0, self.m), self.draft.rng.randint(0, self.n)
        return f"(r < {self.draft.number(row)})[:, None] & (c < {column})[None, :]"

    def _load(self, at, size=None):
        draft = self.draft
        array = draft.array("z", "c64", size or self.count, -4, 4)
        if size is None and draft.chance(0.4):
            other = draft.pick("0.0", "1 - 2j", "3")
            return f"tl.load({array} + {at}, mask={self._mask()}, other={other})"
        return f"tl.load({array} + {at})"

    def _store(self, name):
        draft, way = self.draft, self.draft.pick("whole", "whole", "mask", "parts", "turned")
        if way == "parts":
            for part in ("real", "imag"):
                out = draft.output(draft.pick("fp32", "fp64"), self.count)
                draft.line(f"tl.store({out} + at, {name}.{part})")
            return
        out = draft.output("c64", self.count)
        if way == "turned":
            at = f"pid * {self.m * self.n} + c[:, None] * {self.m} + r[None, :]"
            draft.line(f"tl.store({out} + {at}, tl.trans({name}))")
        else:
            mask = f", mask={self._mask()}" if way == "mask" else ""
            draft.line(f"tl.store({out} + at, {draft.pick(name, f'small({name})')}{mask})")
            if draft.chance(0.2):
                draft.line("tl.debug_barrier()")
                draft.line(f"tl.store({out} + at, x{mask})")  # no imaginary part

    # Statements.
    def _statement(self):
        draft = self.draft
        ways = [self._assign] * 5 + [self._loop, self._branch, self._reduction, self._magnitude]
        ways += [self._shape] * 2 + [self._dot] * (2 if self.m * self.n >= 16 else 0)
        draft.pick(*ways)()

    def _target(self):
        return self.draft.pick(*self.tiles)

    def _assign(self):
        text, bound = self._expression(self.draft.rng.randint(1, 4))
        self.draft.line(f"{self._target()} = small({'zero' if bound > 8 else 'z'} + {text})")

    def _loop(self):
        draft, turns = self.draft, self.draft.rng.randint(0, 4)
        step = self.m * self.n
        source = draft.array("z", "c64", self.count * max(1, turns), -4, 4)
        counter, name = draft.fresh("i"), self._target()
        with draft.block(f"for {counter} in range({draft.number(turns)}):"):
            row = f"pid * {step * max(1, turns)} + {counter} * {step} + inside"
            loaded = draft.let("t", f"tl.load({source} + {row})")
            sign = draft.pick("+", "-")
            draft.line(f"{name} = small({name} * {draft.pick('1j', 'w', '(-1)')} {sign} {loaded})")

    def _branch(self):
        draft = self.draft
        condition = draft.pick("pid == 0", "pid * 2 >= 2", "tl.sum(tl.sum(z.real, 0), 0) > 0")
        with draft.block(f"if {condition}:"):
            self._assign()
        if draft.chance(0.5):
            with draft.block("else:"):
                self._assign()

    def _reduction(self):
        draft, name = self.draft, self._target()
        axis = draft.rng.randint(0, 1)
        extent = (self.m, self.n)[axis]
        back = "[None, :]" if axis == 0 else "[:, None]"
        if draft.chance(0.3):
            draft.line(f"{name} = small(tl.cumsum(small({name}), {axis}))")
            return
        total = draft.let("s", f"tl.sum(small({name}), {axis})")
        value = draft.pick(total, f"tl.conj({total})", f"{total} * (1 - 1j)")
        out = draft.output("c64", self.programs * (self.m * self.n // extent))
        line = "c" if axis == 0 else "r"
        draft.line(f"tl.store({out} + pid * {self.m * self.n // extent} + {line}, {value})")
        draft.line(f"{name} = small({name} + {total}{back})")

    def _magnitude(self):
        """Of multiples of 3 + 4j it is a whole number, which is the nearest one to what roots give."""
        draft = self.draft
        out = draft.output("fp32", self.count)
        if draft.chance(0.2):
            draft.line(f"tl.store({out} + at, tl.abs({self._target()}))")
        else:
            factor = draft.pick("(3 + 4j)", "(5 - 12j)", "1j", "(-8 + 6j)")
            draft.line(f"tl.store({out} + at, tl.floor(tl.abs(x * {factor}) + 0.5))")

    def _shape(self):
        draft, name = self.draft, self._target()
        m, n = self.m, self.n
        ways = [
            f"tl.reshape(tl.reshape({name}, ({m * n},)), ({m}, {n}))",
            f"tl.trans(tl.trans({name}) + tl.trans(w))",
            f"tl.flip({name}, {draft.rng.randint(0, 1)})",
            f"tl.roll({name}, {draft.rng.randint(-5, 5)}, {draft.rng.randint(0, 1)})",
            f"tl.split(tl.join({name}, w))[{draft.rng.randint(0, 1)}]",
            f"tl.broadcast_to(tl.sum(small({name}), 0)[None, :], ({m}, {n}))",
            f"tl.reshape(tl.trans({name}), ({m}, {n}))",
        ]
        draft.line(f"{name} = small({draft.pick(*ways)})")

    def _dot(self):
        """Complex by complex, complex by real, or the other way round."""
        draft, (m, n), k = self.draft, (self.m, self.n), self.draft.pick(*DEPTHS)
        left = self._operand(m, k, "r", None)
        right = self._operand(k, n, None, "c")
        kind = draft.pick("complex", "complex", "left", "right")
        left = f"{left}.real" if kind == "right" else left
        right = f"{right}.imag" if kind == "left" else right
        precision = draft.pick("", "", ", input_precision='ieee'", ", input_precision='tf32x3'")
        name = self._target()
        product = f"tl.dot({left}, {right}{precision})"
        if draft.chance(0.5):
            product = f"tl.dot({left}, {right}, small({name}){precision})"
        draft.line(f"{name} = small({draft.pick(product, f'{product} * 1j')})")

    def _operand(self, rows, columns, row, column):
        draft = self.draft
        depth = columns if column is None else rows
        k = draft.let("k", f"tl.arange(0, {depth})")
        row, column = row or k, column or k
        pitches = (columns, 1) if draft.chance(0.5) else (1, rows)
        at = f"{row}[:, None] * {pitches[0]} + {column}[None, :] * {pitches[1]}"
        return draft.let("d", self._load(f"({at})", rows * columns))

    # Expressions.
    def _expression(self, depth, is_complex=True):
        """The text and the bound of the parts."""
        draft = self.draft
        if depth == 0 or draft.chance(0.1):
            return self._leaf(is_complex)
        way = draft.pick(*["binary"] * 5, "unary", "where", "made")
        if way == "unary":
            a, bound = self._expression(depth - 1, True)
            if is_complex:
                return draft.pick(f"(-{a})", f"tl.conj({a} + zero)", f"({a} + zero).conj()"), bound
            return f"({a} + zero).{draft.pick('real', 'imag')}", bound
        if way == "where":
            (a, bound), (b, other) = (self._expression(depth - 1, is_complex) for _ in "ab")
            return f"tl.where({self._condition()}, {a}, {b})", max(bound, other)
        if way == "made" and is_complex:
            (a, bound), (b, other) = (self._expression(depth - 1, False) for _ in "ab")
            return f"tl.complex({a} + x * 0, {b} + x * 0)", max(bound, other)
        return self._binary(depth, is_complex)

    def _binary(self, depth, is_complex):
        draft = self.draft
        a, bound = self._expression(depth - 1, is_complex)
        b, other = self._expression(depth - 1, is_complex and draft.chance(0.7))
        if draft.chance(0.5):
            a, b = b, a
        if 2 * bound * other < MOST and draft.chance(0.5):
            return f"({a} * {b})", 2 * bound * other
        return f"({a} {draft.pick('+', '-')} {b})", bound + other

    def _leaf(self, is_complex):
        draft = self.draft
        if is_complex:
            return draft.pick(("z", 4), ("w", 4), ("z", 4), ("(1 - 2j)", 2), ("3j", 3))
        return draft.pick(("x", 4), ("z.real", 4), ("w.imag", 4), ("2.0", 2), ("-3.0", 3))

    def _condition(self):
        draft = self.draft
        if draft.chance(0.5):
            return f"{draft.pick('z', 'w')} {draft.pick('==', '!=')} {draft.pick('w', 'x', '2j')}"
        return f"{self._leaf(False)[0]} {draft.pick('<', '>=')} x"
