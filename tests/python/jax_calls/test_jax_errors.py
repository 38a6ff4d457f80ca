"""What is wrong with a call of `pantile.jax` is said in words, before anything runs."""

import os
import subprocess
import sys

import numpy as np
import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import pantile  # noqa: E402
import pantile.jax  # noqa: E402
import pantile.language as tl  # noqa: E402
from jax_kernels import add_kernel, scale_kernel, shaped, split_kernel  # noqa: E402

N = 100
OUT = shaped((N,), np.float32)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.fixture
def x():
    return jnp.asarray(np.random.default_rng(1).standard_normal(N).astype(np.float32))


def add(x, *args, **keywords):
    given = {"out_shape": OUT, "grid": 4, "BLOCK": 32, **keywords}
    return pantile.jax.call(add_kernel, x, x, *(args or (N,)), **given)


def scale(x, factor):
    return pantile.jax.call(scale_kernel, x, factor, False, out_shape=OUT, grid=4, n=N, BLOCK=32)


@pytest.mark.parametrize(
    "keywords, error, message",
    [
        ({"out_shape": ()}, TypeError, "`out_shape` of kernel `add_kernel` has no array"),
        ({"out_shape": (N,)}, TypeError, "holds 100, expected a `jax.ShapeDtypeStruct`"),
        ({"out_shape": (OUT, OUT)}, TypeError, "2 outputs, but 1 parameters are left.*`out`"),
        ({"out_shape": shaped((N,), np.complex128)}, TypeError, "complex128, which no kernel takes"),
        ({"out_shape": shaped((N,), np.float64)}, ValueError, "`jax_enable_x64` is set"),
        ({"grid": ()}, ValueError, "one to three extents"),
        ({"grid": (1, 2, 3, 4)}, ValueError, "one to three extents"),
        ({"grid": -1}, ValueError, "one to three extents"),
        ({"grid": 2.5}, TypeError, "expected integers"),
        ({"grid": lambda meta: "many"}, TypeError, "expected integers"),
        ({"grid": lambda meta: meta["SIZE"]}, KeyError, "SIZE"),
        ({"SIZE": 3}, KeyError, "SIZE.*unrecognised"),
        ({"y": 3}, TypeError, "multiple values for argument `y`"),
        ({"num_warps": 33}, ValueError, "num_warps must be from 1 to 32"),
        ({"num_warps": "two"}, TypeError, "num_warps must be an integer"),
        ({"BLOCK": {}}, TypeError, "`BLOCK` of kernel `add_kernel` is a `dict`, which cannot be hashed"),
        ({"BLOCK": np.arange(3)}, TypeError, "`BLOCK`.*compile-time value, but got an array"),
        ({"input_output_aliases": {5: 0}}, ValueError, "names input 5; its arrays are `x`, `y`"),
        ({"input_output_aliases": {-1: 0}}, ValueError, "names input -1"),
        ({"input_output_aliases": {"n": 0}}, ValueError, "names input 'n'"),
        ({"input_output_aliases": {0: 1}}, ValueError, "names output 1 of 1"),
        ({"input_output_aliases": {0: 0, 1: 0}}, ValueError, "output 0 twice"),
        (
            {"input_output_aliases": {0: 0}, "out_shape": shaped((N,), np.int32)},
            ValueError,
            r"input `x` is float32\[100\], output 0 is int32\[100\]",
        ),
        ({"zeroed_outputs": (1,)}, ValueError, "names output 1, which there is not"),
        ({"zeroed_outputs": (0,), "input_output_aliases": {0: 0}}, ValueError, "is in place"),
        ({"zeroed_outputs": 0}, TypeError, "`zeroed_outputs`.* is 0, expected positions of outputs"),
        ({"zeroed_outputs": ("out",)}, TypeError, "expected positions of outputs"),
        ({"launch_abi": "another"}, ValueError, "launch_abi"),
    ],
)  # fmt: skip
def test_calls(keywords, error, message, x):
    """A wrong keyword is refused eagerly and under `jit`."""
    with pytest.raises(error, match=message):
        add(x, **keywords)
    with pytest.raises(error, match=message):
        jax.jit(lambda x: add(x, **keywords))(x)


def test_numbers_of_arguments(x):
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'out_shape'"):
        pantile.jax.call(add_kernel, x, x, N, grid=4, BLOCK=32)
    with pytest.raises(TypeError, match="takes 5 arguments, but got 6 and its outputs"):
        add(x, N, 1, 2, 3)
    with pytest.raises(TypeError, match="1 outputs, but 2 parameters are left.*`n`, `out`"):
        pantile.jax.call(add_kernel, x, x, out_shape=OUT, grid=4, BLOCK=32)
    with pytest.raises(TypeError, match="missing a value for `BLOCK`"):
        pantile.jax.call(add_kernel, x, x, N, out_shape=OUT, grid=4)


def test_what_is_no_kernel(x):
    for other in (lambda x: x, add_kernel[1,], "add_kernel", None):
        with pytest.raises(TypeError, match="a kernel is a function under `pantile.jit`"):
            pantile.jax.call(other, x, out_shape=OUT, grid=4)


def test_traced_values(x):
    with pytest.raises(TypeError, match="`BLOCK`.*got a traced value.*static_argnames"):
        jax.jit(lambda x, b: add(x, BLOCK=b))(x, 32)
    with pytest.raises(TypeError, match="known while JAX traces"):
        jax.jit(lambda x, g: add(x, grid=g))(x, 4)
    with pytest.raises(TypeError, match="`num_warps`.*got a traced value"):
        jax.jit(lambda x, w: add(x, num_warps=w))(x, 4)
    # A traced number is a pointer, which the kernel has to load from.
    with pytest.raises(pantile.CompilationError, match="load"):
        jax.jit(lambda x, f: scale(x, f))(x, 2.5)
    np.testing.assert_allclose(scale(x, 2.5), 2.5 * x, rtol=1e-6)


