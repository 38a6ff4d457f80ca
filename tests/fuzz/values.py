"""Values of the model: what a variable holds, and how far a correct machine may be from it.

Needs: dtypes.
Gives: Value; rounding with its bound; exactness of sums from the bits that the terms have.
How:   a float is held in float64 with an absolute error bound for each element, or none where every
       correct machine gives this very value. An operation whose outcome the machine may choose
       (overflow, a comparison of two values that their bounds do not separate) raises Undefined.
"""

import numpy as np

from .dtypes import FLOATS, INTS, NUMPY, is_float


class Undefined(Exception):
    """The program has no single right answer here: it is drawn again."""


class Value:
    """A scalar or tile. `data`: float64, the integer type, or bool. `error`: None or like `data`."""

    __slots__ = ("data", "dtype", "error")

    def __init__(self, dtype, data, error=None):
        self.dtype, self.data = dtype, np.asarray(data)
        self.error = None if error is None or not np.any(error) else np.asarray(error)

    @property
    def shape(self):
        return self.data.shape

    @property
    def exact(self):
        return self.error is None

    def bound(self):
        """The error bound of each element."""
        return np.zeros(self.shape) if self.error is None else self.error

    def moved(self, move):
        """The value after a movement of its elements."""
        return Value(self.dtype, move(self.data), None if self.exact else move(self.error))


def held(dtype, array):
    """Values of `dtype` from an array in its NumPy type."""
    return Value(dtype, array.astype(np.float64) if is_float(dtype) else array)


def stored(value):
    """The array that the exact part of `value` is in memory."""
    return value.data.astype(NUMPY[value.dtype])


def representable(dtype, data):
    """For each element, whether `dtype` holds it. Says no to float64, whose rounding is not seen here."""
    if dtype == "fp64":
        return np.zeros(np.shape(data), bool)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(data, np.float64).astype(NUMPY[dtype]).astype(np.float64) == data


def rounded(dtype, data, error=0.0, ulps=1.0, certain=True):
    """The result of an operation in float type `dtype`: `data` before rounding, `error` inherited.

    `certain`: the machine rounds correctly, so a value that the type holds comes out as it is.
    """
    kind = FLOATS[dtype]
    data = np.asarray(data, np.float64)
    if not np.isfinite(data).all() or not np.isfinite(error).all():
        raise Undefined("not finite")
    bound = error + ulps * 2 * kind.unit * (np.abs(data) + error) + kind.slack
    if certain:
        bound = np.where((error == 0) & representable(dtype, data), 0.0, bound)
    if (np.abs(data) + bound >= 0.95 * kind.largest).any():
        raise Undefined("overflow")
    return Value(dtype, data, bound)


def lowest_bit(data):
    """The exponent of the lowest bit that any element has set."""
    data = np.asarray(data, np.float64)
    data = data[data != 0]
    if not data.size:
        return 0
    mantissa, exponent = np.frexp(data)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    return int((exponent - 53 + np.log2((whole & -whole).astype(np.float64)).astype(int)).min())


def sums_exactly(terms, total, precision):
    """Whether sums of `terms` whose magnitudes add up to `total` have at most `precision` bits, in any order."""
    if not np.size(total):
        return True
    return np.max(np.abs(total)) * 2.0 ** -max(lowest_bit(terms), -900) <= 2.0**precision


def convert(value, dtype):
    """`value.to(dtype)`: rounded to nearest even, truncated to integers, compared with 0 for bool."""
    if value.dtype == dtype:
        return value
    if dtype == "i1":
        return Value("i1", nonzero(value))
    if not is_float(dtype):
        return _to_int(value, dtype)
    if not is_float(value.dtype):
        wide = value.data.astype(np.float64)
        certain = np.abs(wide).max(initial=0) <= 2.0**53
        return rounded(dtype, wide, certain=certain)
    if value.exact and value.dtype != "fp64" and dtype != "fp64":
        with np.errstate(over="ignore"):
            near = value.data.astype(np.float32).astype(NUMPY[dtype]).astype(np.float64)
        if (np.abs(near) >= 0.95 * FLOATS[dtype].largest).any() or not np.isfinite(near).all():
            raise Undefined("overflow")
        if ((np.abs(near) < FLOATS[dtype].slack * 16) & (near != 0)).any():
            return Value(dtype, near, np.where(near == value.data, 0, FLOATS[dtype].slack))
        return Value(dtype, near)
    if value.dtype != "fp64" and dtype == "fp64":
        return Value("fp64", value.data, value.error)
    return rounded(dtype, value.data, value.bound())


def nonzero(value):
    """Whether each element is not 0."""
    if value.error is not None and (np.abs(value.data) <= value.error).any():
        raise Undefined("a truth value")
    return value.data != 0


def _to_int(value, dtype):
    if not is_float(value.dtype):
        return Value(dtype, value.data.astype(INTS[dtype]))
    limits = np.iinfo(INTS[dtype])
    low, high = value.data - value.bound(), value.data + value.bound()
    if (np.trunc(low) != np.trunc(high)).any():
        raise Undefined("an integer from an inexact value")
    if (value.data <= limits.min * 0.99 - 1).any() or (value.data >= limits.max * 0.99).any():
        raise Undefined("out of the integer's range")
    if not limits.min and (value.data <= -1).any():
        raise Undefined("out of the integer's range")
    return Value(dtype, np.trunc(value.data).astype(INTS[dtype]))
