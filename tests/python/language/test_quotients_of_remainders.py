"""`x % n // g` has runs of equal elements, as a value also where x is negative: C rounds to zero there."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


@triton.jit
def groups_kernel(out_ptr, start, n, group, N: tl.constexpr):
    """The group of a remainder, that of a sum with one, a mask, and a sum's constant quotient."""
    at = tl.arange(0, N)
    rest = (start * 16 + at) % n
    tl.store(out_ptr + at, rest // group)
    tl.store(out_ptr + N + at, (rest - 64) // group)
    tl.store(out_ptr + 2 * N + at, tl.where(rest // group > -1, 1, 0))
    tl.store(out_ptr + 3 * N + at, (rest + group * 2) // 16)


def quotient(a, b):
    return np.trunc(a / b).astype(np.int64)


@pytest.mark.parametrize("n, group", [(16, 16), (64, 16), (96, 32), (304, 112), (48, 128)])
@pytest.mark.parametrize("start", [-37, -3, -1, 0, 5])
def test_quotients_of_remainders(device, start, n, group):
    count = 256
    out = device.output(4 * count, "i32")
    groups_kernel[(1,)](out.array, start, n, group, N=count)
    at = start * 16 + np.arange(count)
    rest = at - quotient(at, n) * n
    of_rest = quotient(rest, group)
    expected = [of_rest, quotient(rest - 64, group), of_rest > -1, quotient(rest + 2 * group, 16)]
    np.testing.assert_array_equal(out.numpy(), np.concatenate(expected))
