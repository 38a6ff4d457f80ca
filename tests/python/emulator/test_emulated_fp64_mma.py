"""mma.sync of fp64 on the emulated GPU: fragments as the PTX ISA manual has them, by element."""

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import LANES, Driver

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")

SHAPES = [(8, 4), (16, 4), (16, 8), (16, 16)]  # M and K; N is 8


def place_of_a(m, k, lane, i):
    """Row and column of element `i` of A's fragment."""
    group, thread = lane >> 2, lane % 4
    if (m, k) == (8, 4):
        return group, thread
    row = group if i % 2 == 0 else group + 8
    if k == 4:
        return row, thread
    if k == 8:
        return row, thread if i < 2 else thread + 4
    return row, i * 2 + thread if i % 2 == 0 else i * 2 - 2 + thread


def place_of_b(m, k, lane, i):
    """Row and column of element `i` of B's fragment."""
    return i * 4 + lane % 4, lane >> 2


def place_of_c(m, k, lane, i):
    """Row and column of element `i` of the accumulator's fragment."""
    group, thread = lane >> 2, lane % 4
    return group if i < 2 else group + 8, thread * 2 + (i & 1)


def names(letter, count):
    return ", ".join(f"%{letter}{i}" for i in range(count))


def text_of(m, k):
    """A kernel of one warp: each lane has its fragments next to each other in memory."""
    counts = {"a": m * k // 32, "b": k // 4, "c": m // 4, "d": m // 4}
    body = ["mov.u32 %r0, %laneid;"]
    for i, (letter, count) in enumerate(counts.items()):
        body += [
            f"ld.param.u64 %p{i}, [{letter}];",
            f"mul.wide.u32 %q, %r0, {8 * count};",
            f"add.u64 %p{i}, %p{i}, %q;",
        ]
        if letter != "d":
            body += [f"ld.global.f64 %{letter}{j}, [%p{i}+{8 * j}];" for j in range(count)]
    operands = ", ".join("{" + names(x, counts[x]) + "}" for x in "dabc")
    body.append(f"mma.sync.aligned.m{m}n8k{k}.row.col.f64.f64.f64.f64 {operands};")
    body += [f"st.global.f64 [%p3+{8 * j}], %d{j};" for j in range(counts["d"])]
    registers = "".join(f".reg .f64 %{x}<{count}>; " for x, count in counts.items())
    parameters = ", ".join(f".param .u64 {x}" for x in "abcd")
    return (
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        f".visible .entry apply({parameters})\n.reqntid 32, 1, 1\n{{\n"
        f".reg .b32 %r<1>; .reg .b64 %p<4>; .reg .b64 %q; {registers}\n"
        + "\n".join(body)
        + "\nret;\n}\n"
    )


def spread(matrix, place, m, k, count):
    """What each lane holds of `matrix`, lane by lane, as words."""
    held = [matrix[place(m, k, lane, i)] for lane in range(LANES) for i in range(count)]
    return np.array(held).view(np.uint32)


def apply(m, k, a, b, c):
    driver = Driver()
    inputs = [
        spread(a, place_of_a, m, k, m * k // 32),
        spread(b, place_of_b, m, k, k // 4),
        spread(c, place_of_c, m, k, m // 4),
    ]
    empty = np.zeros(LANES * m // 2, np.uint32)
    (words,) = driver.run(text_of(m, k), "apply", 1, inputs, [empty])
    made, result = words.view(np.float64), np.full((m, 8), np.nan)
    for lane in range(LANES):
        for i in range(m // 4):
            result[place_of_c(m, k, lane, i)] = made[lane * (m // 4) + i]
    return result


@pytest.mark.parametrize("m, k", SHAPES)
def test_whole_numbers_are_exact(m, k):
    rng = np.random.default_rng()
    a, b, c = (rng.integers(-(2**20), 2**20, s) for s in [(m, k), (k, 8), (m, 8)])
    result = apply(m, k, *(x.astype(np.float64) for x in (a, b, c)))
    np.testing.assert_array_equal(result, a @ b + c)


@pytest.mark.parametrize("m, k", SHAPES)
def test_each_step_is_rounded_as_a_fused_multiply_add(m, k):
    """The first multiplication cancels the accumulator, but for what a fused multiply-add keeps."""
    rng = np.random.default_rng()
    a, b = np.zeros((m, k)), np.zeros((k, 8))
    a[:, 0], b[0] = (rng.integers(2**31, 2**32, count) for count in (m, 8))
    product = np.outer(a[:, 0], b[0])
    exact = np.outer(a[:, 0].astype(np.longdouble), b[0].astype(np.longdouble)) - product
    assert exact.any()
    np.testing.assert_array_equal(apply(m, k, a, b, -product), exact.astype(np.float64))


def test_other_shapes_are_refused():
    text = text_of(16, 8).replace("m16n8k8", "m16n8k32")
    words = [np.zeros(LANES * 64, np.uint32)] * 3
    with pytest.raises(RuntimeError, match="mma"):
        Driver().run(text, "apply", 1, words, [np.zeros(LANES * 64, np.uint32)])
