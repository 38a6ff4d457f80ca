"""Loads, stores and atomics.

Needs: program.op, values.
Gives: the operations `load`, `load_at`, `load_scalar`, `store`, `atomic`, `round_trip`.
How:   an access is a box: a shape, the stride of each dimension, an offset, and optional limits of
       the coordinates, which become the mask. Every store has its own region of an output.
"""

import numpy as np

from .dtypes import NUMPY, is_float
from .program import GRID_NAME, op
from .values import Undefined, convert, held


def _range_text(shape, axis):
    index = [":" if i == axis else "None" for i in range(len(shape))]
    text = f"tl.arange(0, {shape[axis]})"
    return text if len(shape) == 1 else f"{text}[{', '.join(index)}]"


def box_text(box):
    """The offsets of a box, as text."""
    terms = []
    for axis, stride in enumerate(box["strides"]):
        term = _range_text(box["shape"], axis)
        terms.append(term if stride == 1 else f"{term} * {stride}")
    if box.get("base"):
        terms.append(str(box["base"]))
    if box.get("per_program"):
        terms.append(f"{GRID_NAME} * {box['per_program']}")
    if box.get("loop"):
        terms.append(f"{box['loop'][0]} * {box['loop'][1]}")
    return " + ".join(terms)


def mask_text(box):
    """The mask of a box, or ""; a limit is a number or the name of a scalar."""
    terms = []
    for axis, limit in enumerate(box.get("limits") or ()):
        if limit is not None:
            terms.append(f"({_range_text(box['shape'], axis)} < {limit})")
    if tail := box.get("tail"):
        line = _range_text(box["shape"], tail["axis"])
        terms.append(f"({line} < {tail['total']} - {tail['var']} * {tail['step']})")
    return " & ".join(terms)


def _number(state, number):
    """A number, or the value of the scalar of that name."""
    return number if isinstance(number, int) else int(state.value(number).data)


def box_offsets(state, box):
    shape = box["shape"]
    offsets = np.zeros(shape, np.int64) + box.get("base", 0)
    for axis, stride in enumerate(box["strides"]):
        line = np.arange(shape[axis]) * _number(state, stride)
        offsets = offsets + line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    offsets = offsets + state.pid * box.get("per_program", 0)
    if box.get("loop"):
        name, stride = box["loop"]
        offsets = offsets + int(state.value(name).data) * _number(state, stride)
    return offsets


def box_mask(state, box):
    shape = box["shape"]
    mask = np.ones(shape, bool)
    for axis, limit in enumerate(box.get("limits") or ()):
        if limit is None:
            continue
        line = np.arange(shape[axis]) < _number(state, limit)
        mask &= line.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    if tail := box.get("tail"):
        left = _number(state, tail["total"]) - _number(state, tail["var"]) * tail["step"]
        line = np.arange(shape[tail["axis"]]) < left
        mask &= line.reshape([-1 if i == tail["axis"] else 1 for i in range(len(shape))])
    return mask


def _modifiers(params):
    return "".join(f", {key}={value!r}" for key, value in params.get("modifiers", {}).items())


def _load_text(a, p):
    mask = mask_text(p["box"])
    mask = f", mask={mask}" if mask else ""
    other = f", other={p['other']!r}" if mask and p.get("other") is not None else ""
    return f"tl.load({p['source']} + {box_text(p['box'])}{mask}{other}{_modifiers(p)})"


def _fetch(state, source, offsets, mask, other):
    dtype, array = state.program.inputs[source]
    if (offsets[mask] < 0).any() or (offsets[mask] >= array.size).any():
        raise Undefined("out of bounds")
    found = array[np.where(mask, offsets, 0)]
    fill = np.asarray(0 if other is None else other).astype(NUMPY[dtype])
    return held(dtype, np.where(mask, found, fill).astype(NUMPY[dtype]))


@op("load", _load_text)
def load(state, values, params):
    box = params["box"]
    return _fetch(
        state, params["source"], box_offsets(state, box), box_mask(state, box), params.get("other")
    )


def _load_at_text(a, p):
    mask = f", mask={a[1]}" if len(a) > 1 else ""
    other = f", other={p['other']!r}" if mask and p.get("other") is not None else ""
    return f"tl.load({p['source']} + ({a[0]} & {p['limit']}){mask}{other})"


@op("load_at", _load_at_text)
def load_at(state, values, params):
    offsets = values[0].data.astype(np.int64) & params["limit"]
    mask = values[1].data if len(values) > 1 else np.ones(offsets.shape, bool)
    if mask.shape != offsets.shape:
        raise Undefined("a mask")
    return _fetch(state, params["source"], offsets, mask, params.get("other"))


@op("load_scalar", lambda a, p: f"tl.load({p['source']} + {GRID_NAME} + {p['base']})")
def load_scalar(state, values, params):
    at = np.asarray(state.pid + params["base"])
    return _fetch(state, params["source"], at, np.asarray(True), None)


def put(memory, name, offsets, mask, value):
    """Write a value; every element once in a program's life."""
    dtype = memory.dtype[name]
    value = convert(value, dtype)
    data = np.broadcast_to(value.data, offsets.shape)[mask]
    places = offsets[mask]
    if places.size and (places.min() < 0 or places.max() >= memory.data[name].size):
        raise Undefined("out of bounds")
    if np.unique(places).size != places.size or memory.written[name][places].any():
        raise Undefined("colliding stores")
    memory.data[name][places] = data
    memory.error[name][places] = np.broadcast_to(value.bound(), offsets.shape)[mask]
    memory.written[name][places] = True


def _store_text(a, p):
    mask = mask_text(p["box"]) if p["box"]["shape"] else ""
    if len(a) > 1:
        mask = f"({mask}) & {a[1]}" if mask else a[1]
    mask = f", mask={mask}" if mask else ""
    return f"tl.store({p['target']} + {box_text(p['box'])}, {a[0]}{mask}{_modifiers(p)})"


@op("store", _store_text)
def store(state, values, params):
    box = params["box"]
    mask = box_mask(state, box)
    if len(values) > 1:
        mask = mask & values[1].data
    put(state.memory, params["target"], box_offsets(state, box), mask, values[0])
    return ()


def _atomic_text(a, p):
    mask = f", mask={a[2]}" if len(a) > 2 else ""
    sem = f", sem={p['sem']!r}" if p["sem"] else ""
    return f"tl.atomic_{p['name']}({p['target']} + ({a[0]} & {p['limit']}), {a[1]}{mask}{sem})"


@op("atomic", _atomic_text)
def atomic(state, values, params):
    """Operations that commute, on places that collide; the old values are not used."""
    memory, name = state.memory, params["target"]
    places = values[0].data.astype(np.int64) & params["limit"]
    mask = values[2].data if len(values) > 2 else np.ones(places.shape, bool)
    value = values[1]
    if value.shape != places.shape or mask.shape != places.shape:
        raise Undefined("shapes")
    compute = {
        "add": np.add,
        "max": np.maximum,
        "min": np.minimum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[params["name"]]
    if is_float(value.dtype):
        if not value.exact or (np.abs(value.data) > 2**6).any() or (value.data * 8 % 1).any():
            raise Undefined("an inexact sum")
    compute.at(memory.data[name], places[mask], value.data[mask])
    return ()
