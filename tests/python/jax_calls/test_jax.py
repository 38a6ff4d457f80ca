"""`pantile.jax.call` under JAX's transformations, against NumPy in float64."""

import functools
import linecache
import os
import re
from pathlib import Path

import numpy as np
import pytest

# Before JAX makes its devices: several on the CPU, and no memory that other tests need.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import pantile  # noqa: E402
import pantile.jax  # noqa: E402
import pantile.language as tl  # noqa: E402
from jax_kernels import (  # noqa: E402
    CASES,
    accumulate,
    add,
    add_kernel,
    blocks,
    like,
    matmul,
    shaped,
    softmax,
)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)], autouse=True)
def platform(request):
    try:
        device = jax.devices(request.param)[0]
    except RuntimeError:
        pytest.skip("needs a GPU")
    with jax.default_device(device):
        yield request.param


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def in_float64(arrays):
    floats = [np.asarray(x) for x in arrays]
    return [x.astype(np.float64) if x.dtype.kind not in "iub" else x for x in floats]


def check(case, results, truths):
    assert len(results) == len(truths)
    for result, truth in zip(in_float64(results), truths):
        assert result.shape == np.shape(truth)
        scale = np.abs(truth).max() if np.size(truth) else 1
        np.testing.assert_allclose(result, truth, rtol=0, atol=case.tolerance * max(scale, 1))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", ["eager", "jit"])
def test_kernels(name, form, rng):
    """A kernel gives the same eagerly and under `jit`, and its inputs stay."""
    case = CASES[name]
    run = case.run if form == "eager" else jax.jit(case.run)
    for _ in range(2):
        inputs = case.make(rng)
        kept = [x.copy() for x in inputs]
        arrays = [jnp.asarray(x) for x in inputs]
        check(case, run(*arrays), case.truth(*in_float64(inputs)))
        for array, before in zip(arrays, kept):  # inputs in place stay as they were
            np.testing.assert_array_equal(np.asarray(array), before)


@pytest.mark.parametrize("name", CASES)
def test_batches(name, rng):
    """All inputs have the axis, or only one has it, or the axis is not the first."""
    case = CASES[name]
    elements = [case.make(rng) for _ in range(3)]
    stacked = [np.stack(column) for column in zip(*elements)]
    truths = [case.truth(*in_float64(inputs)) for inputs in elements]
    check(case, jax.jit(jax.vmap(case.run))(*stacked), list(map(np.stack, zip(*truths))))

    last = [np.moveaxis(x, 0, -1) for x in stacked]
    results = jax.vmap(case.run, in_axes=-1, out_axes=-1)(*last)
    check(case, [jnp.moveaxis(x, -1, 0) for x in results], list(map(np.stack, zip(*truths))))

    for i in range(len(stacked)):
        inputs = [*elements[0][:i], stacked[i], *elements[0][i + 1 :]]
        axes = [0 if j == i else None for j in range(len(stacked))]
        truths = [
            case.truth(*in_float64([*elements[0][:i], own[i], *elements[0][i + 1 :]]))
            for own in elements
        ]
        check(case, jax.vmap(case.run, in_axes=axes)(*inputs), list(map(np.stack, zip(*truths))))


@pytest.mark.parametrize("name", ["add", "batched_add", "accumulate", "total", "matmul"])
def test_batches_of_batches(name, rng):
    """Two axes of the batch, the inner one of all inputs, the outer one of the last alone."""
    case = CASES[name]
    inner = [case.make(rng) for _ in range(3)]
    outer = [[case.make(rng)[-1] for _ in range(3)] for _ in range(2)]
    first = [np.stack(column) for column in zip(*inner)][:-1]
    run = jax.vmap(jax.vmap(case.run), in_axes=(*(None for _ in first), 0))
    truths = [
        [case.truth(*in_float64([*inner[j][:-1], outer[i][j]])) for j in range(3)] for i in range(2)
    ]
    expected = [np.stack([np.stack(row) for row in column]) for column in _columns(truths)]
    check(case, jax.jit(run)(*first, np.array(outer)), expected)


def _columns(truths):
    return zip(*([*zip(*row)] for row in truths))


def launches_of(run, *args):
    """The extents of the grid and of the batch in the custom call of `run`."""
    text = jax.jit(run).lower(*args).as_text()
    numbers = {}
    for name in ("launch", "batch"):
        body = re.search(rf"\b{name} = (?:dense<|array<i64: )(.*?)>", text)[1]
        numbers[name] = [int(x) for x in re.findall(r"-?\d+", body)]
    return numbers["launch"][:3], numbers["batch"]


