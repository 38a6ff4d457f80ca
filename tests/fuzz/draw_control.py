"""Draws loops, branches, dots over a loop, and calls of helper functions.

Needs: generator.
Gives: CONTROL_DRAWS.
How:   a block is drawn on the states that reach it (on all of them if none does); then the construct
       is run from where it began, and dropped if a later iteration is undefined.
"""

import numpy as np

from .draw_combine import dot_params, dot_shape
from .dtypes import FP8, NUMPY
from .generator import INPUT_SIZE
from .program import Assign, Call, For, Helper, If, Jump, While
from .values import Value

BLOCK_STATEMENTS = 6


def draw_block(g, states, carried, loop=None):
    """Statements on these states, ending with updates of some of the carried names."""
    from .draw import draw_statement

    kept = g.states, list(g.names)
    g.states, body = states, []
    g.bodies.append(body)
    g.depth += 1
    if loop:
        g.loops.append(loop)
        g.names.append(loop[0])
    wanted = g.rng.randint(1, BLOCK_STATEMENTS)
    for _ in range(wanted * 5):
        draw_statement(g)
        if len(body) >= wanted:
            break
    for name in carried:
        _update(g, body, name)
    if loop:
        g.loops.pop()
    g.depth -= 1
    g.bodies.pop()
    g.states, g.names = kept
    return body


def _update(g, body, name):
    new = [
        other
        for other in g.names[-12:]
        if other != name
        and other in g.states[0].env
        and (g.dtype(other), g.shape(other)) == (g.dtype(name), g.shape(name))
    ]
    if new:
        g.add_statement(Assign(name, g.rng.choice(new)))


def _carried(g):
    """Names that a block may change."""
    names = {g.pick(lambda v: v.dtype != "i1") for _ in range(3)}
    fixed = {"pid", "n0", "n1", "f0", *(name for name, _ in g.loops)}
    return sorted(n for n in names if n and n not in fixed and n not in g.stored)


def _whole(g, build):
    """Draw a construct and run it from the start; None if it is undefined."""
    saved = g.snapshot()
    outputs, names = dict(g.program.outputs), list(g.names)
    statement = build()
    memory = {name for name in g.program.outputs if name not in outputs}
    drawn = _initial_memory(g, saved[0], memory)
    g.restore((drawn, saved[1]))
    g.names = names
    if statement is not None and g.add_statement(statement):
        return ()
    g.program.outputs.clear()
    g.program.outputs.update(outputs)
    g.restore(saved)
    return None


def _initial_memory(g, saved, new):
    """The saved memory with the outputs that the construct added, untouched."""
    from .program import Memory

    fresh = Memory({name: g.program.outputs[name] for name in new}).__dict__
    return {part: {**saved[part], **fresh[part]} for part in saved}


def draw_if(g):
    if g.depth >= 3 or g.in_helper:
        return None
    condition = g.pick(lambda v: v.shape == () and v.dtype == "i1")
    if not condition:
        scalar = g.pick(lambda v: v.shape == () and v.dtype in ("i32", "i64"))
        from .program import Literal

        made = g.add("compare", (scalar, Literal(g.rng.randint(0, 3))), {"op": "<="})
        if not made:
            return None
        condition = made[0]
    carried = _carried(g)

    def build():
        bodies = []
        start = g.snapshot()
        for wanted in (True, False):
            if not wanted and g.chance(0.3):
                bodies.append([])
                continue
            reach = [s for s in g.states if bool(s.env[condition].data) == wanted]
            bodies.append(draw_block(g, reach or list(g.states), carried))
            memory = {n for n in g.program.outputs if n not in start[0]["data"]}
            g.restore((_initial_memory(g, start[0], memory), start[1]))
        return If(condition, *bodies) if bodies[0] else None

    return _whole(g, build)


