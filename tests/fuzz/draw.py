"""What can be drawn, with its weight; loads, stores and atomics.

Needs: generator, draw_blocks, draw_elementwise, draw_shape, draw_combine, draw_control.
Gives: draw_statement, store_rest.
"""

import numpy as np

from .draw_blocks import BLOCK_DRAWS
from .draw_combine import COMBINE_DRAWS
from .draw_control import CONTROL_DRAWS
from .draw_elementwise import ELEMENTWISE_DRAWS
from .draw_shape import SHAPE_DRAWS
from .dtypes import NUMPY, is_float, is_int
from .generator import random_dtype, random_shape

CACHES = [{}, {}, {}, {"cache_modifier": ".cg"}, {"eviction_policy": "evict_first"}]


def random_box(g, shape, size):
    """A box of this shape within `size` elements: a memory order, an offset, limits of the mask."""
    order = list(range(len(shape)))
    if g.chance(0.35):
        g.rng.shuffle(order)
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    box = {"shape": shape, "strides": tuple(strides)}
    room = size - step * g.program.grid
    if room < 0:
        return None
    box["per_program"] = step
    if g.loops and step * g.loops[-1][1] <= room:
        box["loop"] = (g.loops[-1][0], step * g.program.grid)
        room -= step * g.loops[-1][1] * g.program.grid
    if room > 0 and g.chance(0.4):
        box["base"] = g.rng.choice([1, 3, 16, 64, 128])
        if box["base"] > room:
            del box["base"]
    if g.chance(0.45):
        box["limits"] = tuple(random_limit(g, extent) for extent in shape)
    return box


def random_limit(g, extent):
    if extent == 1 or g.chance(0.4):
        return None
    return "n0" if g.chance(0.4) else g.rng.randint(1, extent)


def draw_load(g):
    from .generator import INPUT_SIZE

    dtype, shape = random_dtype(g), random_shape(g)
    box = random_box(g, shape, INPUT_SIZE)
    if box is None:
        return None
    params = {"source": g.input(dtype), "box": box, "modifiers": g.rng.choice(CACHES)}
    if g.chance(0.6):
        params["other"] = random_other(g, dtype)
    return g.add("load", (), params)


def random_other(g, dtype):
    if dtype == "i1":
        return g.chance(0.5)
    if is_float(dtype):
        return g.rng.choice([0.0, 1.0, -2.5])
    return g.rng.choice([0, 1, 7])


def draw_load_at(g):
    index = g.pick_tile(lambda v: v.dtype in ("i32", "i64", "u32"))
    if not index:
        return None
    mask = g.pick(lambda v: v.dtype == "i1" and v.shape == g.shape(index))
    args = (index, mask) if mask and g.chance(0.5) else (index,)
    dtype = random_dtype(g)
    params = {"source": g.input(dtype), "limit": g.rng.choice([7, 255, 4095])}
    if g.chance(0.5):
        params["other"] = random_other(g, dtype)
    return g.add("load_at", args, params)


def draw_load_scalar(g):
    return g.add(
        "load_scalar", (), {"source": g.input(random_dtype(g)), "base": g.rng.randint(0, 99)}
    )


def add_store(g, name):
    """Store a value in an output of its own."""
    value = g.value(name)
    shape = value.shape or (1,)
    count = int(np.prod(shape)) * g.program.grid
    for _, trips in g.loops:
        count *= trips
    if len(g.loops) > 1 or count > 1 << 17:
        return None
    dtype = value.dtype
    if is_float(dtype) and g.chance(0.1):
        dtype = "fp32"
    box = random_box(g, shape, count)
    if box is None or (g.loops and "loop" not in box):
        return None
    if not value.shape:
        box["limits"] = None
    box.pop("base", None)
    args = [name]
    mask = g.pick(lambda v: v.dtype == "i1" and v.shape == value.shape and v.shape)
    if mask and g.chance(0.3):
        args.append(mask)
    output = g.output(dtype, count)
    done = g.add("store", args, {"target": output, "box": box}, 0)
    if done is None:
        g.program.outputs.pop(output)
    else:
        g.stored.add(name)
    return done


def draw_store(g):
    name = g.pick_tile(lambda v: v.data.size > 1)
    return add_store(g, name) if name and name not in g.stored else None


def draw_atomic(g):
    index = g.pick_tile(lambda v: is_int(v.dtype) and v.dtype not in ("u64",))
    if not index:
        return None
    shape = g.shape(index)
    value = g.pick_tile(
        lambda v: v.shape == shape and v.dtype in ("i32", "i64", "u32", "u64", "fp32")
    )
    if not value:
        return None
    dtype = g.dtype(value)
    names = ["add"] if is_float(dtype) else ["add", "max", "min", "and", "or", "xor"]
    mask = g.pick(lambda v: v.dtype == "i1" and v.shape == shape)
    args = (index, value, mask) if mask and g.chance(0.5) else (index, value)
    limit = g.rng.choice([0, 1, 15, 127])
    initial = np.zeros(limit + 1) if is_float(dtype) else g.random_data(dtype)[: limit + 1]
    output = g.output(dtype, limit + 1, initial.astype(NUMPY[dtype]))
    params = {"name": g.rng.choice(names), "target": output, "limit": limit}
    params["sem"] = g.rng.choice([None, "relaxed", "acq_rel"])
    done = g.add("atomic", args, params, 0)
    if done is None:
        g.program.outputs.pop(output)
    return done


def store_rest(g):
    """Store the values that nothing has stored, the latest first."""
    left = [n for n in reversed(g.names) if n in g.states[0].env and n.startswith("v")]
    for name in [n for n in left if n not in g.stored][:10]:
        add_store(g, name)


DRAWS = [
    (14, draw_load),
    (4, draw_load_at),
    (2, draw_load_scalar),
    (5, draw_store),
    (3, draw_atomic),
    *ELEMENTWISE_DRAWS,
    *SHAPE_DRAWS,
    *COMBINE_DRAWS,
    *CONTROL_DRAWS,
    *BLOCK_DRAWS,
]
_WEIGHTS = [weight for weight, _ in DRAWS]


def draw_statement(g):
    """Try to add one statement of any kind; whether it was added."""
    (choice,) = g.rng.choices(DRAWS, _WEIGHTS)
    return choice[1](g) is not None


def drop(names):
    """Never draw these again."""
    for i, (_, function) in enumerate(DRAWS):
        if function.__name__ in names:
            _WEIGHTS[i] = 0
