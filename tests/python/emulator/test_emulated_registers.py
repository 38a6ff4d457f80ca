"""Registers on the emulated GPU: those that an MMA in flight has, and those that warp groups give each other.

Each kernel is right as it stands, and wrong with one change. The kernels are PTX, given to the emulated driver itself.
"""

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import Driver

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")


@pytest.fixture(scope="module")
def driver():
    return Driver()


def run(driver, text, threads):
    values = np.random.default_rng().integers(1, 1 << 30, threads, dtype=np.uint32)
    (made,) = driver.run(text, "kernel", 1, [values], [np.zeros(threads, np.uint32)], threads)
    return values, made


def changed(text, old, new):
    assert old in text, old
    return text.replace(old, new, 1)


# Two MMAs of a warp group: the left operand in registers, the right one in shared memory, which is zero.
PRODUCTS = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 from, .param .u64 to)
.reqntid 128, 1, 1
{
  .shared .align 1024 .b8 tile[1024];
  .reg .b32 %r<32>;
  .reg .f32 %f<32>;
  .reg .b64 %d<16>;
  .reg .pred %p<8>;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r1, 4;
  add.u64 %d1, %d1, %d3;
  add.u64 %d2, %d2, %d3;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 3;
  add.u32 %r3, %r2, %r3;
  mov.b64 %d4, 0;
  st.shared.b64 [%r3], %d4;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r4, %r2, 4;
  mov.b64 %d5, {%r4, 1073741888};
  setp.eq.u32 %p1, 0, 0;
  mov.b32 %r5, 0;
  cvt.rn.f32.u32 %f1, %r1;
  mov.b32 %f2, %f1;
  mov.b32 %f3, %f1;
  mov.b32 %f4, %f1;
  add.u32 %r6, %r5, 0;
  add.u32 %r7, %r5, 0;
  add.u32 %r8, %r5, 0;
  add.u32 %r9, %r5, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r6, %r7, %r8, %r9}, %d5, %p1, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  // between
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r6, %r7, %r8, %r9}, %d5, %p1, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  // in flight
  wgmma.wait_group.sync.aligned 0;
  // waited
  cvt.rzi.u32.f32 %r10, %f3;
  st.global.u32 [%d2], %r10;
  ret;
}
"""


def test_mmas_in_flight(driver):
    _, made = run(driver, PRODUCTS, 128)
    np.testing.assert_array_equal(made, np.arange(128))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("wgmma.fence.sync.aligned;", "", "an MMA without `wgmma.fence` before it"),
        (
            "// between",
            "wgmma.wait_group.sync.aligned 0;\n  add.f32 %f3, %f3, %f3;",
            "takes register `%f3`, which line 42 accessed without `wgmma.fence` after it",
        ),
        (
            "// between",
            "wgmma.wait_group.sync.aligned 0;\n  st.global.f32 [%d2], %f1;",
            "takes register `%f1`, which line 42 accessed without `wgmma.fence` after it",
        ),
        (
            "// between",
            "wgmma.wait_group.sync.aligned 0;\n  add.u32 %r8, %r5, 1;",
            "takes register `%r8`, which line 42 accessed without `wgmma.fence` after it",
        ),
        (
            "// between",
            "add.u32 %r8, %r5, 1;",
            "overwrites a register of the left operand of the MMA in line 39, which was not waited for",
        ),
        (
            "// in flight",
            "mov.b32 %r9, %r5;",
            "overwrites a register of the left operand of the MMA in line 42, which was not waited for",
        ),
        (
            "// in flight",
            "mov.b32 %f1, 0f00000000;",
            "overwrites an accumulator of the MMA in line 42, which was not waited for",
        ),
        ("// in flight", "add.f32 %f9, %f1, %f1;", "reads an accumulator of an MMA"),
        ("wgmma.wait_group.sync.aligned 0;", "", "reads an accumulator of an MMA"),
        (
            "wgmma.wait_group.sync.aligned 0;",
            "wgmma.wait_group.sync.aligned 1;",
            "reads an accumulator of an MMA",
        ),
        ("// in flight", "st.shared.b64 [%r3], %d3;", "a race: .* writes shared memory"),
        ("  bar.sync 0;\n", "", "a race: several lanes reads shared memory"),
    ],
)
def test_missing_waits_of_mmas_in_flight(driver, old, new, message):
    text = changed(PRODUCTS, old, new)
    with pytest.raises(RuntimeError, match=message):
        run(driver, text, 128)


@pytest.mark.parametrize("name", ["%f9", "%f3"])
def test_copies_of_accumulators_may_move(driver, name):
    text = changed(PRODUCTS, "// in flight", f"mov.b32 {name}, %f3;")
    text = changed(text, "cvt.rzi.u32.f32 %r10, %f3;", f"cvt.rzi.u32.f32 %r10, {name};")
    _, made = run(driver, text, 128)
    np.testing.assert_array_equal(made, np.arange(128))


# The second warp group takes the registers that the first one gives up.
SHARES = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 from, .param .u64 to)
.reqntid 256, 1, 1
.maxnreg 80
{
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  .reg .pred %p<4>;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r1, 4;
  add.u64 %d1, %d1, %d3;
  add.u64 %d2, %d2, %d3;
  setp.lt.u32 %p1, %r1, 128;
  @%p1 bra gives;
  setmaxnreg.inc.sync.aligned.u32 136;
  bra over;
gives:
  setmaxnreg.dec.sync.aligned.u32 24;
over:
  ld.global.u32 %r2, [%d1];
  st.global.u32 [%d2], %r2;
  ret;
}
"""


def test_registers_are_reallocated(driver):
    values, made = run(driver, SHARES, 256)
    np.testing.assert_array_equal(made, values)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "setmaxnreg.dec.sync.aligned.u32 24;",
            "",
            r"nothing goes on in CTA 0: warp 4 at line 20",
        ),
        ("u32 24;", "u32 32;", r"nothing goes on in CTA 0: .*at line 20"),
        ("u32 136;", "u32 144;", r"nothing goes on in CTA 0: .*at line 20"),
        ("u32 136;", "u32 72;", "72 registers, but the warp has 80"),
        ("u32 24;", "u32 88;", "88 registers, but the warp has 80"),
        ("u32 136;", "u32 132;", "132 registers"),
        (".maxnreg 80", "", "a kernel without `.maxnreg`"),
        (
            ".reqntid 256, 1, 1\n.maxnreg 80",
            ".maxnreg 264",
            "a CTA of 256 threads of 264 registers",
        ),
    ],
)
def test_reallocations_that_do_not_fit(driver, old, new, message):
    text = changed(SHARES, old, new)
    with pytest.raises(RuntimeError, match=message):
        run(driver, text, 256)
