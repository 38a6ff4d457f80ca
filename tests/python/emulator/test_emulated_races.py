"""The memory model of the emulated GPU: accesses that nothing orders are reported, and those that something orders are not.

Each kernel is right as it stands, and wrong with one change. The kernels are PTX, given to the emulated driver itself.
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


# The first CTA writes and sets a flag, the second waits for it and reads.
TELL = kernel("""
  @!%p2 bra second;
  st.global.u32 [%d6], %r6;
  bar.sync 0;
  @%p1 st.release.gpu.global.u32 [%d3], 1;
  bra over;
second:
  @!%p1 bra wait;
again:
  ld.acquire.gpu.global.u32 %r7, [%d3];
  setp.eq.u32 %p3, %r7, 0;
  @%p3 bra again;
wait:
  bar.sync 1;
  ld.global.u32 %r8, [%d6];
  st.global.u32 [%d6+512], %r8;
over:
""")

# The same with fences around relaxed accesses.
FENCED = TELL.replace("st.release", "fence.acq_rel.gpu;\n  @%p1 st.relaxed").replace(
    "ld.acquire.gpu.global.u32 %r7, [%d3];",
    "ld.relaxed.gpu.global.u32 %r7, [%d3];\n  fence.acq_rel.gpu;",
)


@pytest.mark.parametrize("text", [TELL, FENCED], ids=["release", "fence"])
def test_a_flag_orders_blocks(driver, text):
    values, made = run(driver, text, blocks=2)
    np.testing.assert_array_equal(made[128:160], values[:32])


@pytest.mark.parametrize(
    "raises",
    ["st.release.gpu.global.u32 [%d3], 1;", "red.release.gpu.global.add.u32 [%d3], 1;"],
    ids=["store", "atomic"],
)
def test_a_flag_is_read_after_it_was_seen(driver, raises):
    """The release itself comes before what follows the acquire."""
    text = changed(TELL, "st.release.gpu.global.u32 [%d3], 1;", raises)
    text = changed(text, "ld.global.u32 %r8, [%d6];", "ld.global.u32 %r8, [%d3];")
    _, made = run(driver, text, blocks=2)
    np.testing.assert_array_equal(made[128:160], 1)
    after = changed(text, raises, f"{raises}\n  @%p1 st.global.u32 [%d3], 2;")
    fails(driver, after, RACE, blocks=2)


@pytest.mark.parametrize(
    "text, old, new",
    [
        (TELL, "st.release.gpu", "st.relaxed.gpu"),
        (TELL, "st.release.gpu", "st.release.cta"),
        (TELL, "st.release.gpu.global", "st.global"),
        (TELL, "ld.acquire.gpu", "ld.relaxed.gpu"),
        (TELL, "ld.acquire.gpu", "ld.acquire.cta"),
        (TELL, "ld.acquire.gpu.global", "ld.volatile.global"),
        (TELL, "bar.sync 0;", ""),
        (TELL, "bar.sync 1;", ""),
        (FENCED, "fence.acq_rel.gpu;\n  @%p1 st", "st"),
        (FENCED, "fence.acq_rel.gpu;\n  @%p1", "fence.acq_rel.cta;\n  @%p1"),
        (FENCED, "fence.acq_rel.gpu;\n  setp", "setp"),
        (FENCED, "fence.acq_rel.gpu;\n  setp", "fence.acq_rel.cta;\n  setp"),
        (FENCED, "st.relaxed.gpu", "st.relaxed.cta"),
    ],
)
def test_a_flag_that_does_not_order_is_reported(driver, text, old, new):
    fails(driver, changed(text, old, new), RACE, blocks=2)


# The last CTA to arrive adds what each wrote.
LAST = kernel("""
  mul.wide.u32 %d7, %r2, 128;
  add.u64 %d7, %d6, %d7;
  st.global.u32 [%d7], %r6;
  bar.sync 0;
  mov.u32 %r9, 0;
  @%p1 atom.acq_rel.gpu.global.add.u32 %r9, [%d3], 1;
  bar.sync 0;
  shfl.sync.idx.b32 %r9, %r9, 0, 31, -1;
  setp.ne.u32 %p3, %r9, 3;
  @%p3 bra over;
  ld.global.u32 %r10, [%d6];
  ld.global.u32 %r11, [%d6+128];
  ld.global.u32 %r12, [%d6+256];
  ld.global.u32 %r13, [%d6+384];
  add.u32 %r10, %r10, %r11;
  add.u32 %r10, %r10, %r12;
  add.u32 %r10, %r10, %r13;
  st.global.u32 [%d6+512], %r10;