def test_a_batch_is_one_launch_where_an_axis_is_free(rng):
    x = rng.standard_normal((6, 1001)).astype(np.float32)
    grid, batch = launches_of(jax.vmap(add), x, x)
    assert grid == [16, 1, 6] and batch[0] == 1
    three = rng.standard_normal((6, 5, 37)).astype(np.float32)
    grid, batch = launches_of(jax.vmap(CASES["batched_add"].run), three, three)
    assert grid == [3, 2, 3] and batch[0] == 6


@pantile.jit
def waiting_kernel(x, lock, out, n: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + tl.arange(0, n), tl.load(x + tl.arange(0, n)) * 2)
    tl.atomic_xchg(lock, 0)


def waiting(x):
    lock = jnp.zeros((1,), jnp.int32)
    shapes = (like(x), shaped((1,), np.int32))
    aliases = {"lock": 1}
    return pantile.jax.call(
        waiting_kernel, x, lock, out_shape=shapes, grid=1, n=x.size, input_output_aliases=aliases
    )[0]


def test_programs_that_wait_are_launched_one_after_the_other(rng):
    x = rng.standard_normal((3, 64)).astype(np.float32)
    _, batch = launches_of(jax.vmap(waiting), x)
    assert batch[0] == 3
    np.testing.assert_array_equal(jax.vmap(waiting)(x), 2 * x)


def test_an_empty_batch_and_an_empty_grid():
    x = jnp.zeros((0, 1001), jnp.float32)
    assert jax.vmap(add)(x, x)[0].shape == (0, 1001)
    y = jnp.zeros((0,), jnp.float32)
    assert add(y, y)[0].shape == (0,)


if hasattr(jax, "shard_map"):
    shard_map = jax.shard_map
else:
    from jax.experimental.shard_map import shard_map as _shard_map

    shard_map = functools.partial(_shard_map, check_rep=False)


def mesh_of_two():
    devices = jax.devices(jax.config.jax_default_device.platform)
    if len(devices) < 2:
        pytest.skip("needs two devices")
    return jax.sharding.Mesh(np.array(devices[:2]), ("d",))


def test_shard_map(rng):
    """Three kernels, a launch per device, on inputs that are split and ones that are not."""
    mesh = mesh_of_two()
    split, whole = jax.sharding.PartitionSpec("d"), jax.sharding.PartitionSpec()
    x, y = rng.standard_normal((2, 64, 40)).astype(np.float32)
    b = rng.standard_normal((40, 24)).astype(np.float32)

    def sharded(run, *specs):
        return jax.jit(shard_map(lambda *a: run(*a)[0], mesh=mesh, in_specs=specs, out_specs=split))

    with jax.default_device(None):
        results = [
            sharded(lambda p, q: [r.reshape(p.shape) for r in add(p, q)], split, split)(x, y),
            sharded(matmul, split, whole)(x, b),
            sharded(softmax, split)(x),
        ]
    assert all(len(result.devices()) == 2 for result in results)
    x, y, b = in_float64([x, y, b])
    check(CASES["add"], results, [x + y, x @ b, *CASES["softmax"].truth(x)])


@pantile.jit
def silu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + i, v * tl.sigmoid(v), i < n)


@pantile.jit
def silu_gradient_kernel(x, cotangent, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v, s = tl.load(x + i, i < n), tl.sigmoid(tl.load(x + i, i < n))
    tl.store(out + i, tl.load(cotangent + i, i < n) * s * (1 + v * (1 - s)), i < n)


@jax.custom_vjp
def silu(x):
    return pantile.jax.call(
        silu_kernel, x, out_shape=like(x), grid=blocks(x.size), n=x.size, BLOCK=128
    )


def silu_backward(x, cotangent):
    return (
        pantile.jax.call(
            silu_gradient_kernel,
            x,
            cotangent,
            out_shape=like(x),
            grid=blocks(x.size),
            n=x.size,
            BLOCK=128,
        ),
    )


silu.defvjp(lambda x: (silu(x), x), silu_backward)


def test_gradients(rng):
    """A custom gradient made of kernels is JAX's own."""
    x, w = rng.standard_normal((2, 5, 77)).astype(np.float32)

    def loss(f):
        return lambda x: jnp.sum(w * f(x))

    expected = jax.grad(loss(jax.nn.silu))(x)
    np.testing.assert_allclose(jax.grad(loss(silu))(x), expected, atol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(loss(silu)))(x), expected, atol=1e-5)
    rows = jax.vmap(jax.grad(lambda r, v: jnp.sum(v * silu(r))))(x, w)
    np.testing.assert_allclose(rows, expected, atol=1e-5)


def test_a_kernel_is_not_differentiated_by_default(rng):
    x = rng.standard_normal(77).astype(np.float32)
    with pytest.raises(ValueError, match="`add_kernel`: give its gradient by `jax.custom_vjp`"):
        jax.grad(lambda x: add(x, x)[0].sum())(x)
    # Where it is held constant nothing is to be differentiated.
    result = jax.grad(lambda x: jnp.sum(x * add(jax.lax.stop_gradient(x), x * 0 + 1)[0].shape[0]))
    with pytest.raises(ValueError, match="custom_vjp"):
        result(x)