def draw_for(g):
    if g.depth >= 2 or g.in_helper:
        return None
    carried = _carried(g)
    var = g.fresh("i")
    header = g.rng.choice(["range", "range", "tl.range", "tl.static_range"])
    bounds, most, dtype = _bounds(g, header == "tl.static_range")
    keywords = (
        f", num_stages={g.rng.randint(1, 4)}" if header == "tl.range" and g.chance(0.6) else ""
    )

    def build():
        for state in g.states:
            state.env[var] = Value(dtype, NUMPY[dtype](0))
        body = draw_block(g, g.states, carried, (var, most))
        if body and header != "tl.static_range" and g.chance(0.15):
            kind = g.rng.choice(["break", "continue"])
            body.insert(g.rng.randint(0, len(body)), Jump(kind, var, g.rng.randint(0, 3)))
        return For(var, header, *bounds, body, keywords, dtype) if body else None

    return _whole(g, build)


def _bounds(g, is_static):
    """Start, stop and step of a loop, more than any of its counters, and their type.

    Counters index what the body stores, so none is below 0.
    """
    stop = g.rng.randint(1, 5)
    if is_static or g.chance(0.4):
        if not is_static and g.chance(0.4):
            return (0, "n1", 1), g.program.scalars["n1"][1], "i32"
        if g.chance(0.5):
            return (0, stop, 1), stop, "i32"
    start, step = g.rng.randint(0, 3), g.rng.choice([1, 2, 3])
    last = start + (stop - 1) * step
    end = last + g.rng.randint(1, step)
    if g.chance(0.4):
        start, end, step = last, start - g.rng.randint(1, step), -step
    if is_static:
        return (start, end, step), last + 1, "i32"
    dtype = "i64" if g.chance(0.3) else "i32"
    bounds = [start, end, step]
    for i in range(3 if step > 0 else 2):
        if g.chance(0.4):
            bounds[i] = _scalar(g, bounds[i])
    return tuple(bounds), last + 1, dtype


def draw_while(g):
    if g.depth >= 2 or g.in_helper:
        return None
    carried = _carried(g)
    made = g.add("full_scalar", (), {"value": 0})
    if not made:
        return None
    counter = made[0]
    limit = "n1" if g.chance(0.5) else g.rng.randint(1, 4)

    def build():
        body = draw_block(g, g.states, carried, (counter, 9))
        if body and g.chance(0.15):
            body.insert(g.rng.randint(0, len(body)), Jump("break", counter, g.rng.randint(0, 3)))
        return While(counter, limit, body, 1) if body else None

    done = _whole(g, build)
    return done


def draw_return(g):
    """One of the programs ends early."""
    if g.depth or g.in_helper or len(g.states) < 2 or len(g.program.body) < 4:
        return None
    pid = g.rng.choice(g.states).pid
    g.program.body.append(Jump("return", "pid", pid))
    g.states = [state for state in g.states if state.pid != pid]
    return ()


def draw_matmul(g):
    """A loop over K with masked loads, as kernels write it."""
    if g.depth >= 1 or g.in_helper:
        return None
    dtype = g.rng.choice(["fp16", "fp16", "bf16", "bf16", "fp32", "i8", *FP8])
    m, n, k = dot_shape(g, dtype)
    if g.chance(0.4):  # what tensor cores take at once
        m, n, k = g.rng.choice([64, 128]), g.rng.choice([64, 128]), g.rng.choice([32, 64])
    if m * n > 16384:
        return None
    trips = g.rng.randint(1, 6)
    while trips > 1 and k * trips * max(m, n) > INPUT_SIZE:
        trips -= 1
    out = dot_params(g, dtype)["out"]
    zero = 0 if out == "i32" else 0.0
    acc = g.add("full", (), {"shape": (m, n), "value": zero, "dtype": out})
    if not acc:
        return None
    var, total = g.fresh("i"), k * trips
    tail = {"var": var, "step": k, "total": _scalar(g, total - g.rng.randint(0, k - 1))}
    tail = tail if g.chance(0.4) else None
    body = [
        _panel_load(g, dtype, "a", (m, k), 1, var, total, tail),
        _panel_load(g, dtype, "b", (k, n), 0, var, total, tail),
        *_accumulation(g, acc[0], {**dot_params(g, dtype), "out": out}),
    ]
    header, keywords = "range", ""
    if g.chance(0.5):
        header, keywords = "tl.range", f", num_stages={g.rng.randint(1, 4)}"
    stop = _scalar(g, trips) if g.chance(0.5) else trips
    return () if g.add_statement(For(var, header, 0, stop, 1, body, keywords)) else None


