"""Element-wise kernels as PyTorch's Inductor writes them: one flat index, taken apart by division.

Sizes are assigned over their parameters, strides are literals, helpers come from a module, and the
operands are fused views: a bias by column, a concatenation, a transposed copy, a padded border.
fp32 within 2e-6 of |result| + 1; 16-bit results within half a unit more; moved data bit for bit.
"""

import math

import inductor_helpers as triton_helpers
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from inductor_helpers import promote_to_tensor
from pantile.language import math as tl_math
from pantile.language.extra import libdevice


@triton.jit
def poi_fused_add_relu_mul_0(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xnumel = 4864
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x2 = xindex
    x0 = xindex % 128
    x1 = xindex // 128
    tmp0 = tl.load(in_ptr0 + (x2), xmask).to(tl.float32)
    tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy="evict_last").to(tl.float32)
    tmp5 = tl.load(in_ptr2 + (x1), xmask, eviction_policy="evict_last").to(tl.float32)
    tmp2 = tmp0 + tmp1
    tmp3 = tl.full([1], 0, tl.int32)
    tmp4 = triton_helpers.maximum(tmp3, tmp2)
    tmp6 = tmp4 * tmp5
    tl.store(out_ptr0 + (x2), tmp6, xmask)


@triton.jit
def poi_fused_gelu_inplace_1(in_out_ptr0, in_ptr0, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)
    x0 = xindex
    tmp0 = tl.load(in_out_ptr0 + (x0), None)
    tmp1 = tl.load(in_ptr0 + (0))
    tmp2 = tl.broadcast_to(tmp1, [XBLOCK])
    tmp3 = tmp0 + tmp2
    tmp4 = 0.5
    tmp5 = tmp3 * tmp4
    tmp6 = 0.7071067811865476
    tmp7 = tmp3 * tmp6
    tmp8 = libdevice.erf(tmp7)
    tmp9 = 1.0
    tmp10 = tmp8 + tmp9
    tmp11 = tmp5 * tmp10
    tl.store(in_out_ptr0 + (x0), tmp11, xmask)


@triton.jit
def poi_fused_cat_2(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    """Rows of 24, 40 and 13 columns put side by side; only one of three loads is live a lane."""
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex % 77
    x1 = xindex // 77
    x2 = xindex
    tmp0 = x0
    tmp1 = tl.full([1], 0, tl.int64)
    tmp2 = tmp0 >= tmp1
    tmp3 = tl.full([1], 24, tl.int64)
    tmp4 = tmp0 < tmp3
    tmp5 = tl.load(
        in_ptr0 + (24 * x1 + (x0)), tmp4 & tmp2 & xmask, eviction_policy="evict_last", other=0.0
    )
    tmp6 = tmp0 >= tmp3
    tmp7 = tl.full([1], 64, tl.int64)
    tmp8 = tmp0 < tmp7
    tmp9 = tmp6 & tmp8
    tmp10 = tl.load(
        in_ptr1 + (40 * x1 + ((-24) + x0)), tmp9 & xmask, eviction_policy="evict_last", other=0.0
    )
    tmp11 = tmp0 >= tmp7
    tmp12 = tl.load(
        in_ptr2 + (13 * x1 + ((-64) + x0)), tmp11 & xmask, eviction_policy="evict_first", other=0.0
    )
    tmp13 = tl.where(tmp9, tmp10, tmp12)
    tmp14 = tl.where(tmp4, tmp5, tmp13)
    tl.store(out_ptr0 + (x2), tmp14, xmask)


@triton.jit
def poi_fused_clone_3(
    in_ptr0, out_ptr0, ynumel, xnumel, YBLOCK: tl.constexpr, XBLOCK: tl.constexpr
):
    """(5, 49, 30) to (5, 30, 49) in tiles whose grid spills from y into z."""
    ynumel = 150
    xnumel = 49
    yoffset = (tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)) * YBLOCK
    yindex = yoffset + tl.arange(0, YBLOCK)[None, :]
    ymask = yindex < ynumel
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    x2 = xindex
    y0 = yindex % 30
    y1 = yindex // 30
    y3 = yindex
    tmp0 = tl.load(
        in_ptr0 + (y0 + 30 * x2 + 1470 * y1), xmask & ymask, eviction_policy="evict_last"
    )
    tl.store(out_ptr0 + (x2 + 49 * y3), tmp0, xmask & ymask)