def test_in_loops_and_branches(rng):
    x = rng.standard_normal(100).astype(np.float32)

    @jax.jit
    def run(x, n):
        summed = jax.lax.fori_loop(0, n, lambda _, total: accumulate(total, x)[0], x)
        return jax.lax.cond(n > 3, lambda v: add(v, v)[0], lambda v: v, summed)

    np.testing.assert_allclose(run(x, 3), 4 * x, rtol=1e-6)
    np.testing.assert_allclose(run(x, 4), 10 * x, rtol=1e-5)


def test_in_place_does_not_change_what_others_read(rng):
    x = rng.standard_normal(123).astype(np.float32)
    increment = CASES["increment"].run

    @jax.jit
    def run(x):
        return increment(x)[0], x * 2, increment(increment(x)[0])[0]

    once, double, twice = run(x)
    np.testing.assert_array_equal(once, x + np.float32(1.5))
    np.testing.assert_array_equal(double, x * 2)
    np.testing.assert_array_equal(twice, (x + np.float32(1.5)) + np.float32(1.5))


def test_in_place_with_donation(rng):
    x = rng.standard_normal(123).astype(np.float32)
    run = jax.jit(lambda x: CASES["increment"].run(x)[0], donate_argnums=0)
    np.testing.assert_array_equal(run(jnp.array(x)), x + np.float32(1.5))


def test_arrays_of_a_launch(rng, platform):
    """Outside of JAX's transformations `kernel[grid]` takes arrays of JAX, and writes to them."""
    x = jnp.asarray(rng.standard_normal(1001).astype(np.float32))
    out = jax.block_until_ready(jnp.zeros(1001, np.float32))
    add_kernel[(16,)](jax.block_until_ready(x), x, 1001, out, BLOCK=64)
    if platform == "cuda":
        pantile.runtime.driver.driver.active.synchronize()
    np.testing.assert_array_equal(np.asarray(out), 2 * np.asarray(x))


