"""Draws creations and movements.

Needs: generator.
Gives: SHAPE_DRAWS.
"""

from .draw_elementwise import literal
from .dtypes import FP8, NUMPY
from .generator import random_shape
from .program import Literal


def draw_arange(g):
    return g.add(
        "arange", (), {"start": g.rng.choice([0, 0, 0, 5]), "count": 1 << g.rng.randint(1, 10)}
    )


def draw_full(g):
    dtype = g.rng.choice([d for d in NUMPY if d != "i1" and d not in FP8])
    number = literal(g, dtype).value
    return g.add("full", (), {"shape": random_shape(g), "value": number, "dtype": dtype})


def draw_zeros_like(g):
    x = g.pick_tile()
    return g.add("zeros_like", (x,)) if x else None


def draw_reshape(g):
    x = g.pick_tile()
    if not x:
        return None
    if g.chance(0.2):
        return g.add("ravel", (x,))
    left, shape = g.value(x).data.size, []
    while left > 1 and len(shape) < 3:
        size = 1 << g.rng.randint(0, left.bit_length() - 1)
        shape.append(size)
        left //= size
    shape.append(left)
    return g.add("reshape", (x,), {"shape": tuple(shape)})


def draw_permute(g):
    x = g.pick_tile(lambda v: len(v.shape) > 1)
    if not x:
        return None
    rank = len(g.shape(x))
    if g.chance(0.5):
        return g.add("trans", (x,), {"short": rank == 2 and g.chance(0.4)})
    dims = list(range(rank))
    g.rng.shuffle(dims)
    return g.add("permute", (x,), {"dims": tuple(dims)})


def draw_expand(g):
    x = g.pick_tile(lambda v: len(v.shape) < 3)
    if not x:
        return None
    rank = len(g.shape(x))
    params = {"axis": g.rng.randint(0, rank), "rank": rank, "index": g.chance(0.7)}
    return g.add("expand", (x,), params)


def draw_broadcast(g):
    x = g.pick_tile(lambda v: 1 in v.shape or len(v.shape) == 1)
    if not x:
        return None
    shape = tuple(1 << g.rng.randint(0, 6) if size == 1 else size for size in g.shape(x))
    return g.add("broadcast", (x,), {"shape": shape})


def draw_join(g):
    a = g.pick_tile(lambda v: len(v.shape) < 3)
    b = a and g.pick(lambda v: v.dtype == g.dtype(a) and v.shape == g.shape(a))
    if not b:
        return None
    return g.add(g.rng.choice(["join", "interleave"]), (a, b))


def draw_split(g):
    x = g.pick_tile(lambda v: v.shape[-1] == 2)
    if not x:
        even = g.pick_tile(lambda v: v.data.size >= 4)
        if not even:
            return None
        made = g.add("reshape", (even,), {"shape": (g.value(even).data.size // 2, 2)})
        if not made:
            return None
        x = made[0]
    return g.add("split", (x,), {}, 2)


def draw_flip(g):
    x = g.pick_tile(lambda v: v.dtype not in FP8)
    return g.add("flip", (x,), {"axis": g.rng.randrange(len(g.shape(x)))}) if x else None


def draw_gather(g):
    source = g.pick_tile()
    if not source:
        return None
    shape, axis = g.shape(source), g.rng.randrange(len(g.shape(source)))
    index = g.pick_tile(
        lambda v: (
            v.dtype == "i32"
            and len(v.shape) == len(shape)
            and all(i == axis or v.shape[i] == n for i, n in enumerate(shape))
        )
    )
    if not index:
        return None
    made = g.add("bitwise", (index, Literal(shape[axis] - 1)), {"op": "&"})
    return g.add("gather", (source, made[0]), {"axis": axis}) if made else None


SHAPE_DRAWS = [
    (3, draw_arange),
    (2, draw_full),
    (1, draw_zeros_like),
    (5, draw_reshape),
    (5, draw_permute),
    (6, draw_expand),
    (4, draw_broadcast),
    (3, draw_join),
    (3, draw_split),
    (2, draw_flip),
    (2, draw_gather),
]
