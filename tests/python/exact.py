"""Exact results and the distance of floats from them.

Values are mpmath numbers of 200 bits, so that what NumPy computes in its own precision need not be trusted.
"""

import mpmath
import numpy as np

mpmath.mp.prec = 200

MANTISSA = {np.dtype(np.float32): 24, np.dtype(np.float64): 53}
LOWEST = {np.dtype(np.float32): -149, np.dtype(np.float64): -1074}


def exact(value):
    """A NumPy or Python number as an mpmath number."""
    if isinstance(value, (int, np.integer)):
        return mpmath.mpf(int(value))
    return mpmath.mpf(float(value))


def unit(value, dtype):
    """The distance between floats of `dtype` around an exact value."""
    dtype = np.dtype(dtype)
    if value == 0:
        return mpmath.ldexp(1, LOWEST[dtype])
    exponent = mpmath.frexp(abs(value))[1] - MANTISSA[dtype]
    return mpmath.ldexp(1, max(exponent, LOWEST[dtype]))


def rounded(value, dtype, mode="rn"):
    """The float of `dtype` that an exact finite value rounds to: rn, rz, rd or ru."""
    step = unit(value, dtype)
    quotient = value / step
    low = mpmath.floor(quotient)
    if mode == "rn":
        rest = quotient - low
        count = low + (1 if rest > 0.5 or (rest == 0.5 and int(low) % 2) else 0)
    elif mode == "rd" or (mode == "rz" and value > 0):
        count = low
    else:
        count = mpmath.ceil(quotient)
    result = np.dtype(dtype).type(float(count * step))
    return np.copysign(result, -1.0 if value < 0 else 1.0).astype(dtype)


def to_integer(value, mode):
    """An exact value as an integer: rn, rz, rd or ru."""
    if mode == "rn":
        return int(mpmath.nint(value))
    return int(
        {"rz": mpmath.sign(value) * mpmath.floor(abs(value)), "rd": mpmath.floor(value)}.get(
            mode, mpmath.ceil(value)
        )
    )


def units_off(got, value):
    """How many units in the last place `got` is from the exact value."""
    return float(abs(exact(got) - value) / unit(value, got.dtype))
