"""Types of results: promotion of all pairs, literals, casts, division and shifts, and their errors."""

import itertools

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
FP8 = ["float8e5", "float8e4nv", "float8e4b8", "float8e5b16"]
TYPES = ["int1", *INTS, *FLOATS, *FP8]
NUMPY = {
    "int1": np.bool_,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e5": ml_dtypes.float8_e5m2,
    "float8e4nv": ml_dtypes.float8_e4m3fn,
    "float8e4b8": ml_dtypes.float8_e4m3fnuz,
    "float8e5b16": ml_dtypes.float8_e5m2fnuz,
    **{name: np.dtype(name) for name in [*INTS, "float16", "float32", "float64"]},
}


def bits(name):
    known = {"int1": 1, "bfloat16": 16, **dict.fromkeys(FP8, 8)}
    return known.get(name) or 8 * np.dtype(name).itemsize


def kind(name):
    return 0 if name == "int1" else 1 if name in INTS else 2


def promote_integers(a, b):
    """C: the higher rank; of one rank, the unsigned type."""
    signed = [not name.startswith("u") and name != "int1" for name in (a, b)]
    if signed[0] == signed[1]:
        return a if bits(a) > bits(b) else b
    unsigned, other = (b, a) if signed[0] else (a, b)
    return unsigned if bits(unsigned) >= bits(other) else other


def promote_floats(a, b):
    for name in ("float64", "float32", "float16"):
        if name in (a, b):
            return name
    if a == b:
        return a
    return "float32" if "bfloat16" in (a, b) else "float16"


def promoted(a, b, divides=False):
    """The model of the rules: the type of `a op b` for two run-time operands; None for an error."""
    if kind(a) == 2 and kind(b) == 2:
        common = promote_floats(a, b)
    elif kind(a) == 2 or kind(b) == 2:
        common, other = (a, b) if kind(a) == 2 else (b, a)
        if common in FP8 and kind(other) < 2:
            return None
    else:
        common = promote_integers(a, b)
    return "float32" if divides and common in ("float16", "bfloat16") else common


@triton.jit
def same_types(
    x_type: tl.constexpr,
    y_type: tl.constexpr,
    common: tl.constexpr,
    quotient: tl.constexpr,
    modulo: tl.constexpr,
):
    x = tl.full((4,), 1, tl.int32).to(x_type)
    y = tl.full((4,), 1, tl.int32).to(y_type)
    tl.static_assert((x + y).dtype == common)
    tl.static_assert((x * y).dtype == common)
    tl.static_assert(tl.where(x == y, x, y).dtype == common)
    tl.static_assert((x < y).dtype == tl.int1)
    tl.static_assert((x - tl.to_tensor(1).to(y_type)).dtype == common)
    tl.static_assert((tl.to_tensor(1).to(x_type) + tl.to_tensor(1).to(y_type)).dtype == common)
    if quotient is not None:
        tl.static_assert((x / y).dtype == quotient)
    if modulo is not None:
        tl.static_assert((x % y).dtype == modulo)


@triton.jit
def matrix_kernel(PAIRS: tl.constexpr):
    for pair in PAIRS:
        same_types(*pair)


def test_every_pair_of_types(device):
    """One kernel a row of the matrix; the assertions are the compiler's."""
    numbers = [name for name in TYPES if name not in FP8]
    for a in numbers:
        pairs = []
        for b in numbers:
            signed = [name.startswith("int") and name != "int1" for name in (a, b)]
            signs_differ = kind(a) < 2 and kind(b) < 2 and signed[0] != signed[1]
            takes_modulo = not signs_differ and "int1" not in (a, b)
            common, divided = promoted(a, b), promoted(a, b, divides=True)
            quotient = divided if kind(common) == 2 else None if signs_differ else "float32"
            names = [a, b, common, quotient, divided if takes_modulo else None]
            pairs.append(tuple(None if name is None else getattr(tl, name) for name in names))
        matrix_kernel[(1,)](tuple(pairs))


@triton.jit
def fp8_kernel(x_type: tl.constexpr, y_type: tl.constexpr, common: tl.constexpr):
    x = tl.full((4,), 1, tl.float32).to(x_type)
    y = tl.full((4,), 1, tl.float32).to(y_type)
    tl.static_assert(tl.where(x == y, x, y).dtype == common)