over:
""")


def test_a_counter_orders_blocks(driver):
    values, made = run(driver, LAST, blocks=4)
    np.testing.assert_array_equal(made[128:160], 4 * values[:32])


@pytest.mark.parametrize(
    "old, new",
    [
        (".acq_rel.gpu", ".relaxed.gpu"),
        (".acq_rel.gpu", ".acquire.gpu"),
        (".acq_rel.gpu", ".release.gpu"),
        (".acq_rel.gpu", ".acq_rel.cta"),
        ("bar.sync 0;\n  mov", "mov"),
        ("bar.sync 0;\n  shfl", "shfl"),
    ],
)
def test_a_counter_that_does_not_order_is_reported(driver, old, new):
    fails(driver, changed(LAST, old, new), RACE, blocks=4)


def test_programs_may_store_the_same(driver):
    values, made = run(driver, kernel("  st.global.u32 [%d6], %r6;\n"), blocks=6)
    np.testing.assert_array_equal(made[:32], values[:32])


def test_programs_that_store_other_values_are_reported(driver):
    message = (
        r"`st.global.u32` in line \d+ of the PTX, CTA \(\d, 0, 0\), warp 0: a race: lane 0 writes "
        r"byte 0 of the array of `to`, which `st.global.u32` in line \d+, CTA \(\d, 0, 0\), warp 0, "
        r"lane 0, writes, and nothing orders the two"
    )
    other = "  add.u32 %r6, %r6, %r2;\n  st.global.u32 [%d6], %r6;\n"
    fails(driver, kernel(other), message, blocks=2)


# Both warps load an element, and the first stores what comes of it.
COPIES = kernel(
    """
  and.b32 %r9, %r1, 31;
  mul.wide.u32 %d7, %r9, 4;
  add.u64 %d7, %d2, %d7;
  setp.lt.u32 %p3, %r1, 32;
  ld.global.u32 %r10, [%d7];
  add.u32 %r10, %r10, %r6;
  @%p3 st.global.u32 [%d7], %r10;
""",
    threads=64,
)


def test_threads_that_hold_the_same_element(driver):
    for _ in range(4):
        values, made = run(driver, COPIES, threads=64)
        np.testing.assert_array_equal(made[:32], values[:32])


def test_threads_that_hold_the_same_element_in_each_iteration(driver):
    """What a warp reads late counts for its own iteration; after the barrier it is a read like any other."""
    start, end = COPIES.index("  ld.global.u32 %r10"), COPIES.index("  ret;")
    loop = "  mov.u32 %r12, 0;\nAGAIN:\n  bar.sync 0;\n" + COPIES[start:end]
    loop += "  add.u32 %r12, %r12, 1;\n  setp.lt.u32 %p4, %r12, 3;\n  @%p4 bra AGAIN;\n"
    text = COPIES[:start] + loop + COPIES[end:]
    for _ in range(8):
        values, made = run(driver, text, threads=64)
        np.testing.assert_array_equal(made[:32], values[:32] * np.uint32(3))


def test_threads_that_hold_the_same_element_twice(driver):
    """Copies of two loads: an early one of the first and a late one of the second."""
    twice = "ld.global.u32 %r10, [%d7];\n  ld.global.u32 %r11, [%d7];\n  sub.u32 %r11, %r11, %r10;"
    text = changed(COPIES, "ld.global.u32 %r10, [%d7];", f"{twice}\n  add.u32 %r10, %r10, %r11;")
    for threads in [64] * 8 + [256] * 8:
        values, made = run(driver, text.replace("64, 1, 1", f"{threads}, 1, 1"), threads=threads)
        np.testing.assert_array_equal(made[:32], values[:32])


def test_threads_that_hold_the_same_element_twice_after_other_reads(driver):
    """Reads from before a barrier, which no change of the element forgot, are forgotten first."""
    twice = "ld.global.u32 %r10, [%d7];\n  ld.global.u32 %r11, [%d7];\n  sub.u32 %r11, %r11, %r10;"
    before = "  ld.global.u32 %r10, [%d7];\n" + f"  bar.sync 0;\n  {twice}\n  bar.sync 0;\n  "
    after = f"{twice}\n  add.u32 %r10, %r10, %r11;"
    text = changed(COPIES, "  ld.global.u32 %r10, [%d7];", before + after)
    for threads in [64, 128, 256] * 8:
        values, made = run(driver, text.replace("64, 1, 1", f"{threads}, 1, 1"), threads=threads)
        np.testing.assert_array_equal(made[:32], values[:32])


def test_copies_are_reported_on_request(driver, monkeypatch):
    monkeypatch.setenv("PANTILE_EMULATION_COPIES", "1")
    fails(driver, COPIES, RACE, threads=64)


def test_a_load_of_the_other_warp_alone_is_reported(driver):
    late = changed(COPIES, "  @%p3 st", "  @!%p3 ld.global.u32 %r11, [%d7];\n  @%p3 st")
    fails(driver, late, RACE, threads=64)


def test_accesses_of_other_bytes_of_a_word_are_no_race(driver):
    text = "  cvt.u64.u32 %d7, %r2;\n  add.u64 %d7, %d6, %d7;\n  st.global.u8 [%d7], %r2;\n"
    _, made = run(driver, kernel(text), blocks=4)
    np.testing.assert_array_equal(made[:32], np.full(32, 0x03020100, np.uint32))


@pytest.mark.parametrize("scope, fine", [("gpu", True), ("cta", False)])
def test_atomics_need_a_scope_that_holds_both(driver, scope, fine):
    text = kernel(f"  red.relaxed.{scope}.global.add.u32 [%d6], %r6;\n")
    if fine:
        values, made = run(driver, text, blocks=3)
        np.testing.assert_array_equal(made[:32], 3 * values[:32])
    else:
        fails(driver, text, RACE, blocks=3)


def test_a_plain_read_of_what_atomics_update_is_reported(driver):
    text = "  @%p2 bra first;\n  red.relaxed.gpu.global.add.u32 [%d6], %r6;\n  bra over;\n"
    text += "first:\n  ld.global.u32 %r7, [%d6];\n  st.global.u32 [%d6+512], %r7;\nover:\n"
    fails(driver, kernel(text), RACE, blocks=2)


# Each lane takes what its neighbour wrote into shared memory.
LANES = kernel("""
  st.shared.u32 [%r4], %r6;
  bar.warp.sync -1;
  ld.shared.u32 %r7, [%r5];
  st.global.u32 [%d6], %r7;
