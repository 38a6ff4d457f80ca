"""Constants are declared once, and division takes operands of one signedness, as in Triton 3.6."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile.compiler.errors import CompilationError


@triton.jit
def declared(p, WHAT: tl.constexpr):
    if WHAT == "twice":
        x: tl.constexpr = 1
        x: tl.constexpr = 2
    elif WHAT == "after a variable":
        x = tl.load(p)
        x: tl.constexpr = 2
    elif WHAT == "a parameter":
        x = 1
        WHAT: tl.constexpr = "else"
    elif WHAT == "assigned":
        x: tl.constexpr = 1
        x = x + 1
    elif WHAT == "unrolled":
        for i in tl.static_range(3):
            x: tl.constexpr = i
    elif WHAT == "in a loop":
        x = 0
        for _ in range(3):
            step: tl.constexpr = 2
            x += step
    tl.store(p, x)


@pytest.mark.parametrize("what", ["twice", "after a variable", "a parameter"])
def test_constants_are_declared_once(what):
    with pytest.raises(CompilationError, match="already defined. constexpr cannot be reassigned."):
        declared[(1,)](np.ones(1, np.int32), what)


@pytest.mark.parametrize(("what", "value"), [("assigned", 2), ("unrolled", 2), ("in a loop", 6)])
def test_declarations_that_come_again(device, what, value):
    out = device.output(1, "i32")
    declared[(1,)](out.array, what)
    assert out.numpy()[0] == value


@triton.jit
def divided(out, x, y, OP: tl.constexpr):
    i = tl.arange(0, 16)
    a, b = tl.load(x + i), tl.load(y + i)
    if OP == "/":
        c = a / b
    elif OP == "/=":
        c = a
        c /= b
    elif OP == "cdiv":
        c = tl.cdiv(b, a)
    elif OP == "literal %":
        c = b % 7
    elif OP == "literal /":
        c = b / 7
    elif OP == "bool % literal":
        c = (a > 0) % 3
    elif OP == "bool // bool":
        c = (a > 0).to(tl.int32) + ((a > 0) // (a == a)).to(tl.int32)
    elif OP == "unsigned % bool":
        c = b % (a == a)
    tl.store(out + i, c)


@pytest.mark.parametrize("op", ["/", "/=", "cdiv", "bool % literal"])
def test_division_of_mixed_signedness(op):
    x, y = np.arange(1, 17, dtype=np.int32), np.arange(3, 19, dtype=np.uint32)
    with pytest.raises(CompilationError, match="because they have different signedness"):
        divided[(1,)](np.zeros(16, np.float32), x, y, op)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("literal %", lambda x, y: y % 7),
        ("literal /", lambda x, y: y.astype(np.float32) / np.float32(7)),
        ("bool // bool", lambda x, y: 2 * (x > 0)),
        ("unsigned % bool", lambda x, y: y * 0),
    ],
)
def test_division_of_one_signedness(device, op, expected):
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, 16).astype(np.int32)
    y = rng.integers(0, 2**32, 16).astype(np.uint32)
    out = device.output(16, "fp32")
    divided[(1,)](out.array, device.to(x), device.to(y), op)
    np.testing.assert_allclose(out.numpy(), expected(x, y), rtol=3e-7)