@triton.jit
def poi_fused_index_where_tanh_4(
    in_ptr0, in_ptr1, in_ptr2, out_ptr0, out_ptr1, ks0, xnumel, XBLOCK: tl.constexpr
):
    """Negative indices wrap; a mask of bytes chooses; a comparison is stored as bool."""
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x1 = xindex // ks0
    x0 = xindex % ks0
    x2 = xindex
    tmp0 = tl.load(in_ptr0 + (x1), xmask, eviction_policy="evict_last")
    tmp7 = tl.load(in_ptr2 + (x2), xmask).to(tl.int1)
    tmp1 = tl.full([XBLOCK], 50, tl.int32)
    tmp2 = tmp0 + tmp1
    tmp3 = tmp0 < 0
    tmp4 = tl.where(tmp3, tmp2, tmp0)
    tl.device_assert(((0 <= tmp4) & (tmp4 < 50)) | ~(xmask), "index out of bounds: 0 <= tmp4 < 50")
    tmp6 = tl.load(in_ptr1 + (x0 + ks0 * tmp4), xmask)
    tmp8 = float("-inf")
    tmp9 = tl.where(tmp7, tmp8, tmp6)
    tmp10 = libdevice.tanh(tmp9)
    tmp11 = tl_math.abs(tmp10)
    tmp12 = promote_to_tensor(0.25)
    tmp13 = tmp11 > tmp12
    tl.store(out_ptr0 + (x2), tmp10, xmask)
    tl.store(out_ptr1 + (x2), tmp13, xmask)


@triton.jit
def poi_fused_max_pool2d_5(in_ptr0, out_ptr0, out_ptr1, xnumel, XBLOCK: tl.constexpr):
    """3x3 windows, stride 2, one column and row of padding, over planes of 13 x 17."""
    xnumel = 441
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x1 = (xindex // 9) % 7
    x0 = xindex % 9
    x2 = xindex // 63
    x3 = xindex
    best = tl.full([XBLOCK], float("-inf"), tl.float32)
    where = tl.full([XBLOCK], 0, tl.int8)
    for k in tl.static_range(9):
        row = (-1) + 2 * x1 + k // 3
        col = (-1) + 2 * x0 + k % 3
        inside = (row >= 0) & (row < 13) & (col >= 0) & (col < 17)
        value = tl.load(in_ptr0 + (col + 17 * row + 221 * x2), inside & xmask, other=float("-inf"))
        where = tl.where(value > best, tl.full([1], k, tl.int8), where)
        best = triton_helpers.maximum(value, best)
    tl.store(out_ptr0 + (x3), best, xmask)
    tl.store(out_ptr1 + (x3), where, xmask)


def check_close(result, expected):
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(result.dtype.name, 0)
    allowed = 2e-6 * (1 + np.abs(expected)) + unit * np.abs(expected)
    error = np.abs(result.astype(np.float64) - expected)
    assert ((error <= allowed) | (np.isnan(result) & np.isnan(expected))).all()


@pytest.mark.parametrize("dtype, block", [("fp32", 1024), ("bf16", 256), ("fp16", 128)])
def test_bias_relu_scale(device, dtype, block):
    x, bias, scale = random((38, 128), dtype, 1), random(128, dtype, 2), random(38, dtype, 3)
    x[3, 5] = x[20, 127] = np.nan
    out = device.output(x.shape, dtype)
    poi_fused_add_relu_mul_0[(triton.cdiv(4864, block),)](
        *map(device.to, (x, bias, scale)), out.array, 4864, XBLOCK=block, num_warps=block // 128
    )
    wide = x.astype(np.float64) + bias.astype(np.float64)
    expected = np.maximum(wide, 0) * scale.astype(np.float64)[:, None]
    assert np.isnan(expected).sum() == 2
    check_close(out.numpy(), expected)


def test_gelu_in_place(device):
    x, shift = random(4096, "fp32", 4) * 3, random(1, "fp32", 5)
    data = device.to(x.copy())
    poi_fused_gelu_inplace_1[(8,)](data, device.to(shift), XBLOCK=512)
    wide = x.astype(np.float64) + shift
    erf = np.vectorize(math.erf)
    check_close(device.numpy(data), 0.5 * wide * (1 + erf(wide * np.sqrt(0.5))))


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "i64"])
def test_concatenation(device, dtype):
    """Three arrays of several widths are next to each other in the result."""
    parts = [random((31, width), dtype, 6 + width) for width in (24, 40, 13)]
    out = device.output((31, 77), dtype)
    poi_fused_cat_2[(triton.cdiv(31 * 77, 256),)](
        *map(device.to, parts), out.array, 31 * 77, XBLOCK=256
    )
    np.testing.assert_array_equal(out.numpy(), np.concatenate(parts, axis=1))


