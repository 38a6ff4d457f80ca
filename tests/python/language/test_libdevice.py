"""libdevice's functions, each overload of the compiler's table, against exact references."""

import elementwise_kernels
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import DTYPES
from exact import exact, rounded, to_integer, unit
from libdevice_reference import INTEGER, REAL, integer_result, overloads
from pantile.language.extra import libdevice

COUNT = 128
OVERLOADS = list(overloads())


def run(device, name, arrays, result):
    return elementwise_kernels.run(device, getattr(libdevice, name), arrays, result)


def is_float(dtype):
    return dtype.startswith("fp")


def selected(choose):
    """Parameters of the overloads that `choose(name, operands, result)` wants, with ids."""
    return [
        pytest.param(name, operands, result, id=f"{name}-{'-'.join(operands)}")
        for name, operands, result in OVERLOADS
        if choose(name, operands, result)
    ]


def generator(name, operands):
    return np.random.default_rng(list(f"{name} {operands}".encode()))


def random_bits(rng, dtype, n=COUNT):
    """Integers over the whole range, of all lengths, with the ends."""
    kind = np.dtype(DTYPES[dtype])
    bits = 8 * kind.itemsize
    values = (
        rng.integers(0, 2**bits, n, dtype=np.uint64, endpoint=False)
        if bits < 64
        else (
            rng.integers(0, 2**63, n, dtype=np.uint64) * 2 + rng.integers(0, 2, n, dtype=np.uint64)
        )
    )
    values >>= rng.integers(0, bits, n).astype(np.uint64)
    values[:4] = [0, 1, 2 ** (bits - 1), 2**bits - 1]
    signs = rng.integers(0, 2, n).astype(bool) & (kind.kind == "i")
    values = np.where(signs, np.uint64(0) - values, values)
    return values.astype(f"u{kind.itemsize}").view(kind)


def test_table_has_all_names():
    assert len({name for name, _, _ in OVERLOADS}) == 198
    assert sorted(libdevice.__all__) == sorted({name for name, _, _ in OVERLOADS})


@pytest.mark.parametrize(
    "name, operands, result",
    selected(lambda name, operands, result: name in INTEGER and not is_float(operands[0])),
)
def test_integers(device, name, operands, result):
    """An integer function is exact."""
    rng = generator(name, operands)
    arrays = [random_bits(rng, dtype) for dtype in operands]
    for array in arrays:
        rng.shuffle(array)
    want = [integer_result(name, operands, [int(v) for v in row], result) for row in zip(*arrays)]
    np.testing.assert_array_equal(run(device, name, arrays, result), np.array(want, DTYPES[result]))


@pytest.mark.parametrize(
    "name, operands, result",
    selected(lambda name, operands, result: name in REAL and is_float(operands[-1])),
)
def test_real(device, name, operands, result):
    """A real function is as exact as its table says."""
    check_real(device, name, operands, result, REAL[name])


@pytest.mark.parametrize(
    "name, operands, result",
    selected(
        lambda name, operands, result: name in ("ldexp", "scalbn", "pow") and operands[-1] == "i32"
    ),
)
def test_integer_exponent(device, name, operands, result):
    row = REAL[name]
    if name == "pow":
        # Repeated products: each adds its own rounding error.
        exponents = lambda rng, n, dtype: rng.integers(-8, 9, n).astype(np.int32)
        row = type(row)(row.exact, (row.domains[0], exponents), (16, 16))
    check_real(device, name, operands, result, row)


def check_real(device, name, operands, result, row):
    rng = generator(name, operands)
    dtypes = [DTYPES[t] for t in operands]
    arrays = [draw(rng, COUNT, dtype) for draw, dtype in zip(row.domains, dtypes)]
    got = run(device, name, arrays, result)
    precision = 0 if "fp32" in operands else 1
    for i, values in enumerate(zip(*arrays)):
        value = row.exact(*map(exact, values))
        # NVIDIA counts from the correctly rounded result, which may be half a unit off itself.
        units = row.units[precision] + 0.5 if row.units[precision] >= 1 else row.units[precision]
        allowed = units * unit(value, got.dtype) * 1.001
        if any(row.absolute):
            allowed = max(allowed, row.absolute[precision] * max(1, abs(value)))
        assert np.isfinite(got[i]), f"{name}{values} gave {got[i]}"
        error = abs(exact(got[i]) - value)
        assert error <= allowed, (
            f"{name}{values}: {got[i]} instead of {float(value)}, "
            f"{float(error / unit(value, got.dtype))} units off"
        )


