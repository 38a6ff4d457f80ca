"""Element-wise operations: arithmetic, comparison, selection, casts, mathematics.

Needs: program.op, values.
Gives: the operations `binary`, `compare`, `shift`, `logic`, `unary`, `where`, `cast`, `bitcast`, `math` ...
How:   a bound is the operands' bounds through the derivative, plus the rounding of the result.
"""

import math

import numpy as np

from .dtypes import FLOATS, INTS, LONG, NUMPY, bits, is_float, is_int, promote
from .program import Literal, op
from .values import Undefined, Value, convert, held, nonzero, rounded, stored


def operands(values):
    """The operands with literals made values of the type that they take with the others."""
    tiles = [value for value in values if not isinstance(value, Literal)]
    kind = tiles[0].dtype
    for tile in tiles[1:]:
        kind = promote(kind, tile.dtype)
    result = []
    for value in values:
        if isinstance(value, Literal):
            dtype = "fp32" if isinstance(value.value, float) and not is_float(kind) else kind
            value = held(dtype, np.asarray(value.value).astype(NUMPY[dtype]))
        result.append(value)
    return result


def common(values):
    """The operands in the type in which they are combined."""
    values = operands(values)
    dtype = values[0].dtype
    for value in values[1:]:
        dtype = promote(dtype, value.dtype)
    return dtype, [convert(value, dtype) for value in values]


def common_typed(values):
    """As `common` where literals have types of their own, and bfloat16 is compared as fp32."""
    typed = []
    for value in values:
        if isinstance(value, Literal):
            dtype = "fp32" if isinstance(value.value, float) else "i32"
            value = held(dtype, np.asarray(value.value, NUMPY[dtype]))
        typed.append(convert(value, "fp32") if value.dtype == "bf16" else value)
    return common(typed)


@op("binary", lambda a, p: f"{a[0]} {p['op']} {a[1]}")
def binary(state, values, params):
    return arithmetic(params["op"], values)


@op("named_binary", lambda a, p: f"tl.{p['name']}({a[0]}, {a[1]})")
def named_binary(state, values, params):
    return arithmetic({"add": "+", "sub": "-", "mul": "*"}[params["name"]], values)


def arithmetic(sign, values):
    dtype, (a, b) = common(values)
    compute = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
    data = compute(a.data, b.data)
    if not is_float(dtype):
        return Value(dtype, data)
    error = a.bound() + b.bound()
    if sign == "*":
        error = np.abs(a.data) * b.bound() + np.abs(b.data) * a.bound() + a.bound() * b.bound()
    return rounded(dtype, data, error)


@op("bitwise", lambda a, p: f"{a[0]} {p['op']} {a[1]}")
def bitwise(state, values, params):
    dtype, (a, b) = common(values)
    compute = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[params["op"]]
    return Value(dtype, compute(a.data, b.data))


@op("shift", lambda a, p: f"{a[0]} {p['op']} {a[1]}")
def shift(state, values, params):
    dtype, (a, b) = common(values)
    if (b.data < 0).any() or (b.data >= bits(dtype)).any():
        raise Undefined("a shift")
    compute = {"<<": np.left_shift, ">>": np.right_shift}[params["op"]]
    return Value(dtype, compute(a.data, b.data))


@op("int_division", lambda a, p: f"{a[0]} {p['op']} {a[1]}")
def int_division(state, values, params):
    dtype, (a, b) = common(values)
    return integer_quotient(dtype, a.data, b.data, params["op"])


@op("guarded_division", lambda a, p: f"tl.where({a[1]} == 0, 7, {a[0]} {p['op']} {a[1]})")
def guarded_division(state, values, params):
    """Elements with a divisor of 0 are not used; of scalars that is an error."""
    dtype, (a, b) = common(values)
    if b.data.ndim == 0:
        raise Undefined("a division")
    result = integer_quotient(
        dtype, a.data, np.where(b.data == 0, b.data + 1, b.data), params["op"]
    )
    return Value(dtype, np.where(b.data == 0, result.data.dtype.type(7), result.data))


