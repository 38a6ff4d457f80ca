"""Draws block pointers, descriptors and round trips through memory.

Needs: generator, draw (boxes).
Gives: BLOCK_DRAWS.
"""

import numpy as np

from .dtypes import bits, is_float, is_int
from .generator import INPUT_SIZE, MAX_ELEMENTS, random_dtype


def _numeric(dtype):
    return is_int(dtype) or (is_float(dtype) and bits(dtype) > 8)


def _window(g, block, aligned, dtype):
    """A matrix that the blocks of all programs start in, perhaps smaller than they are."""
    grid = g.program.grid
    rows = max(1, block[0] * grid - g.rng.choice([0, 0, 1, 3]))
    unit = max(1, 128 // bits(dtype)) if aligned else 1
    columns = block[1] + unit * g.rng.choice([0, 0, 1, 2])
    stride = columns
    columns -= g.rng.choice([0, 0, 1])
    params = {
        "matrix": (rows, max(1, columns)),
        "strides": (stride, 1),
        "block": block,
        "per_program": block[0],
        "start": (0, g.rng.choice([0, 0, unit])),
    }
    if not aligned and g.chance(0.3):
        params["strides"] = (1, rows)
    return params


def _block_shape(g, dtype):
    least = max(1, 128 // bits(dtype))
    columns = max(least, g.extent(g.rng.randint(0, 7)) // least * least)
    return g.extent(g.rng.randint(0, 6)), columns


def draw_window_load(g):
    dtype = random_dtype(g)
    if not _numeric(dtype):
        return None
    described = g.chance(0.5)
    block = _block_shape(g, dtype)
    params = _window(g, block, described, dtype)
    extent = params["matrix"][0] * params["strides"][0] + params["matrix"][1] * params["strides"][1]
    if block[0] * block[1] > MAX_ELEMENTS or extent > INPUT_SIZE:
        return None
    params["source"] = g.input(dtype)
    return g.add("descriptor_load" if described else "block_load", (), params)


def draw_window_store(g):
    x = g.pick_tile(lambda v: len(v.shape) == 2 and _numeric(v.dtype))
    if not x or g.loops or x in g.stored:
        return None
    dtype, block = g.dtype(x), g.shape(x)
    described = g.chance(0.5) and block[1] * bits(dtype) >= 128
    params = _window(g, block, described, dtype)
    params["start"] = (0, 0)
    size = params["matrix"][0] * params["strides"][0] + params["matrix"][1] * params["strides"][1]
    output = g.output(dtype, size)
    params |= {"target": output, "dtype": dtype}
    done = g.add("descriptor_store" if described else "block_store", (x,), params, 0)
    if done is None:
        g.program.outputs.pop(output)
    else:
        g.stored.add(x)
    return done


def draw_round_trip(g):
    """Store a tile, synchronise, and read it in another order."""
    x = g.pick_tile(lambda v: v.data.size > 1)
    if not x or g.loops or g.depth:
        return None
    shape, count = g.shape(x), g.value(x).data.size
    output = g.output(g.dtype(x), count * g.program.grid)

    def box(order):
        strides, step = [0] * len(shape), 1
        for axis in reversed(order):
            strides[axis] = step
            step *= shape[axis]
        return {"shape": shape, "strides": tuple(strides), "per_program": count}

    order = list(range(len(shape)))
    if g.add("store", (x,), {"target": output, "box": box(order)}, 0) is None:
        g.program.outputs.pop(output)
        return None
    g.add("barrier", (), {}, 0)
    flat = np.array(order)
    g.rng.shuffle(order)
    again = {"source": output, "box": box(order)}
    if len(flat) == 1:
        again["box"] = {"shape": (count // 2, 2), "strides": (1, count // 2), "per_program": count}
    return g.add("reload", (), again)


BLOCK_DRAWS = [(4, draw_window_load), (3, draw_window_store), (2, draw_round_trip)]
