"""`tl.constexpr` over a plain function: kernels call it while they are compiled."""

import numpy as np
import pantile as tn
import pantile.language as tl


@tl.constexpr
def unsigned(bits):
    return tl.core.get_int_dtype(bits, False)


@tl.constexpr
def ones(bits):
    return (1 << bits) - 1


@tn.jit
def cut(x, y, BITS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(y + i, value.to(unsigned(BITS)).to(tl.int32) - (value & ones(BITS)))


def test_calls(device):
    """A plain function is called while the kernel is compiled."""
    x = np.random.default_rng(0).integers(0, 2**31, 64, dtype=np.int32)
    for bits in (8, 16):
        y = device.to(x)
        cut[(1,)](device.to(x), y, BITS=bits, BLOCK=64)
        np.testing.assert_array_equal(device.numpy(y), np.zeros(64, np.int32))