def integer_quotient(dtype, a, b, sign):
    least = np.iinfo(INTS[dtype]).min
    if (b == 0).any() or (least and ((b == -1) & (a == least)).any()):
        raise Undefined("a division")
    rest = np.fmod(a, b)
    return Value(dtype, rest if sign == "%" else (a - rest) // b)


@op("division", lambda a, p: f"{a[0]} / {a[1]}")
def division(state, values, params):
    dtype, (a, b) = common(values)
    wide = dtype if dtype in ("fp32", "fp64") else "fp32"
    return quotient(convert(a, wide), convert(b, wide), wide)


def quotient(a, b, dtype):
    away = np.abs(b.data) - b.bound()
    if (away <= 2.0**-60).any():
        raise Undefined("a division")
    data = a.data / b.data
    return rounded(dtype, data, (a.bound() + np.abs(data) * b.bound()) / away, 3, certain=False)


COMPARISONS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@op("compare", lambda a, p: f"{a[0]} {p['op']} {a[1]}")
def compare(state, values, params):
    dtype, (a, b) = common(values)
    separated(a, b)
    return Value("i1", COMPARISONS[params["op"]](a.data, b.data))


def separated(a, b):
    """Fail unless every machine orders the elements of `a` and `b` alike."""
    if a.exact and b.exact:
        return
    bound = a.bound() + b.bound()
    if ((np.abs(a.data - b.data) <= 1.1 * bound) & (bound > 0)).any():
        raise Undefined("a comparison")


@op("logic", lambda a, p: f"{a[0]} {p['op']} {a[1]}")
def logic(state, values, params):
    a, b = (nonzero(value) for value in values)
    return Value("i1", a & b if params["op"] == "and" else a | b)


@op("not", lambda a, p: f"not {a[0]}")
def negation(state, values, params):
    return Value("i1", ~nonzero(values[0]))


@op("invert", lambda a, p: f"~{a[0]}")
def invert(state, values, params):
    return Value(values[0].dtype, ~values[0].data)


@op("minus", lambda a, p: f"-{a[0]}")
def minus(state, values, params):
    return Value(values[0].dtype, -values[0].data, values[0].error)


@op("abs", lambda a, p: f"tl.abs({a[0]})")
def absolute(state, values, params):
    return Value(values[0].dtype, np.abs(values[0].data), values[0].error)


@op("extreme", lambda a, p: f"tl.{p['name']}({a[0]}, {a[1]})")
def extreme(state, values, params):
    dtype, (a, b) = common_typed(values)
    compute = np.maximum if params["name"] == "maximum" else np.minimum
    error = None if a.exact and b.exact else np.maximum(a.bound(), b.bound())
    return Value(dtype, compute(a.data, b.data), error)


@op("clamp", lambda a, p: f"tl.clamp({a[0]}, {a[1]}, {a[2]})")
def clamp(state, values, params):
    dtype, (x, low, high) = common_typed(values)
    if (low.data > high.data).any():
        raise Undefined("an empty range")
    error = None if x.exact else x.bound()
    return Value(dtype, np.clip(x.data, low.data, high.data), error)


@op("where", lambda a, p: f"tl.where({a[0]}, {a[1]}, {a[2]})")
def where(state, values, params):
    condition = nonzero(values[0])
    dtype, (a, b) = common(values[1:])
    error = None if a.exact and b.exact else np.where(condition, a.bound(), b.bound())
    return Value(dtype, np.where(condition, a.data, b.data), error)


@op("ternary", lambda a, p: f"{a[1]} if {a[0]} else {a[2]}")
def ternary(state, values, params):
    return values[1] if nonzero(values[0]) else values[2]


@op("swap", lambda a, p: f"{a[1]}, {a[0]}")
def swap(state, values, params):
    return values[1], values[0]


@op("cast", lambda a, p: f"{a[0]}.to(tl.{LONG[p['dtype']]})")
def cast(state, values, params):
    return convert(values[0], params["dtype"])


@op("bitcast", lambda a, p: f"{a[0]}.to(tl.{LONG[p['dtype']]}, bitcast=True)")
def bitcast(state, values, params):
    if not values[0].exact:
        raise Undefined("bits of an inexact value")
    plain = np.ascontiguousarray(stored(values[0])).reshape(-1)
    array = plain.view(NUMPY[params["dtype"]]).reshape(values[0].shape)
    result = held(params["dtype"], array)
    if is_float(params["dtype"]) and not np.isfinite(result.data).all():
        raise Undefined("not finite")
    return result


@op("umulhi", lambda a, p: f"tl.umulhi({a[0]}, {a[1]})")
def umulhi(state, values, params):
    dtype, (a, b) = common(values)
    width = bits(dtype)
    mask = (1 << width) - 1
    product = ((a.data.astype(object) & mask) * (b.data.astype(object) & mask)) >> width
    unsigned = np.asarray(product & mask, dtype=object).astype(f"u{width // 8}")
    return Value(
        dtype, unsigned.view(INTS[dtype]) if unsigned.shape else unsigned.astype(INTS[dtype])
    )


@op("fma", lambda a, p: f"tl.fma({a[0]}, {a[1]}, {a[2]})")
def fma(state, values, params):
    dtype, (a, b, c) = common(values)
    error = np.abs(a.data) * b.bound() + np.abs(b.data) * a.bound() + a.bound() * b.bound()
    error = error + c.bound()
    if dtype == "fp64":  # the model itself rounds the product
        error = error + np.abs(a.data * b.data) * 2.0**-52
    return rounded(dtype, a.data * b.data + c.data, error)


@op("cdiv", lambda a, p: f"tl.cdiv({a[0]}, {a[1]})")
def cdiv(state, values, params):
    dtype, (a, b) = common(values)
    wide = a.data.astype(object) + b.data.astype(object) - 1
    if (b.data <= 0).any() or (a.data < 0).any() or np.any(wide > np.iinfo(INTS[dtype]).max):
        raise Undefined("a division")
    return Value(dtype, np.asarray(wide // b.data.astype(object)).astype(INTS[dtype]))


_erf = np.vectorize(math.erf, otypes=[float])


def _at_most(limit):
    return lambda x, e: (np.abs(x) + e <= limit).all()


def _above(limit):
    return lambda x, e: (x - e >= limit).all()


# name -> (function, where it is defined, bound of the derivative near x, error in units of the
# last place for an argument x, absolute error of the fp32 form)
MATH = {
    "exp": (np.exp, _at_most(20), lambda x, e: np.exp(x + e), lambda x: 4 + 2 * np.abs(x), 0),
    "exp2": (np.exp2, _at_most(20), lambda x, e: np.exp2(x + e), lambda x: 4 + 2 * np.abs(x), 0),
    "log": (np.log, _above(1e-3), lambda x, e: 1 / (x - e), lambda x: 8, 2.0**-21),
    "log2": (np.log2, _above(1e-3), lambda x, e: 1.5 / (x - e), lambda x: 8, 2.0**-21),
    "sqrt": (np.sqrt, _above(1e-3), lambda x, e: 0.5 / np.sqrt(x - e), lambda x: 4, 0),
    "rsqrt": (
        lambda x: 1 / np.sqrt(x),
        _above(1e-3),
        lambda x, e: 0.5 * (x - e) ** -1.5,
        lambda x: 4,
        0,
    ),
    "sin": (np.sin, _at_most(3.1), lambda x, e: 1.0, lambda x: 4, 2.0**-19),
    "cos": (np.cos, _at_most(3.1), lambda x, e: 1.0, lambda x: 4, 2.0**-19),
    "erf": (_erf, _at_most(1e4), lambda x, e: 1.13, lambda x: 8, 0),
    "sigmoid": (
        lambda x: 1 / (1 + np.exp(-x)),
        _at_most(20),
        lambda x, e: 0.25,
        lambda x: 16 + 4 * np.abs(x),
        0,
    ),
}


@op("math", lambda a, p: f"tl.{p['name']}({a[0]})")
def mathematics(state, values, params):
    (x,) = values
    compute, defined, slope, ulps, absolute_error = MATH[params["name"]]
    if not defined(x.data, x.bound()):
        raise Undefined("out of the domain")
    error = slope(x.data, x.bound()) * x.bound()
    error = error + (absolute_error if x.dtype == "fp32" else 2.0**-48)
    return rounded(x.dtype, compute(x.data), error, ulps(x.data), certain=False)


@op("round_down", lambda a, p: f"tl.{p['name']}({a[0]})")
def round_down(state, values, params):
    (x,) = values
    compute = np.floor if params["name"] == "floor" else np.ceil
    if (compute(x.data - x.bound()) != compute(x.data + x.bound())).any():
        raise Undefined("rounding an inexact value")
    return Value(x.dtype, compute(x.data))


def wide_float(dtype):
    return dtype in ("fp32", "fp64")


def arithmetic_type(dtype):
    return is_int(dtype) or (is_float(dtype) and FLOATS[dtype].bits > 8)
