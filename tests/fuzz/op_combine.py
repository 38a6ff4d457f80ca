"""Reductions, scans, sorts, histograms and dots.

Needs: program.op, values.
Gives: the operations `reduce`, `scan`, `sort`, `topk`, `histogram`, `dot`, `softmax` ...
How:   a sum in any order of n terms is off by at most n units of the last place of the sum of
       magnitudes; it is exact if all partial sums fit the precision.
"""

import numpy as np

from .dtypes import FLOATS, INTS, LONG, compared_type, is_float, sum_type
from .program import op
from .values import Undefined, Value, convert, lowest_bit, rounded, sums_exactly


def sum_of(x, axis, keep=False):
    """Sum of a value along an axis, or of all."""
    if not is_float(x.dtype):
        return Value(x.dtype, x.data.sum(axis=axis, keepdims=keep, dtype=INTS[x.dtype]))
    count = x.data.size if axis is None else x.shape[axis]
    total = np.abs(x.data).sum(axis=axis, keepdims=keep)
    error = x.bound().sum(axis=axis, keepdims=keep)
    kind = FLOATS[x.dtype]
    if not (x.exact and sums_exactly(x.data, total, kind.precision)):
        error = error + count * 2 * kind.unit * (total + error) + count * kind.slack
    if (total + error > 0.5 * kind.largest).any():
        raise Undefined("overflow")
    return Value(x.dtype, x.data.sum(axis=axis, keepdims=keep), error)


def _reduce_text(a, p):
    keep = ", keep_dims=True" if p["keep"] else ""
    axis = f", axis={p['axis']}"
    return f"tl.{p['name']}({a[0]}{axis}{keep})"


@op("reduce", _reduce_text)
def reduce(state, values, params):
    (x,), axis, keep = values, params["axis"], params["keep"]
    name = params["name"]
    if name == "sum":
        return sum_of(convert(x, sum_type(x.dtype)), axis, keep)
    if name in ("max", "min"):
        return _extreme(convert(x, compared_type(x.dtype)), name, axis, keep)
    if name in ("argmax", "argmin"):
        return _place(x, name, axis, keep)
    compute = np.bitwise_xor if name == "xor_sum" else np.bitwise_or
    return Value(x.dtype, compute.reduce(x.data, axis=axis, keepdims=keep))


def _extreme(x, name, axis, keep):
    compute = np.max if name == "max" else np.min
    error = None if x.exact else x.error.max(axis=axis, keepdims=keep)
    return Value(x.dtype, compute(x.data, axis=axis, keepdims=keep), error)


def _place(x, name, axis, keep):
    if not x.exact:
        raise Undefined("the place of an inexact extreme")
    compute = np.argmax if name == "argmax" else np.argmin
    return Value("i32", compute(x.data, axis=axis, keepdims=keep).astype(np.int32))


@op(
    "extreme_with_index",
    lambda a, p: f"tl.{p['name']}({a[0]}, axis={p['axis']}, return_indices=True)",
)
def extreme_with_index(state, values, params):
    (x,) = values
    x = convert(x, "fp32") if x.dtype == "bf16" else x
    index = _place(x, "arg" + params["name"], params["axis"], False)
    return _extreme(x, params["name"], params["axis"], False), index


@op("user_reduce", lambda a, p: f"tl.reduce({_tuple(a)}, {p['axis']}, combine_{p['name']})")
def user_reduce(state, values, params):
    axis, name = params["axis"], params["name"]
    if name == "add":
        return sum_of(values[0], axis)
    if name == "max":
        return _extreme(values[0], "max", axis, False)
    if name == "xor":
        return Value(values[0].dtype, np.bitwise_xor.reduce(values[0].data, axis=axis))
    a, b = values
    if name == "sum_max":
        return sum_of(a, axis), _extreme(b, "max", axis, False)
    return _least(a, b, axis)


def _least(a, i, axis):
    """The least of `a` along the axis, and the least `i` where it stands."""
    if not (a.exact and i.exact):
        raise Undefined("the place of an inexact extreme")
    low = a.data.min(axis=axis, keepdims=True)
    top = np.iinfo(INTS[i.dtype]).max
    index = np.where(a.data == low, i.data, top).min(axis=axis).astype(INTS[i.dtype])
    return Value(a.dtype, low.squeeze(axis)), Value(i.dtype, index)


