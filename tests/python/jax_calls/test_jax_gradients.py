"""Gradients made of kernels, by `jax.custom_vjp`, against JAX's own gradients of `jax.numpy`."""

import os
from dataclasses import dataclass

import numpy as np
import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import pantile  # noqa: E402
import pantile.jax  # noqa: E402
import pantile.language as tl  # noqa: E402
from jax_kernels import (  # noqa: E402
    entropy,
    gather,
    layer_norm,
    like,
    matmul,
    rotary,
    scan,
    softmax,
)
from test_jax import mesh_of_two, platform, rng, shard_map  # noqa: E402, F401 (fixtures)


@pantile.jit
def softmax_gradient_kernel(y, cotangent, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at, mask = row * columns + i, i < columns
    weight, c = tl.load(y + at, mask, other=0.0), tl.load(cotangent + at, mask, other=0.0)
    tl.store(out + at, weight * (c - tl.sum(weight * c, 0)), mask)


@pantile.jit
def layer_norm_gradient_kernel(
    x, weight, cotangent, dx, dweight, dbias, columns, eps, BLOCK: tl.constexpr
):
    """A row of the input's gradient; sums of the weights' ones."""
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at, mask = row * columns + i, i < columns
    v, c = tl.load(x + at, mask, other=0.0), tl.load(cotangent + at, mask, other=0.0)
    w = tl.load(weight + i, mask, other=0.0)
    centred = tl.where(mask, v - tl.sum(v, 0) / columns, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + eps)
    normed, scaled = centred * scale, c * w
    shift = (tl.sum(scaled, 0) + normed * tl.sum(scaled * normed, 0)) / columns
    tl.store(dx + at, (scaled - shift) * scale, mask)
    tl.atomic_add(dweight + i, c * normed, mask)
    tl.atomic_add(dbias + i, c, mask)


@pantile.jit
def gather_gradient_kernel(index, cotangent, out, columns, BLOCK: tl.constexpr):
    """Rows that were read twice get both cotangents."""
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    target = tl.load(index + row)
    c = tl.load(cotangent + row * columns + i, i < columns)
    tl.atomic_add(out + target * columns + i, c, i < columns)


@pantile.jit
def entropy_gradient_kernel(logits, label, cotangent, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(logits + row * columns + i, i < columns, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    chosen = tl.where(i == tl.load(label + row), 1.0, 0.0)
    gradient = (e / tl.sum(e, 0) - chosen) * tl.load(cotangent + row)
    tl.store(out + row * columns + i, gradient, i < columns)


@pantile.jit
def reverse_scan_kernel(cotangent, out, columns: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, columns)
    tl.store(out + at, tl.cumsum(tl.load(cotangent + at), 0, reverse=True))


def softmax_backward(inputs, y, c):
    rows, columns = y.shape
    return pantile.jax.call(
        softmax_gradient_kernel, y, c, columns=columns, out_shape=(like(y),), grid=rows, BLOCK=128
    )


def matmul_backward(inputs, y, c):
    a, b = inputs
    return matmul(c, b.T)[0], matmul(a.T, c)[0]


def matmul_of_numpy(a, b):
    """In fp32: on a GPU the operator multiplies tf32."""
    return jnp.matmul(a, b, precision="highest")


def layer_norm_backward(inputs, y, c):
    x, weight, bias = inputs
    rows, columns = x.shape
    return pantile.jax.call(
        layer_norm_gradient_kernel, x, weight, c, columns=columns, eps=1e-5,
        out_shape=(like(x), like(weight), like(bias)), grid=rows, zeroed_outputs=(1, 2), BLOCK=128,
    )  # fmt: skip


def gather_backward(inputs, y, c):
    table, index = inputs
    out = pantile.jax.call(
        gather_gradient_kernel, index, c, columns=table.shape[1], out_shape=like(table),
        grid=index.size, zeroed_outputs=(0,), BLOCK=64,
    )  # fmt: skip
    return out, None


def entropy_backward(inputs, y, c):
    logits, label = inputs
    rows, columns = logits.shape
    out = pantile.jax.call(
        entropy_gradient_kernel, logits, label, c, columns=columns, out_shape=like(logits),
        grid=rows, BLOCK=128,
    )  # fmt: skip
    return out, None


def rotary_backward(inputs, y, c):
    """The rotation back; the angles are held constant."""
    x, angle = inputs
    return rotary(c, -angle)[0], jnp.zeros_like(angle)


def scan_backward(inputs, y, c):
    rows, columns = c.shape
    return (
        pantile.jax.call(reverse_scan_kernel, c, out_shape=like(c), grid=rows, columns=columns),
    )


def layer_norm_of_numpy(x, weight, bias):
    mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * weight + bias


def rotary_of_numpy(x, angle):
    a, b = jnp.split(x, 2, 1)
    c, s = jnp.cos(jax.lax.stop_gradient(angle)), jnp.sin(jax.lax.stop_gradient(angle))
    return jnp.concatenate([a * c - b * s, a * s + b * c], 1)


def entropy_of_numpy(logits, label):
    chosen = jnp.take_along_axis(logits, label[:, None], 1)[:, 0]
    return jax.nn.logsumexp(logits, 1) - chosen


@dataclass
class Case:
    """A kernel with its gradient, the same of `jax.numpy`, and the shapes of its arrays.

    An integer shape stands for row numbers below the second number. The first `split` inputs can be
    cut by rows for two devices.
    """

    run: object
    backward: object
    of_numpy: object
    shapes: list
    split: int = 1

    def differentiable(self):
        made = jax.custom_vjp(lambda *inputs: self.run(*inputs)[0])

        def forward(*inputs):
            y = self.run(*inputs)[0]
            return y, (inputs, y)

        made.defvjp(forward, lambda kept, c: self.backward(*kept, c))
        return made

    def draw(self, rng):  # noqa: F811
        def array(shape):
            if isinstance(shape[0], str):
                _, count, end = shape
                return rng.integers(0, end, count, np.int32)
            return rng.standard_normal(shape).astype(np.float32)

        return [array(shape) for shape in self.shapes]


CASES = {
    "matmul": Case(matmul, matmul_backward, matmul_of_numpy, [(48, 40), (40, 36)]),
    "softmax": Case(softmax, softmax_backward, lambda x: jax.nn.softmax(x, 1), [(6, 99)]),
    "layer_norm": Case(
        layer_norm, layer_norm_backward, layer_norm_of_numpy, [(6, 99), (99,), (99,)]
    ),
    "rotary": Case(rotary, rotary_backward, rotary_of_numpy, [(6, 64), (6, 32)], split=2),
    "gather": Case(gather, gather_backward, lambda t, i: t[i], [(8, 33), ("rows", 30, 8)], split=0),
    "entropy": Case(
        entropy, entropy_backward, entropy_of_numpy, [(8, 77), ("rows", 8, 77)], split=2
    ),
    "scan": Case(scan, scan_backward, lambda x: jnp.cumsum(x, 1), [(6, 64)]),
}


def gradients(function, inputs, weight):
    """With respect to all inputs of floats, of a weighted sum of the result."""
    floats = tuple(i for i, x in enumerate(inputs) if x.dtype == np.float32)
    return jax.grad(lambda *given: jnp.sum(weight * function(*given)), floats)


def check(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5 * max(1, np.abs(theirs).max()))


def drawn(case, rng):  # noqa: F811
    inputs = case.draw(rng)
    shape = jax.eval_shape(case.of_numpy, *inputs).shape
    return inputs, rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("form", ["eager", "jit"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_one_call(name, form, rng):  # noqa: F811
    case = CASES[name]
    inputs, weight = drawn(case, rng)
    expected = gradients(case.of_numpy, inputs, weight)(*inputs)
    run = gradients(case.differentiable(), inputs, weight)
    check((jax.jit(run) if form == "jit" else run)(*inputs), expected)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_a_batch(name, rng):  # noqa: F811
    """Each element has its own gradient, that of a sum over the batch, too."""
    case = CASES[name]
    elements = [case.draw(rng) for _ in range(3)]
    stacked = [np.stack(column) for column in zip(*elements, strict=True)]
    _, weight = drawn(case, rng)
    of_numpy = gradients(case.of_numpy, elements[0], weight)
    run = gradients(case.differentiable(), elements[0], weight)
    check(jax.jit(jax.vmap(run))(*stacked), jax.vmap(of_numpy)(*stacked))
    summed = lambda function: gradients(jax.vmap(function), stacked, weight)(*stacked)
    check(summed(case.differentiable()), summed(case.of_numpy))


def varying(x):
    """What all devices have, as each device's own: its gradient is the sum of theirs."""
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, "d", to="varying")
    return jax.lax.pvary(x, "d") if hasattr(jax.lax, "pvary") else x


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.split])
def test_gradients_per_device(name, rng):  # noqa: F811
    """Two devices with half of the rows each; what both have gets the sum of both gradients."""
    case, mesh = CASES[name], mesh_of_two()
    inputs, weight = drawn(case, rng)
    rows, whole = jax.sharding.PartitionSpec("d"), jax.sharding.PartitionSpec()
    specs = tuple(rows if i < case.split else whole for i in range(len(inputs)))
    differentiable = case.differentiable()

    def on_device(*inputs):
        return differentiable(*inputs[: case.split], *map(varying, inputs[case.split :]))

    sharded = shard_map(on_device, mesh=mesh, in_specs=specs, out_specs=rows)
    with jax.default_device(None):
        found = jax.jit(gradients(sharded, inputs, weight))(*inputs)
    check(found, gradients(case.of_numpy, inputs, weight)(*inputs))