def _scalar(g, value):
    """A new scalar argument; 1 would be a constant, which is as good."""
    name = f"s{len(g.program.scalars)}"
    g.program.scalars[name] = ("i32", value)
    for state in g.states:
        state.env[name] = Value("i32", np.int32(value))
    return name


def _accumulation(g, acc, params):
    if g.chance(0.6):
        return [Call((acc,), "dot", ("a", "b", acc), params)]
    product = g.fresh()
    return [
        Call((product,), "dot", ("a", "b"), params),
        Call((acc,), "binary", (acc, product), {"op": "+"}),
    ]


def _panel_load(g, dtype, target, shape, axis, var, total, tail):
    """The load of one operand: `axis` runs along K, of `total` elements; strides may be arguments."""
    step, outer = shape[axis], shape[1 - axis]
    across = total if g.chance(0.6) else 1
    along = 1 if across == total else outer
    named = g.chance(0.5)
    across, along = (
        _scalar(g, stride) if named and stride > 1 else stride for stride in (across, along)
    )
    strides = (across, along) if axis == 1 else (along, across)
    advance = step if along == 1 else step * outer
    box = {"shape": shape, "strides": strides, "loop": (var, advance)}
    if total * outer * g.program.grid <= INPUT_SIZE:
        box["per_program"] = total * outer
    if g.chance(0.4):
        limits = [None, None]
        limits[1 - axis] = g.rng.randint(max(1, outer // 2), outer)
        if g.chance(0.5):
            limits[1 - axis] = _scalar(g, limits[1 - axis])
        box["limits"] = tuple(limits)
    if tail:
        box["tail"] = {**tail, "axis": axis}
    other = None if g.chance(0.3) else (0 if dtype == "i8" else 0.0)
    return Call((target,), "load", (), {"source": g.input(dtype), "box": box, "other": other})


def draw_helper(g):
    """A jit function of some of the values, called once or twice."""
    if g.in_helper or g.depth > 2:
        return None
    a = g.pick_tile()
    b = a and g.pick(lambda v: v.shape == g.shape(a))
    if not b or a == b:
        return None
    helper = _draw_helper_body(g, [a, b])
    if helper is None:
        return None
    g.program.helpers[helper.name] = helper
    return g.add("helper", (a, b), {"helper": helper}, len(helper.results))


def _draw_helper_body(g, args):
    from .draw_elementwise import ELEMENTWISE_DRAWS

    parameters = ["x", "y"]
    kept = g.states, g.names, [s.env for s in g.states]
    for state in g.states:
        state.env = {p: state.env[a] for p, a in zip(parameters, args)}
    g.names, body, g.in_helper = list(parameters), [], True
    g.bodies.append(body)
    weights = [weight for weight, _ in ELEMENTWISE_DRAWS]
    for _ in range(12):
        g.rng.choices(ELEMENTWISE_DRAWS, weights)[0][1](g)
        if len(body) >= 3:
            break
    made = [name for name in g.names if name not in parameters]
    g.bodies.pop()
    g.in_helper = False
    g.states, g.names = kept[:2]
    for state, env in zip(g.states, kept[2]):
        state.env = env
    if not made:
        return None
    results = made[-2:] if len(made) > 1 and g.chance(0.4) else made[-1:]
    return Helper(g.fresh("helper"), parameters, body, results)


CONTROL_DRAWS = [
    (4, draw_if),
    (5, draw_for),
    (2, draw_while),
    (4, draw_matmul),
    (4, draw_helper),
    (1, draw_return),
]
