"""Results of MMAs that are scaled in each iteration, as in GEMM with a scale per block of K.

Needs: draft.
Gives: Scales, which draws the factors of an iteration and how a dot's result is added with them.
How:   a factor has a value per row, per column, per block, or is the same in all iterations. It is
       loaded before the dot, after it, or one iteration before its use. Factors are powers of two
       and 0, so that sums stay exact. A result may be read twice, kept for the next iteration, be
       added to the result of another dot, stored, or added under a condition.
"""

from .draft import NAMES

SHAPES = {"row": "[:, None]", "column": "[None, :]", "block": ""}


class Scales:
    """The factors of one loop; `first` is the first position of the iteration."""

    def __init__(self, draft, block, tiles, length):
        self.draft, self.block, self.length = draft, block, length
        self.extents = [count * side for count, side in zip(tiles, block)]
        self.group = block[2] * draft.pick(1, 1, 1, 2, 4)  # positions of K with one scale
        self.arrays, self.carried, self.before, self.first = {}, [], None, ""
        self.loaded, self.results = [], []

    def begin(self, first, before):
        """Open an iteration: some factors are loaded before the dots."""
        draft = self.draft
        self.first, self.before = first, before
        self.loaded, self.results = [], []
        kinds = draft.pick("row", "row column", "block", "row block", "row column block", "column")
        self.kinds = kinds.split()
        if draft.chance(0.5):
            self.loaded = [self._factor(kind) for kind in self.kinds]

    def add(self, acc, operands, precision, dtype):
        """Multiply `operands` to a result of type `dtype`, scale it and add it to `acc`."""
        draft, (left, right) = self.draft, operands
        text = f"tl.dot({left}, {right}{precision})"
        if draft.chance(0.1):
            zero = f"tl.zeros(({self.block[0]}, {self.block[1]}), {NAMES[dtype]})"
            text = f"tl.dot({left}, {right}, {zero}{precision})"
        result = draft.let("now", f"{text}.to(tl.float32)" if dtype == "i32" else text)
        factors = self.loaded or [self._factor(kind) for kind in self.kinds]
        if draft.chance(0.25):
            factors = factors[:1]
        scaled = " * ".join([result, *factors])
        if draft.chance(0.3):  # the factors are multiplied with each other first
            scaled = f"({' * '.join(factors)}) * {result}"
        if draft.chance(0.25):
            scaled = draft.let("scaled", scaled)
            scaled = self._changed(scaled, result)
        self.results.append(result)
        self._accumulate(acc, scaled)

    def _changed(self, scaled, result):
        """A second reader of a scaled result, or another one that is added to it."""
        draft = self.draft
        way = draft.pick("sum", "other", "last", "half", "relu")
        if way == "sum":
            with draft.at(self.before):
                peak = draft.let("peak", f"tl.zeros(({self.block[0]},), tl.float32)")
            draft.line(f"{peak} = tl.maximum({peak}, tl.max({draft.pick(scaled, result)}, 1))")
            self.carried.append(peak)
        elif way == "other" and self.results:
            return f"({scaled} - {self.results[-1]})"
        elif way == "last":
            with draft.at(self.before):
                shape = f"({self.block[0]}, {self.block[1]})"
                start = draft.pick("0.0", "2.0")
                last = draft.let("last", f"tl.full({shape}, {start}, tl.float32)")
            both = draft.let("both", f"{scaled} + {last}")
            draft.line(f"{last} = {scaled}")
            return both
        elif way == "half":
            return f"{scaled}.to(tl.bfloat16).to(tl.float32)"
        elif way == "relu":
            return f"tl.maximum({scaled}, 0.0)"
        return scaled

    def _accumulate(self, acc, scaled):
        draft = self.draft
        ways = [f"{acc} += {scaled}"] * 5 + [f"{acc} = {scaled} + {acc}", f"{acc} -= {scaled}"]
        ways += [f"{acc} = {acc} * {draft.pick('0.5', '2.0')} + {scaled}"]
        text = draft.pick(*ways)
        if draft.odd(0.12):
            middle = self.block[2] * draft.rng.randint(0, 4)
            with draft.block(f"if {self.first} {draft.pick('>=', '<', '!=')} {middle}:"):
                draft.line(text)
        else:
            draft.line(text)

    def _factor(self, kind):
        """The text of a factor of this iteration, that broadcasts to a result."""
        draft = self.draft
        if draft.chance(0.12):
            with draft.at(self.before):
                return draft.let("fixed", self._load(kind, "0")) + SHAPES[kind]
        if draft.odd(0.15):
            return self._prefetched(kind) + SHAPES[kind]
        return draft.let("scale", self._load(kind, f"({self.first})")) + SHAPES[kind]

    def _prefetched(self, kind):
        """The factor was loaded in the iteration before, the first one before the loop."""
        draft = self.draft
        with draft.at(self.before):
            following = draft.let("following", self._load(kind, "0"))
        scale = draft.let("scale", f"{following} * {draft.pick('1.0', '2.0')}")
        draft.line(f"{following} = {self._load(kind, f'({self.first})')}")
        return scale

    def _load(self, kind, first):
        draft = self.draft
        blocks = self.length // self.group + 2
        extent = {"row": self.extents[0], "column": self.extents[1], "block": 1}[kind]
        if kind not in self.arrays:
            step = draft.pick(0.5, 1, 0.25)
            dtype = draft.pick("fp32", "fp32", "fp32", "fp16", "bf16")
            array = draft.array("scale", dtype, blocks * extent, -1, 2, step)
            self.arrays[kind] = array, dtype, draft.chance(0.5) and kind != "block"
        array, dtype, turned = self.arrays[kind]
        number = f"{first} // {self.group}"
        index = {"row": " + rm", "column": " + rn", "block": ""}[kind]
        at = f"{array} + {number} * {extent}{index}"
        if turned:
            at = f"{array} + {number}{index} * {blocks}"
        return f"tl.load({at})" + ("" if dtype == "fp32" else ".to(tl.float32)")
