"""Maxima of scaled scores: softmax of rows, and attention, with scales of any sign and size.

Needs: draft, pieces_* (pieces_scale: the factor, and masks).
Gives: draw_scores.
How:   a tile of scores is loaded, or the result of a dot, in a loop or without one. It is multiplied by
       arguments, numbers and what is made of them, masked before or after that, and reduced: its
       maximum is carried over the loop or not, and subtracted from it. Besides there are other
       reductions and further readers of the product. Scales have few bits, so that products are exact,
       or are infinite, NaN, zero, tiny or huge.
"""

from dataclasses import dataclass

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_elements import clamp
from .pieces_epilogue import Plane, epilogue, store_descriptor, store_plain
from .pieces_loops import Sweep, draw_sweep, sweep_loop
from .pieces_scale import INFINITY, Scale

# Rows, positions of an iteration, features.
SIZES = [(64, 64, 64), (64, 64, 64), (64, 32, 64), (128, 64, 64), (64, 128, 64), (128, 128, 64)]
SIZES += [(64, 64, 32), (64, 64, 128), (64, 16, 64), (64, 96, 64), (192, 64, 64), (32, 32, 32)]
SIZES += [(16, 64, 16)]


@dataclass
class Scores:
    """The tiles of an iteration: as they were, times the scale, and after masks."""

    plain: str
    product: str
    masked: str


def draw_scores(seed):
    return _Scores(seed).draw()