def _tuple(a):
    return a[0] if len(a) == 1 else f"({', '.join(a)})"


@op(
    "cumsum",
    lambda a, p: f"tl.cumsum({a[0]}, axis={p['axis']}{', reverse=True' if p['reverse'] else ''})",
)
def cumsum(state, values, params):
    (x,) = values
    x = convert(x, "fp32" if x.dtype == "bf16" else sum_type(x.dtype))
    return _running_sum(x, params["axis"], params["reverse"])


def _running(data, axis, reverse, compute):
    data = np.flip(data, axis) if reverse else data
    result = compute(data, axis)
    return np.flip(result, axis) if reverse else result


def _running_sum(x, axis, reverse):
    if not is_float(x.dtype):
        return Value(
            x.dtype,
            _running(x.data, axis, reverse, lambda d, n: np.cumsum(d, n, dtype=INTS[x.dtype])),
        )
    kind = FLOATS[x.dtype]
    total = _running(np.abs(x.data), axis, reverse, np.cumsum)
    error = _running(x.bound(), axis, reverse, np.cumsum)
    if not (x.exact and sums_exactly(x.data, total, kind.precision)):
        error = error + x.shape[axis] * (2 * kind.unit * (total + error) + kind.slack)
    if (total + error > 0.5 * kind.largest).any():
        raise Undefined("overflow")
    return Value(x.dtype, _running(x.data, axis, reverse, np.cumsum), error)


@op(
    "cumprod",
    lambda a, p: f"tl.cumprod({a[0]}, axis={p['axis']}{', reverse=True' if p['reverse'] else ''})",
)
def cumprod(state, values, params):
    (x,) = values
    return Value(
        x.dtype,
        _running(
            x.data,
            params["axis"],
            params["reverse"],
            lambda d, n: np.cumprod(d, n, dtype=INTS[x.dtype]),
        ),
    )


def _scan_text(a, p):
    reverse = ", reverse=True" if p["reverse"] else ""
    return f"tl.associative_scan({_tuple(a)}, {p['axis']}, combine_{p['name']}{reverse})"


@op("scan", _scan_text)
def scan(state, values, params):
    axis, reverse, name = params["axis"], params["reverse"], params["name"]
    if name == "add":
        return _running_sum(values[0], axis, reverse)
    if name == "max":
        x = values[0]
        error = None if x.exact else np.broadcast_to(x.error.max(axis=axis, keepdims=True), x.shape)
        return Value(x.dtype, _running(x.data, axis, reverse, np.maximum.accumulate), error)
    if name == "xor":
        x = values[0]
        return Value(x.dtype, _running(x.data, axis, reverse, np.bitwise_xor.accumulate))
    return _linear(*values, axis, reverse)


def _linear(a, x, axis, reverse):
    """Scan of (a, x) . (b, y) = (a b, x b + y) over integers that wrap around."""
    pair = [
        np.moveaxis(np.flip(v.data, axis) if reverse else v.data, axis, 0).copy() for v in (a, x)
    ]
    for i in range(1, a.shape[axis]):
        pair[1][i] = pair[1][i - 1] * pair[0][i] + pair[1][i]
        pair[0][i] = pair[0][i - 1] * pair[0][i]
    out = [np.moveaxis(v, 0, axis) for v in pair]
    out = [np.flip(v, axis) if reverse else v for v in out]
    return Value(a.dtype, out[0]), Value(x.dtype, out[1])


def _in_order(x, axis, descending):
    data = np.sort(x.data, axis=axis)
    error = None if x.exact else np.broadcast_to(x.error.max(axis, keepdims=True), x.shape)
    return Value(x.dtype, np.flip(data, axis) if descending else data, error)


@op("sort", lambda a, p: f"tl.sort({a[0]}, {p['axis']}, descending={p['descending']})")
def sort(state, values, params):
    return _in_order(values[0], params["axis"], params["descending"])


def _topk_text(args, params):
    return f"tl.topk({args[0]}, {params['k']}, {params['axis']}, {params['descending']})"