@pytest.mark.parametrize(
    "name, operands, result",
    selected(
        lambda name, operands, result: (
            name in REAL and REAL[name].specials and is_float(operands[0])
        )
    ),
)
def test_special_values(device, name, operands, result):
    """Functions of libdevice give what C's do for NaN, infinities and signed zeros."""
    one_operand = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5])
    grid = np.meshgrid(*[one_operand] * len(operands), indexing="ij")
    arrays = [axis.ravel().astype(DTYPES[operands[0]]) for axis in grid]
    got = run(device, name, arrays, result)
    with np.errstate(all="ignore"):
        want = REAL[name].specials(*[a.astype(np.float64) for a in arrays])
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    defined = ~np.isnan(want)
    np.testing.assert_array_equal(np.isinf(got[defined]), np.isinf(want[defined]))
    np.testing.assert_array_equal(np.signbit(got[defined]), np.signbit(want[defined]))
    np.testing.assert_allclose(got[defined], want[defined], rtol=1e-6)


ROUNDED = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
    "sqrt": lambda x: REAL["sqrt"].exact(x),
    "fma": lambda x, y, z: x * y + z,
}


def is_rounded(name):
    return name[:-3] in ROUNDED and name[-3:] in ("_rn", "_rz", "_rd", "_ru")


@pytest.mark.parametrize("name, operands, result", selected(lambda name, *_: is_rounded(name)))
def test_rounded_arithmetic(device, name, operands, result):
    operation, mode = name[:-3], name[-2:]
    rng = generator(name, operands)
    arrays = [(rng.standard_normal(COUNT) * 8).astype(DTYPES[t]) for t in operands]
    if operation == "sqrt":
        arrays = [np.abs(arrays[0])]
    want = [
        rounded(ROUNDED[operation](*map(exact, values)), DTYPES[result], mode)
        for values in zip(*arrays)
    ]
    np.testing.assert_array_equal(run(device, name, arrays, result), np.array(want))


def converted(name):
    return "2" in name and name[-3:] in ("_rn", "_rz", "_rd", "_ru")


@pytest.mark.parametrize(
    "name, operands, result",
    selected(lambda name, operands, result: converted(name) and is_float(result)),
)
def test_conversion_to_float(device, name, operands, result):
    rng = generator(name, operands)
    if is_float(operands[0]):
        x = rng.standard_normal(COUNT) * 1e3
    else:
        x = random_bits(rng, operands[0])
    want = [rounded(exact(v), DTYPES[result], name[-2:]) for v in x]
    np.testing.assert_array_equal(run(device, name, [x], result), np.array(want))


@pytest.mark.parametrize(
    "name, operands, result",
    selected(lambda name, operands, result: converted(name) and not is_float(result)),
)
def test_conversion_to_integer(device, name, operands, result):
    rng = generator(name, operands)
    target = name.split("2")[1][:-3]
    bits, signed = (64 if "ll" in target else 32), not target.startswith("u")
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    x = (rng.standard_normal(COUNT) * np.exp2(rng.uniform(0, bits + 2, COUNT))).astype(
        DTYPES[operands[0]]
    )
    x[:6] = [np.inf, -np.inf, 0.5, 1.5, -2.5, 0.0]
    want = [
        min(max(to_integer(exact(v), name[-2:]), low), high)
        if np.isfinite(v)
        else (high if v > 0 else low)
        for v in x
    ]
    got = run(device, name, [x], result)
    if not signed:
        got = got.view(f"u{bits // 8}")
    np.testing.assert_array_equal(got.astype(object), np.array(want, dtype=object))


BITS = {
    "int_as_float": ("i32", np.float32),
    "uint_as_float": ("u32", np.float32),
    "longlong_as_double": ("i64", np.float64),
    "float_as_int": ("fp32", np.int32),
    "float_as_uint": ("fp32", np.int32),
    "double_as_longlong": ("fp64", np.int64),
}


