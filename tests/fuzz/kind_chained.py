"""Chained dots in loops, as attention, its gradients and linear attention have them.

Needs: draft, pieces_*.
Gives: draw_chained (one to three dots in a loop), draw_gradients (three to five).
How:   tiles have axes: `m` the rows of the program, `n` the positions of the loop, `d` the features.
       A dot of any two tiles with a common axis is drawn. Without `n` its result is an accumulator;
       with it, it is changed, rounded, and used again: by further dots, by sums, by stores. There are
       one or two loops, one after the other.
"""

from dataclasses import dataclass

from .draft import HALVES, NAMES, Draft, launch_options
from .dtypes import FP8
from .pieces_elements import change, clamp
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import Sweep, draw_sweep, sweep_loop

MOST_WORK = 8_000_000
# What is multiplied, by role and contracted axis, as the kernels of attention do it; else any tiles.
ATTENTION = [("outer", "load", "d"), ("fresh", "load", "n")]
QUERIES = [("outer0", "load0", "d"), ("outer1", "load1", "d"), ("fresh", "load0", "n")]
KEYS = [("outer0", "load0", "d"), ("fresh", "load1", "n"), ("outer1", "load1", "d")]
KEYS += [("fresh", "load0", "n")]
ALL_GRADIENTS = [*KEYS, ("fresh", "outer0", "m")]
PLANS = {"chained": [ATTENTION], "gradients": [QUERIES, KEYS, KEYS, ALL_GRADIENTS]}


@dataclass
class Tile:
    """A variable with its axes; `half` where dots take it."""

    name: str
    axes: str
    half: bool = True
    fresh: bool = False  # computed in this iteration
    role: str = "fresh"


def draw_chained(seed):
    return _Chain("chained", seed, (1, 2, 2, 2, 3)).draw()


def draw_gradients(seed):
    return _Chain("gradients", seed, (3, 4, 5, 5)).draw()


