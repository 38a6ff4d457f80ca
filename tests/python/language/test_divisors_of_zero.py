"""Integer divisions whose divisor is 0 in elements that are not used, as masked loads give it.

Such an element's quotient is not defined, but it must neither change other elements nor be taken as
a proof that the divisor is not 0: the masks and conditions of the kernel hold as they are written.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

B, UNUSED = 256, 111
pytestmark = pytest.mark.filterwarnings("ignore:.*integer division by zero")
TYPES = ["int16", "int32", "int64", "uint32", "uint64"]
rng = np.random.default_rng()


@triton.jit
def padded_kernel(x, y, out, n, B: tl.constexpr):
    """Divides by what a masked load pads with 0; a store that took the mask as true would go beyond n."""
    at = tl.arange(0, B)
    mask = at < n
    divisor = tl.load(y + at, mask=mask, other=0)
    dividend = tl.load(x + at, mask=mask, other=0)
    tl.store(out + at, dividend // divisor, mask=mask)
    tl.store(out + B + at, dividend % divisor, mask=mask)


@triton.jit
def chosen_kernel(x, y, out, n, B: tl.constexpr):
    """Quotients are used where the divisor is not 0, both as loaded and as chosen by a condition."""
    at = tl.arange(0, B)
    mask = at < n
    dividend, divisor = tl.load(x + at, mask=mask), tl.load(y + at, mask=mask)
    tl.store(out + at, tl.where(divisor == 0, 7, dividend // divisor), mask=mask)
    large = divisor > 5
    rest = dividend % tl.where(large, divisor, 0)
    tl.store(out + B + at, tl.where(large, rest, 3), mask=mask)


def numbers(dtype):
    """Dividends, divisors of which a ninth are 0, and these with 1 in their place."""
    x, y = rng.integers(0, 20000, B).astype(dtype), rng.integers(0, 9, B).astype(dtype)
    return x, y, np.maximum(y, 1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 100, B])
def test_padding_is_no_divisor_of_other_elements(device, dtype, n):
    x, _, y = numbers(dtype)
    out = device.to(np.full((2, B), UNUSED, dtype))
    padded_kernel[(1,)](device.to(x), device.to(y), out, n, B)
    expected = np.stack([x // y, x % y])
    expected[:, n:] = UNUSED
    np.testing.assert_array_equal(device.numpy(out), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_quotient_does_not_prove_that_its_divisor_is_not_0(device, dtype):
    x, y, safe = numbers(dtype)
    n = 200
    out = device.to(np.full((2, B), UNUSED, dtype))
    chosen_kernel[(1,)](device.to(x), device.to(y), out, n, B)
    expected = np.stack([np.where(y == 0, 7, x // safe), np.where(y > 5, x % safe, 3)])
    expected[:, n:] = UNUSED
    np.testing.assert_array_equal(device.numpy(out), expected)
