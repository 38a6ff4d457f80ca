"""Tensor copies on the emulated GPU: what they read and write is ordered by waits and proxy fences alone.

Each kernel is right as it stands, and wrong with one change. The kernels are PTX, given to the emulated driver itself.
"""

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import LANES, Driver

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")

HEAD = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .align 64 .b8 map[128], .param .u64 from, .param .u64 by_map, .param .u64 to)
.reqntid 32, 1, 1
{
  .shared .align 128 .b8 tile[256];
  .shared .align 8 .b8 barrier[8];
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .pred %p<4>;
  mov.b64 %d1, map;
  cvta.param.u64 %d2, %d1;
  ld.param.u64 %d3, [from];
  ld.param.u64 %d4, [by_map];
  ld.param.u64 %d5, [to];
  mov.u32 %r1, %laneid;
  setp.eq.u32 %p1, %r1, 0;
  mul.wide.u32 %d6, %r1, 8;
  add.u64 %d3, %d3, %d6;
  add.u64 %d4, %d4, %d6;
  add.u64 %d5, %d5, %d6;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 3;
  add.u32 %r3, %r2, %r3;
  mov.u32 %r4, barrier;
  mov.u32 %r5, 0;
  ld.global.b64 %d7, [%d3];
"""

# Out by the map, and read again from device memory; the tile is used again.
STORE = (
    HEAD
    + """
  st.shared.b64 [%r3], %d7;
  fence.proxy.async.shared::cta;
  bar.warp.sync -1;
  @!%p1 bra stored;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r5, %r5}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
stored:
  bar.warp.sync -1;
  add.u64 %d8, %d7, 1;
  st.shared.b64 [%r3], %d8;
  ld.global.b64 %d9, [%d4];
  st.global.b64 [%d5], %d9;
  ret;
}
"""
)

# A thread loads the tile by the map, and all wait for it.
FILL = """
  @!%p1 bra loaded;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 256;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d2, {%r5, %r5}], [%r4];
loaded:
  bar.warp.sync -1;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
  @!%p2 bra again;
"""

# Written to device memory by threads, and loaded by the map.
LOAD = (
    HEAD
    + """
  @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
  fence.mbarrier_init.release.cluster;
  st.global.b64 [%d4], %d7;
  fence.proxy.async.global;
  bar.warp.sync -1;
"""
    + FILL
    + """
  ld.shared.b64 %d9, [%r3];
  st.global.b64 [%d5], %d9;
  ret;
}
"""
)

# The tile is loaded by the map, read, and loaded again after device memory has changed.
LOAD_AGAIN = (
    HEAD
    + """
  @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
  fence.mbarrier_init.release.cluster;
  bar.warp.sync -1;
"""
    + FILL
    + """
  st.global.b64 [%d4], %d7;
  fence.proxy.async.global;
  ld.shared.b64 %d8, [%r3];
  fence.proxy.async.shared::cta;
  bar.warp.sync -1;
  @!%p1 bra reloaded;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 256;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d2, {%r5, %r5}], [%r4];
reloaded:
  bar.warp.sync -1;
later:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 1;
  @!%p2 bra later;
  ld.shared.b64 %d9, [%r3];
  add.u64 %d9, %d9, %d8;
  st.global.b64 [%d5], %d9;
  ret;
}
"""
)


@pytest.fixture(scope="module")
def driver():
    return Driver()


def run(driver, text):
    values = np.random.default_rng().integers(1, 1 << 30, 2 * LANES, dtype=np.uint32)
    arrays = [
        driver.array(array) for array in (values, np.zeros_like(values), np.zeros_like(values))
    ]
    pointers = [pointer for pointer, _ in arrays]
    try:
        driver.launch(text, "kernel", 1, [driver.map_of(pointers[1], 2), *pointers])
        return values, arrays[2][1].copy()
    finally:
        for pointer in pointers:
            driver.cuMemFree_v2(pointer)


@pytest.mark.parametrize("text", [STORE, LOAD, LOAD_AGAIN], ids=["store", "load", "load again"])
def test_copies_that_are_ordered(driver, text):
    values, made = run(driver, text)
    np.testing.assert_array_equal(made, values)


def test_a_fence_of_the_reader_orders_proxies(driver):
    late = LOAD.replace(
        "  fence.proxy.async.global;\n  bar.warp.sync -1;\n  @!%p1", "  bar.warp.sync -1;\n  @!%p1"
    )
    late = late.replace("  mbarrier.arrive", "  fence.proxy.async.global;\n  mbarrier.arrive", 1)
    values, made = run(driver, late)
    np.testing.assert_array_equal(made, values)


RACE = "a race: .* nothing orders the two"


@pytest.mark.parametrize(
    "text, old, new, message",
    [
        (STORE, "wait_group 0", "wait_group.read 0", r"reads byte 0 of the array of `by_map`"),
        (STORE, "  cp.async.bulk.wait_group 0;\n", "", "writes shared memory at"),
        (STORE, "  cp.async.bulk.commit_group;\n", "", "writes shared memory at"),
        (STORE, "wait_group 0;\nstored:\n  bar.warp.sync -1;", "wait_group 0;\nstored:", RACE),
        (
            STORE,
            "  cp.async.bulk.wait_group 0;\nstored:",
            "stored:\n  @!%p1 cp.async.bulk.wait_group 0;",
            "writes shared memory at",
        ),
        (STORE, "  fence.proxy.async.shared::cta;\n", "", "without `fence.proxy.async`"),
        (STORE, "shared::cta;\n  bar.warp.sync -1;", "shared::cta;", "reads shared memory at"),
        (LOAD, "  fence.proxy.async.global;\n", "", "wrote, without `fence.proxy.async` between"),
        (LOAD, "global;\n  bar.warp.sync -1;", "global;", "reads byte 8 of the array of `by_map`"),
        (LOAD, "@!%p2 bra again;", "", "reads shared memory at"),
        (LOAD, "try_wait.parity.", "try_wait.parity.relaxed.cta.", "reads shared memory at"),
        (LOAD_AGAIN, "  fence.proxy.async.shared::cta;\n", "", "read, without `fence.proxy.async`"),
    ],
)
def test_what_copies_lack(driver, text, old, new, message):
    assert old in text
    with pytest.raises(RuntimeError, match=message):
        run(driver, text.replace(old, new))
