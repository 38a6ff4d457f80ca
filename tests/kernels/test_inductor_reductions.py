"""Reductions as PyTorch's Inductor writes them: persistent (a row in one tile) and looped.

Looped ones keep a tile of partial results and mask each step with `where`; variances are Welford's;
arguments of extremes are carried with their values, NaN first and the smallest index among equals.
Sums within 2e-6 of the magnitudes, mean and variance 1e-5, softmax 2e-5; extremes exactly.
"""

import inductor_helpers as triton_helpers
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from pantile.language import math as tl_math
from pantile.language.extra import libdevice


@triton.jit
def red_fused_abs_sum_0(
    in_ptr0, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr
):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    x0 = xindex
    _tmp3 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    _tmp5 = tl.full([XBLOCK, R0_BLOCK], float("-inf"), tl.float32)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        r0_1 = r0_index
        tmp0 = tl.load(
            in_ptr0 + (r0_1 + r0_numel * x0),
            r0_mask & xmask,
            eviction_policy="evict_first",
            other=0.0,
        ).to(tl.float32)
        tmp1 = tl_math.abs(tmp0)
        tmp2 = tl.broadcast_to(tmp1, [XBLOCK, R0_BLOCK])
        tmp4 = _tmp3 + tmp2
        _tmp3 = tl.where(r0_mask & xmask, tmp4, _tmp3)
        tmp6 = triton_helpers.maximum(_tmp5, tmp2)
        _tmp5 = tl.where(r0_mask & xmask, tmp6, _tmp5)
    tmp3 = tl.sum(_tmp3, 1)[:, None]
    tmp5 = triton_helpers.max2(_tmp5, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp3, xmask)
    tl.store(out_ptr1 + (x0), tmp5, xmask)


@triton.jit
def red_fused_native_layer_norm_1(
    in_ptr0, in_ptr1, in_ptr2, out_ptr0, out_ptr1, out_ptr2, xnumel, r0_numel,
    XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr,
):  # fmt: skip
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    x0 = xindex
    tmp2_mean = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    tmp2_m2 = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    tmp2_weight = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        r0_1 = r0_index
        tmp0 = tl.load(
            in_ptr0 + (r0_1 + r0_numel * x0),
            r0_mask & xmask,
            eviction_policy="evict_last",
            other=0.0,
        ).to(tl.float32)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        tmp2_mean_next, tmp2_m2_next, tmp2_weight_next = triton_helpers.welford_reduce(
            tmp1, tmp2_mean, tmp2_m2, tmp2_weight, r0_offset == 0
        )
        tmp2_mean = tl.where(r0_mask & xmask, tmp2_mean_next, tmp2_mean)
        tmp2_m2 = tl.where(r0_mask & xmask, tmp2_m2_next, tmp2_m2)
        tmp2_weight = tl.where(r0_mask & xmask, tmp2_weight_next, tmp2_weight)
    tmp3, tmp4, tmp5 = triton_helpers.welford(tmp2_mean, tmp2_m2, tmp2_weight, 1)
    tmp2 = tmp3[:, None]
    tmp6 = tmp4[:, None]
    tmp7 = r0_numel.to(tl.float32)
    tmp8 = tmp6 / tmp7
    tmp9 = libdevice.rsqrt(tmp8 + 1e-05)
    tl.store(out_ptr0 + (x0), tmp2, xmask)
    tl.store(out_ptr1 + (x0), tmp9, xmask)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        r0_1 = r0_index
        tmp10 = tl.load(
            in_ptr0 + (r0_1 + r0_numel * x0),
            r0_mask & xmask,
            eviction_policy="evict_first",
            other=0.0,
        ).to(tl.float32)
        tmp14 = tl.load(in_ptr1 + (r0_1), r0_mask, eviction_policy="evict_last", other=0.0).to(
            tl.float32
        )
        tmp16 = tl.load(in_ptr2 + (r0_1), r0_mask, eviction_policy="evict_last", other=0.0).to(
            tl.float32
        )
        tmp17 = (tmp10 - tmp2) * tmp9 * tmp14 + tmp16
        tl.store(out_ptr2 + (r0_1 + r0_numel * x0), tmp17, r0_mask & xmask)


@triton.jit
def per_fused_softmax_2(in_ptr0, out_ptr2, xnumel, r0_numel, XBLOCK: tl.constexpr):
    r0_numel = 77
    R0_BLOCK: tl.constexpr = 128
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_mask = r0_index < r0_numel
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (r0_1 + 77 * x0), r0_mask & xmask, other=0.0).to(tl.float32)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(r0_mask & xmask, tmp1, float("-inf"))
    tmp4 = triton_helpers.max2(tmp3, 1)[:, None]
    tmp5 = tmp0 - tmp4
    tmp6 = tl_math.exp(tmp5)
    tmp7 = tl.broadcast_to(tmp6, [XBLOCK, R0_BLOCK])
    tmp9 = tl.where(r0_mask & xmask, tmp7, 0)
    tmp10 = tl.sum(tmp9, 1)[:, None]
    tmp11 = tmp6 / tmp10
    tl.store(out_ptr2 + (r0_1 + 77 * x0), tmp11, r0_mask & xmask)


