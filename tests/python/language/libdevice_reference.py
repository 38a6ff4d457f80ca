"""What libdevice's functions compute: exact references, domains and the bounds that NVIDIA states.

`REAL[name]` is for functions of floats: reference of exact numbers, domain of each operand, bounds in units in
the last place for fp32 and fp64 ("CUDA C++ Programming Guide", mathematical functions), and an absolute error
that is allowed in addition. `INTEGER[name]` takes and gives Python integers that are within their type's range.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np

TABLE = Path(__file__).resolve().parents[3] / "compiler/frontend/Libdevice.def"


def overloads():
    """(name, operand types, result type) of every overload."""
    rows = re.findall(r'^LIBDEVICE\((\w+), "[^"]*", "([^"]*)"', TABLE.read_text(), re.M)
    for name, forms in rows:
        for form in forms.split("; "):
            operands, result = form.split(" > ")
            yield name, tuple(operands.split()), result.split()[0]


@dataclass
class Real:
    """A function of floats with its domain and bounds."""

    exact: object
    domains: tuple
    units: tuple = (1, 1)
    absolute: tuple = (0.0, 0.0)
    specials: object = (
        None  # the same function of NumPy floats, right for NaN, infinities and zeros
    )


def line(low, high):
    """Uniform over an interval."""
    return lambda rng, n, dtype: rng.uniform(low, high, n).astype(dtype)


def scale(low, high, signed=True):
    """Uniform exponents of 2 over an interval, of both signs unless not `signed`."""

    def draw(rng, n, dtype):
        signs = rng.choice([-1.0, 1.0], n) if signed else 1.0
        return (signs * np.exp2(rng.uniform(low, high, n))).astype(dtype)

    return draw


def whole(low, high):
    return lambda rng, n, dtype: rng.integers(low, high, n).astype(np.int32)


positive, wide = scale(-20, 20, signed=False), scale(-20, 20)


def _norm(*x):
    return mp.sqrt(sum(v * v for v in x))


def _nearest_even(x):
    return mp.nint(x)


def _round_away(x):
    return mp.sign(x) * mp.floor(abs(x) + mp.mpf("0.5"))


def _trunc(x):
    return mp.sign(x) * mp.floor(abs(x))


def _fmod(x, y):
    return x - y * _trunc(x / y)


def _remainder(x, y):
    return x - y * mp.nint(x / y)


ROUNDING = {
    "floor": Real(mp.floor, (line(-1e4, 1e4),), (0, 0), specials=np.floor),
    "ceil": Real(mp.ceil, (line(-1e4, 1e4),), (0, 0), specials=np.ceil),
    "trunc": Real(_trunc, (line(-1e4, 1e4),), (0, 0), specials=np.trunc),
    "round": Real(_round_away, (line(-1e3, 1e3),), (0, 0)),
    "rint": Real(_nearest_even, (line(-1e3, 1e3),), (0, 0), specials=np.rint),
    "nearbyint": Real(_nearest_even, (line(-1e3, 1e3),), (0, 0), specials=np.rint),
    "saturatef": Real(lambda x: min(max(x, mp.mpf(0)), mp.mpf(1)), (line(-1, 2),), (0, 0)),
    "abs": Real(abs, (wide,), (0, 0), specials=np.abs),
    "copysign": Real(
        lambda x, y: abs(x) if y >= 0 else -abs(x), (wide, wide), (0, 0), specials=np.copysign
    ),
    "fdim": Real(lambda x, y: max(x - y, mp.mpf(0)), (line(-9, 9), line(-9, 9)), (0.5, 0.5)),
    "fma": Real(lambda x, y, z: x * y + z, (line(-9, 9),) * 3, (0.5, 0.5)),
    "fmod": Real(_fmod, (scale(0, 12), scale(-2, 5)), (0, 0), specials=np.fmod),
    "remainder": Real(_remainder, (scale(0, 12), scale(-2, 5)), (0, 0)),
    "logb": Real(lambda x: mp.mpf(mp.frexp(abs(x))[1] - 1), (wide,), (0, 0)),
    "ldexp": Real(lambda x, n: mp.ldexp(x, int(n)), (wide, whole(-60, 60)), (0, 0)),
    "scalbn": Real(lambda x, n: mp.ldexp(x, int(n)), (wide, whole(-60, 60)), (0, 0)),
}
POWERS = {
    "sqrt": Real(mp.sqrt, (positive,), (2, 0.5), specials=np.sqrt),
    "rsqrt": Real(lambda x: 1 / mp.sqrt(x), (positive,), (2, 1)),
    "rsqrt_rn": Real(lambda x: 1 / mp.sqrt(x), (positive,), (0.5, 0.5)),
    "cbrt": Real(lambda x: mp.sign(x) * mp.cbrt(abs(x)), (wide,), (1, 1), specials=np.cbrt),
    "rcbrt": Real(lambda x: mp.sign(x) / mp.cbrt(abs(x)), (wide,), (2, 1)),
    "hypot": Real(_norm, (wide, wide), (3, 2), specials=np.hypot),
    "rhypot": Real(lambda *x: 1 / _norm(*x), (wide, wide), (2, 1)),
    "norm3d": Real(_norm, (wide,) * 3, (3, 2)),
    "rnorm3d": Real(lambda *x: 1 / _norm(*x), (wide,) * 3, (2, 1)),
    "norm4d": Real(_norm, (wide,) * 4, (3, 2)),
    "rnorm4d": Real(lambda *x: 1 / _norm(*x), (wide,) * 4, (2, 1)),
    "pow": Real(mp.power, (scale(-6, 6, signed=False), line(-9, 9)), (5, 2)),
    "exp": Real(mp.exp, (line(-60, 60),), (2, 1), specials=np.exp),
    "exp2": Real(lambda x: mp.power(2, x), (line(-90, 90),), (2, 1), specials=np.exp2),
    "exp10": Real(lambda x: mp.power(10, x), (line(-30, 30),), (2, 1)),
    "expm1": Real(mp.expm1, (scale(-12, 5),), (1, 1), specials=np.expm1),
    "log": Real(mp.log, (positive,), (1, 1), specials=np.log),
    "log2": Real(lambda x: mp.log(x, 2), (positive,), (1, 1), specials=np.log2),
    "log10": Real(mp.log10, (positive,), (2, 1), specials=np.log10),
    "log1p": Real(mp.log1p, (scale(-12, 12, signed=False),), (1, 1), specials=np.log1p),
}
ANGLES = {
    "sin": Real(mp.sin, (line(-100, 100),), (2, 2), specials=np.sin),
    "cos": Real(mp.cos, (line(-100, 100),), (2, 2), specials=np.cos),
    "tan": Real(mp.tan, (line(-100, 100),), (4, 2), specials=np.tan),
    "sinpi": Real(mp.sinpi, (line(-50, 50),), (2, 2)),
    "cospi": Real(mp.cospi, (line(-50, 50),), (2, 2)),
    "asin": Real(mp.asin, (line(-1, 1),), (2, 2), specials=np.arcsin),
    "acos": Real(mp.acos, (line(-1, 1),), (2, 2), specials=np.arccos),
    "atan": Real(mp.atan, (wide,), (2, 2), specials=np.arctan),
    "atan2": Real(mp.atan2, (wide, wide), (3, 2), specials=np.arctan2),
    "sinh": Real(mp.sinh, (line(-60, 60),), (3, 2), specials=np.sinh),
    "cosh": Real(mp.cosh, (line(-60, 60),), (2, 1), specials=np.cosh),
    "tanh": Real(mp.tanh, (scale(-10, 5),), (2, 1), specials=np.tanh),
    "asinh": Real(mp.asinh, (wide,), (3, 3), specials=np.arcsinh),
    "acosh": Real(mp.acosh, (line(1, 1e4),), (4, 3)),
    "atanh": Real(mp.atanh, (line(-1, 1),), (3, 2), specials=np.arctanh),
}


def _normcdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _erfcinv(y):
    return mp.erfinv(1 - y)


SPECIAL = {
    "erf": Real(mp.erf, (line(-4, 4),), (2, 2)),
    "erfc": Real(mp.erfc, (line(-3, 8),), (4, 5)),
    "erfcx": Real(lambda x: mp.exp(x * x) * mp.erfc(x), (line(-5, 50),), (4, 4)),
    "erfinv": Real(mp.erfinv, (line(-1, 1),), (2, 8)),
    "erfcinv": Real(_erfcinv, (line(0.001, 2),), (4, 6)),
    "normcdf": Real(_normcdf, (line(-10, 5),), (5, 5)),
    "normcdfinv": Real(lambda p: -mp.sqrt(2) * _erfcinv(2 * p), (line(0.001, 1),), (5, 7)),
    "lgamma": Real(lambda x: mp.re(mp.loggamma(x)), (line(0.05, 60),), (6, 4)),
    "tgamma": Real(mp.gamma, (line(0.05, 30),), (11, 10)),
    "j0": Real(mp.j0, (line(-30, 30),), (9, 7), (2.2e-6, 5e-12)),
    "j1": Real(mp.j1, (line(-30, 30),), (9, 7), (2.2e-6, 5e-12)),
    "y0": Real(lambda x: mp.bessely(0, x), (line(0.1, 30),), (9, 7), (2.2e-6, 5e-12)),
    "y1": Real(lambda x: mp.bessely(1, x), (line(0.1, 30),), (9, 7), (2.2e-6, 5e-12)),
    "jn": Real(
        lambda n, x: mp.besselj(int(n), x), (whole(0, 6), line(1, 20)), (20, 20), (5e-6, 5e-12)
    ),
    "yn": Real(
        lambda n, x: mp.bessely(int(n), x), (whole(0, 6), line(1, 20)), (40, 40), (5e-6, 5e-12)
    ),
    "cyl_bessel_i0": Real(lambda x: mp.besseli(0, x), (line(-20, 20),), (6, 6)),
    "cyl_bessel_i1": Real(lambda x: mp.besseli(1, x), (line(-20, 20),), (6, 6)),
}
FAST = {
    "fast_sinf": Real(mp.sin, (line(-3.14, 3.14),), (0,), (2**-21.4,)),
    "fast_cosf": Real(mp.cos, (line(-3.14, 3.14),), (0,), (2**-21.1,)),
    "fast_tanf": Real(mp.tan, (line(-1, 1),), (8,), (2**-20,)),
    "fast_tanhf": Real(mp.tanh, (line(-5, 5),), (2**13,)),
    "fast_expf": Real(mp.exp, (line(-60, 60),), (2 + 70,)),
    "fast_exp10f": Real(lambda x: mp.power(10, x), (line(-30, 30),), (2 + 90,)),
    "fast_logf": Real(mp.log, (positive,), (3,), (2**-21.4,)),
    "fast_log2f": Real(lambda x: mp.log(x, 2), (positive,), (2,), (2**-22,)),
    "fast_log10f": Real(mp.log10, (positive,), (4,), (2**-22,)),
    "fast_powf": Real(mp.power, (scale(-4, 4, signed=False), line(-5, 5)), (60,)),
    "fast_dividef": Real(lambda x, y: x / y, (wide, wide), (2,)),
    "rcp64h": Real(lambda x: 1 / x, (wide,), (2.0**33, 2.0**33)),
}
REAL = ROUNDING | POWERS | ANGLES | SPECIAL | FAST


def _wrap(value, bits, signed):
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _low24(x, signed):
    return _wrap(x & 0xFFFFFF, 24, signed)


def _byte_perm(x, y, s):
    pool = (y & 0xFFFFFFFF) << 32 | (x & 0xFFFFFFFF)
    return sum((pool >> 8 * (s >> 4 * i & 7) & 0xFF) << 8 * i for i in range(4))


def _bits(kind):
    return int(kind[1:])


def _unsigned(kind, x):
    return x & (1 << _bits(kind)) - 1


def _mul24(kind, x, y):
    signed = kind[0] == "i"
    return _low24(x, signed) * _low24(y, signed)


# Each takes the type of the first operand before the operands.
INTEGER = {
    "clz": lambda kind, x: _bits(kind) - _unsigned(kind, x).bit_length(),
    "popc": lambda kind, x: bin(_unsigned(kind, x)).count("1"),
    "ffs": lambda kind, x: (x & -x).bit_length(),
    "brev": lambda kind, x: int(f"{_unsigned(kind, x):0{_bits(kind)}b}"[::-1], 2),
    "byte_perm": lambda kind, x, y, s: _byte_perm(x, y, s & 0xFFFFFFFF),
    "mulhi": lambda kind, x, y: x * y >> _bits(kind),
    "mul24": _mul24,
    "sad": lambda kind, x, y, z: abs(x - y) + z,
    "hadd": lambda kind, x, y: x + y >> 1,
    "rhadd": lambda kind, x, y: x + y + 1 >> 1,
    "abs": lambda kind, x: abs(x),
}


def integer_result(name, operands, values, result):
    """The exact result of a function of integers, wrapped to its type."""
    return _wrap(INTEGER[name](operands[0], *values), _bits(result), result[0] == "i")
