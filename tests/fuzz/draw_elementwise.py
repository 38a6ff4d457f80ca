"""Draws element-wise statements.

Needs: generator.
Gives: ELEMENTWISE_DRAWS.
"""

from .dtypes import FLOATS, FP8, NUMPY, WIDE_FLOATS, bits, is_float, is_int, is_signed
from .op_elementwise import COMPARISONS, MATH, arithmetic_type
from .program import Literal


def fits(a, b):
    """Whether shapes broadcast."""
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b)))


def partner(g, name, accept=lambda value: True):
    """A name whose value goes with that of `name`."""
    shape = g.shape(name)
    if g.chance(0.75):
        other = g.pick(lambda v: v.shape == shape and accept(v))
        if other:
            return other
    return g.pick(lambda v: fits(v.shape, shape) and accept(v))


def literal(g, dtype):
    if is_float(dtype):
        return Literal(g.rng.choice([0.5, -0.25, 2.0, 1.5, -3.0, 4, 1]))
    if is_int(dtype) and not is_signed(dtype):
        return Literal(g.rng.choice([1, 2, 3, 17, 100]))
    return Literal(g.rng.choice([1, 2, 3, -1, -5, 17, 100]))


def pair(g, accept, same_sign=False):
    """Two operands: names, or a name and a literal in either order."""
    a = g.pick(accept)
    if a is None:
        return None
    if g.chance(0.3):
        operands = [a, literal(g, g.dtype(a))]
        g.rng.shuffle(operands)
        return operands
    signed = is_signed(g.dtype(a)) if is_int(g.dtype(a)) else None

    def goes(value):
        if same_sign and (not is_int(value.dtype) or is_signed(value.dtype) != signed):
            return False
        return accept(value)

    b = partner(g, a, goes)
    return [a, b] if b else None


def _arithmetic(value):
    return arithmetic_type(value.dtype)


def _integer(value):
    return is_int(value.dtype)


def draw_binary(g):
    operands = pair(g, _arithmetic)
    if not operands:
        return None
    if g.chance(0.12) and not any(isinstance(x, Literal) for x in operands):
        return g.add("named_binary", operands, {"name": g.rng.choice(["add", "sub", "mul"])})
    return g.add("binary", operands, {"op": g.rng.choice("++--*")})


def draw_bitwise(g):
    operands = pair(g, _integer)
    if g.chance(0.4):
        operands = pair(g, lambda v: v.dtype == "i1")
        if operands and any(isinstance(x, Literal) for x in operands):
            return None
    return g.add("bitwise", operands, {"op": g.rng.choice("&|^")}) if operands else None


def draw_shift(g):
    x = g.pick(_integer)
    if not x:
        return None
    amount = Literal(g.rng.randint(0, bits(g.dtype(x)) - 1))
    if g.chance(0.4):
        other = g.pick(lambda v: v.dtype == g.dtype(x) and v.shape == g.shape(x))
        made = g.add("bitwise", (other, Literal(bits(g.dtype(x)) - 1)), {"op": "&"})
        if not made:
            return None
        amount = made[0]
    return g.add("shift", (x, amount), {"op": g.rng.choice(["<<", ">>"])})


def draw_int_division(g):
    operands = pair(g, _integer, same_sign=True)
    if not operands or isinstance(operands[0], Literal):
        return None
    kind = "int_division"
    if not any(isinstance(x, Literal) for x in operands) and g.chance(0.7):
        kind = "guarded_division"
    return g.add(kind, operands, {"op": g.rng.choice(["//", "%"])})


def draw_division(g):
    operands = pair(g, _arithmetic)
    if not operands or any(isinstance(x, Literal) and not x.value for x in operands):
        return None
    kinds = [g.dtype(x) for x in operands if not isinstance(x, Literal)]
    if all(map(is_int, kinds)) and len(set(map(is_signed, kinds))) > 1:
        return None  # refused, as in Triton
    return g.add("division", operands)


def draw_compare(g):
    operands = pair(g, lambda v: arithmetic_type(v.dtype))
    if not operands:
        return None
    return g.add("compare", operands, {"op": g.rng.choice(list(COMPARISONS))})