@triton.jit
def per_fused_var_mean_3(in_ptr0, out_ptr0, out_ptr1):
    """One program, one row: a tile without a dimension for rows."""
    XBLOCK: tl.constexpr = 1
    R0_BLOCK: tl.constexpr = 1024
    xoffset = tl.program_id(0) * XBLOCK
    xindex = tl.full([R0_BLOCK], xoffset, tl.int32)
    r0_index = tl.arange(0, R0_BLOCK)[:]
    r0_0 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (r0_0 + 1024 * x0), None)
    tmp1 = tl.broadcast_to(tmp0, [R0_BLOCK])
    tmp5 = triton_helpers.promote_to_tensor(tl.sum(tmp1, 0))
    tmp6 = tl.full([1], 1024, tl.int32)
    tmp7 = tmp6.to(tl.float32)
    tmp8 = tmp5 / tmp7
    tmp9 = tmp1 - tmp8
    tmp10 = tmp9 * tmp9
    tmp13 = triton_helpers.promote_to_tensor(tl.sum(tl.broadcast_to(tmp10, [R0_BLOCK]), 0))
    one = tl.full([1], 0, tl.int32) + tl.program_id(0)
    tl.store(out_ptr0 + (one), tmp8, None)
    tl.store(out_ptr1 + (one), tmp13 / 1023.0, None)


@triton.jit
def red_fused_argmax_argmin_any_4(
    in_ptr0, out_ptr0, out_ptr1, out_ptr2, xnumel, r0_numel,
    XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr,
):  # fmt: skip
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    x0 = xindex
    _tmp2 = tl.full([XBLOCK, R0_BLOCK], float("-inf"), tl.float32)
    _tmp2_index = tl.full([XBLOCK, R0_BLOCK], 2147483647, tl.int32)
    _tmp3 = tl.full([XBLOCK, R0_BLOCK], float("inf"), tl.float32)
    _tmp3_index = tl.full([XBLOCK, R0_BLOCK], 2147483647, tl.int32)
    _tmp4 = tl.full([XBLOCK, R0_BLOCK], False, tl.int1)
    for r0_offset in range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp0 = tl.load(
            in_ptr0 + (r0_index + r0_numel * x0),
            r0_mask & xmask,
            eviction_policy="evict_first",
            other=0.0,
        )
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        rindex = tl.broadcast_to(r0_index, tmp1.shape)
        _tmp2_next, _tmp2_index_next = triton_helpers.maximum_with_index(
            _tmp2, _tmp2_index, tmp1, rindex
        )
        _tmp2 = tl.where(r0_mask & xmask, _tmp2_next, _tmp2)
        _tmp2_index = tl.where(r0_mask & xmask, _tmp2_index_next, _tmp2_index)
        _tmp3_next, _tmp3_index_next = triton_helpers.minimum_with_index(
            _tmp3, _tmp3_index, tmp1, rindex
        )
        _tmp3 = tl.where(r0_mask & xmask, _tmp3_next, _tmp3)
        _tmp3_index = tl.where(r0_mask & xmask, _tmp3_index_next, _tmp3_index)
        tmp5 = _tmp4 | (tmp1 > 3.0)
        _tmp4 = tl.where(r0_mask & xmask, tmp5, _tmp4)
    tmp2_val, tmp2_idx = triton_helpers.max_with_index(_tmp2, _tmp2_index, 1)
    tmp2 = tmp2_idx[:, None]
    tmp3_val, tmp3_idx = triton_helpers.min_with_index(_tmp3, _tmp3_index, 1)
    tmp3 = tmp3_idx[:, None]
    tmp4 = triton_helpers.any(_tmp4.to(tl.int8), 1)[:, None].to(tl.int1)
    tl.store(out_ptr0 + (x0), tmp2, xmask)
    tl.store(out_ptr1 + (x0), tmp3, xmask)
    tl.store(out_ptr2 + (x0), tmp4, xmask)


@triton.jit
def per_fused_cumsum_5(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK: tl.constexpr):
    R0_BLOCK: tl.constexpr = 64
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel * xindex), r0_mask & xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0.to(tl.float32), [XBLOCK, R0_BLOCK])
    (tmp2,) = tl.associative_scan((tmp1,), 1, _add_tuple)
    tl.store(out_ptr0 + (r0_index + r0_numel * xindex), tmp2, xmask & r0_mask)


@triton.jit
def _add_tuple(arg0_0, arg1_0):
    tmp0 = arg0_0 + arg1_0
    return tmp0


