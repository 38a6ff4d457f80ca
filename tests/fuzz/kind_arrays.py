"""Tiles as arrays: parts, assignments to parts, `cat`, `stack`, `pad`, `flip`, `roll`, iteration.

Needs: draft.
Gives: draw_arrays.
How:   variables of one to three dimensions of any extents. A statement takes parts of some of them,
       with constant bounds and steps of either sign and with indices of run time, puts parts
       together, or assigns to a part, in loops and branches too. At the end all variables are
       stored. The text runs as NumPy's, where a part is a copy.
"""

from dataclasses import dataclass

from .draft import Draft

MOST_ELEMENTS = 2048
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 16, 24, 33)


@dataclass
class Variable:
    """A tile with its extents."""

    name: str
    shape: tuple


def draw_arrays(seed):
    return _Arrays(seed).draw()


class _Arrays:
    """A kernel over parts of tiles that is being drawn."""

    def __init__(self, seed):
        self.draft = draft = Draft("arrays", seed)
        self.dtype = draft.pick("i32", "i32", "fp32", "fp16", "i8", "i64", "c64", "c64")
        self.variables = []
        self.indices = []  # (text, least, greatest)

    def draw(self):
        draft = self.draft
        draft.case.options = {"num_warps": draft.pick_warps(1, 2, 4, 4, 8)}
        for _ in range(2):
            value = draft.rng.randint(0, 15)
            self.indices.append((draft.scalar(value, "i"), value))
        for _ in range(draft.pick(2, 3)):
            self._input()
        for _ in range(draft.rng.randint(4, 12)):
            self._statement()
        for variable in self.variables[-8:]:
            self._store(variable)
        return draft.finish()

    # Memory.
    def _shape(self):
        shape = [self.draft.pick(*EXTENTS) for _ in range(self.draft.pick(1, 2, 2, 2, 3))]
        while self._size(shape) > MOST_ELEMENTS:
            axis = shape.index(max(shape))
            shape[axis] = max(1, shape[axis] // 2)
        return tuple(shape)

    @staticmethod
    def _size(shape):
        size = 1
        for extent in shape:
            size *= extent
        return size

    def _places(self, shape):
        """The places of a tile in memory, one after the other."""
        terms, pitch = [], 1
        for axis in reversed(range(len(shape))):
            others = [":" if i == axis else "None" for i in range(len(shape))]
            index = f"tl.arange(0, {shape[axis]})"
            index += f"[{', '.join(others)}]" if len(shape) > 1 else ""
            terms.append(f"{index} * {pitch}")
            pitch *= shape[axis]
        return " + ".join(reversed(terms))

    def _input(self):
        shape = self._shape()
        array = self.draft.array("x", self.dtype, self._size(shape), -9, 9)
        self._new(f"tl.load({array} + {self._places(shape)})", shape)

    def _store(self, variable):
        out = self.draft.output(self.dtype, self._size(variable.shape))
        self.draft.line(f"tl.store({out} + {self._places(variable.shape)}, {variable.name})")

    def _new(self, text, shape):
        self.variables.append(Variable(self.draft.let("v", text), tuple(shape)))

    # Statements.
    def _statement(self):
        ways = ["part"] * 3 + ["assign"] * 4 + ["cat", "cat", "stack", "pad", "roll", "flip"]
        ways += ["trans", "rows", "sum", "branch", "loop", "loop"]
        getattr(self, f"_{self.draft.pick(*ways)}")()

    def _pick(self):
        return self.draft.pick(*self.variables[-5:])

    def _slice(self, extent, count=None):
        """A slice with constant bounds, of so many elements or any number, and their number."""
        draft = self.draft
        count = count or draft.rng.randint(1, extent)
        stride = 1 if count == 1 else draft.rng.randint(1, min(5, (extent - 1) // (count - 1)))
        first = draft.rng.randint(0, extent - 1 - stride * (count - 1))
        last = first + stride * (count - 1)
        beyond = draft.rng.randint(1, stride)
        if draft.chance(0.3) and count > 1:
            stop = first - beyond
            return f"{self._bound(last, extent)}:{stop if stop >= 0 else ''}:-{stride}", count
        stop = last + beyond if stride > 1 else last + 1
        text = f"{self._bound(first, extent)}:{self._bound(stop, extent) if stop < extent else ''}"
        return text + (f":{stride}" if stride > 1 else ""), count

    def _bound(self, value, extent):
        """A bound from the start or from the end."""
        if value and self.draft.chance(0.25) and value < extent:
            return str(value - extent)
        return "" if value == 0 and self.draft.chance(0.5) else str(value)

    def _point(self, extent):
        """An index of one element: constant, or of run time."""
        draft = self.draft
        if draft.chance(0.5):
            return str(draft.rng.randint(-extent, extent - 1))
        name, value = draft.pick(*self.indices)
        if value is not None and value < extent and draft.chance(0.6):
            return name
        return f"{name} % {extent}" + draft.pick("", "", f" - {extent}")

    def _part(self):
        variable = self._pick()
        text, shape = self._selected(variable)
        if shape:
            self._new(text, shape)
        else:
            self._new(f"{self.variables[0].name} + {text}", self.variables[0].shape)

    def _selected(self, variable):
        """A part of a variable and its extents."""
        draft, parts, shape = self.draft, [], []
        for extent in variable.shape:
            last = "new" if draft.chance(0.3) else "slice"
            way = draft.pick("all", "slice", "slice", "point", last)
            if way == "new" and len(shape) < 3 and len(variable.shape) < 3:
                parts.append("None")
                shape.append(1)
                way = "all"
            if way == "all":
                parts.append(":")
                shape.append(extent)
            elif way == "slice":
                text, count = self._slice(extent)
                parts.append(text)
                shape.append(count)
            else:
                parts.append(self._point(extent))
        if parts[0] == ":" and len(parts) > 1 and draft.chance(0.3):
            parts[0] = "..."
        while len(parts) > 1 and parts[-1] == ":" and parts[0] != "..." and draft.chance(0.5):
            parts.pop()
        return f"{variable.name}[{', '.join(parts)}]", shape

    def _fitting(self, shape):
        """A value that broadcasts to these extents."""
        draft = self.draft
        same = [v for v in self.variables if v.shape == tuple(shape)]
        if same and draft.chance(0.6):
            name = draft.pick(*same).name
            return f"{name}{draft.pick('', '', ' + 1', f' + {name}')}"
        if draft.chance(0.3) or not shape:
            return draft.pick("3", "-1", *(name for name, _ in self.indices[:2]))
        wanted = [extent if draft.chance(0.7) else 1 for extent in shape]
        if draft.chance(0.3) and len(wanted) > 1:
            wanted = wanted[1:]
        found = [v for v in self.variables if self._can_give(v.shape, wanted)]
        if not found:
            return "2"
        variable = draft.pick(*found)
        parts = [self._slice(extent, count)[0] for extent, count in zip(variable.shape, wanted)]
        return f"{variable.name}[{', '.join(parts)}]"

    @staticmethod
    def _can_give(shape, wanted):
        return len(shape) == len(wanted) and all(x >= y for x, y in zip(shape, wanted))

    def _assign(self):
        draft, variable = self.draft, self._pick()
        text, shape = self._selected(variable)
        if "None" in text:
            return
        if draft.chance(0.3):
            draft.line(f"{text} {draft.pick('+=', '-=')} {self._fitting(shape)}")
        else:
            draft.line(f"{text} = {self._fitting(shape)}")

    def _cat(self):
        draft, first = self.draft, self._pick()
        axis = draft.rng.randrange(len(first.shape))
        parts, total = [], 0
        for _ in range(draft.pick(2, 2, 3)):
            like = [v for v in self.variables if self._fits_but(v.shape, first.shape, axis)]
            variable = draft.pick(*like)
            text, count = variable.name, variable.shape[axis]
            if axis == 0 and count < 9 and draft.chance(0.1):
                text = f"tl.stack(tuple({text}))"
            if draft.chance(0.5):
                bounds, count = self._slice(count)
                text = f"{text}[{':, ' * axis}{bounds}]"
            parts.append(text)
            total += count
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        if self._size(shape) <= MOST_ELEMENTS:
            axis -= len(shape) * draft.chance(0.3)
            self._new(f"tl.cat(({', '.join(parts)}), dim={axis})", shape)

    @staticmethod
    def _fits_but(shape, other, axis):
        return len(shape) == len(other) and all(
            x == y or i == axis for i, (x, y) in enumerate(zip(shape, other))
        )

    def _stack(self):
        draft, first = self.draft, self._pick()
        same = [v for v in self.variables if v.shape == first.shape]
        names = [draft.pick(*same).name for _ in range(draft.pick(2, 3, 4))]
        axis = draft.rng.randint(0, len(first.shape))
        shape = (*first.shape[:axis], len(names), *first.shape[axis:])
        if len(shape) < 4 and self._size(shape) <= MOST_ELEMENTS:
            self._new(f"tl.stack(({', '.join(names)}), axis={axis})", shape)

    def _pad(self):
        draft, variable = self.draft, self._pick()
        widths = [(draft.pick(0, 0, 1, 3, 4), draft.pick(0, 0, 1, 5, 8)) for _ in variable.shape]
        shape = [extent + sum(width) for extent, width in zip(variable.shape, widths)]
        if self._size(shape) <= MOST_ELEMENTS:
            value = draft.pick("", ", constant_values=-7", ", constant_values=5")
            text = ", ".join(f"({a}, {b})" for a, b in widths) + ","
            self._new(f"tl.pad({variable.name}, ({text}){value})", shape)

    def _roll(self):
        draft, variable = self.draft, self._pick()
        shift = draft.pick(str(draft.rng.randint(-40, 40)), draft.pick(*self.indices)[0])
        axis = draft.rng.randint(-len(variable.shape), len(variable.shape) - 1)
        axis = draft.pick(axis, axis, axis, None)
        if len(variable.shape) > 1 and draft.chance(0.2):
            axis, shift = "(1, 0)", draft.pick(shift, f"({draft.rng.randint(-9, 9)}, {shift})")
        self._new(f"tl.roll({variable.name}, {shift}, {axis})", variable.shape)

    def _flip(self):
        variable = self._pick()
        axis = self.draft.rng.randrange(len(variable.shape))
        if len(variable.shape) > 1 and self.draft.chance(0.2):
            axis = "(0, -1)"
        self._new(f"tl.flip({variable.name}, {axis})", variable.shape)

    def _trans(self):
        variable = self._pick()
        if len(variable.shape) == 2:
            self._new(f"tl.trans({variable.name})", variable.shape[::-1])

    def _sum(self):
        variable = self._pick()
        if len(variable.shape) > 1:
            axis = self.draft.rng.randrange(len(variable.shape))
            shape = variable.shape[:axis] + variable.shape[axis + 1 :]
            name = "sum" if self.dtype == "c64" else "max"
            self._new(f"tl.{name}({variable.name}, {axis})", shape)

    def _rows(self):
        """Iterate over the first dimension."""
        draft, variable = self.draft, self._pick()
        if len(variable.shape) == 1 or variable.shape[0] > 16:
            return
        state = draft.fresh("v")
        draft.line(f"{state} = {variable.name}[0] - {variable.name}[-1]")
        header = f"for row in {variable.name}:"
        if draft.chance(0.4):
            header = f"for k, row in enumerate({variable.name}):"
        with draft.block(header):
            following = f"tl.maximum({state} - row, row)"
            if self.dtype == "c64":
                following = f"tl.conj(row) - {state}"
            draft.line(f"{state} = {following}")
            if "k," in header and draft.chance(0.5):
                draft.line(f"{variable.name}[k] = {state}")
        self.variables.append(Variable(state, variable.shape[1:]))

    def _branch(self):
        draft = self.draft
        name, _ = draft.pick(*self.indices[:2])
        with draft.block(f"if {name} > {draft.rng.randint(0, 15)}:"):
            draft.line(f"{self.variables[0].name} += 1")
            self._assign()
        if draft.chance(0.4):
            with draft.block("else:"):
                draft.line(f"{self.variables[0].name} -= 1")
                self._assign()

    def _loop(self):
        draft = self.draft
        name = draft.fresh("t")
        with draft.block(f"for {name} in range({draft.number(draft.rng.randint(0, 5))}):"):
            self.indices.append((name, None))
            name0 = self.variables[0].name
            draft.line(f"{name0} += {name}.to({name0}.dtype)")
            for _ in range(draft.pick(1, 2)):
                self._assign()
            self.indices.pop()