class _Chain:
    """A kernel of chained dots that is being drawn."""

    def __init__(self, kind, seed, counts):
        self.draft = draft = Draft(kind, seed)
        self.plan = draft.pick(*PLANS[kind]) if draft.chance(0.55) else []
        self.count = len(self.plan) or draft.pick(*counts)
        self.dtype = draft.pick(*HALVES)
        draft.tidy = draft.tidy or bool(self.plan)
        self.sizes = {axis: draft.pick(16, 32, 64, 64, 64, 128) for axis in "mnd"}
        if draft.tidy:
            self.sizes = {"m": draft.pick(64, 64, 128), "n": draft.pick(64, 64, 128, 32)}
            self.sizes["d"] = draft.pick(64, 64, 128, 32)
        while self._work() > MOST_WORK:
            axis = max(self.sizes, key=self.sizes.get)
            self.sizes[axis] //= 2
        if min(self.sizes.values()) >= 32 and draft.chance(0.2):  # the least K of 8-bit elements
            self.dtype = draft.pick(*FP8)
        self.blocks, self.heads = draft.pick((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (5, 1))
        self.accumulators, self.vectors, self.iteration_masks = [], [], []
        self.outer, self.carried, self.wide, self.vectors_out = [], [], [], []

    def _work(self):
        return self.sizes["m"] * self.sizes["n"] * self.sizes["d"] * self.count * 5

    # The kernel.
    def draw(self):
        draft = self.draft
        launch_options(draft)
        self._programs()
        self._outer_tiles()
        self.start = draft.place()
        sweeps = self._sweeps()
        self.length = draft.padded(max([1, *(s.lo + s.trips * s.step for s in sweeps)]))
        self.paged = draft.odd(0.25)
        if self.paged:
            pages = -(-self.length // self.sizes["n"])
            self.table = draft.array("table", "i32", pages, 0, pages - 1, "permutation")
            self.length = pages * self.sizes["n"]
        self.causal = draft.chance(0.3)
        self.shared = {}  # arrays that both loops read
        for sweep in sweeps:
            self._loop(sweep)
        self._results()
        return draft.finish()

    def _programs(self):
        """Rows and head of a program."""
        draft, m, d = self.draft, self.sizes["m"], self.sizes["d"]
        if draft.odd(0.4):  # the text itself is persistent
            draft.case.grid = (draft.rng.randint(1, 3), self.heads)
            draft.line("head = tl.program_id(1)")
            stop, options = draft.number(self.blocks), draft.pick("", "", ", flatten=True")
            draft.line(
                f"for pid in tl.range(tl.program_id(0), {stop}, tl.num_programs(0){options}):"
            )
            draft.depth += 1
        elif draft.chance(0.5):
            draft.case.grid = (self.blocks, self.heads)
            draft.line("pid, head = tl.program_id(0), tl.program_id(1)")
        else:
            draft.case.grid = (self.blocks * self.heads,)
            text = draft.number(self.blocks)
            draft.line(f"pid, head = tl.program_id(0) % {text}, tl.program_id(0) // {text}")
        self.rows = self.blocks * m
        if draft.chance(0.35):
            self.rows -= draft.rng.randint(1, m - 1)
        self.row_count = draft.number(self.rows) if self.rows < self.blocks * m else None
        draft.line(f"rm = pid * {m} + tl.arange(0, {m})")
        draft.line(f"rn = tl.arange(0, {self.sizes['n']})")
        draft.line(f"rd = tl.arange(0, {d})")

    def _outer_tiles(self):
        draft, d = self.draft, self.sizes["d"]
        for i in range(2 if self.plan else draft.pick(1, 1, 2)):
            array = draft.array("q", self.dtype, self.heads * (self.rows + 16) * d)
            base = f" + head * {draft.number((self.rows + 16) * d)}"
            mask = f", mask=rm[:, None] < {self.row_count}, other=0.0" if self.row_count else ""
            at = f"{array}{base} + rm[:, None] * {d} + rd[None, :]"
            name = draft.let("q", f"tl.load({at}{mask})")
            self.outer.append(Tile(name, "md", role=f"outer{i}"))
        if draft.odd(0.3):  # a tile of its own, computed before the loop
            name = draft.let(
                "q", f"({self.outer[0].name} * {draft.pick('0.5', '2.0')}).to({NAMES[self.dtype]})"
            )
            self.outer.append(Tile(name, "md", role="outer2"))
        if draft.chance(0.4):
            vector = draft.array("vec", "fp32", self.blocks * self.sizes["m"], -3, 3)
            self.vectors.append((draft.let("r", f"tl.load({vector} + rm)"), "m"))

    def _sweeps(self):
        draft, n = self.draft, self.sizes["n"]
        first = draw_sweep(draft, n, 4)
        if not draft.chance(0.35):
            return [first]
        whole = Sweep(first.lo, first.lo + first.trips * n, n)
        second = draw_sweep(draft, n, 3, whole.hi)
        return [whole, second] if draft.chance(0.7) else [second, whole]

    def _loop(self, sweep):
        draft = self.draft
        keywords = ", warp_specialize=True" if draft.chance(0.1) else ""
        with sweep_loop(draft, sweep, keywords) as first:
            self.sweep, self.first, self.wide = sweep, first, []
            if draft.odd(0.08):
                with draft.block(f"if {first} == {self._middle()}:"):
                    draft.line("break")
            self._positions(first)
            tiles = [*self.outer, *self.carried]
            for i in range(2 if self.plan else draft.pick(1, 2, 2, 3)):
                tiles.append(self._load())
                tiles[-1].role = f"load{i}"
            self._iteration_vectors()
            for i in range(self.count):
                tiles += self._dot(tiles, i)
            if draft.chance(0.12):
                draft.line("tl.debug_barrier()")
            self._carry(tiles)
        self.vectors = [v for v in self.vectors if v[1] == "m"]
        self.iteration_masks = []

    def _positions(self, first):
        draft, n = self.draft, self.sizes["n"]
        draft.line(f"cols = {first} + rn")
        self.column_count = None if self.sweep.is_whole else draft.number(self.sweep.hi)
        self.at = "cols"
        if self.paged:
            draft.line(f"page = tl.load({self.table} + ({first}) // {n})")
            shift = f" + ({first}) % {n}" if self.sweep.lo % n else ""
            draft.line(f"where = page * {n} + rn{shift}")
            self.at = "where"
            if shift:
                draft.line(f"where = where % {self.length}")
        if self.causal:
            self.iteration_masks.append("rm[:, None] >= cols[None, :]")
        if self.column_count:
            self.iteration_masks.append(f"(cols < {self.column_count})[None, :]")

    def _load(self):
        """A tile of positions and features, in one order or the other."""
        draft, d, n = self.draft, self.sizes["d"], self.sizes["n"]
        key = draft.pick("k", "v", "w")
        if key not in self.shared:
            pitch = d + (draft.pick(0, 0, 8) if draft.tidy else draft.pick(0, 3))
            size = self.heads * self.length * pitch
            self.shared[key] = draft.array(key, self.dtype, size), pitch
        array, pitch = self.shared[key]
        turned = draft.chance(0.2)
        outer, inner = ("[None, :]", "[:, None]") if turned else ("[:, None]", "[None, :]")
        base = f" + head * {draft.number(self.length * pitch)}" if self.heads > 1 else ""
        count = self.column_count
        if count or draft.chance(0.1):
            mask = f", mask=(cols < {count or self.sweep.hi + n}){outer}, other=0.0"
        else:
            mask = ""
        if draft.chance(0.12) and not self.paged and not turned and not base and pitch % 8 == 0:
            window = f"tl.make_tensor_descriptor({array}, [{self.sweep.hi}, {d}], [{pitch}, 1], [{n}, {d}])"
            with draft.at(self.start):
                window = draft.let("desc", window)
            return Tile(draft.let(key, f"{window}.load([{self.first}, 0])"), "nd")
        at = f"{array}{base} + {self.at}{outer} * {draft.number(pitch)} + rd{inner}"
        return Tile(draft.let(key, f"tl.load({at}{mask})"), "dn" if turned else "nd")

    def _iteration_vectors(self):
        draft = self.draft
        if draft.chance(0.3):
            vector = draft.array("vec", "fp32", self.length + 2 * self.sizes["n"], -3, 3)
            mask = f", mask=cols < {self.column_count}, other=0.0" if self.column_count else ""
            self.vectors.append((draft.let("c", f"tl.load({vector} + cols{mask})"), "n"))

    # Dots.
    def _dot(self, tiles, number):
        """Draw a dot and what becomes of it; new tiles."""
        draft = self.draft
        left, right, axes = self._operands(tiles, number)
        text = f"tl.dot({left}, {right})"
        if set(axes) <= {"m", "d"}:
            return self._accumulate(axes, left, right, text)
        if draft.chance(0.1):
            return self._accumulate(axes, left, right, text)
        if draft.chance(0.1):
            zero = draft.pick("0.0", "-2.0")
            shape = ", ".join(str(self.sizes[axis]) for axis in axes)
            text = f"tl.dot({left}, {right}, tl.full(({shape}), {zero}, tl.float32))"
        name = draft.let("s", text)
        for _ in range(draft.pick(0, 0, 0, 1, 2)):  # dots in a row, in one accumulator
            name = draft.let("s", f"tl.dot({left}, {right}, {name})")
        used = self._use(name, axes)
        if draft.chance(0.1):  # the same product, once more
            used += self._accumulate(axes, left, right, text)
        return used

    def _operands(self, tiles, number):
        """Two tiles with a common axis, the contracted one; recent results rather."""
        draft, choices = self.draft, []
        halves = [t for t in tiles if t.half]
        for a in halves:
            for b in halves:
                for contracted in sorted(set(a.axes) & set(b.axes)):
                    outer_a, outer_b = self._other(a, contracted), self._other(b, contracted)
                    if outer_a == outer_b and not (draft.chance(0.1) and a is not b):
                        continue
                    weight = 1 + 4 * (a.fresh + b.fresh) + 2 * (number == 0)
                    weight *= 0.3 if {outer_a, outer_b} == {"d"} else 1
                    choices.append(((a, b, contracted), weight))
        picked = draft.rng.choices([c for c, _ in choices], [w for _, w in choices])[0]
        if number < len(self.plan):
            left, right, axis = self.plan[number]
            planned = [
                (a, b, c)
                for (a, b, c), _ in choices
                if c == axis and a.role.startswith(left) and b.role.startswith(right)
            ]
            picked = planned[-1] if planned else picked
        a, b, contracted = picked
        left = a.name if a.axes[1] == contracted else f"tl.trans({a.name})"
        right = b.name if b.axes[0] == contracted else f"tl.trans({b.name})"
        return left, right, self._other(a, contracted) + self._other(b, contracted)

    @staticmethod
    def _other(tile, axis):
        return tile.axes[0] if tile.axes[1] == axis else tile.axes[1]

    def _accumulate(self, axes, left, right, text):
        draft = self.draft
        same = [a for a in self.accumulators if a.axes == axes]
        if same and draft.chance(0.3):
            acc = draft.pick(*same)
        else:
            shape = ", ".join(str(self.sizes[axis]) for axis in axes)
            with draft.at(self.start):
                acc = Tile(draft.let("acc", f"tl.zeros(({shape}), tl.float32)"), axes, False)
            self.accumulators.append(acc)
        if draft.chance(0.15):
            draft.line(f"{acc.name} = {acc.name} * {draft.pick('0.5', '2.0')}")
        if draft.odd(0.15):
            with draft.block(f"if {self._condition()}:"):
                draft.line(f"{acc.name} += {text}")
        elif draft.chance(0.55):
            draft.line(f"{acc.name} = tl.dot({left}, {right}, {acc.name})")
        else:
            draft.line(f"{acc.name} += {text}{draft.pick('', '', ' * 0.5')}")
        if draft.odd(0.12):  # the state so far is an operand, too
            return [self._rounded(clamp(-64, 64, acc.name), axes)]
        return []

    def _condition(self):
        """Whether an iteration counts: by its position, or by a flag in memory."""
        draft, step = self.draft, self.sweep.step
        if draft.chance(0.4):
            flags = draft.array("flags", "i32", self.length // step + 4, 0, 1)
            return f"tl.load({flags} + ({self.first}) // {step}) != 0"
        return f"{self.first} {draft.pick('>=', '<', '!=')} {self._middle()}"

    def _middle(self):
        return self.sweep.lo + self.sweep.step * self.draft.rng.randint(0, max(1, self.sweep.trips))

    def _use(self, name, axes):
        """Change a result, round it, and use it once or twice."""
        draft = self.draft
        vectors = [f"{v}[:, None]" for v, axis in self.vectors if axis == axes[0]]
        vectors += [f"{v}[None, :]" for v, axis in self.vectors if axis == axes[1]]
        masks = self.iteration_masks if axes == "mn" else []
        masks = [_turned(mask) for mask in self.iteration_masks] if axes == "nm" else masks
        others = [t.name for t in self.wide if t.axes == axes]
        for _ in range(draft.pick(0, 1, 1, 2)):
            name = draft.let("p", change(draft, name, vectors, others, masks))
        if masks and draft.chance(0.7):
            name = draft.let("p", f"tl.where({draft.pick(*masks)}, {name}, 0.0)")
        if axes == "mn" and draft.chance(0.25):
            name = self._online(name)
        self.wide = [Tile(name, axes, False)]
        half = self._rounded(name if draft.chance(0.5) else clamp(-16, 16, name), axes)
        if draft.chance(0.4):
            self._sum(draft.pick(name, f"{half.name}.to(tl.float32)"), axes)
        if draft.odd(0.25):
            self._store(draft.pick(name, half.name), axes)
        if draft.odd(0.2):
            self._sum(f"{half.name}.to(tl.float32)", axes)
        return [half]

    def _rounded(self, text, axes):
        name = self.draft.let("h", f"({text}).to({NAMES[self.dtype]})")
        return Tile(name, axes, True, True)

    def _online(self, name):
        """The weights of an online softmax in powers of two."""
        draft, m = self.draft, self.sizes["m"]
        with draft.at(self.start):
            most = draft.let("most", f"tl.full(({m},), -6.0, tl.float32)")
            total = draft.let("total", f"tl.zeros(({m},), tl.float32)")
        self.vectors_out += [(most, "m"), (total, "m")]
        name = draft.let("s", f"tl.floor({clamp(-6, 4, name)})")
        new = draft.let("new", f"tl.maximum({most}, tl.max({name}, 1))")
        alpha = draft.let("alpha", f"tl.exp2({most} - {new})")
        weights = draft.let("p", f"tl.exp2({name} - {new}[:, None])")
        draft.line(f"{total} = {total} * {alpha} + tl.sum({weights}, 1)")
        for acc in self.accumulators:
            if acc.axes[0] == "m":
                draft.line(f"{acc.name} = {acc.name} * {alpha}[:, None]")
        draft.line(f"{most} = {new}")
        return weights

    def _sum(self, text, axes):
        """A sum over one axis, carried if the other one is not of the loop."""
        draft, axis = self.draft, self.draft.rng.randint(0, 1)
        left = axes[1 - axis]
        if left == "n":
            out = draft.array("sums", "fp32", self.length + 2 * self.sizes["n"], 0, 3)
            mask = f", mask=cols < {self.column_count}" if self.column_count else ""
            draft.line(f"tl.atomic_add({out} + cols, tl.sum({text}, {axis}){mask})")
            return
        with draft.at(self.start):
            total = draft.let("sum", f"tl.zeros(({self.sizes[left]},), tl.float32)")
        most = draft.chance(0.3)
        if most:
            draft.line(f"{total} = tl.maximum({total}, tl.max({text}, {axis}))")
        else:
            draft.line(f"{total} += tl.sum({text}, {axis})")
        self.vectors_out.append((total, left))

    def _store(self, name, axes):
        """A tile of the iteration goes to memory: a place of its own, or added to what is there."""
        draft = self.draft
        index = {"m": "rm", "n": "cols", "d": "rd"}
        extents = {"m": self.blocks * self.sizes["m"], "d": self.sizes["d"]}
        extents["n"] = self.length + 2 * self.sizes["n"]
        size = extents[axes[0]] * extents[axes[1]]
        at = f"{index[axes[0]]}[:, None] * {extents[axes[1]]} + {index[axes[1]]}[None, :]"
        mask = ""
        if "n" in axes and self.column_count:
            views = [v for axis, v in zip(axes, ("[:, None]", "[None, :]")) if axis == "n"]
            mask = ", mask=" + " & ".join(f"(cols < {self.column_count}){view}" for view in views)
        value = f"{name}.to(tl.float32)"
        if "m" in axes and "n" in axes and draft.chance(0.6):
            out = draft.output("fp32", size * self.heads)
            draft.line(f"tl.store({out} + head * {size} + {at}, {value}{mask})")
        else:
            out = draft.array("sums", "fp32", size, 0, 3)
            draft.line(f"tl.atomic_add({out} + {at}, {value}{mask})")

    def _carry(self, tiles):
        """A tile of this iteration is an operand of the next."""
        draft = self.draft
        fresh = [t for t in tiles if t.fresh]
        for tile in self.carried:
            same = [t for t in fresh if t.axes == tile.axes]
            if same:
                draft.line(f"{tile.name} = {draft.pick(*same).name}")
        if fresh and not self.carried and draft.odd(0.2):
            tile = draft.pick(*fresh)
            shape = ", ".join(str(self.sizes[axis]) for axis in tile.axes)
            with draft.at(self.start):
                name = draft.let("last", f"tl.zeros(({shape}), {NAMES[self.dtype]})")
            left, right = name, f"tl.trans({name})"
            with draft.at(self.start):
                a, b = tile.axes[0], tile.axes[0]
                acc = draft.let("acc", f"tl.zeros(({self.sizes[a]}, {self.sizes[b]}), tl.float32)")
            draft.line(f"{acc} = tl.dot({left}, {right}, {acc})")
            draft.line(f"{name} = {tile.name}")
            self.accumulators.append(Tile(acc, a + b, False))
            self.carried.append(Tile(name, tile.axes))

    # After the loops.
    def _results(self):
        draft = self.draft
        for vector, axis in self.vectors_out:
            self._store_vector(vector, axis)
        index = {"m": "rm", "n": "rn", "d": "rd"}
        for acc in self.accumulators:
            rows, columns = (
                self.blocks * self.sizes[a] if a == "m" else self.sizes[a] for a in acc.axes
            )
            if acc.axes.count("m") == 2:
                rows = self.sizes["m"]
            programs = self.heads * (self.blocks if acc.axes[0] != "m" else 1)
            if acc.axes == "mm" or acc.axes[0] != "m":
                programs = self.heads * self.blocks
                base = f" + (head * {self.blocks} + pid) * {rows * columns}"
            else:
                base = f" + head * {rows * columns}"
            shape = tuple(self.sizes[a] for a in acc.axes)
            first = f"rm - rm + tl.arange(0, {shape[0]})" if acc.axes == "mm" else None
            rows_index = (
                draft.let("index", f"tl.arange(0, {shape[0]})") if first else index[acc.axes[0]]
            )
            column_index = index[acc.axes[1]]
            if acc.axes[1] == "m":
                column_index = draft.let("index", f"tl.arange(0, {shape[1]})")
                columns = shape[1]
                base = f" + (head * {self.blocks} + pid) * {rows * columns}"
                programs = self.heads * self.blocks
            if self.heads == 1 and acc.axes[0] == "m" and acc.axes != "mm":
                base = ""
            count = self.row_count if rows_index == "rm" else None
            rows_text = f"pid * {self.sizes['m']}" if rows_index == "rm" else "0"
            plane = Plane(
                acc.name, rows_index, column_index, shape, (rows, columns), count, None,
                rows_text, "0", base, rows * columns * programs,
            )  # fmt: skip
            if base or rows_index == "rm":
                epilogue(draft, plane, draft.pick(1, 1, 2))

    def _store_vector(self, vector, axis):
        draft = self.draft
        if axis == "m":
            out = draft.output("fp32", self.heads * self.blocks * self.sizes["m"])
            base = f"head * {self.blocks * self.sizes['m']}"
            draft.line(f"tl.store({out} + {base} + rm, {vector})")
            return
        out = draft.array("sums", "fp32", self.sizes[axis], 0, 3)
        draft.line(f"tl.atomic_add({out} + r{axis}, {vector})")


def _turned(mask):
    """A mask of rows and positions for a tile of positions and rows."""
    return (
        mask.replace("[:, None]", "[X]")
        .replace("[None, :]", "[:, None]")
        .replace("[X]", "[None, :]")
    )
