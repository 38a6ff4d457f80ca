"""Quantising activations and weights: by token, by group, by tensor, by tile; to int8, fp8 and int4.

The reference divides by the scale that the kernel stored, so that rounding is compared element by
element: at most one step apart, and that only where the quotient lies within 1e-5 of a tie.
"""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import DTYPES, random
from pantile.language.extra import libdevice


@triton.jit
def per_token_int8_kernel(x_ptr, q_ptr, scale_ptr, cols, stride, BLOCK: tl.constexpr):
    """A row that does not fit a tile is read twice."""
    row = tl.program_id(0)
    largest = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + c, mask=c < cols, other=0.0).to(tl.float32)
        largest = tl.maximum(largest, tl.abs(x))
    scale = tl.maximum(tl.max(largest, 0), 1e-10) / 127.0
    tl.store(scale_ptr + row, scale)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + c, mask=c < cols, other=0.0).to(tl.float32)
        q = libdevice.rint(tl.div_rn(x, scale))
        tl.store(q_ptr + row * cols + c, q.to(tl.int8), mask=c < cols)


@triton.jit
def per_group_kernel(
    x_ptr, q_ptr, scale_ptr, groups, scale_row, scale_column, LARGEST: tl.constexpr,
    GROUP: tl.constexpr, GROUPS: tl.constexpr, POWER_OF_2: tl.constexpr,
):  # fmt: skip
    """Scales in rows or in columns, as they are or rounded up to powers of two."""
    row = tl.program_id(0)
    g = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    at = (row * groups + g[:, None]) * GROUP + tl.arange(0, GROUP)[None, :]
    mask = (g < groups)[:, None]
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=1), 1e-10) / LARGEST
    if POWER_OF_2:
        scale = tl.exp2(tl.ceil(tl.log2(scale)))
    y = tl.clamp(tl.div_rn(x, tl.broadcast_to(scale[:, None], x.shape)), -LARGEST, LARGEST)
    if q_ptr.dtype.element_ty == tl.int8:
        y = libdevice.rint(y)
    tl.store(q_ptr + at, y.to(q_ptr.dtype.element_ty), mask=mask)
    tl.store(scale_ptr + row * scale_row + g * scale_column, scale, mask=g < groups)