def test_pairs_with_fp8(device):
    for a in FP8:
        for b in [*FP8, *FLOATS]:
            for x, y in ((a, b), (b, a)):
                names = (x, y, promoted(x, y))
                fp8_kernel[(1,)](*(getattr(tl, name) for name in names))


@triton.jit
def literal_kernel(x_ptr, TYPE: tl.constexpr):
    x = tl.load(x_ptr).to(TYPE)
    tl.static_assert((x + 1).dtype == (tl.int32 if TYPE == tl.int1 else TYPE))
    tl.static_assert((True + x).dtype == TYPE)
    tl.static_assert((x * 1.5).dtype == (TYPE if TYPE.is_floating() else tl.float32))
    tl.static_assert((x == 1).dtype == tl.int1)
    half: tl.constexpr = TYPE == tl.float16 or TYPE == tl.bfloat16
    if TYPE != tl.int1:
        tl.static_assert((x / 2).dtype == (tl.float32 if half or not TYPE.is_floating() else TYPE))


def test_literals_follow_the_typed_operand(device):
    x = device.to(np.ones(1, np.float32))
    for name in ["int1", *INTS, *FLOATS]:
        literal_kernel[(1,)](x, getattr(tl, name))


@triton.jit
def literal_types_kernel(x_ptr):
    tl.static_assert(tl.to_tensor(5).dtype == tl.int32)
    tl.static_assert(tl.to_tensor(2**31).dtype == tl.uint32)
    tl.static_assert(tl.to_tensor(2**32).dtype == tl.int64)
    tl.static_assert(tl.to_tensor(-(2**31) - 1).dtype == tl.int64)
    tl.static_assert(tl.to_tensor(2**63).dtype == tl.uint64)
    tl.static_assert(tl.to_tensor(1.5).dtype == tl.float32)
    tl.static_assert(tl.to_tensor(1e300).dtype == tl.float64)
    tl.static_assert(tl.to_tensor(1e-40).dtype == tl.float64)
    tl.static_assert(tl.to_tensor(True).dtype == tl.int1)
    tl.static_assert((tl.program_id(0) + tl.load(x_ptr)).dtype == tl.int64)


def test_types_of_literals(device):
    literal_types_kernel[(1,)](device.to(np.ones(1, np.int64)))


@triton.jit
def literal_out_of_range(x_ptr, TYPE: tl.constexpr, VALUE: tl.constexpr):
    tl.store(x_ptr, (tl.load(x_ptr).to(TYPE) + VALUE).to(tl.float32))


@pytest.mark.parametrize(
    ("name", "value"),
    [("int8", 128), ("int8", -129), ("uint8", -1), ("int16", 40000), ("uint32", -5)],
)
def test_literals_out_of_range(device, name, value):
    x = device.to(np.ones(1, np.float32))
    with pytest.raises(triton.compiler.errors.CompilationError, match="out of range for type"):
        literal_out_of_range[(1,)](x, getattr(tl, name), value)


@triton.jit
def put_together_kernel(cat_ptr, stack_ptr, x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    x, y = tl.load(x_ptr + tl.arange(0, M)), tl.load(y_ptr + tl.arange(0, N))
    both, pair = tl.cat((x, y, x)), tl.stack((y[:2], x[:2]), axis=1)
    tl.static_assert(both.dtype == (x[0] + y[0]).dtype)
    tl.static_assert(pair.dtype == both.dtype)
    tl.store(cat_ptr + tl.arange(0, 2 * M + N), both)
    tl.store(stack_ptr + tl.arange(0, 4), tl.ravel(pair))


@pytest.mark.parametrize("N", [16, 5])
@pytest.mark.parametrize(
    ("first", "second"),
    [("int8", "int32"), ("float16", "float32"), ("bfloat16", "float16"), ("int64", "float16"),
     ("uint8", "int32"), ("float32", "int8"), ("int1", "int32")],
)  # fmt: skip
def test_tiles_of_several_types_put_together(device, first, second, N):
    """`cat` and `stack` of a tuple have the common type, as NumPy's have."""
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 100, 16).astype(NUMPY[first]), rng.integers(0, 100, N)
    y = y.astype(NUMPY[second])
    cat, stack = device.output(32 + N, "fp64"), device.output((2, 2), "fp64")
    put_together_kernel[(1,)](cat.array, stack.array, device.to(x), device.to(y), 16, N)
    wide = [array.astype(np.float64) for array in (x, y, x)]
    np.testing.assert_array_equal(cat.numpy(), np.concatenate(wide))
    np.testing.assert_array_equal(stack.numpy(), np.stack((wide[1][:2], wide[0][:2]), axis=1))