def test_arguments_that_no_kernel_takes(x):
    with pytest.raises(TypeError, match="`y` of dtype int4"):
        pantile.jax.call(add_kernel, x, x.astype("int4"), N, out_shape=OUT, grid=4, BLOCK=32)
    with pytest.raises(TypeError, match="key<"):
        pantile.jax.call(add_kernel, x, jax.random.key(1), N, out_shape=OUT, grid=4, BLOCK=32)
    with pytest.raises(TypeError, match="tuple with arrays"):
        pantile.jax.call(add_kernel, x, (x, x), N, out_shape=OUT, grid=4, BLOCK=32)


@pantile.jit
def annotated_kernel(x: "*fp32", out, n: tl.constexpr):  # noqa: F722
    tl.store(out + tl.arange(0, n), tl.load(x + tl.arange(0, n)))


@pantile.autotune([pantile.Config({}, num_warps=w) for w in (1, 2)], key=[])
@pantile.jit
def tuned_kernel(x, out, kind: tl.constexpr, n: tl.constexpr):
    tl.store(out + tl.arange(0, n), tl.load(x + tl.arange(0, n)))


def test_compile_time_values_that_a_tuner_cannot_distinguish(x):
    with pytest.raises(TypeError, match="`kind` of kernel `tuned_kernel` is a `dict`.*hashed"):
        pantile.jax.call(tuned_kernel, x, kind={}, n=64, out_shape=OUT, grid=1)


def test_extents_that_are_not_known():
    export = pytest.importorskip("jax.export")
    rows = jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), np.float32)
    for run in (lambda x: add(x, out_shape=shaped(x.shape, x.dtype)), jax.vmap(add)):
        with pytest.raises(TypeError, match=r"kernel `add_kernel`.*\bb\b.*known while JAX traces"):
            export.export(jax.jit(run))(rows)


def test_addresses_of_this_process():
    with pytest.raises(TypeError, match="address as a number"):
        pantile.jax.call(annotated_kernel, 4096, out_shape=OUT, grid=1, n=64)


def test_an_input_that_is_written(x):
    with pytest.raises(
        ValueError, match="writes to its input `even`.*input_output_aliases={'even': 0}"
    ):
        pantile.jax.call(split_kernel, x, even=x, n=50, out_shape=OUT, grid=2, BLOCK=32)


@pantile.jit
def asserting_kernel(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.device_assert(tl.load(x + i) < 100, "too large")
    tl.store(out + i, tl.load(x + i))


def test_errors_of_a_running_kernel(x):
    """They come from XLA's thread as JAX's errors, and the process goes on."""

    def run(x):
        out = shaped((64,), np.float32)
        return pantile.jax.call(asserting_kernel, x, out_shape=out, grid=1, n=64, debug=True)

    for form in (run, jax.jit(run)):
        with pytest.raises(RuntimeError, match="too large"):
            jax.block_until_ready(form(x + 200))
        np.testing.assert_array_equal(form(x), x[:64])


def test_grids_that_are_too_large(x):
    with pytest.raises((RuntimeError, ValueError), match="grid"):
        jax.block_until_ready(add(x, grid=(1, 70000)))


def test_a_global_that_changed(x, monkeypatch):
    namespace = {"tl": tl, "FACTOR": tl.constexpr(3)}
    source = "def scaled(x, out, n: tl.constexpr):\n    i = tl.arange(0, n)\n    tl.store(out + i, tl.load(x + i) * FACTOR)\n"
    import linecache

    linecache.cache["scaled.py"] = (len(source), None, source.splitlines(True), "scaled.py")
    exec(compile(source, "scaled.py", "exec"), namespace)
    kernel = pantile.jit(namespace["scaled"])

    def run():
        return pantile.jax.call(kernel, x, out_shape=shaped((64,), np.float32), grid=1, n=64)

    np.testing.assert_allclose(run(), 3 * x[:64], rtol=1e-6)
    namespace["FACTOR"] = tl.constexpr(4)
    with pytest.raises(RuntimeError, match="FACTOR"):
        run()


def test_lowering_for_a_gpu_that_is_not_here(x):
    if pantile.runtime.driver.driver.active.device_count:
        pytest.skip("there is a GPU")
    export = pytest.importorskip("jax.export")
    checks = [export.DisabledSafetyCheck.custom_call("pantile_call")]
    lower = lambda **k: export.export(
        jax.jit(lambda x: add(x, **k)), platforms=["cuda"], disabled_checks=checks
    )(x)
    with pytest.raises(RuntimeError, match='there is no GPU: name one by `arch="sm90"`'):
        lower()
    assert "pantile_call" in lower(arch="sm90").mlir_module()
    assert "pantile_call" in lower(compute_capability=80).mlir_module()
    for name in ("a-b c<1>", "2x", "\N{GREEK SMALL LETTER ALPHA}"):
        assert "pantile_call" in lower(arch="sm90", name=name).mlir_module()


def test_without_jax():
    """The package imports, and says what is missing when it is used."""
    program = (
        "import sys; sys.modules['jax'] = None\n"
        "import pantile.jax\n"
        "try: pantile.jax.call(None, out_shape=None, grid=1)\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install jax" in done.stdout, done.stderr