@pytest.mark.parametrize(
    "rows, cols, x_block, r_block", [(13, 1000, 8, 128), (70, 33, 64, 8), (3, 2500, 1, 1024)]
)
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_looped_sum_and_max(device, dtype, rows, cols, x_block, r_block):
    x = random((rows, cols), dtype, 1)
    x[1, 7] = np.nan
    sums, largest = device.output(rows, "fp32"), device.output(rows, "fp32")
    red_fused_abs_sum_0[(triton.cdiv(rows, x_block),)](
        device.to(x), sums.array, largest.array, rows, cols, XBLOCK=x_block, R0_BLOCK=r_block
    )
    wide = np.abs(x.astype(np.float64))
    np.testing.assert_allclose(sums.numpy(), wide.sum(axis=1), rtol=2e-6)
    np.testing.assert_array_equal(largest.numpy(), wide.max(axis=1))


@pytest.mark.parametrize(
    "rows, cols, x_block, r_block, warps",
    [(9, 700, 2, 256, 4), (33, 100, 16, 32, 2), (2, 65, 1, 64, 8)],
)
def test_welford_layer_norm(device, rows, cols, x_block, r_block, warps):
    """In Inductor's newer style, on fp16 rows far from zero."""
    x = random((rows, cols), "fp16", 2) + np.float16(30)
    weight, bias = random(cols, "fp32", 3), random(cols, "fp32", 4)
    mean, rstd = device.output(rows, "fp32"), device.output(rows, "fp32")
    out = device.output(x.shape, "fp32")
    red_fused_native_layer_norm_1[(triton.cdiv(rows, x_block),)](
        *map(device.to, (x, weight, bias)), mean.array, rstd.array, out.array, rows, cols,
        XBLOCK=x_block, R0_BLOCK=r_block, num_warps=warps,
    )  # fmt: skip
    wide = x.astype(np.float64)
    expected_mean = wide.mean(axis=1, keepdims=True)
    expected_rstd = 1 / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(mean.numpy(), expected_mean[:, 0], rtol=2e-6)
    np.testing.assert_allclose(rstd.numpy(), expected_rstd[:, 0], rtol=1e-5)
    expected = (wide - expected_mean) * expected_rstd * weight + bias
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype, x_block", [("fp32", 1), ("fp16", 8), ("bf16", 32)])
def test_persistent_softmax(device, dtype, x_block):
    """In Inductor's newer style, from 16-bit rows, too."""
    x = random((37, 77), dtype, 5)
    out = device.output(x.shape, "fp32")
    per_fused_softmax_2[(triton.cdiv(37, x_block),)](
        device.to(x), out.array, 37, 77, XBLOCK=x_block
    )
    wide = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), wide / wide.sum(axis=1, keepdims=True), rtol=2e-5)


def test_row_per_program(device):
    x = random((5, 1024), "fp32", 6)
    mean, variance = device.output(5, "fp32"), device.output(5, "fp32")
    per_fused_var_mean_3[(5,)](device.to(x), mean.array, variance.array, num_warps=8)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean.numpy(), wide.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(variance.numpy(), wide.var(axis=1, ddof=1), rtol=1e-5)


@pytest.mark.parametrize(
    "rows, cols, x_block, r_block", [(11, 500, 4, 64), (40, 19, 32, 16), (2, 1025, 1, 512)]
)
def test_looped_arguments(device, rows, cols, x_block, r_block):
    x = random((rows, cols), "i32", 7, low=-9, high=10).astype(np.float32) / 2
    x[1, 5] = x[1, 11] = np.nan
    x[rows - 1] = np.minimum(x[rows - 1], 3)
    largest, smallest = device.output(rows, "i64"), device.output(rows, "i64")
    above = device.output(rows, "i1")
    red_fused_argmax_argmin_any_4[(triton.cdiv(rows, x_block),)](
        device.to(x), largest.array, smallest.array, above.array, rows, cols,
        XBLOCK=x_block, R0_BLOCK=r_block,
    )  # fmt: skip
    np.testing.assert_array_equal(largest.numpy(), x.argmax(axis=1))
    np.testing.assert_array_equal(smallest.numpy(), x.argmin(axis=1))
    np.testing.assert_array_equal(above.numpy(), (x > 3).any(axis=1))


def test_persistent_scan(device):
    x = random((21, 50), "fp16", 8)
    out = device.output(x.shape, "fp32")
    per_fused_cumsum_5[(triton.cdiv(21, 4),)](
        device.to(x), out.array, 21, 50, XBLOCK=4, num_warps=2
    )
    wide = x.astype(np.float64)
    allowed = 2e-6 * np.abs(wide).cumsum(axis=1)
    assert (np.abs(out.numpy() - wide.cumsum(axis=1)) <= allowed).all()