class _Scores:
    """A kernel over scaled scores that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("scores", seed)
        draft.tidy = draft.tidy or draft.chance(0.6)
        self.m, self.n, self.d = draft.pick(*SIZES)
        if draft.tidy:
            self.m = max(64, self.m)
        self.dtype = draft.pick(*HALVES, *HALVES, "fp32")
        self.way = draft.pick("attention", "attention", "attention", "dot", "rows")
        if self.dtype == "fp32" and self.way != "rows":
            self.d = min(self.d, 64)
        self.blocks = draft.pick(1, 1, 2, 3)
        self.results = []  # (variable, whether it has a value per row, or per column)
        self.is_stepped = draft.chance(0.6)  # exponents are whole

    def draw(self):
        draft = self.draft
        options = launch_options(draft)
        if draft.chance(0.6):
            left_out = options.get("disabled_passes", "")
            options["disabled_passes"] = f"{left_out},occupancy-first".strip(",")
        draft.case.grid = (self.blocks,)
        self.sweep = draw_sweep(draft, self.n, 4, 0)
        if self.sweep.trips < 2 and draft.chance(0.7):
            self.sweep = Sweep(0, 3 * self.n, self.n)
        self.length = draft.padded(max(self.n, self.sweep.trips * self.n))
        self._programs()
        self.start = draft.place()
        self.scale = Scale(draft, self.m, self.length)
        self.factor = self.scale.factor()
        self.plan = self._plan()
        if self.way == "dot" or (self.way == "rows" and draft.chance(0.3)):
            self.inside = None
            self._iteration("0")
        else:
            keywords = ", warp_specialize=True" if draft.chance(0.05) else ""
            with sweep_loop(draft, self.sweep, keywords) as first:
                self.inside = None if self.sweep.is_whole else f"cols < {self.sweep.hi}"
                self._iteration(first)
        self._store_results()
        return draft.finish()

    def _programs(self):
        draft, m, d = self.draft, self.m, self.d
        draft.line("pid = tl.program_id(0)")
        draft.line(f"rm = pid * {m} + tl.arange(0, {m})")
        draft.line(f"rn, rd = tl.arange(0, {self.n}), tl.arange(0, {d})")
        if self.way == "rows":
            self.scores = draft.array("x", self.dtype, self.blocks * m * self.length, -9, 9)
            return
        queries = draft.array("q", self.dtype, self.blocks * m * d, -2, 2)
        self.keys = draft.array("k", self.dtype, self.length * d, -2, 2)
        self.values = draft.array("v", self.dtype, self.length * d)
        draft.line(f"q = {self._block(queries, (self.blocks * m, d), (m, d), (f'pid * {m}', '0'))}")
        draft.line(f"acc = tl.zeros(({m}, {d}), tl.float32)")

    def _block(self, array, extents, block, first):
        """The load of a block of a matrix, by a descriptor or by pointers."""
        draft = self.draft
        rows, columns = (f"{at} + tl.arange(0, {n})" for at, n in zip(first, block))
        if draft.chance(0.3) and not any(n & (n - 1) for n in block):
            at = f"[{extents[0]}, {extents[1]}], [{extents[1]}, 1], [{block[0]}, {block[1]}]"
            name = draft.let("window", f"tl.make_tensor_descriptor({array}, {at})")
            return f"{name}.load([{first[0]}, {first[1]}])"
        return f"tl.load({array} + ({rows})[:, None] * {extents[1]} + ({columns})[None, :])"

    # An iteration.
    def _plan(self):
        """What is done with the product besides."""
        draft, plan = self.draft, []
        for action in ("min", "argmax", "sum", "columns", "whole", "stored", "again", "rescaled"):
            is_apart = action in ("argmax", "rescaled")
            if draft.chance(0.06 if is_apart or not self.scale.is_usual else 0.015):
                plan.append((action, draft.chance(0.4)))
        return plan

    def _iteration(self, first):
        draft = self.draft
        self.first = first
        draft.line(f"cols = {first} + rn")
        scores = self._scores()
        for action, is_early in self.plan:
            if is_early:
                self._act(action, scores)
        weights = self._softmax(scores)
        for action, is_early in self.plan:
            if not is_early:
                self._act(action, scores)
        if self.way != "rows":
            mask = f", mask=({self.inside})[:, None], other=0.0" if self.inside else ""
            at = f"{self.values} + cols[:, None] * {self.d} + rd[None, :]"
            draft.line(f"v = tl.load({at}{mask})")
            draft.line(f"acc = tl.dot({weights}.to({NAMES[self.dtype]}), v, acc)")

    def _scores(self):
        draft = self.draft
        mask = f", mask=({self.inside})[{'None, :' if self.way == 'rows' else ':, None'}]"
        mask = f"{mask}, other={draft.pick('0.0', '0.0', '-3.0')}" if self.inside else ""
        if self.way == "rows":
            extents, first = (self.blocks * self.m, self.length), (f"pid * {self.m}", self.first)
            load = self._block(self.scores, extents, (self.m, self.n), first)
            if mask:
                load = f"tl.load({self.scores} + rm[:, None] * {self.length} + cols[None, :]{mask})"
            plain = draft.let("x", f"{load}.to(tl.float32)")
        else:
            at = f"{self.keys} + cols[:, None] * {self.d} + rd[None, :]"
            draft.line(f"k = tl.load({at}{mask})")
            plain = draft.let("dot", "tl.dot(q, tl.trans(k))")
        before = plain
        if draft.chance(0.15):
            before = draft.let("s", self.scale.masked(plain, self.is_stepped))
        text = f"{before} * {self.factor}"
        if draft.chance(0.2):
            text = f"{self.factor} * {before}"
        product = draft.let("s", text)
        masked = product
        for _ in range(draft.pick(0, 0, 1, 1, 1, 1 if self.scale.is_usual else 2)):
            masked = draft.let("s", self.scale.masked(masked, self.is_stepped))
        if draft.chance(0.06):
            masked = draft.let("s", f"{masked} * {draft.pick('2.0', '-1.0', self.factor)}")
        return Scores(plain, product, masked)

    def _softmax(self, scores):
        """Weights of the scores, by what is subtracted from them."""
        draft, m = self.draft, self.m
        likely = 20 if self.scale.is_usual else 6
        tiles, peaks = [scores.masked] * likely, ["tl.max({0}, 1)"] * likely
        if self.is_stepped:  # else weights may be too large to be compared
            tiles, peaks = [*tiles, scores.product], [*peaks, "tl.min({0}, 1)"]
        tile, peak = draft.pick(*tiles), draft.pick(*peaks, "tl.max(tl.abs({0}), 1)")
        peak = draft.let("peak", peak.format(scores.masked))
        new = peak
        if draft.chance(0.7):
            finite = "-50.0" if self.scale.is_moderate else "0.0"
            start = draft.pick(f"-{INFINITY}", f"-{INFINITY}", "0.0", finite)
            most = self._carried("most", f"({m},)", start, "m")
            new = draft.let("new", f"tl.maximum({most}, {peak})")
        below = f"{tile} - {new}[:, None]"
        if self.is_stepped and draft.chance(0.08):
            below = f"{new}[:, None] - {tile}"
        below = draft.let("below", below)
        if draft.chance(0.1):
            self._reduce("low", f"tl.min({below}, 1)", "minimum", INFINITY)
        weights = draft.let("w", self._power(below))
        total = self._carried("total", f"({m},)", "0.0", "m")
        alpha = ""
        if new != peak:
            alpha = draft.let("alpha", self._power(f"{most} - {new}", -2))
            draft.line(f"{most} = {new}")
        draft.line(f"{total} = {total}{' * ' + alpha if alpha else ''} + tl.sum({weights}, 1)")
        if alpha and self.way != "rows":
            draft.line(f"acc = acc * {alpha}[:, None]")
        if not alpha:
            self._reduce("most", peak, "maximum", f"-{INFINITY}")
        return weights

    def _power(self, x, least=-9):
        if self.is_stepped:
            return f"tl.exp2(tl.floor({clamp(least, 3, x)}))"
        return f"tl.{self.draft.pick('exp2', 'exp2', 'exp')}({x})"

    # Further readers.
    def _carried(self, stem, shape, start, axis):
        name = self.draft.fresh(stem)
        with self.draft.at(self.start):
            self.draft.line(f"{name} = tl.full({shape}, {start}, tl.float32)")
        self.results.append((name, axis))
        return name

    def _reduce(self, stem, text, combine, start, axis="m"):
        name = self._carried(stem, f"({getattr(self, axis)},)", start, axis)
        self.draft.line(f"{name} = tl.{combine}({name}, {text})")

    def _act(self, action, scores):
        draft = self.draft
        tile = draft.pick(scores.masked, scores.product)
        if action == "min":
            self._reduce("low", f"tl.min({tile}, 1)", "minimum", INFINITY)
        elif action == "argmax":
            self._reduce("at", f"tl.argmax({scores.plain}, 1) * 1.0", "maximum", "0.0")
        elif action == "sum":
            name = self._carried("sum", f"({self.m},)", "0.0", "m")
            draft.line(f"{name} += tl.sum({clamp(-99, 99, tile)}, 1)")
        elif action == "columns":
            self._reduce("top", f"tl.max({tile}, 0)", "maximum", f"-{INFINITY}", "n")
        elif action == "whole":
            self._reduce("top", f"tl.max(tl.max({tile}, 1), 0)", "maximum", f"-{INFINITY}")
        elif action == "again":
            self._reduce("top", f"tl.max({tile}, 1)", "maximum", f"-{INFINITY}")
        elif action == "rescaled":
            text = f"{scores.plain} * {self.scale.argument()}"
            self._reduce("top", f"tl.max({text}, 1)", "maximum", f"-{INFINITY}")
        else:
            out = draft.output("fp32", self.blocks * self.m * (self.length + self.n))
            at = f"{out} + rm[:, None] * {self.length + self.n} + cols[None, :]"
            draft.line(f"tl.store({at}, {tile})")

    # After the loop.
    def _store_results(self):
        draft, m = self.draft, self.m
        for name, axis in self.results:
            extent = getattr(self, axis)
            out = draft.output("fp32", self.blocks * extent)
            at = "rm" if axis == "m" else f"pid * {extent} + rn"
            draft.line(f"tl.store({out} + {at}, {name})")
        if self.way != "rows":
            plane = Plane(
                "acc", "rm", "rd", (m, self.d), (self.blocks * m, self.d), None, None,
                f"pid * {m}", "0", "", self.blocks * m * self.d,
            )  # fmt: skip
            if self.is_stepped:
                epilogue(draft, plane, 1)
            else:
                draft.pick(store_plain, store_descriptor)(draft, plane)
