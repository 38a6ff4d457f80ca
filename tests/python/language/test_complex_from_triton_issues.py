"""What users of Triton asked for in issue #1687: complex numbers as elements of tiles."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


@triton.jit
def after(decay, state, next_decay, next_state):
    return decay * next_decay, state * next_decay + next_state


@triton.jit
def recurrence_kernel(h_ptr, power_ptr, a_ptr, x_ptr, carry_ptr, T: tl.constexpr, N: tl.constexpr):
    """h[t] = a[t] h[t - 1] + x[t] of every column, and what each column's steps have in power."""
    steps, columns = tl.arange(0, T), tl.arange(0, N)
    places = steps[:, None] * N + columns[None, :]
    a, x = tl.load(a_ptr + places), tl.load(x_ptr + places)
    carry = tl.load(carry_ptr + columns)
    decay, state = tl.associative_scan((a, x), 0, after)
    h = state + decay * carry[None, :]
    tl.store(h_ptr + places, h)
    tl.store(power_ptr + columns, tl.sum((h * tl.conj(h)).real, 0))


@pytest.mark.parametrize("shape, num_warps", [((16, 32), 4), ((64, 8), 1), ((33, 12), 3)], ids=str)
def test_issue_1687_a_recurrence_of_complex_states(device, shape, num_warps):
    rng = np.random.default_rng(1)
    a = np.exp(1j * rng.uniform(0, 6, shape)) * rng.uniform(0.5, 1, shape)
    x, carry = (rng.standard_normal((*s, 2)) @ [1, 1j] for s in (shape, shape[1:]))
    a, x, carry = (array.astype(np.complex64) for array in (a, x, carry))
    h, power = device.output(shape, "c64"), device.output(shape[1:], "fp32")
    recurrence_kernel[(1,)](
        h.array, power.array, *map(device.to, (a, x, carry)), *shape, num_warps=num_warps
    )
    expected, state = np.empty(shape, np.complex128), carry.astype(np.complex128)
    for t in range(shape[0]):
        expected[t] = state = a[t].astype(np.complex128) * state + x[t]
    np.testing.assert_allclose(h.numpy(), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(power.numpy(), (np.abs(expected) ** 2).sum(0), rtol=1e-4)
