"""A whole kernel that was drawn as text, with the data and the launch that it is for.

Needs: numpy_language; a folder for the generated modules where it runs on a device.
Gives: Case, whose `text()` is a Python module that `Case.of_file` reads again; `run_model`.
How:   arrays are named by how they are made, `("fp16", size, seed, low, high, step)`, so that a module
       is all that a failure needs. A view is an array from some element on: two arguments may be
       views of one array. `rebound` are the globals of each launch, for kernels that read some.
"""

import ast
import pprint
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .dtypes import NUMPY
from .numpy_language import Language, NumpyTriton, tile
from .numpy_memory import Memory
from .values import Undefined
from .warps import has_replicas

# What Python says to a text that a reduction broke.
MISTAKES = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError)
ANY_TILE_HAS_COPIES = 1 << 32  # threads of a program
ARRAY_TYPES = NUMPY | {"c64": np.complex64}
FAR_ELEMENTS = 1 << 27  # arrays beyond are filled only where `places` says


@dataclass
class Case:
    """A kernel and one launch of it, or several."""

    kind: str
    seed: str
    source: str = ""
    arrays: dict = field(default_factory=dict)  # name -> (dtype, size, seed, low, high, step)
    views: dict = field(default_factory=dict)  # parameter -> (array, first element)
    scalars: dict = field(default_factory=dict)  # numbers; "inf", "-inf" and "nan" as texts
    constants: dict = field(default_factory=dict)
    grid: tuple = (1,)
    options: dict = field(default_factory=dict)
    rebound: list = field(default_factory=lambda: [{}])
    places: dict = field(default_factory=dict)  # array -> (first, end) that are filled and compared
    notes: list = field(default_factory=list)

    def text(self):
        """The module."""
        data = {
            name: value
            for name, value in vars(self).items()
            if name != "source" and value not in ({}, [])
        }
        return f"{self.source}\n\nCASE = {pprint.pformat(data, width=100, sort_dicts=False)}\n"

    @staticmethod
    def of_file(path):
        """The case of a module that `text()` wrote."""
        text = Path(path).read_text()
        source, data = text.rsplit("\nCASE = ", 1)
        tree = ast.parse("CASE = " + data).body[0]
        return Case(source=source.rstrip() + "\n", **ast.literal_eval(tree.value))

    def initial(self, name):
        """An array as the launch finds it; far ones are zero but for their places."""
        dtype, size, seed, low, high, step = self.arrays[name]
        if size > FAR_ELEMENTS and name not in self.places:
            raise Undefined("a far array without a window")
        rng = np.random.default_rng(seed)
        first, end = self.places.get(name, (0, size))
        data = np.zeros(size, ARRAY_TYPES[dtype])
        if step == "permutation":
            data[first:end] = rng.permutation(end - first)
        else:
            data[first:end] = rng.integers(low, high + 1, end - first) * step
            if dtype == "c64":
                data.imag[first:end] = rng.integers(low, high + 1, end - first) * step
        return data

    def parameters(self):
        return [*self.views, *self.scalars]

    def numbers(self):
        """The scalars in order."""
        return [float(n) if isinstance(n, str) else n for n in self.scalars.values()]

    def is_far(self, name):
        return self.arrays[name][1] > FAR_ELEMENTS

    def compared(self, name, array):
        """The part of an array that is compared."""
        first, end = self.places.get(name, (0, array.size))
        return array[first:end]


@dataclass
class Model:
    """What NumPy says: the arrays at the end, and whether nothing was rounded but by conversions."""

    arrays: dict
    exact: bool


def _kernel_function(case):
    """The kernel as a Python function, without the decorators' effect, and its globals."""
    lines = [
        line
        for line in case.source.splitlines()
        if not line.startswith(("import pantile", "from pantile"))
    ]
    names = {"triton": NumpyTriton}
    names["tl"] = Language  # for defaults and annotations; a launch has its own
    exec(compile("\n".join(lines), f"<{case.kind} {case.seed}>", "exec"), names)
    return names


def _scalar(value):
    if isinstance(value, float):
        return tile(value, np.float32)
    return tile(value, np.int32 if -(2**31) <= value < 2**31 else np.int64)


def run_model(case):
    """Run every launch over NumPy; raises Undefined where the text has no one result."""
    warps = case.options.get("num_warps", 4)
    threads = ANY_TILE_HAS_COPIES if has_replicas(warps) else 32 * warps
    memory = Memory({name: case.initial(name) for name in case.arrays}, threads)
    names = _kernel_function(case)
    language = Language(memory, case.grid)
    names.update(tl=language, range=Language.range, min=_least, max=_most)
    grid = language.grid
    for rebound in case.rebound:
        names.update(rebound)
        memory.forget()
        for number in range(grid[0] * grid[1] * grid[2]):
            rest, x = divmod(number, grid[0])
            language.pid = (x, rest % grid[1], rest // grid[1])
            memory.start(number)
            views = {p: memory.pointer(name, first) for p, (name, first) in case.views.items()}
            scalars = dict(zip(case.scalars, map(_scalar, case.numbers())))
            try:
                with np.errstate(all="ignore"):
                    names["kernel"](**views, **scalars, **case.constants)
            except MISTAKES as problem:
                raise Undefined(f"{type(problem).__name__}: {problem}") from problem
    return Model({name: array.data for name, array in memory.arrays.items()}, memory.exact)


def _least(*numbers):
    return min(numbers, key=int)


def _most(*numbers):
    return max(numbers, key=int)