@pytest.mark.parametrize("name, operands, result", selected(lambda name, *_: name in BITS))
def test_bits(device, name, operands, result):
    """A function of bits keeps every bit."""
    dtype, target = BITS[name]
    x = generator(name, operands).standard_normal(COUNT).astype(f"f{np.dtype(target).itemsize}")
    x = x.view(DTYPES[dtype])
    np.testing.assert_array_equal(run(device, name, [x], result), x.view(target))


def test_halves_of_a_double(device):
    x = np.random.default_rng(5).standard_normal(COUNT)
    low, high = x.view(np.int32)[::2].copy(), x.view(np.int32)[1::2].copy()
    np.testing.assert_array_equal(run(device, "double2loint", [x], "i32"), low)
    np.testing.assert_array_equal(run(device, "double2hiint", [x], "i32"), high)
    np.testing.assert_array_equal(run(device, "hiloint2double", [high, low], "fp64"), x)


TESTS = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "finitef": np.isfinite,
    "isfinited": np.isfinite,
    "signbit": np.signbit,
}


@pytest.mark.parametrize("name, operands, result", selected(lambda name, *_: name in TESTS))
def test_kinds_of_float(device, name, operands, result):
    x = generator(name, operands).standard_normal(COUNT).astype(DTYPES[operands[0]])
    x[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    np.testing.assert_array_equal(run(device, name, [x], result) != 0, TESTS[name](x))


@pytest.mark.parametrize(
    "name, operands, result", selected(lambda name, *_: name in ("llrint", "llround"))
)
def test_nearest_integer(device, name, operands, result):
    x = (generator(name, operands).standard_normal(COUNT) * 1e3).astype(DTYPES[operands[0]])
    x[:4] = [0.5, 1.5, -2.5, -0.5]
    away = np.copysign(np.floor(np.abs(x) + 0.5), x)
    want = (np.rint(x) if name == "llrint" else away).astype(np.int64)
    np.testing.assert_array_equal(run(device, name, [x], result), want)


@pytest.mark.parametrize("name, operands, result", selected(lambda name, *_: name == "ilogb"))
def test_exponent(device, name, operands, result):
    """The exponent is that of `frexp`."""
    x = np.exp2(generator(name, operands).uniform(-90, 90, COUNT)).astype(DTYPES[operands[0]])
    np.testing.assert_array_equal(run(device, name, [-x], result), np.frexp(x)[1] - 1)


@pytest.mark.parametrize("name, operands, result", selected(lambda name, *_: name == "nextafter"))
def test_next_float(device, name, operands, result):
    rng = generator(name, operands)
    x, y = (rng.standard_normal(COUNT).astype(DTYPES[operands[0]]) for _ in range(2))
    y[:4] = x[:4]
    np.testing.assert_array_equal(run(device, name, [x, y], result), np.nextafter(x, y))


def test_every_overload_is_tested():
    special = {*BITS, *TESTS, "llrint", "llround", "ilogb", "nextafter"}
    special |= {"double2loint", "double2hiint", "hiloint2double"}
    for name, operands, _ in OVERLOADS:
        groups = [
            name in INTEGER and not is_float(operands[0]),
            name in REAL and (is_float(operands[-1]) or is_float(operands[0])),
            is_rounded(name),
            converted(name),
            name in special,
        ]
        assert sum(groups) == 1, f"{name} {operands}"


@triton.jit
def longest(a, b):
    return tl.extra.cuda.libdevice.norm4d(a, b, 0.0, 0.0)


@triton.jit
def places_kernel(out, x, scale, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out, tl.reduce(v, 0, longest))
    tl.store(out + 1, tl.extra.libdevice.hypot(scale, 3.0))
    total = 0.0
    for k in range(4):
        total += tl.sum(libdevice.fma(v[:, None], v[None, :], libdevice.float2int_rn(scale) * 1.0))
    tl.store(out + 2, total)


def test_scalars_shapes_and_combiners(device):
    x = np.random.default_rng(9).standard_normal(64).astype(np.float32)
    out = device.output(3, "fp32")
    places_kernel[(1,)](out.array, device.to(x), 2.5, 64)
    wide = x.astype(np.float64)
    want = [np.sqrt((wide**2).sum()), np.hypot(2.5, 3), 4 * (np.outer(wide, wide) + 2).sum()]
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5)