@triton.jit
def division_kernel(out_ptr, x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x // y)
    tl.store(out_ptr + N + offsets, x % y)
    tl.store(out_ptr + 2 * N + offsets, (x / y * 1000).to(tl.int32))
    tl.store(out_ptr + 3 * N + offsets, x >> 2)
    tl.store(out_ptr + 4 * N + offsets, (x << 3) ^ (~x & y) | 1)


@pytest.mark.parametrize("name", ["int32", "uint32", "int8", "uint16", "int64"])
def test_division_truncates_as_in_c(device, name):
    dtype, generator = np.dtype(name), np.random.default_rng(3)
    low = 0 if name.startswith("u") else -100
    x = generator.integers(low, 100, 64).astype(dtype)
    y = generator.integers(1, 12, 64).astype(dtype)
    y[::3] *= 1 if low == 0 else -1
    out = device.output((5, 64), "i64")
    division_kernel[(1,)](out.array, device.to(x), device.to(y), 64)
    quotient = np.trunc(x.astype(np.float64) / y).astype(np.int64)
    result = out.numpy()
    np.testing.assert_array_equal(result[0], quotient)
    np.testing.assert_array_equal(result[1], x.astype(np.int64) - quotient * y)
    np.testing.assert_allclose(result[2], np.trunc(x.astype(np.float64) / y * 1000), atol=1)
    np.testing.assert_array_equal(result[3], x >> 2)
    np.testing.assert_array_equal(result[4], (x << 3) ^ (~x & y) | 1)


@triton.jit
def cast_kernel(out_ptr, x_ptr, TO: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(TO))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pair
        for pair in itertools.product(
            ["int8", "uint8", "int32", "uint64", "float16", "bfloat16", "float32", "float64"],
            repeat=2,
        )
        if pair[0] != pair[1]
    ],
)
def test_casts(device, source, target):
    """Values that every type holds, with fractions where the source has them: they are cut off."""
    generator = np.random.default_rng(5)
    values = generator.integers(0, 30, 32) + generator.choice([0, 0.25, 0.5, 0.75], 32)
    x = values.astype(NUMPY[source])
    short = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
    name = short.get(target) or target.replace("uint", "u").replace("int", "i")
    out = device.output(32, name)
    cast_kernel[(1,)](out.array, device.to(x), getattr(tl, target), 32)
    expected = x.astype(np.float64)
    expected = np.trunc(expected) if kind(target) == 1 else expected
    np.testing.assert_array_equal(
        out.numpy().astype(np.float64), expected.astype(NUMPY[target]).astype(np.float64)
    )


