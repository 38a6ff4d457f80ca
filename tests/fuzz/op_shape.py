"""Creation and movement of elements: shapes, transposition, joining, gathering.

Needs: program.op, values.
Gives: the operations `arange`, `full`, `reshape`, `permute`, `expand`, `broadcast`, `join`, `split` ...
How:   moves take the bounds along; nothing is rounded.
"""

import numpy as np

from .dtypes import LONG, NUMPY
from .program import op
from .values import Undefined, Value, held


def shape_text(shape):
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@op("arange", lambda a, p: f"tl.arange({p['start']}, {p['start'] + p['count']})")
def arange(state, values, params):
    return Value(
        "i32", np.arange(params["start"], params["start"] + params["count"], dtype=np.int32)
    )


@op(
    "full", lambda a, p: f"tl.full({shape_text(p['shape'])}, {p['value']!r}, tl.{LONG[p['dtype']]})"
)
def full(state, values, params):
    return held(params["dtype"], np.full(params["shape"], params["value"], NUMPY[params["dtype"]]))


@op("zeros_like", lambda a, p: f"tl.zeros_like({a[0]})")
def zeros_like(state, values, params):
    return Value(values[0].dtype, np.zeros_like(values[0].data))


@op("reshape", lambda a, p: f"tl.reshape({a[0]}, {shape_text(p['shape'])})")
def reshape(state, values, params):
    if np.prod(params["shape"]) != values[0].data.size:
        raise Undefined("a reshape")
    return values[0].moved(lambda x: x.reshape(params["shape"]))


@op("ravel", lambda a, p: f"tl.ravel({a[0]})")
def ravel(state, values, params):
    return values[0].moved(np.ravel)


@op("permute", lambda a, p: f"tl.permute({a[0]}, {shape_text(p['dims'])})")
def permute(state, values, params):
    return values[0].moved(lambda x: np.transpose(x, params["dims"]))


@op("trans", lambda a, p: f"{a[0]}.T" if p["short"] else f"tl.trans({a[0]})")
def trans(state, values, params):
    return values[0].moved(lambda x: np.swapaxes(x, -1, -2))


def _expand_text(a, p):
    if p["index"]:
        index = [":"] * (p["rank"] + 1)
        index[p["axis"]] = "None"
        return f"{a[0]}[{', '.join(index)}]"
    return f"tl.expand_dims({a[0]}, {p['axis']})"


@op("expand", _expand_text)
def expand(state, values, params):
    return values[0].moved(lambda x: np.expand_dims(x, params["axis"]))


@op("broadcast", lambda a, p: f"tl.broadcast_to({a[0]}, {shape_text(p['shape'])})")
def broadcast(state, values, params):
    return values[0].moved(lambda x: np.broadcast_to(x, params["shape"]).copy())


def _same(a, b):
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        raise Undefined("two types")
    return a, b


def _two(a, b, move):
    error = None if a.exact and b.exact else move(a.bound(), b.bound())
    return Value(a.dtype, move(a.data, b.data), error)


@op("join", lambda a, p: f"tl.join({a[0]}, {a[1]})")
def join(state, values, params):
    return _two(*_same(*values), lambda x, y: np.stack([x, y], -1))


@op("interleave", lambda a, p: f"tl.interleave({a[0]}, {a[1]})")
def interleave(state, values, params):
    return _two(
        *_same(*values),
        lambda x, y: np.stack([x, y], -1).reshape(*x.shape[:-1], 2 * x.shape[-1]),
    )


@op("split", lambda a, p: f"tl.split({a[0]})")
def split(state, values, params):
    return tuple(values[0].moved(lambda x, i=i: x[..., i]) for i in range(2))


@op("flip", lambda a, p: f"tl.flip({a[0]}, {p['axis']})")
def flip(state, values, params):
    return values[0].moved(lambda x: np.flip(x, params["axis"]))


def slices_text(slices):
    return ", ".join(":".join("" if b is None else str(b) for b in part) for part in slices)


@op("slice", lambda a, p: f"{a[0]}[{slices_text(p['slices'])}]")
def slice_of(state, values, params):
    picked = tuple(slice(*part) for part in params["slices"])
    if len(picked) != len(values[0].shape):
        raise Undefined("an index")
    result = values[0].moved(lambda x: x[picked].copy())
    if result.shape != params["shape"]:
        raise Undefined("a slice")
    return result


@op("at", lambda a, p: f"{a[0]}[{':, ' * p['axis']}{a[1]}]")
def at(state, values, params):
    source, index = values
    axis, size = params["axis"], source.shape[params["axis"]]
    if index.data.ndim or not -size <= int(index.data) < size:
        raise Undefined("an index")
    return source.moved(lambda x: np.take(x, int(index.data), axis))


@op("replace", lambda a, p: "")
def replace(state, values, params):
    picked = tuple(slice(*part) for part in params["slices"])
    if values[0].dtype != values[1].dtype:
        raise Undefined("two types")

    def changed(tile, part):
        tile = tile.copy()
        tile[picked] = part
        return tile

    return _two(*values, changed)


@op("roll", lambda a, p: f"tl.roll({a[0]}, {p['shift']}, {p['axis']})")
def roll(state, values, params):
    return values[0].moved(lambda x: np.roll(x, params["shift"], params["axis"]))


@op("gather", lambda a, p: f"tl.gather({a[0]}, {a[1]}, {p['axis']})")
def gather(state, values, params):
    source, index = values
    axis = params["axis"]
    if (index.data < 0).any() or (index.data >= source.shape[axis]).any():
        raise Undefined("an index")
    return source.moved(lambda x: np.take_along_axis(x, index.data.astype(np.int64), axis))


@op("helper", lambda a, p: f"{p['helper'].name}({', '.join(a)})")
def helper(state, values, params):
    function = params["helper"]
    outer, state.env = state.env, dict(zip(function.parameters, values))
    try:
        results = []
        for statement in function.body:
            statement.execute(state)
        results = [state.value(name) for name in function.results]
    finally:
        state.env = outer
    return tuple(results)


@op("full_scalar", lambda a, p: f"{p['value']}")
def full_scalar(state, values, params):
    return Value("i32", np.int32(params["value"]))