@pantile.jit
def mirror_kernel(total, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(total + i, i < n) + 2 * tl.load(x + n - 1 - i, i < n)
    tl.store(total + i, value, i < n)


def test_in_place_with_an_input_that_is_read_too(rng):
    """The same array twice: what is read stays as it was."""
    x = rng.standard_normal(500).astype(np.float32)

    def run(x):
        return pantile.jax.call(
            mirror_kernel, x, x, x.size, out_shape=like(x), grid=blocks(x.size), BLOCK=64,
            input_output_aliases={0: 0},
        )  # fmt: skip

    once = x + 2 * x[::-1]
    for form in (run, jax.jit(run)):
        np.testing.assert_array_equal(form(x), once)
    chained = jax.jit(lambda x: run(run(x + 0)), donate_argnums=0)
    np.testing.assert_allclose(chained(jnp.array(x)), once + 2 * once[::-1], rtol=1e-6)


def test_arrays_are_in_row_major_order(rng):
    x = rng.standard_normal((19, 35)).astype(np.float32)
    run = CASES["transpose"].run
    np.testing.assert_array_equal(jax.jit(lambda x: run(x.T)[0].T)(x).T, x)
    np.testing.assert_array_equal(jax.jit(lambda x: run(jnp.flip(x, 1).T)[0])(x), x[:, ::-1])


@pantile.jit
def constant_kernel(value, out, n: tl.constexpr, kind: tl.constexpr):
    tl.store(out + tl.arange(0, n), tl.full((n,), value, kind))


@pytest.mark.parametrize(
    "value, kind, dtype",
    [
        (1, tl.int32, np.int32),
        (True, tl.int32, np.int32),
        (1.0, tl.float32, np.float32),
        (-0.0, tl.float32, np.float32),
        (0.0, tl.float32, np.float32),
        (float("nan"), tl.float32, np.float32),
        (float("-inf"), tl.float32, np.float32),
        (2**31 - 1, tl.int32, np.int32),
        (-(2**31), tl.int32, np.int32),
        (2**63 + 5, tl.uint32, np.uint32),
        (np.float32(0.1), tl.float32, np.float32),
        (np.int64(-7), tl.int32, np.int32),
        (tl.constexpr(16), tl.int32, np.int32),
    ],
)
def test_numbers(value, kind, dtype):
    """Python's numbers arrive as the kernel's types."""
    out = pantile.jax.call(
        constant_kernel, value, out_shape=shaped((16,), dtype), grid=1, n=16, kind=kind
    )
    plain = value.value if isinstance(value, tl.constexpr) else value
    expected = np.array(plain if dtype != np.uint32 else plain % 2**32).astype(dtype)
    np.testing.assert_array_equal(out, np.full(16, expected))
    np.testing.assert_array_equal(np.signbit(out), np.full(16, np.signbit(expected)))


@pantile.jit
def narrow_kernel(x, codes, wide, n: tl.constexpr):
    at = tl.arange(0, n)
    code = tl.load(x + at).to(codes.dtype.element_ty)
    tl.store(codes + at, code)
    tl.store(wide + at, code.to(tl.float32))


@pytest.mark.parametrize(
    "dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
)
def test_floats_of_8_bits(dtype, rng):
    x = rng.standard_normal(256).astype(np.float32)
    shapes = [shaped((256,), jnp.dtype(dtype)), shaped((256,), np.float32)]
    codes, wide = pantile.jax.call(narrow_kernel, x, out_shape=shapes, grid=1, n=256)
    expected = x.astype(jnp.dtype(dtype))
    np.testing.assert_array_equal(np.asarray(codes).view(np.uint8), expected.view(np.uint8))
    np.testing.assert_array_equal(wide, expected.astype(np.float32))


@pytest.mark.parametrize("name", ["a-b c<1>", "2x", "lambda", "x", "\N{GREEK SMALL LETTER ALPHA}"])
def test_names_of_the_machine_code(name, rng):
    """What no symbol may contain is replaced, with a batch, too."""
    x = rng.standard_normal((3, 40)).astype(np.float32)

    def run(x):
        return pantile.jax.call(
            silu_kernel, x, n=x.size, out_shape=like(x), grid=1, name=name, BLOCK=64
        )

    expected = x / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_allclose(jax.jit(jax.vmap(run))(x), expected, atol=1e-6)
    np.testing.assert_allclose(run(x[0]), expected[0], atol=1e-6)


def test_outputs_as_a_tree(rng):
    x = rng.standard_normal(64).astype(np.float32)
    shapes = {"odd": shaped((32,), np.float32), "even": [shaped((32,), np.float32)]}
    from jax_kernels import split_kernel

    tree = pantile.jax.call(split_kernel, x, n=32, out_shape=shapes, grid=1, BLOCK=32)
    # Leaves in JAX's order, which sorts a dict's names.
    np.testing.assert_array_equal(tree["even"][0], x[::2])
    np.testing.assert_array_equal(tree["odd"], x[1::2])


def test_an_output_named_twice_is_zeroed_once(rng):
    x = rng.standard_normal(100).astype(np.float32)

    def run(x):
        return pantile.jax.call(
            silu_kernel, x, n=64, out_shape=like(x), grid=1, BLOCK=64, zeroed_outputs=(0, 0)
        )

    expected = np.zeros(100)
    expected[:64] = x[:64] / (1 + np.exp(-x[:64].astype(np.float64)))
    np.testing.assert_allclose(jax.jit(run)(x), expected, atol=1e-6)
    assert len(jax.make_jaxpr(run)(x).eqns[-1].invars) == 2


def test_the_names_of_jax_triton(rng):
    x, y = rng.standard_normal((2, 1000)).astype(np.float32)

    def run(x, y):
        return pantile.jax.triton_call(
            x,
            y,
            x.size,
            kernel=add_kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            grid=lambda meta: (pantile.jax.cdiv(x.size, meta["BLOCK"]), 1, 1),
            name="another_name",
            num_warps=2,
            num_stages=2,
            enable_fp_fusion=False,
            debug=False,
            BLOCK=pantile.jax.next_power_of_2(100),
        )

    np.testing.assert_array_equal(jax.jit(run)(x, y), x + y)
    assert pantile.jax.strides_from_shape((3, 5, 7)) == (35, 7, 1)


def test_the_page():
    """The listings of `docs/jax.md` run, in order."""
    page = Path(__file__).resolve().parents[3] / "docs/jax.md"
    listings = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    text = "\n".join(listings)
    linecache.cache["jax.md"] = (len(text), None, text.splitlines(True), "jax.md")
    exec(compile(text, "jax.md", "exec"), {"__name__": "page"})
    assert len(listings) > 2


@pantile.jit
def complex_kernel(x, y, out, n: tl.constexpr, turn: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(out + at, tl.load(x + at) * tl.load(y + at).conj() + turn)


@pytest.mark.parametrize("form", ["eager", "jit"])
def test_complex_numbers(rng, form):
    x, y = (rng.standard_normal((2, 32)) + 1j * rng.standard_normal((2, 32))).astype(np.complex64)

    def program(a, b):
        shape = shaped((32,), np.complex64)
        return pantile.jax.call(complex_kernel, a, b, out_shape=shape, grid=1, n=32, turn=2 - 1j)

    out = (jax.jit(program) if form == "jit" else program)(jnp.asarray(x), jnp.asarray(y))
    expected = x.astype(np.complex128) * y.conj() + (2 - 1j)
    assert out.dtype == np.complex64
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5)