@triton.jit
def bool_kernel(out_ptr, x_ptr, k_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, k = tl.load(x_ptr + offsets), tl.load(k_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(tl.int1).to(tl.int32) + 2 * k.to(tl.int1).to(tl.int32))
    logic = (not (x > 0)).to(tl.int32) + 2 * (k > 3 and x > 0) + 4 * (k > 3 or x > 0)
    tl.store(out_ptr + N + offsets, logic)
    address = k_ptr.to(tl.int64) + 4 * offsets
    tl.store(out_ptr + 2 * N + offsets, tl.load(address.to(tl.pointer_type(tl.int32))))
    tl.store(out_ptr + 3 * N + offsets, k_ptr.to(tl.int1) & (k_ptr != 0))


def test_truth_and_addresses(device):
    generator = np.random.default_rng(6)
    x = generator.choice([0.0, -0.0, 0.25, -3.0, np.nan], 64).astype(np.float32)
    k = generator.integers(0, 7, 64).astype(np.int32)
    out = device.output((4, 64), "i32")
    bool_kernel[(1,)](out.array, device.to(x), device.to(k), 64)
    above = x > 0
    logic = ~above + 2 * ((k > 3) & above) + 4 * ((k > 3) | above)
    np.testing.assert_array_equal(out.numpy(), [(x != 0) + 2 * (k != 0), logic, k, np.ones(64)])


@triton.jit
def bit_kernel(out_ptr, x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(tl.int32, bitcast=True))
    half = x.to(tl.float16)
    tl.store(out_ptr + N + offsets, half.to(tl.uint16, bitcast=True))
    tl.store(out_ptr + 2 * N + offsets, half.to(tl.bfloat16).to(tl.int16, bitcast=True))


def test_bitcasts_and_half_to_bfloat(device):
    x = np.random.default_rng(7).standard_normal(64).astype(np.float32)
    out = device.output((3, 64), "i32")
    bit_kernel[(1,)](out.array, device.to(x), 64)
    half = x.astype(np.float16)
    expected = [
        x.view(np.int32),
        half.view(np.uint16),
        half.astype(np.float32).astype(ml_dtypes.bfloat16).view(np.int16),
    ]
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def overflow_kernel(out_ptr, x_ptr, y_ptr, OP: tl.constexpr, CHECK: tl.constexpr):
    x, y = tl.load(x_ptr), tl.load(y_ptr)
    if OP == "add":
        result = tl.add(x, y, sanitize_overflow=CHECK)
    elif OP == "sub":
        result = tl.sub(x, y, CHECK)
    else:
        result = tl.mul(x, y, sanitize_overflow=CHECK)
    tl.store(out_ptr, result)


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "uint32"])
def test_overflow_is_caught_with_debug(name, monkeypatch):
    """On the CPU: a failed assertion on the GPU ends the process's context."""
    dtype = np.dtype(name)
    limits = np.iinfo(dtype)
    cases = [("add", limits.max, 1), ("sub", limits.min, 1), ("mul", limits.max, 2)]
    for op, x, y in cases:
        out, a, b = np.zeros(1, dtype), np.array([x], dtype), np.array([y], dtype)
        overflow_kernel[(1,)](out, a, b, op, False, debug=True)
        with np.errstate(over="ignore"):
            wrapped = {"add": a + b, "sub": a - b, "mul": a * b}[op]
        np.testing.assert_array_equal(out, wrapped)
        overflow_kernel[(1,)](out, a, np.zeros_like(b), op, True, debug=True)
        with pytest.raises(Exception, match=f"{name} overflow"):
            overflow_kernel[(1,)](out, a, b, op, True, debug=True)
        overflow_kernel[(1,)](out, a, b, op, True)
        overflow_kernel[(1,)](out, a, b, op, True, debug=True, sanitize_overflow=False)
        np.testing.assert_array_equal(out, wrapped)
        monkeypatch.setenv("PANTILE_SANITIZE_OVERFLOW", "0")
        triton.jit(overflow_kernel.fn)[(1,)](out, a, b, op, True, debug=True)
        monkeypatch.delenv("PANTILE_SANITIZE_OVERFLOW")


@triton.jit
def broken_kernel(x_ptr, WHICH: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    i = tl.arange(0, 16)
    u = i.to(tl.uint32)
    if WHICH == "signs of //":
        y = i // u
    elif WHICH == "signs of %":
        y = u % i
    elif WHICH == "float //":
        y = x // 2.0
    elif WHICH == "float <<":
        y = x << 1
    elif WHICH == "float &":
        y = x & 1
    elif WHICH == "pointer + float":
        y = x_ptr + x
    elif WHICH == "pointer - pointer":
        y = x_ptr - x_ptr
    elif WHICH == "shapes":
        y = x + tl.arange(0, 32)
    elif WHICH == "fp8 of int":
        y = i.to(tl.float8e5)
    elif WHICH == "int of fp8":
        y = x.to(tl.float8e5).to(tl.int32)
    elif WHICH == "bitcast":
        y = x.to(tl.int16, bitcast=True)
    elif WHICH == "~ of float":
        y = ~x
    tl.store(x_ptr + i, y)


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("signs of //", "different signedness"),
        ("signs of %", "different signedness"),
        ("float //", "takes integers"),
        ("float <<", "takes integers"),
        ("float &", "takes integers"),
        ("pointer + float", "moves by integers"),
        ("pointer - pointer", "two pointers"),
        ("shapes", r"\[16\].*\[32\]"),
        ("fp8 of int", "cannot cast"),
        ("int of fp8", "cannot cast"),
        ("bitcast", "cannot bitcast"),
        ("~ of float", "takes no"),
    ],
)
def test_operands_that_do_not_fit(which, message):
    with pytest.raises(triton.compiler.errors.CompilationError, match=message):
        broken_kernel[(1,)](np.ones(16, np.float32), which)