@op("topk", _topk_text)
def topk(state, values, params):
    (x,) = values
    k, axis = params["k"], params["axis"]
    if k < x.shape[axis]:
        x = convert(x, compared_type(x.dtype))
    return _in_order(x, axis, params["descending"]).moved(lambda v: np.take(v, range(k), axis))


@op("histogram", lambda a, p: f"tl.histogram({a[0]}, {p['bins']})")
def histogram(state, values, params):
    (x,) = values
    if (x.data < 0).any() or (x.data >= params["bins"]).any():
        raise Undefined("outside of the bins")
    counts = np.bincount(x.data.astype(np.int64), minlength=params["bins"])
    return Value("i32", counts.astype(np.int32))


@op("softmax", lambda a, p: f"tl.softmax({a[0]}, dim={p['axis']}, keep_dims=True)")
def softmax(state, values, params):
    (x,), axis = values, params["axis"]
    shifted = x.data - x.data.max(axis=axis, keepdims=True)
    if (shifted < -60).any():
        raise Undefined("underflow")
    data = np.exp(shifted)
    data /= data.sum(axis=axis, keepdims=True)
    spread = np.exp(4 * x.bound().max(initial=0)) - 1
    unit = FLOATS[x.dtype].unit
    relative = spread + unit * (2 * x.shape[axis] + 32 + 4 * np.abs(shifted))
    return rounded(x.dtype, data, data * relative, 4, certain=False)


def _dot_text(a, p):
    acc = f", {a[2]}" if len(a) == 3 else ""
    precision = f", input_precision={p['precision']!r}" if p["precision"] else ""
    out = f", out_dtype=tl.{LONG[p['out']]}" if p["out"] not in ("fp32", "fp64", "i32") else ""
    return f"tl.dot({a[0]}, {a[1]}{acc}{precision}{out})"


# Bits that survive in an operand and in the accumulator of a dot, by the operands' type and precision.
def _dot_precision(dtype, precision):
    if dtype == "fp32":
        return {"ieee": (24, 24), "tf32x3": (21, 22), "bf16x3": (15, 22), "bf16x6": (21, 22)}.get(
            precision, (10, 23)
        )
    if dtype == "fp64":
        return 53, 53
    return 24, 12 if FLOATS[dtype].bits == 8 else 22


@op("dot", _dot_text)
def dot(state, values, params):
    a, b = values[:2]
    acc = values[2] if len(values) == 3 else None
    if not is_float(a.dtype):
        data = np.matmul(a.data.astype(np.int32), b.data.astype(np.int32))
        return Value("i32", data if acc is None else data + acc.data)
    out = params["out"]
    data = np.matmul(a.data, b.data)
    total = np.matmul(np.abs(a.data), np.abs(b.data))
    error = np.matmul(np.abs(a.data), b.bound()) + np.matmul(a.bound(), np.abs(b.data))
    error = error + np.matmul(a.bound(), b.bound())
    if acc is not None:
        data, total, error = data + acc.data, total + np.abs(acc.data), error + acc.bound()
    factor_bits, sum_bits = _dot_precision(a.dtype, params["precision"])
    sum_bits = min(sum_bits, FLOATS[out].precision)
    exact = a.exact and b.exact and (acc is None or acc.exact) and out != "fp64"
    if not (exact and _dot_exactly(a, b, acc, total, factor_bits, sum_bits)):
        if a.dtype == "fp32":
            error = error + 4 * 2.0**-factor_bits * total
        error = error + (a.shape[-1] + 4) * 2 * 2.0**-sum_bits * (total + error) + 2.0**-100
    if (total + error > 0.5 * FLOATS[out].largest).any():
        raise Undefined("overflow")
    return rounded(out, data, error)


def _dot_exactly(a, b, acc, total, factor_bits, sum_bits):
    if a.dtype == "fp32":
        for x in (a, b):
            if not sums_exactly(x.data, np.abs(x.data), factor_bits):
                return False
    low = lowest_bit(a.data) + lowest_bit(b.data)
    if acc is not None:
        low = min(low, lowest_bit(acc.data))
    return np.max(total) * 2.0**-low <= 2.0**sum_bits
