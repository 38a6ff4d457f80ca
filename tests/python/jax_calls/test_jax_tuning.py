"""Tuned kernels that programs of JAX call: which configurations run, and what measuring leaves in memory and cache."""

import numpy as np
import pytest
from test_jax import platform, rng  # noqa: F401 (fixtures)

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import pantile  # noqa: E402
import pantile.jax  # noqa: E402
import pantile.language as tl  # noqa: E402
from jax_kernels import blocks, like, shaped  # noqa: E402

CONFIGS = [pantile.Config({"BLOCK": 32}, num_warps=1), pantile.Config({"BLOCK": 256}, num_warps=4)]


@pantile.autotune(CONFIGS, key=["n"])
@pantile.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@pantile.jit
def tuned_kernel(x, n, out, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) * 3)
    else:
        tl.store(out + i, tl.load(x + i, i < n) * 3, i < n)


def tuned(x):
    return pantile.jax.call(tuned_kernel, x, x.size, out_shape=like(x), grid=blocks(x.size))


@pytest.mark.parametrize("size", [96, 500, 512])
@pytest.mark.parametrize("measured", [False, True])
def test_tuned_kernels(size, measured, rng, monkeypatch):  # noqa: F811
    if measured:
        monkeypatch.setenv("PANTILE_TUNE_CPU", "1")
    x = rng.standard_normal(size).astype(np.float32)
    np.testing.assert_array_equal(tuned(x), 3 * x)
    np.testing.assert_array_equal(jax.jit(tuned)(x), 3 * x)
    np.testing.assert_array_equal(jax.vmap(tuned)(x.reshape(2, -1)), 3 * x.reshape(2, -1))
    with pytest.raises(ValueError, match="`BLOCK` is set by the decorators"):
        pantile.jax.call(tuned_kernel, x, size, out_shape=like(x), grid=1, BLOCK=16)


seen = []


def prune(configs, named, **keywords):
    seen.append((named["n"], named["x"].shape))
    return [config for config in configs if config.kwargs["BLOCK"] <= named["n"]]


@pantile.autotune(
    CONFIGS, key=["n"], reset_to_zero=["total"], prune_configs_by={"early_config_prune": prune}
)
@pantile.jit
def tuned_total_kernel(x, n, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + i, i < n, other=0.0), 0))


@pantile.autotune(CONFIGS, key=["n"], restore_value=["x"])
@pantile.jit
def tuned_increment_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


def test_tuned_kernels_that_write_to_what_they_read(rng, monkeypatch):  # noqa: F811
    """Measured runs leave no trace in the arrays of the program."""
    monkeypatch.setenv("PANTILE_TUNE_CPU", "1")

    def total(x):
        return pantile.jax.call(
            tuned_total_kernel, x, x.size, out_shape=shaped((), x.dtype), grid=blocks(x.size),
            zeroed_outputs=(0,),
        )  # fmt: skip

    def increment(x):
        return pantile.jax.call(
            tuned_increment_kernel, x, x.size, out_shape=like(x), grid=blocks(x.size),
            input_output_aliases={"x": 0},
        )  # fmt: skip

    for size in (300, 777):
        x = rng.standard_normal(size).astype(np.float32)
        array = jnp.asarray(x)
        for form in (lambda f: f, jax.jit):
            np.testing.assert_allclose(form(total)(array), x.astype(np.float64).sum(), atol=1e-4)
            np.testing.assert_array_equal(form(increment)(array), x + 1)
            np.testing.assert_array_equal(array, x)
        assert seen[-1] == (size, (size,))
