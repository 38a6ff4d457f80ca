"""Draws reductions, scans, sorts and dots.

Needs: generator.
Gives: COMBINE_DRAWS.
"""

from .dtypes import FP8, WIDE_FLOATS, is_float, is_int
from .generator import INPUT_SIZE
from .op_elementwise import arithmetic_type


def _axis(g, name):
    return g.rng.randrange(len(g.shape(name)))


def draw_reduce(g):
    name = g.rng.choice("sum sum sum max max min argmax argmin xor_sum reduce_or".split())
    whole = name in ("xor_sum", "reduce_or")
    x = g.pick_tile(lambda v: is_int(v.dtype) if whole else arithmetic_type(v.dtype))
    if not x:
        return None
    axis = _axis(g, x)
    if name in ("sum", "max", "min") and g.chance(0.15):
        axis = None
    params = {"name": name, "axis": axis, "keep": axis is not None and g.chance(0.3)}
    return g.add("reduce", (x,), params)


def draw_extreme_with_index(g):
    x = g.pick_tile(lambda v: arithmetic_type(v.dtype))
    if not x:
        return None
    params = {"name": g.rng.choice(["max", "min"]), "axis": _axis(g, x)}
    return g.add("extreme_with_index", (x,), params, 2)


def _two_alike(g, accept):
    a = g.pick_tile(accept)
    b = a and g.pick(lambda v: v.dtype == g.dtype(a) and v.shape == g.shape(a))
    return (a, b) if b else None


def draw_user_reduce(g):
    name = g.rng.choice(["add", "max", "xor", "sum_max", "first"])
    if name == "sum_max":
        operands = _two_alike(g, lambda v: v.dtype in ("i32", "i64", "fp32"))
    elif name == "first":
        a = g.pick_tile(lambda v: arithmetic_type(v.dtype))
        b = a and g.pick(lambda v: is_int(v.dtype) and v.shape == g.shape(a))
        operands = (a, b) if b else None
    else:
        kinds = ("i32", "i64", "u32") if name == "xor" else ("i32", "i64", "fp32", "fp64")
        x = g.pick_tile(lambda v: v.dtype in kinds)
        operands = (x,) if x else None
    if not operands:
        return None
    results = 2 if len(operands) == 2 else 1
    return g.add("user_reduce", operands, {"name": name, "axis": _axis(g, operands[0])}, results)


def draw_scan(g):
    name = g.rng.choice(["cumsum", "cumsum", "cumprod", "add", "max", "xor", "linear"])
    reverse = g.chance(0.3)
    if name in ("cumsum", "cumprod"):
        whole = name == "cumprod"
        x = g.pick_tile(
            lambda v: v.dtype in ("i32", "i64", "u32") if whole else arithmetic_type(v.dtype)
        )
        return g.add(name, (x,), {"axis": _axis(g, x), "reverse": reverse}) if x else None
    if name == "linear":
        operands = _two_alike(g, lambda v: v.dtype in ("i32", "i64", "u32"))
    else:
        kinds = ("i32", "i64", "u32") if name == "xor" else ("i32", "i64", "fp32", "fp64")
        x = g.pick_tile(lambda v: v.dtype in kinds)
        operands = (x,) if x else None
    if not operands:
        return None
    params = {"name": name, "axis": _axis(g, operands[0]), "reverse": reverse}
    return g.add("scan", operands, params, len(operands))


def draw_sort(g):
    x = g.pick_tile(lambda v: arithmetic_type(v.dtype) and v.shape[-1] <= 128)
    if not x:
        return None
    axis = g.rng.choice([-1, _axis(g, x)])
    if g.shape(x)[axis] > 128:
        return None
    if g.chance(0.3):
        k = g.rng.randint(1, g.shape(x)[axis])
        if g.chance(0.5):
            k = 1 << k.bit_length() - 1
        return g.add("topk", (x,), {"k": k, "axis": axis, "descending": g.chance(0.7)})
    return g.add("sort", (x,), {"axis": axis, "descending": g.chance(0.4)})


