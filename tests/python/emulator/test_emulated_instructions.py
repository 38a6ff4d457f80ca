"""Single instructions on the emulated GPU: what their modifiers mean, and that unknown ones are refused.

The kernels are PTX, given to the emulated driver itself.
"""

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import LANES, Driver

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")

KERNEL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry apply(.param .u64 a, .param .u64 b, .param .u64 c)
.reqntid 32, 1, 1
{{
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  mov.u32 %r0, %laneid;
  mul.wide.u32 %d0, %r0, 4;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [b];
  ld.param.u64 %d3, [c];
  add.u64 %d1, %d1, %d0;
  add.u64 %d2, %d2, %d0;
  add.u64 %d3, %d3, %d0;
  ld.global.u32 %r1, [%d1];
  ld.global.u32 %r2, [%d2];
  {instruction} %r3, %r1, %r2;
  st.global.u32 [%d3], %r3;
  ret;
}}
"""


@pytest.fixture(scope="module")
def driver():
    return Driver()


def apply(driver, instruction, a, b):
    text = KERNEL.format(instruction=instruction)
    words = [values.view(np.uint32) for values in (a, b)]
    (made,) = driver.run(text, "apply", 1, words, [np.zeros(LANES, np.uint32)])
    return made.view(a.dtype)


def relu(function):
    return lambda a, b: np.maximum(function(a, b), 0)


@pytest.mark.parametrize(
    "instruction, dtype, reference",
    [
        ("min.s32", np.int32, np.minimum),
        ("min.relu.s32", np.int32, relu(np.minimum)),
        ("max.relu.s32", np.int32, relu(np.maximum)),
        ("min.s16x2", np.int16, np.minimum),
        ("min.relu.s16x2", np.int16, relu(np.minimum)),
        ("max.relu.s16x2", np.int16, relu(np.maximum)),
        ("min.u16x2", np.uint16, np.minimum),
        ("max.u16x2", np.uint16, np.maximum),
        ("add.s16x2", np.int16, np.add),
    ],
)
def test_integers(driver, instruction, dtype, reference):
    """An integer instruction computes what NumPy does."""
    rng, limits = np.random.default_rng(), np.iinfo(dtype)
    a, b = (
        rng.integers(limits.min, limits.max, 4 * LANES // limits.dtype.itemsize, dtype)
        for _ in range(2)
    )
    np.testing.assert_array_equal(apply(driver, instruction, a, b), reference(a, b))


@pytest.mark.parametrize("dtype, suffix", [(np.float32, "f32"), (np.float16, "f16x2")])
@pytest.mark.parametrize("instruction", ["add", "sub", "mul", "add.sat", "mul.sat", "min", "max"])
def test_floats(driver, instruction, dtype, suffix):
    """A float instruction computes what NumPy does, with its modifiers."""
    rng = np.random.default_rng()
    a, b = (rng.standard_normal(4 * LANES // dtype().itemsize).astype(dtype) for _ in range(2))
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum}
    expected = functions.get(instruction[:3], np.maximum)(a, b)
    if ".sat" in instruction:
        expected = np.clip(expected, 0, 1)
    made = apply(driver, f"{instruction}.{suffix}", a, b)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    "instruction, message",
    [
        ("min.relu.u32", "the modifier `.u32` is not emulated for `min`"),
        ("add.wrap.s32", "the modifier `.wrap` is not emulated for `add`"),
        ("max.xorsign.abs.f32", "the modifier `.xorsign` is not emulated for `max`"),
        ("mul.s32", "the modifier `.s32` is not emulated for `mul`"),
        ("and.sat.b32", "the modifier `.sat` is not emulated for `and`"),
        ("setp.foo.s32", "the modifier `.foo` is not emulated for `setp`"),
        ("add", "this form of `add` is not emulated"),
        ("frobnicate.b32", "this instruction is not emulated"),
    ],
)
def test_unknown_modifiers_are_refused(driver, instruction, message):
    ones = np.ones(LANES, np.int32)
    with pytest.raises(RuntimeError, match=message):
        apply(driver, instruction, ones, ones)


def test_an_unknown_instruction_that_is_not_reached_is_no_fault(driver):
    text = KERNEL.format(instruction="bra over; frobnicate.b32").replace("  ret;", "over:\n  ret;")
    driver.run(text, "apply", 1, [np.ones(LANES, np.uint32)] * 2, [np.zeros(LANES, np.uint32)])
