"""Options of loads and stores that are None: as if they were not given."""

import numpy as np
import pantile as tn
import pantile.language as tl


@tn.jit
def copy(x, y, n, BLOCK: tl.constexpr, CACHE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(
        x + i, i < n, 0.0, cache_modifier=CACHE, eviction_policy=None, padding_option=None
    )
    tl.store(y + i, value, i < n, cache_modifier=CACHE, eviction_policy=None)


@tn.jit
def copy_window(x, y, n, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    value = tl.load(source, boundary_check=(0,), padding_option=None)
    tl.store(y + tl.arange(0, BLOCK), value, tl.arange(0, BLOCK) < n)


def test_pointers(device):
    """`None` as an option of a load is no option."""
    x = np.random.default_rng(0).standard_normal(300).astype(np.float32)
    for cache in (None, "", ".cg"):
        y = device.empty(300, np.float32)
        copy[(3,)](device.to(x), y, 300, BLOCK=128, CACHE=cache)
        np.testing.assert_array_equal(device.numpy(y), x)


def test_block_pointers(device):
    """`None` for boundary checks and padding means that they were not given."""
    x = np.random.default_rng(1).standard_normal(100).astype(np.float32)
    y = device.empty(100, np.float32)
    copy_window[(1,)](device.to(x), y, 100, BLOCK=128)
    np.testing.assert_array_equal(device.numpy(y), x)