def draw_histogram(g):
    x = g.pick_tile(lambda v: v.dtype in ("i32", "i64", "u32", "i8", "u8") and len(v.shape) == 1)
    if not x:
        return None
    bins = g.extent(g.rng.randint(0, 8))
    from .program import Literal

    made = g.add("bitwise", (x, Literal(min((1 << bins.bit_length() - 1) - 1, 127))), {"op": "&"})
    return g.add("histogram", (made[0],), {"bins": bins}) if made else None


def draw_softmax(g):
    x = g.pick_tile(lambda v: v.dtype == "fp32")
    return g.add("softmax", (x,), {"axis": _axis(g, x)}) if x else None


def dot_shape(g, dtype):
    """M, N, K of a dot."""
    least = 32 if dtype in (*FP8, "i8") else 16
    sizes = [16, 16, 32, 32, 64, 64, 128]
    m, n = g.rng.choice(sizes), g.rng.choice(sizes)
    if g.chance(0.1):
        m = g.rng.choice([1, 2, 4, 8])
    if g.chance(0.1):
        n = g.rng.choice([1, 2, 4, 8])
    if g.any_extents and g.chance(0.8):
        m, n = (
            g.rng.choice([16, 48, 80, 96, 192, 7, 24]),
            g.rng.choice([16, 24, 48, 96, 112, 176, 5]),
        )
        if g.chance(0.3):
            m = g.rng.randint(1, 40)
        if g.chance(0.3):
            n = g.rng.randint(1, 40)
        return m, n, max(least, g.rng.choice([16, 24, 32, 48, 80, 96]))
    return m, n, max(least, g.rng.choice([16, 32, 32, 64]))


def dot_params(g, dtype):
    out = {"i8": "i32", "fp64": "fp64"}.get(dtype, "fp32")
    if dtype in ("fp16", *FP8) and g.chance(0.15):
        out = "fp16"
    precision = None
    if dtype == "fp32":
        precision = g.rng.choice([None, "tf32", "ieee", "ieee", "tf32x3", "bf16x3", "bf16x6"])
    return {"out": out, "precision": precision}


def load_box(g, dtype, shape):
    """A load of a tile of this shape, in either memory order, masked or not; its name."""
    from .draw import random_box

    box = random_box(g, shape, INPUT_SIZE)
    if box is None:
        return None
    made = g.add(
        "load", (), {"source": g.input(dtype), "box": box, "other": 0.0 if is_float(dtype) else 0}
    )
    return made and made[0]


def draw_dot(g):
    dtype = g.rng.choice(["fp16", "fp16", "bf16", "fp32", "fp32", "i8", "fp64", *FP8])
    m, n, k = dot_shape(g, dtype)
    batch = (g.rng.choice([1, 2, 4]),) if g.chance(0.15) else ()
    if m * n > 4096 or (batch and m * n * batch[0] > 4096):
        return None
    a = g.pick_tile(
        lambda v: (
            v.dtype == dtype and v.shape[:-2] == batch and len(v.shape) > 1 and v.shape[-1] >= 32
        )
    )
    if a and g.chance(0.7):
        m, k = g.shape(a)[-2:]
    else:
        a = load_box(g, dtype, (*batch, m, k))
    b = load_box(g, dtype, (*batch, k, n))
    if not a or not b:
        return None
    params = dot_params(g, dtype)
    acc = g.pick_tile(lambda v: v.shape == (*batch, m, n) and v.dtype == params["out"])
    args = (a, b, acc) if acc and g.chance(0.7) else (a, b)
    return g.add("dot", args, params)


COMBINE_DRAWS = [
    (10, draw_reduce),
    (2, draw_extreme_with_index),
    (4, draw_user_reduce),
    (6, draw_scan),
    (2, draw_sort),
    (2, draw_histogram),
    (1, draw_softmax),
    (5, draw_dot),
]
__all__ = ["COMBINE_DRAWS", "WIDE_FLOATS", "dot_params", "dot_shape", "load_box"]