def draw_where(g):
    condition = g.pick(lambda v: v.dtype == "i1")
    if not condition:
        return None
    a = partner(g, condition, _arithmetic)
    if not a:
        return None
    b = literal(g, g.dtype(a)) if g.chance(0.3) else partner(g, a, _arithmetic)
    return g.add("where", (condition, a, b)) if b else None


def draw_ternary(g):
    condition = g.pick(lambda v: v.dtype == "i1" and not v.shape)
    a = condition and g.pick()
    b = a and g.pick(lambda v: (v.dtype, v.shape) == (g.dtype(a), g.shape(a)))
    return g.add("ternary", (condition, a, b)) if b else None


def draw_swap(g):
    return g.add("swap", (g.pick(), g.pick()), {}, 2)


def draw_extreme(g):
    operands = pair(g, _arithmetic)
    if not operands:
        return None
    return g.add("extreme", operands, {"name": g.rng.choice(["minimum", "maximum"])})


def draw_clamp(g):
    x = g.pick(lambda v: v.dtype in WIDE_FLOATS)
    return g.add("clamp", (x, Literal(-1.5), Literal(2.0))) if x else None


def draw_unary(g):
    kind = g.rng.choice(["minus", "abs", "invert", "not"])
    accept = {
        "minus": lambda v: (is_int(v.dtype) and is_signed(v.dtype)) or v.dtype in WIDE_FLOATS,
        "abs": _arithmetic,
        "invert": lambda v: is_int(v.dtype) or v.dtype == "i1",
        "not": lambda v: v.dtype == "i1",
    }[kind]
    x = g.pick(accept)
    return g.add(kind, (x,)) if x else None


def draw_logic(g):
    a = g.pick(lambda v: v.dtype == "i1")
    b = a and g.pick(lambda v: v.dtype == "i1" and v.shape == g.shape(a))
    return g.add("logic", (a, b), {"op": g.rng.choice(["and", "or"])}) if b else None


def draw_cast(g):
    x = g.pick()
    dtype = g.rng.choice([*NUMPY, *WIDE_FLOATS, *FP8])
    if {g.dtype(x), dtype} & set(FP8) and not (is_float(g.dtype(x)) and is_float(dtype)):
        return None
    return g.add("cast", (x,), {"dtype": dtype}) if dtype != g.dtype(x) else None


def draw_bitcast(g):
    x = g.pick(lambda v: v.dtype != "i1")
    if not x:
        return None
    width = bits(g.dtype(x))
    same = [d for d in NUMPY if d != "i1" and bits(d) == width and d != g.dtype(x)]
    return g.add("bitcast", (x,), {"dtype": g.rng.choice(same)})


def draw_math(g):
    x = g.pick(lambda v: v.dtype in ("fp32", "fp64"))
    if not x:
        return None
    if g.chance(0.2):
        return g.add("round_down", (x,), {"name": g.rng.choice(["floor", "ceil"])})
    return g.add("math", (x,), {"name": g.rng.choice(list(MATH))})


def draw_integer_math(g):
    if g.chance(0.5):
        a = g.pick(lambda v: v.dtype in ("i32", "u32", "i64", "u64"))
        b = a and g.pick(lambda v: v.dtype == g.dtype(a) and v.shape == g.shape(a))
        return g.add("umulhi", (a, b)) if b else None
    a = g.pick(_integer)
    return g.add("cdiv", (a, Literal(g.rng.randint(1, 9)))) if a else None


def draw_fma(g):
    a = g.pick(lambda v: v.dtype in ("fp32", "fp64", "fp16"))
    if not a:
        return None
    same = [g.pick(lambda v: v.dtype == g.dtype(a) and v.shape == g.shape(a)) for _ in range(2)]
    return g.add("fma", (a, *same))


def precise(dtype):
    """Whether values of the type survive arithmetic."""
    return dtype in FLOATS and FLOATS[dtype].bits > 8


ELEMENTWISE_DRAWS = [
    (16, draw_binary),
    (4, draw_bitwise),
    (3, draw_shift),
    (3, draw_int_division),
    (3, draw_division),
    (6, draw_compare),
    (6, draw_where),
    (2, draw_ternary),
    (1, draw_swap),
    (4, draw_extreme),
    (1, draw_clamp),
    (4, draw_unary),
    (2, draw_logic),
    (8, draw_cast),
    (2, draw_bitcast),
    (6, draw_math),
    (2, draw_integer_math),
    (2, draw_fma),
]
