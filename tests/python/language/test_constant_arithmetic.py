"""Constants of kernels and of modules are what Python computes: random expressions, compiled without Python."""

import ast
import math
import random

import pytest
from command_line import pantilec

KERNEL = """
import math

import triton
import triton.language as tl

{constants}

@triton.jit
def check(out_ptr):
{asserts}
    tl.store(out_ptr, 1)
"""
NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "3",
    "-7",
    "5",
    "63",
    "64",
    "0x7fffffff",
    "-2147483648",
    "True",
    "False",
]
NUMBERS += ["0.1", "1.0", "-7.5", "2.0", "1e300", "0.25", "-0.0", "9223372036854775807"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
EXPONENTS = ["0", "1", "2", "-1", "5", "True", "0.5"]  # others may take Python for ever
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


def expression(draw, depth):
    """A random one, as text."""
    kind = draw.random()
    if depth == 0 or kind < 0.2:
        return draw.choice(NUMBERS)
    inner = [expression(draw, depth - 1) for _ in range(3)]
    if kind < 0.75:
        operator = draw.choice(OPERATORS)
        right = draw.choice(EXPONENTS) if operator in ("**", "<<") else inner[1]
        return f"({inner[0]} {operator} {right})"
    if kind < 0.85:
        return f"({draw.choice(['-', '+', '~', 'not '])}{inner[0]})"
    if kind < 0.95:
        return f"({inner[0]} {draw.choice(COMPARISONS)} {inner[1]})"
    return f"({inner[0]} if {inner[1]} else {inner[2]})"


def value_of(text):
    """What Python computes; None where it refuses, or where 64 bits do not hold an integer."""
    try:
        value = eval(text)  # noqa: S307, an expression made above
    except (ArithmeticError, TypeError, ValueError):
        return None
    if isinstance(value, complex) or value != value or abs(value) in (float("inf"),):
        return None
    return value if abs(value) < 2**63 else None


def drawn(seed, count):
    """Expressions with their values; all their parts have some, too."""
    draw = random.Random(seed)
    found = {}
    while len(found) < count:
        text = expression(draw, draw.randint(1, 3))
        nodes = ast.walk(ast.parse(text, mode="eval"))
        values = [value_of(ast.unparse(node)) for node in nodes if isinstance(node, ast.expr)]
        if None not in values:
            found[text] = values[0]
    return found


def asserted(name, value):
    """A condition that holds for this value alone, and for its type where Python's division tells it."""
    literal = f"({value!r})"
    return f"    tl.static_assert({name} == {literal}, {str(name)!r})"


@pytest.mark.parametrize("seed", range(8))
def test_random_expressions(tmp_path, seed):
    cases = drawn(seed, 60)
    constants = [f"C{i} = tl.constexpr({text})" for i, text in enumerate(cases)]
    asserts = [asserted(f"C{i}", value) for i, value in enumerate(cases.values())]
    for i, (text, value) in enumerate(cases.items()):
        asserts += [f"    V{i}: tl.constexpr = {text}", asserted(f"V{i}", value)]
    path = tmp_path / "k.py"
    path.write_text(KERNEL.format(constants="\n".join(constants), asserts="\n".join(asserts)))
    text = pantilec(path, "--kernel", "check", "--signature", "*i32", "--emit", "tile", "-o", "-")
    assert "tile.store" in text


FUNCTIONS = {
    "math.ceil(2.5)": 3,
    "math.floor(-2.5)": -3,
    "math.log2(8)": 3.0,
    "math.log(2.5)": math.log(2.5),
    "math.exp(1)": math.e,
    "math.sqrt(2)": math.sqrt(2),
    "math.sqrt(0)": 0.0,
    "int(-2.7)": -2,
    "float(3)": 3.0,
    "bool(0.5)": True,
    "abs(-4)": 4,
    "abs(-0.5)": 0.5,
    "min(2.5, 1, 7)": 1,
    "max((3, 7, 5))": 7,
    "len((1, 2, 3))": 3,
    "triton.cdiv(-7, 2)": -3,
    "triton.next_power_of_2(100)": 128,
    "triton.next_power_of_2(0)": 0,
    "triton.next_power_of_2(-5)": 0,
    "math.floor(1152921504606846977)": 1152921504606846977,
}


def test_functions_in_modules_and_in_kernels(tmp_path):
    """Both give what Python gives, of each function on constants."""
    constants = [f"C{i} = {text}" for i, text in enumerate(FUNCTIONS)]
    constants = [line.replace("= ", "= tl.constexpr(", 1) + ")" for line in constants]
    asserts = [asserted(f"C{i}", value) for i, value in enumerate(FUNCTIONS.values())]
    in_kernels = {text: value for text, value in FUNCTIONS.items() if "cdiv(-" not in text}
    asserts += [asserted(text, value) for text, value in in_kernels.items()]
    path = tmp_path / "k.py"
    path.write_text(KERNEL.format(constants="\n".join(constants), asserts="\n".join(asserts)))
    words = ("--kernel", "check", "--signature", "*i32", "--emit", "tile", "-o", "-")
    assert "tile.store" in pantilec(path, *words)


def test_texts_of_modules_have_an_order(tmp_path):
    """`min` and `max` of strings are Python's, in a module's constants."""
    constants = 'FIRST = tl.constexpr(min("b", "a", "c"))\nLAST = tl.constexpr(max(("b", "c")))'
    asserts = "    tl.static_assert(FIRST == 'a')\n    tl.static_assert(LAST == 'c')"
    path = tmp_path / "k.py"
    path.write_text(KERNEL.format(constants=constants, asserts=asserts))
    words = ("--kernel", "check", "--signature", "*i32", "--emit", "tile", "-o", "-")
    assert "tile.store" in pantilec(path, *words)


REFUSED = [
    ("1 // 0", "division by zero"),
    ("0 ** -1", "division by zero"),
    ("0.0 ** -1", "division by zero"),
    ("1 << -1", "negative shift count"),
    ("2 ** 200", "the integer is too large"),
    ("(-8.0) ** 0.5", "the power is complex"),
    ("1e200 ** 2", "the power is too large"),
    ("~1.5", "takes no float"),
    ("1.5 & 1", "takes no floats"),
    ("math.sqrt(-1)", "is not defined for this number"),
    ("math.log2(0)", "is not defined for this number"),
    ("math.floor(1e300)", "no integer has this value"),
    ("triton.next_power_of_2(1 << 101)", "the next power of two is too large"),
]


@pytest.mark.parametrize("text, reason", REFUSED, ids=lambda value: value.replace(" ", "_"))
def test_refused(tmp_path, text, reason):
    """A constant that Python does not compute is refused with its reason."""
    path = tmp_path / "k.py"
    path.write_text(KERNEL.format(constants="", asserts=f"    X: tl.constexpr = {text}"))
    words = ("--kernel", "check", "--signature", "*i32", "--emit", "tile", "-o", "-")
    assert reason in pantilec(path, *words, status=1)
