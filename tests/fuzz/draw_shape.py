"""Draws creations and movements.

Needs: generator.
Gives: SHAPE_DRAWS.
"""

from .draw_elementwise import literal
from .dtypes import FP8, NUMPY
from .generator import random_shape
from .op_shape import slices_text
from .program import Literal, Replace


def draw_arange(g):
    return g.add(
        "arange", (), {"start": g.rng.choice([0, 0, 0, 5]), "count": g.extent(g.rng.randint(1, 10))}
    )


def draw_full(g):
    dtype = g.rng.choice([d for d in NUMPY if d != "i1" and d not in FP8])
    number = literal(g, dtype).value
    return g.add("full", (), {"shape": random_shape(g), "value": number, "dtype": dtype})


def draw_zeros_like(g):
    x = g.pick_tile()
    return g.add("zeros_like", (x,)) if x else None


def is_power_of_two(extent):
    return extent & (extent - 1) == 0


def _low_bits(extent):
    """The largest 2**n - 1 that is an index."""
    return (1 << extent.bit_length() - 1) - 1


def _divisor(g, count):
    if is_power_of_two(count):
        return 1 << g.rng.randint(0, count.bit_length() - 1)
    return g.rng.choice([size for size in range(1, count + 1) if count % size == 0])


def draw_reshape(g):
    x = g.pick_tile()
    if not x:
        return None
    if g.chance(0.2):
        return g.add("ravel", (x,))
    left, shape = g.value(x).data.size, []
    while left > 1 and len(shape) < 3:
        size = _divisor(g, left)
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
    shape = tuple(g.extent(g.rng.randint(0, 6)) if size == 1 else size for size in g.shape(x))
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
        even = g.pick_tile(lambda v: v.data.size >= 4 and v.data.size % 2 == 0)
        if not even:
            return None
        made = g.add("reshape", (even,), {"shape": (g.value(even).data.size // 2, 2)})
        if not made:
            return None
        x = made[0]
    return g.add("split", (x,), {}, 2)


def draw_flip(g):
    x = g.pick_tile(lambda v: v.dtype not in FP8)
    axis = g.rng.randrange(len(g.shape(x))) if x else 0
    return g.add("flip", (x,), {"axis": axis}) if x else None


def _slice(g, extent, count=None):
    """Bounds and step of some elements, and their number: any where the extent is, or a power of two."""
    if not is_power_of_two(extent):
        count = count or g.rng.randint(1, extent)
    count = count or 1 << g.rng.randint(0, extent.bit_length() - 1)
    step = 1 if count == 1 else g.rng.randint(1, min(4, (extent - 1) // (count - 1)))
    first = g.rng.randint(0, extent - 1 - step * (count - 1))
    last = first + step * (count - 1)
    if g.chance(0.3):
        return (last, first - 1 if first else None, -step), count
    return (first or None, last + 1 if last + 1 < extent else None, step), count


def draw_slice(g):
    x = g.pick_tile()
    if not x:
        return None
    slices, shape = zip(*(_slice(g, extent) for extent in g.shape(x)))
    return g.add("slice", (x,), {"slices": slices, "shape": shape})


def draw_at(g):
    """At a run-time index, from the start or from the end."""
    x = g.pick_tile(lambda v: len(v.shape) > 1 and v.shape[-1] > 1)
    index = x and g.pick(lambda v: v.dtype in ("i32", "i64") and v.shape == ())
    if not index:
        return None
    axis = g.rng.randrange(len(g.shape(x)))
    size = g.shape(x)[axis]
    low = 1 << size.bit_length() - 1
    bits = g.rng.choice([("&", low - 1), ("|", -low)])
    made = g.add("bitwise", (index, Literal(bits[1])), {"op": bits[0]})
    return g.add("at", (x, made[0]), {"axis": axis}) if made else None


def draw_replace(g):
    """A part of another tile, or a scalar, in the place of a part."""
    x = g.pick_tile()
    if not x:
        return None
    slices, shape = zip(*(_slice(g, extent) for extent in g.shape(x)))
    part = g.pick(
        lambda v: (
            v.dtype == g.dtype(x)
            and (v.shape == () or _covers(v.shape, shape) or v.shape == shape[1:])
        )
    )
    if not part:
        return None
    if len(g.shape(part)) == len(shape):
        parts, _ = zip(*(_slice(g, *sizes) for sizes in zip(g.shape(part), shape)))
        made = g.add("slice", (part,), {"slices": parts, "shape": shape})
        if not made:
            return None
        part = made[0]
    params = {"slices": slices, "place": slices_text(slices)}
    targets = (g.fresh(),)
    statement = Replace(targets, "replace", (x, part), params)
    return targets if g.add_statement(statement, targets) else None


def _covers(whole, part):
    return len(whole) == len(part) and all(a >= b for a, b in zip(whole, part))


def draw_roll(g):
    x = g.pick_tile()
    if not x:
        return None
    axis = g.rng.randrange(len(g.shape(x)))
    return g.add("roll", (x,), {"axis": axis, "shift": g.rng.randint(-9, 9)})


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
    made = g.add("bitwise", (index, Literal(_low_bits(shape[axis]))), {"op": "&"})
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
    (3, draw_slice),
    (2, draw_at),
    (3, draw_replace),
    (1, draw_roll),
    (2, draw_gather),
]