""")


def test_lanes_that_synchronise(driver):
    values, made = run(driver, LANES)
    np.testing.assert_array_equal(made[:32], values[:32].reshape(-1, 2)[:, ::-1].reshape(-1))


@pytest.mark.parametrize("instead", ["", "shfl.sync.idx.b32 %r9, %r9, 0, 31, -1;"])
def test_lanes_that_do_not_synchronise_are_reported(driver, instead):
    message = "a race: lane 0 reads shared memory at 1028, which .* lane 1, writes"
    fails(driver, changed(LANES, "bar.warp.sync -1;", instead), message)


# Two warps exchange; each writes again afterwards.
WARPS = kernel(
    """
  xor.b32 %r5, %r4, 128;
  st.shared.u32 [%r4], %r6;
  bar.sync 0;
  ld.shared.u32 %r7, [%r5];
  bar.sync 0;
  st.shared.u32 [%r4], %r7;
  st.global.u32 [%d6], %r7;
""",
    threads=64,
)


@pytest.mark.parametrize("count", [0, 1])
def test_warps_need_barriers(driver, count):
    values, made = run(driver, WARPS, threads=64)
    np.testing.assert_array_equal(made[:64], np.roll(values[:64], 32))
    parts = WARPS.split("bar.sync 0;")
    parts[count] += "bar.warp.sync -1;" + parts.pop(count + 1)
    fails(driver, "bar.sync 0;".join(parts), RACE, threads=64)


# A tile comes by cp.async, and lanes read what their neighbours copied.
COPY = kernel("""
  cp.async.ca.shared.global [%r4], [%d5], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.warp.sync -1;
  ld.shared.u32 %r7, [%r5];
  st.global.u32 [%d6], %r7;
""")


@pytest.mark.parametrize(
    "instruction", ["cp.async.wait_group 0;", "bar.warp.sync -1;", "cp.async.commit_group;"]
)
def test_copies_that_are_not_waited_for(driver, instruction):
    values, made = run(driver, COPY)
    np.testing.assert_array_equal(made[:32], values[:32].reshape(-1, 2)[:, ::-1].reshape(-1))
    fails(driver, changed(COPY, instruction, ""), RACE)


def test_a_barrier_is_initialised_before_others_arrive(driver):
    text = """
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 64;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
"""
    run(driver, kernel(text, threads=64), threads=64)
    missing = changed(kernel(text, threads=64), "bar.sync 0;", "")
    fails(driver, missing, f"there is no mbarrier|{RACE}", threads=64)


@pytest.mark.parametrize(
    "instruction",
    [
        "shfl.sync.idx.b32 %r9, %r1, 0, 31, 0xffff;",
        "bar.warp.sync 0xfffffffe;",
        "vote.sync.ballot.b32 %r9, %p1, %r2;",
        "@%p1 bar.warp.sync -1;",
    ],
)
def test_masks_name_the_lanes_that_take_part(driver, instruction):
    fails(driver, kernel(f"  {instruction}\n"), "has a mask of other lanes than take part")
