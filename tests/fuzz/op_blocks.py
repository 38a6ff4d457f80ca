"""Block pointers, descriptors, and reading back what was stored.

Needs: program.op, op_memory.
Gives: the operations `block_load`, `block_store`, `descriptor_load`, `descriptor_store`, `barrier`, `reload`.
How:   a window: the shape and strides of a matrix in memory, where the block starts, its shape. Beyond
       the matrix a load gives 0 and a store writes nothing; a block pointer requests that by
       `boundary_check`.
"""

import numpy as np

from .dtypes import LONG
from .op_memory import _fetch, box_offsets, box_text, put
from .program import GRID_NAME, op
from .values import Undefined, Value


def _list(numbers):
    return f"[{', '.join(map(str, numbers))}]"


def _starts(p):
    return [f"{GRID_NAME} * {p['per_program']} + {p['start'][0]}", p["start"][1]]


def _block_text(name, p):
    shape, strides, block = _list(p["matrix"]), _list(p["strides"]), _list(p["block"])
    order = "(1, 0)" if p["strides"][1] == 1 else "(0, 1)"
    return f"tl.make_block_ptr({name}, {shape}, {strides}, {_list(_starts(p))}, {block}, {order})"


def _descriptor_text(name, p):
    shape, strides, block = _list(p["matrix"]), _list(p["strides"]), _list(p["block"])
    return f"tl.make_tensor_descriptor({name}, {shape}, {strides}, {block})"


def window(state, p):
    """The offsets of a window, and which of them lie in the matrix."""
    rows = state.pid * p["per_program"] + p["start"][0] + np.arange(p["block"][0])[:, None]
    columns = p["start"][1] + np.arange(p["block"][1])[None, :]
    inside = (rows < p["matrix"][0]) & (columns < p["matrix"][1])
    return rows * p["strides"][0] + columns * p["strides"][1], inside


def _load(state, values, params):
    offsets, inside = window(state, params)
    return _fetch(state, params["source"], offsets, inside, None)


def _store(state, values, params):
    offsets, inside = window(state, params)
    if values[0].shape != offsets.shape:
        raise Undefined("a shape")
    put(state.memory, params["target"], offsets, inside, values[0])
    return ()


op(
    "block_load",
    lambda a, p: (
        f"tl.load({_block_text(p['source'], p)}, boundary_check=(0, 1), padding_option='zero')"
    ),
)(_load)
op(
    "block_store",
    lambda a, p: f"tl.store({_block_text(p['target'], p)}, {a[0]}, boundary_check=(0, 1))",
)(_store)
op(
    "descriptor_load",
    lambda a, p: f"{_descriptor_text(p['source'], p)}.load({_list(_starts(p))})",
)(_load)
op(
    "descriptor_store",
    lambda a, p: (
        f"{_descriptor_text(p['target'], p)}.store({_list(_starts(p))}, {a[0]}.to(tl.{LONG[p['dtype']]}))"
    ),
)(_store)


@op("barrier", lambda a, p: "tl.debug_barrier()")
def barrier(state, values, params):
    return ()


@op("reload", lambda a, p: f"tl.load({p['source']} + {box_text(p['box'])})")
def reload(state, values, params):
    memory, name = state.memory, params["source"]
    offsets = box_offsets(state, params["box"])
    if offsets.max() >= memory.data[name].size or not memory.written[name][offsets].all():
        raise Undefined("not written")
    return Value(memory.dtype[name], memory.data[name][offsets], memory.error[name][offsets])
