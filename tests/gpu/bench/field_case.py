"""What a kernel of the field is: its inputs, its launch, its reference, for NumPy and for torch.

Gives: `Case`, the base of all; `corpus`, the kernels of a file of tests/kernels; `Arrays` for NumPy, and
       `field.TorchArrays` for torch, which draw inputs and hold what references need of either.
How:   a file of field/ has one family. It is imported once for each package, as kernels.py tells,
       and lists its cases in `CASES`. A case is run at `small` sizes on the CPU and on the emulated
       GPU (tests/kernels/test_field.py), and timed at `full` ones (field.py, record.py).
"""

import importlib.util
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

CORPUS = Path(__file__).resolve().parents[2] / "kernels"
_COPIES = Path(tempfile.mkdtemp(prefix="field-"))
# What an element may be off by without more said: relative and absolute.
BOUNDS = {"fp32": (1e-4, 1e-5), "fp16": (2e-3, 2e-3), "bf16": (1.6e-2, 1.6e-2)}


class Case:
    """One kernel.

    inputs(draw, **sizes): arrays by name. outputs(**sizes): (shape, dtype) by name.
    launch(a, **sizes): the launch; `a` has all of them as attributes.
    expected(xp, a, **sizes): float64 results by name, of the inputs alone.
    """

    full, small = {}, {}
    bounds = {}  # by output (relative, absolute), where BOUNDS does not fit
    updated = ()  # inputs that the kernel overwrites and expected() names
    zeroed = ()  # outputs that the kernel adds to

    @property
    def name(self):
        """As in the tables: the words of the class."""
        text = type(self).__name__
        return "".join(f" {c.lower()}" if c.isupper() else c for c in text).strip()

    def outputs(self, **sizes):
        return {}

    def bound(self, name, dtype):
        """Relative and absolute bound of an output; integers are exact."""
        return self.bounds.get(name) or BOUNDS.get(dtype, (0.0, 0.0))


class Arrays:
    """NumPy's side: inputs drawn of one seed, and the functions of references."""

    f = np

    def __init__(self, dtypes, seed=0):
        self.dtypes, self.random = dtypes, np.random.default_rng(seed)

    def normal(self, shape, dtype="fp32", scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(self.dtypes[dtype])

    def integers(self, shape, low, high, dtype="i32"):
        return self.random.integers(low, high, shape).astype(self.dtypes[dtype])

    def array(self, values, dtype):
        return np.asarray(values).astype(self.dtypes[dtype])

    def permutation(self, n, dtype="i32"):
        return self.random.permutation(n).astype(self.dtypes[dtype])

    def wide(self, x):
        return x.astype(np.float64)

    def narrow(self, x):
        return x.astype(np.float32)

    def index(self, x):
        return x.astype(np.int64)

    def cast(self, x, dtype):
        return x.astype(self.dtypes[dtype])

    def top(self, x, k):
        """The k largest along the last axis, the largest first, and their indices."""
        order = np.argsort(-x, axis=-1, kind="stable")[..., :k]
        return np.take_along_axis(x, order, -1), order

    def add_rows(self, rows, index, values):
        """`rows` zeros, to each of which the `values` of its index are added."""
        out = np.zeros((rows, *values.shape[1:]))
        np.add.at(out, self.index(index), values)
        return out


def close(xp, case, name, got, want, dtype):
    """Raise unless every element is within the case's bound."""
    relative, absolute = case.bound(name, dtype)
    error = abs(xp.wide(got) - want) - (absolute + relative * abs(want))
    if not (error <= 0).all():
        worst = xp.f.nan_to_num(error, nan=1e30).max()
        raise AssertionError(f"{case.name}: `{name}` is beyond its bound by {float(worst):.3g}")


def sigmoid(xp, x):
    """1 / (1 + e^-x)."""
    return 1 / (1 + xp.f.exp(-x))


def log_sum_exp(xp, x):
    """Along the last axis, which stays."""
    best = xp.f.amax(x, axis=-1, keepdims=True)
    return best + xp.f.log(xp.f.exp(x - best).sum(axis=-1, keepdims=True))


def softmax(xp, x):
    """Along the last axis."""
    return xp.f.exp(x - log_sum_exp(xp, x))


def corpus(stem, package):
    """The kernels of tests/kernels/STEM.py as a module of their own, which belong to `package`."""
    path = CORPUS / f"{stem}.py"
    for folder in (CORPUS.parent / "python", CORPUS):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    if package != "pantile":
        text = path.read_text(encoding="utf-8")
        text = text.replace("import pantile as triton", f"import {package} as triton")
        text = text.replace("from pantile.", f"from {package}.")
        text = text.replace("import pantile.language", f"import {package}.language")
        path = _COPIES / f"{package}_{stem}.py"
        path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"field_{package}_{stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def namespace(*parts):
    """The arrays of several dictionaries as attributes."""
    return SimpleNamespace(**{name: array for part in parts for name, array in part.items()})


def cases_of(names):
    """An object of each case that a module defines, in the order of the source."""
    return [
        value()
        for value in names.values()
        if isinstance(value, type) and issubclass(value, Case) and value is not Case
    ]
