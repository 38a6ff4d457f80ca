"""Rounded weights that are multiplied and summed as they were rounded, as attention has them.

Needs: draft, pieces_*.
Gives: draw_weights.
How:   an iteration computes scores by a dot, rounds what it makes of them to 16 bits, and
       multiplies them by a second tile. Running sums of the rounded weights have a factor or none,
       computed before the second dot, after it, or before the loop. Besides there are sums along
       the other axis, of unrounded weights and of other roundings, and further readers of weights
       and sums. Scores have more bits than a half has, so that rounding shows.
"""

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_elements import clamp
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import Sweep, draw_sweep, sweep_loop

# Rows, positions of an iteration, features.
SIZES = [(64, 64, 64), (64, 32, 64), (64, 64, 32), (128, 32, 32), (128, 64, 64), (64, 128, 64)]
SIZES += [(64, 16, 64), (192, 64, 64), (64, 80, 64), (64, 96, 48), (32, 32, 32), (16, 64, 16)]


def draw_weights(seed):
    return _Weights(seed).draw()


class _Weights:
    """A kernel over rounded weights that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("weights", seed)
        self.m, self.n, self.d = draft.pick(*SIZES)
        self.dtype = draft.pick(*HALVES)
        self.blocks = draft.pick(1, 1, 2, 3)
        self.sums = []  # (variable, kept axis)
        self.has_most, self.has_alpha = False, False

    def draw(self):
        draft = self.draft
        launch_options(draft)
        if self.m == 192 and draft.chance(0.5):
            draft.case.options["num_warps"] = 12
        self._programs()
        self.start = draft.place()
        sweeps = [draw_sweep(draft, self.n, 4)]
        if draft.chance(0.25):
            whole = sweeps[0].lo + sweeps[0].trips * self.n
            sweeps = [Sweep(sweeps[0].lo, whole, self.n), draw_sweep(draft, self.n, 3, whole)]
        self.length = max([1, *(s.lo + s.trips * self.n for s in sweeps)])
        self.keys = draft.array("k", self.dtype, self.length * self.d, -3, 3)
        self.values = draft.array("v", self.dtype, self.length * self.d)
        self.causal = draft.chance(0.3)
        self.plan = self._plan()
        for sweep in sweeps:
            self._loop(sweep)
        self._results()
        return draft.finish()

    def _programs(self):
        draft, m, d = self.draft, self.m, self.d
        if draft.odd(0.3):
            draft.case.grid = (draft.rng.randint(1, 2),)
            stop = draft.number(self.blocks)
            draft.line(f"for pid in tl.range(tl.program_id(0), {stop}, tl.num_programs(0)):")
            draft.depth += 1
        else:
            draft.case.grid = (self.blocks,)
            draft.line("pid = tl.program_id(0)")
        draft.line(f"rm = pid * {m} + tl.arange(0, {m})")
        draft.line(f"rn, rd = tl.arange(0, {self.n}), tl.arange(0, {d})")
        queries = draft.array("q", self.dtype, self.blocks * m * d, -3, 3)
        draft.line(f"q = tl.load({queries} + rm[:, None] * {d} + rd[None, :])")
        shift = draft.array("shift", "fp32", self.blocks * m, -20, 20, self._step())
        draft.line(f"shift = tl.load({shift} + rm)")
        draft.line(f"acc = tl.zeros(({m}, {d}), tl.float32)")

    def _step(self):
        """So fine that scores of many bits are rounded in fp16, too."""
        return 0.125 if self.dtype == "fp16" else 1

    def _plan(self):
        """What both loops do, in order: sums before, the dot, sums after, further readers."""
        draft = self.draft
        count = draft.pick(1, 1, 1, 2, 3)
        plan = [("sum", draft.chance(0.5), self._new_sum()) for _ in range(count)]
        for reader in ("widened", "dot", "stored", "turned", "unrounded", "again"):
            if draft.chance(0.12):
                plan.append((reader, draft.chance(0.3), None))
        draft.rng.shuffle(plan)
        return plan

    def _new_sum(self):
        """A running sum with its factor, and how it is written."""
        draft = self.draft
        axis = draft.pick(1, 1, 1, 1, 0)
        name = draft.fresh("total")
        start = draft.pick("0.0", "0.0", "3.0")
        with draft.at(self.start):
            draft.line(f"{name} = tl.full(({(self.n, self.m)[axis]},), {start}, tl.float32)")
        self.sums.append((name, "nm"[axis]))
        ways = ["alpha", "alpha", "constant", "vector", "scalar", "fixed", "result"]
        factor = draft.pick(*[""] * 4, *ways)
        return name, axis, factor, draft.chance(0.5)

    # The loop.
    def _loop(self, sweep):
        draft = self.draft
        keywords = ", warp_specialize=True" if draft.chance(0.1) else ""
        with sweep_loop(draft, sweep, keywords) as first:
            self.first = first
            draft.line(f"cols = {first} + rn")
            self.inside = None if sweep.is_whole else f"cols < {draft.number(sweep.hi)}"
            self._scores()
            self._weights()
            for action, is_before, what in self.plan:
                if is_before:
                    self._act(action, what)
            self._multiply()
            for action, is_before, what in self.plan:
                if not is_before:
                    self._act(action, what)

    def _mask(self, suffix):
        return f", mask=({self.inside}){suffix}, other=0.0" if self.inside else ""

    def _scores(self):
        d = self.d
        keys = f"{self.keys} + cols[:, None] * {d} + rd[None, :]"
        self.draft.line(f"k = tl.load({keys}{self._mask('[:, None]')})")
        if self.draft.chance(0.5):
            self._load_values()
        else:
            self.has_values = False
        self.draft.line("s = tl.dot(q, tl.trans(k)) + shift[:, None]")

    def _load_values(self):
        values = f"{self.values} + cols[:, None] * {self.d} + rd[None, :]"
        self.draft.line(f"v = tl.load({values}{self._mask('[:, None]')})")
        self.has_values = True

    def _weights(self):
        """Scores become weights: of an online softmax in powers of two, or as they are."""
        draft = self.draft
        way = draft.pick("plain", "plain", "relu", "online")
        self.has_alpha = way == "online"
        if way == "online":
            self._online()
        elif way == "relu":
            draft.line("s = tl.maximum(s, 0.0)")
        else:
            draft.line(f"s = {clamp(-1000, 1000, 's')}")
        masks = ["rm[:, None] >= cols[None, :]"] if self.causal else []
        masks += [f"({self.inside})[None, :]"] if self.inside else []
        for mask in masks:
            draft.line(f"s = tl.where({mask}, s, 0.0)")
        draft.line(f"w = s.to({NAMES[self.dtype]})")

    def _online(self):
        """The largest score so far, and the factor of what was summed before; both of few bits."""
        draft = self.draft
        if not self.has_most:
            with draft.at(self.start):
                draft.line(f"most = tl.full(({self.m},), -3.0, tl.float32)")
            self.has_most = True
        draft.line(f"new = tl.maximum(most, tl.floor({clamp(-3, 2, 'tl.max(s, 1) * 0.0625')}))")
        draft.line("alpha = tl.exp2(most - new)")
        draft.line("most = new")
        draft.line("s = tl.maximum(s, -100.0) * tl.exp2(-new)[:, None]")
        draft.line("acc = acc * alpha[:, None]")

    def _multiply(self):
        draft = self.draft
        if not self.has_values:
            self._load_values()
        if draft.chance(0.12):
            draft.line(f"acc = acc * {draft.pick('0.5', '2.0')}")
        draft.line(draft.pick(*["acc = tl.dot(w, v, acc)"] * 2, "acc += tl.dot(w, v)"))

    # What is done with weights.
    def _act(self, action, what):
        getattr(self, f"_{action}")(*([what] if what else []))

    def _sum(self, plan):
        name, axis, factor, is_first = plan
        draft = self.draft
        wide = draft.pick(*["w.to(tl.float32)"] * 3, "(w + 0.0).to(tl.float32)")
        text = f"tl.sum({wide}, {axis})"
        if axis == 1 and draft.chance(0.1):
            text = "tl.sum(w.to(tl.float32), 1, keep_dims=True)"
            text = f"tl.reshape({text}, ({self.m},))"
        before = f"{name}{self._factor(factor, axis)}"
        if draft.odd(0.08):
            with draft.block(f"if {self.first} != {self.n}:"):
                draft.line(f"{name} += {text}")
        elif before == name and draft.chance(0.4):
            draft.line(f"{name} {draft.pick('+=', '+=', '-=')} {text}")
        else:
            draft.line(f"{name} = " + (f"{text} + {before}" if is_first else f"{before} + {text}"))
        if draft.odd(0.15):  # something in the loop reads the sum
            self._read_sum(name, axis)

    def _factor(self, factor, axis):
        """What a running sum is multiplied by: its text, after a statement that computes it."""
        draft = self.draft
        if factor == "alpha" and axis == 1 and self.has_alpha:
            return " * alpha"
        if factor in ("constant", "alpha"):
            return f" * {draft.pick('0.5', '2.0')}"
        if factor in ("vector", "fixed") and axis == 1:
            array = self._factors(self.blocks * self.m)
            if factor == "fixed":
                with draft.at(self.start):
                    return f" * {draft.let('fixed', f'tl.load({array} + rm)')}"
            return f" * {draft.let('factor', f'tl.load({array} + rm)')}"
        if factor == "scalar":
            array = self._factors(self.length + 1)
            return f" * {draft.let('factor', f'tl.load({array} + {self.first})')}"
        if factor == "result" and axis == 1:
            return f" * {draft.let('factor', 'tl.where(tl.max(acc, 1) > 0, 0.5, 1.0)')}"
        return ""

    def _factors(self, size):
        return self.draft.array("factors", self.draft.pick("fp32", "fp16"), size, 1, 2, 0.5)

    def _carried(self, stem, axes):
        """The name of a result that the loop carries, from zeros on; its extents are of `axes`."""
        name = self.draft.fresh(stem)
        extents = "".join(f"{getattr(self, axis)}, " for axis in axes)
        with self.draft.at(self.start):
            self.draft.line(f"{name} = tl.zeros(({extents}), tl.float32)")
        self.sums.append((name, axes))
        return name

    def _read_sum(self, name, axis):
        other = self._carried("other", "nm"[axis])
        self.draft.line(f"{other} = tl.maximum({other}, {name})")

    def _widened(self):
        """Weights are computed with, after they were rounded."""
        name = self._carried("wide", "m")
        self.draft.line(f"{name} = tl.maximum({name}, tl.max(tl.abs(w.to(tl.float32)), 1))")

    def _dot(self):
        """A second dot reads them: of the same values or as its right operand."""
        draft = self.draft
        more = self._carried("more", "md")
        if not self.has_values:
            self._load_values()
        draft.line(f"{more} = tl.dot(w, {draft.pick('v', 'k')}, {more})")

    def _turned(self):
        name = self._carried("turned", "nd")
        self.draft.line(f"{name} = tl.dot(tl.trans(w), q, {name})")

    def _stored(self):
        out = self.draft.output(self.dtype, self.blocks * self.m * (self.length + self.n))
        at = f"{out} + rm[:, None] * {self.length + self.n} + cols[None, :]"
        self.draft.line(f"tl.store({at}, w)")

    def _unrounded(self):
        name = self._carried("plain", "m")
        self.draft.line(f"{name} += tl.sum(s, 1)")

    def _again(self):
        """The scores are rounded to the other type, and summed as that."""
        draft = self.draft
        other = draft.pick("tl.float16", "tl.bfloat16")
        name = self._carried("again", "m")
        draft.line(f"{name} += tl.sum(s.to({other}).to(tl.float32), 1)")

    # After the loops.
    def _results(self):
        draft, m, d = self.draft, self.m, self.d
        sizes = {"m": m, "n": self.n, "d": d}
        for name, axes in self.sums:
            if len(axes) == 1:
                out = draft.output("fp32", self.blocks * sizes[axes])
                at = f"{out} + pid * {sizes[axes]} + tl.arange(0, {sizes[axes]})"
            else:
                rows, columns = sizes[axes[0]], sizes[axes[1]]
                out = draft.output("fp32", self.blocks * rows * columns)
                at = f"{out} + pid * {rows * columns} + tl.arange(0, {rows})[:, None] * {columns}"
                at += f" + tl.arange(0, {columns})[None, :]"
            draft.line(f"tl.store({at}, {name})")
        plane = Plane(
            "acc", "rm", "rd", (m, d), (self.blocks * m, d), None, None,
            f"pid * {m}", "0", "", self.blocks * m * d,
        )  # fmt: skip
        epilogue(draft, plane, draft.pick(1, 1, 2))