@pytest.mark.parametrize(
    "dtype, y_block, x_block", [("fp32", 16, 16), ("fp16", 64, 8), ("i8", 32, 64)]
)
def test_transposed_clone(device, dtype, y_block, x_block):
    x = random((5, 49, 30), dtype, 7)
    out = device.output((5, 30, 49), dtype)
    blocks = triton.cdiv(150, y_block)
    grid = (triton.cdiv(49, x_block), triton.cdiv(blocks, 2), 2)
    poi_fused_clone_3[grid](device.to(x), out.array, 150, 49, YBLOCK=y_block, XBLOCK=x_block)
    np.testing.assert_array_equal(out.numpy(), x.transpose(0, 2, 1))


@pytest.mark.parametrize("columns", [64, 37])
def test_indexed_rows(device, columns):
    index = random(23, "i64", 8, low=-50, high=50)
    table, hidden = random((50, columns), "fp32", 9), random((23, columns), "i1", 10)
    out, large = device.output(hidden.shape, "fp32"), device.output(hidden.shape, "i1")
    poi_fused_index_where_tanh_4[(triton.cdiv(hidden.size, 128),)](
        device.to(index), device.to(table), device.to(hidden), out.array, large.array,
        columns, hidden.size, XBLOCK=128, num_warps=2,
    )  # fmt: skip
    expected = np.tanh(np.where(hidden, -np.inf, table[index].astype(np.float64)))
    check_close(out.numpy(), expected)
    unsure = np.abs(np.abs(expected) - 0.25) < 1e-6
    assert ((large.numpy() == (np.abs(expected) > 0.25)) | unsure).all()


def test_max_pool(device):
    """Inductor's kernel for windows of 3 and a stride of 2, with places of 8 bits."""
    x = random((7, 13, 17), "fp32", 11)
    out, where = device.output((7, 7, 9), "fp32"), device.output((7, 7, 9), "i8")
    poi_fused_max_pool2d_5[(4,)](device.to(x), out.array, where.array, 441, XBLOCK=128)
    padded = np.pad(x, ((0, 0), (1, 2), (1, 2)), constant_values=-np.inf)
    windows = np.stack(
        [padded[:, r : r + 14 : 2, c : c + 18 : 2] for r in range(3) for c in range(3)], axis=-1
    )
    np.testing.assert_array_equal(out.numpy(), windows.max(axis=-1))
    np.testing.assert_array_equal(where.numpy(), windows.argmax(axis=-1))
