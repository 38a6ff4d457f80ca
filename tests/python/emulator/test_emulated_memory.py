"""Memory of the emulated driver: a large allocation that is cleared gives its pages back, and no byte more is changed."""

import ctypes

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import Driver

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")

LARGE = 1 << 28  # from which on an allocation is backed where it is touched
PAGE = 4096


@pytest.mark.parametrize("value", [0, 5])
@pytest.mark.parametrize("first, last", [(0, 0), (100, 200), (PAGE, 1), (PAGE - 1, PAGE)])
def test_a_set_changes_its_bytes_alone(first, last, value):
    driver, pointer, size = Driver(), ctypes.c_uint64(), first + LARGE + last
    driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(pointer.value))
    near = [range(min(3 * PAGE, size)), range(size - 3 * PAGE, size)]
    places = np.unique([*near[0], *near[1], size // 2])
    memory[places] = np.random.default_rng().integers(1, 255, places.size)
    expected = memory[places].copy()
    expected[(places >= first) & (places < first + LARGE)] = value
    start = ctypes.c_uint64(pointer.value + first)
    driver.cuMemsetD8Async(start, value, ctypes.c_size_t(LARGE), None)
    np.testing.assert_array_equal(memory[places], expected)
    driver.cuMemFree_v2(pointer)


def test_a_set_beyond_the_end_is_refused():
    driver, pointer = Driver(), ctypes.c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(LARGE))
    with pytest.raises(RuntimeError, match="leaves its allocation"):
        start = ctypes.c_uint64(pointer.value + 1)
        driver.cuMemsetD8Async(start, 0, ctypes.c_size_t(LARGE), None)
    driver.cuMemFree_v2(pointer)