@triton.jit
def largest_kernel(x_ptr, largest_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.atomic_max(largest_ptr, tl.max(tl.abs(x), 0), sem="relaxed")


@triton.jit
def per_tensor_kernel(x_ptr, q_ptr, largest_ptr, n, LARGEST: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = tl.clamp(x * LARGEST / tl.load(largest_ptr), -LARGEST, LARGEST)
    tl.store(q_ptr + at, y.to(q_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def dequantise_tiles_kernel(q_ptr, scale_ptr, out_ptr, rows, cols, TILE: tl.constexpr):
    """One scale for each TILE x TILE elements of a weight."""
    i, j = tl.program_id(0), tl.program_id(1)
    r, c = i * TILE + tl.arange(0, TILE), j * TILE + tl.arange(0, TILE)
    at = r[:, None] * cols + c[None, :]
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    scale = tl.load(scale_ptr + i * tl.cdiv(cols, TILE) + j)
    y = tl.load(q_ptr + at, mask=mask, other=0.0).to(tl.float32) * scale
    tl.store(out_ptr + at, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def pack_int4_kernel(x_ptr, packed_ptr, scale_ptr, zero_ptr, GROUP: tl.constexpr):
    """Unsigned with a zero point; neighbours share a byte, the first in the low half."""
    group = tl.program_id(0)
    x = tl.load(x_ptr + group * GROUP + tl.arange(0, GROUP)).to(tl.float32)
    low, high = tl.minimum(tl.min(x, 0), 0.0), tl.maximum(tl.max(x, 0), 0.0)
    scale = tl.maximum(high - low, 1e-10) / 15.0
    zero = libdevice.rint(-low / scale)
    q = tl.clamp(libdevice.rint(x / scale) + zero, 0.0, 15.0).to(tl.uint8)
    first, second = tl.split(tl.reshape(q, [GROUP // 2, 2]))
    tl.store(packed_ptr + group * (GROUP // 2) + tl.arange(0, GROUP // 2), first | second << 4)
    tl.store(scale_ptr + group, scale)
    tl.store(zero_ptr + group, zero.to(tl.uint8))


@triton.jit
def unpack_int4_kernel(packed_ptr, scale_ptr, zero_ptr, out_ptr, GROUP: tl.constexpr):
    group = tl.program_id(0)
    byte = tl.load(packed_ptr + group * (GROUP // 2) + tl.arange(0, GROUP // 2))
    q = tl.interleave(byte & 15, byte >> 4).to(tl.float32)
    y = (q - tl.load(zero_ptr + group).to(tl.float32)) * tl.load(scale_ptr + group)
    tl.store(out_ptr + group * GROUP + tl.arange(0, GROUP), y)


def check_rounded(result, quotient, dtype):
    """`result` is `quotient` rounded, or its neighbour where the quotient is almost a tie."""
    below, above = (
        np.rint(quotient * f) if dtype == "i8" else (quotient * f).astype(np.float32).astype(result.dtype)
        for f in (1 - 1e-5, 1 + 1e-5)
    )  # fmt: skip
    wide = result.astype(np.float64)
    assert ((wide == below.astype(np.float64)) | (wide == above.astype(np.float64))).all()


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("cols, block", [(300, 128), (64, 64), (1000, 1024)])
def test_per_token(device, dtype, cols, block):
    x = random((7, cols), dtype, 1)
    x[3] = 0
    q, scale = device.output(x.shape, "i8"), device.output(7, "fp32")
    per_token_int8_kernel[(7,)](device.to(x), q.array, scale.array, cols, cols, BLOCK=block)
    wide = x.astype(np.float64)
    best = np.maximum(np.abs(wide).max(axis=1), 1e-10)
    np.testing.assert_allclose(scale.numpy(), best / 127, rtol=1e-6)
    check_rounded(q.numpy(), wide / scale.numpy().astype(np.float64)[:, None], "i8")


@pytest.mark.parametrize("power_of_2", [False, True])
@pytest.mark.parametrize("dtype, largest", [("fp8e4nv", 448.0), ("fp8e5", 57344.0), ("i8", 127.0)])
@pytest.mark.parametrize("group, groups", [(128, 5), (32, 9)])
def test_per_group(device, dtype, largest, group, groups, power_of_2):
    if dtype == "fp8e4nv" and device.arch and device.arch < 89:
        pytest.skip("fp8e4nv needs sm_89")
    rows, by_column = 6, group == 128
    x = random((rows, groups * group), "bf16", 2)
    q = device.output(x.shape, dtype)
    scale = device.output((groups, rows) if by_column else (rows, groups), "fp32")
    per_group_kernel[(rows, triton.cdiv(groups, 4))](
        device.to(x), q.array, scale.array, groups, *((1, rows) if by_column else (groups, 1)),
        LARGEST=largest, GROUP=group, GROUPS=4, POWER_OF_2=power_of_2,
    )  # fmt: skip
    wide = x.astype(np.float64).reshape(rows, groups, group)
    expected = np.abs(wide).max(axis=2) / largest
    stored = scale.numpy().T if by_column else scale.numpy()
    if power_of_2:
        expected = 2.0 ** np.ceil(np.log2(expected))
    np.testing.assert_allclose(stored, expected, rtol=1e-6)
    quotient = wide / stored.astype(np.float64)[..., None]
    check_rounded(q.numpy().reshape(wide.shape), quotient, dtype)


@pytest.mark.parametrize("dtype, largest", [("fp8e4nv", 448.0), ("fp8e5", 57344.0)])
def test_per_tensor(device, dtype, largest):
    x = random(3001, "fp16", 3)
    best, q = device.to(np.zeros(1, np.float32)), device.output(x.size, dtype)
    largest_kernel[(6,)](device.to(x), best, x.size, BLOCK=512)
    assert device.numpy(best)[0] == np.abs(x).max()
    per_tensor_kernel[(6,)](device.to(x), q.array, best, x.size, LARGEST=largest, BLOCK=512)
    wide = x.astype(np.float64)
    check_rounded(q.numpy(), wide * largest / np.abs(wide).max(), dtype)


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_dequantise_tiles(device, dtype):
    rows, cols, tile = 150, 100, 64
    q = random((rows, cols), "fp32", 4).astype(ml_dtypes.float8_e4m3fn)
    scale, out = random((3, 2), "fp32", 5), device.output((rows, cols), dtype)
    dequantise_tiles_kernel[(3, 2)](
        device.to(q), device.to(scale), out.array, rows, cols, TILE=tile
    )
    wide = np.repeat(np.repeat(scale, tile, axis=0), tile, axis=1)[:rows, :cols]
    expected = (q.astype(np.float32) * wide).astype(DTYPES[dtype])
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("group", [32, 128])
def test_int4_round_trip(device, group):
    x = random((20, group), "fp32", 6)
    x[4], x[5] = np.abs(x[4]), -np.abs(x[5])
    packed, scale = device.output((20, group // 2), "u8"), device.output(20, "fp32")
    zero, out = device.output(20, "u8"), device.output(x.shape, "fp32")
    pack_int4_kernel[(20,)](
        device.to(x), packed.array, scale.array, zero.array, GROUP=group, num_warps=1
    )
    unpack_int4_kernel[(20,)](
        packed.array, scale.array, zero.array, out.array, GROUP=group, num_warps=1
    )
    low, high = np.minimum(x.min(axis=1), 0), np.maximum(x.max(axis=1), 0)
    step = (high.astype(np.float64) - low) / 15
    np.testing.assert_allclose(scale.numpy(), step, rtol=1e-6)
    assert (np.abs(zero.numpy() - -low / step) <= 0.50001).all()
    assert (np.abs(out.numpy() - x) <= 1.0001 * step[:, None]).all()
    inside = (x > low[:, None] + step[:, None]) & (x < high[:, None] - step[:, None])
    assert (np.abs(out.numpy() - x) <= 0.5001 * step[:, None])[inside].all()
