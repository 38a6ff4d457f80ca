"""What lanes of a warp hand to each other on the emulated GPU: a store comes after the loads on which its value, address or guard depends.

Each kernel is right as it stands, and wrong with one change.
"""

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import Driver
from race_kernels import RACE, changed, fails, kernel, run

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")


@pytest.fixture(scope="module")
def driver():
    return Driver()


# Each lane loads an element, and stores what its neighbour loaded, changed, where the neighbour loaded it.
NEIGHBOURS = kernel("""
  xor.b32 %r9, %r1, 1;
  mul.wide.u32 %d7, %r9, 4;
  add.u64 %d7, %d2, %d7;
  ld.global.u32 %r10, [%d6];
  shfl.sync.idx.b32 %r11, %r10, %r9, 31, -1;
  shfl.sync.idx.b32 %r12, %r6, %r9, 31, -1;
  add.u32 %r13, %r11, %r12;
  st.global.u32 [%d7], %r13;
""")


def test_a_store_of_what_another_lane_loaded(driver):
    values, made = run(driver, NEIGHBOURS)
    np.testing.assert_array_equal(made[:32], values[:32])


@pytest.mark.parametrize(
    "old, new",
    [
        ("mov.b32 %r14, %r11;", "mov.b32 %r14, %r10;"),  # its own
        ("%r11, %r10, %r9, 31", "%r11, %r10, %r15, 31"),  # of another lane
        ("%r14, %r12", "%r12, %r12"),  # of no lane
        ("%r11, %r10, %r9", "%r11, %r16, %r9"),  # of another load
        ("ld.global.u32 %r16, [%d5];", "ld.global.u32 %r16, [%d6];"),  # of two loads, one is used
    ],
)
def test_a_store_of_what_else_was_loaded_is_reported(driver, old, new):
    text = changed(NEIGHBOURS, "add.u32 %r13, %r11, %r12;", "mov.b32 %r14, %r11;\n  add.u32 %r13, %r14, %r12;")  # fmt: skip
    text = changed(text, "xor.b32 %r9", "xor.b32 %r15, %r1, 2;\n  xor.b32 %r9")
    text = changed(text, "shfl", "ld.global.u32 %r16, [%d5];\n  shfl")
    values, made = run(driver, text)
    np.testing.assert_array_equal(made[:32], values[:32])
    fails(driver, changed(text, old, new), RACE)


def test_a_load_of_what_depends_on_its_neighbour_is_reported(driver):
    """A shuffle does not show memory: what is loaded after the store races with it."""
    late = "  ld.global.u32 %r14, [%d6];\n  st.global.u32 [%d6+512], %r14;\n  ret;"
    fails(driver, changed(NEIGHBOURS, "  ret;", late), RACE)
    ordered = changed(NEIGHBOURS, "  ret;", "  bar.warp.sync -1;\n" + late)
    values, made = run(driver, ordered)
    np.testing.assert_array_equal(made[128:160], values[:32])


@pytest.mark.parametrize(
    "way",
    [
        "@%p3 st.global.u32 [%d7], %r12;",  # whether to store
        "st.global.u32 [%d8], %r12;",  # where to
        "red.relaxed.gpu.global.add.u32 [%d7], %r13;",
    ],
)
def test_other_uses_of_what_another_lane_loaded(driver, way):
    text = changed(NEIGHBOURS, "st.global.u32 [%d7], %r13;", way)
    uses = "setp.eq.u32 %p3, %r11, 0;\n  cvt.u64.u32 %d8, %r11;\n  add.u64 %d8, %d8, %d7;\n  add"
    values, made = run(driver, changed(text, "add.u32 %r13", f"{uses}.u32 %r13"))
    np.testing.assert_array_equal(made[:32], values[:32])


@pytest.mark.parametrize(
    "exchange, fine",
    [
        ("redux.sync.add.s32 %r11, %r10, -1;", True),
        ("shfl.sync.up.b32 %r11, %r10, 1, 0, -1;", False),
        ("shfl.sync.bfly.b32 %r11, %r10, 1, 31, -1;", True),
        ("shfl.sync.bfly.b32 %r11, %r10, 3, 31, -1;", False),
        ("shfl.sync.bfly.b32 %r11, %r10, 1, 0x1f1f, -1;", False),  # outside of its segment
    ],
)
def test_ways_to_another_lane(driver, exchange, fine):
    text = changed(NEIGHBOURS, "shfl.sync.idx.b32 %r11, %r10, %r9, 31, -1;", exchange)
    if fine:
        values, made = run(driver, text)
        np.testing.assert_array_equal(made[:32], values[:32])
    else:
        fails(driver, text, RACE)


def test_values_of_other_lanes_in_shared_memory(driver):
    text = """
  st.shared.u32 [%r4], %r6;
  ld.shared.u32 %r10, [%r4];
  shfl.sync.bfly.b32 %r11, %r10, 1, 31, -1;
  add.u32 %r11, %r11, 5;
  bar.warp.sync -1;
  ld.shared.u32 %r12, [%r5];
  shfl.sync.bfly.b32 %r13, %r12, 1, 31, -1;
  add.u32 %r13, %r13, 7;
  st.shared.u32 [%r4], %r13;
  ld.shared.u32 %r14, [%r4];
  st.global.u32 [%d6], %r14;
"""
    values, made = run(driver, kernel(text))
    np.testing.assert_array_equal(made[:32], values[:32] + 7)
    fails(driver, kernel(changed(text, "%r13, %r13, 7", "%r13, %r11, 7")), RACE)


# The same in both warps, of which the first stores; then in a loop, where each iteration adds once.
COPIED_NEIGHBOURS = kernel(
    """
  and.b32 %r8, %r1, 31;
  xor.b32 %r9, %r8, 1;
  mul.wide.u32 %d8, %r8, 4;
  add.u64 %d8, %d2, %d8;
  mul.wide.u32 %d7, %r9, 4;
  add.u64 %d7, %d2, %d7;
  setp.lt.u32 %p3, %r1, 32;
  mov.u32 %r14, 0;
AGAIN:
  bar.sync 0;
  ld.global.u32 %r10, [%d8];
  shfl.sync.idx.b32 %r11, %r10, %r9, 31, -1;
  shfl.sync.idx.b32 %r12, %r6, %r9, 31, -1;
  add.u32 %r13, %r11, %r12;
  @%p3 st.global.u32 [%d7], %r13;
  add.u32 %r14, %r14, 1;
  setp.lt.u32 %p4, %r14, 3;
  @%p4 bra AGAIN;
""",
    threads=64,
)


def test_copies_of_what_another_lane_loaded(driver):
    for _ in range(8):
        values, made = run(driver, COPIED_NEIGHBOURS, threads=64)
        np.testing.assert_array_equal(made[:32], values[:32] * np.uint32(3))


@pytest.mark.parametrize(
    "old, new",
    [
        ("bar.sync 0;", ""),
        ("add.u32 %r13, %r11, %r12;", "add.u32 %r13, %r14, %r12;"),
        ("  @%p3 st", "  @!%p3 ld.global.u32 %r15, [%d8];\n  @%p3 st"),
    ],
)
def test_copies_that_are_not_stored_are_reported(driver, old, new):
    fails(driver, changed(COPIED_NEIGHBOURS, old, new), RACE, threads=64)
