"""Kernels as a graph compiler writes them: flat indices taken apart, helpers for reductions.

The style of PyTorch's Inductor: `xnumel`, `xindex // 128`, constant true masks, `tl.broadcast_to`,
persistent and looped reductions, Welford by a tuple reduction, argmax with NaN, atomics for
index_put, a cooperative split in two kernels. fp32 within 1e-5 of the magnitudes, indices exact.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from inductor_helpers import (
    either,
    max2,
    max_with_index,
    maximum_with_index,
    welford,
    welford_reduce,
)


@triton.jit
def poi_fused_add_gelu_permute(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, XBLOCK: tl.constexpr):
    """(B, 128, ks0) with a bias of 128, to (B, ks0, 128)."""
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex % 128
    x1 = (xindex // 128) % ks0
    x2 = xindex // (128 * ks0)
    tmp0 = tl.load(
        in_ptr0 + (x1 + ks0 * x0 + 128 * ks0 * x2), xmask, eviction_policy="evict_last"
    ).to(tl.float32)
    tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy="evict_last").to(tl.float32)
    tmp2 = tmp0 + tmp1
    tmp3 = tl.full([1], 0.5, tl.float32)
    tmp4 = tmp2 * tmp3
    tmp5 = 0.7071067811865476
    tmp6 = tmp2 * tmp5
    tmp7 = tl.math.erf(tmp6)
    tmp8 = 1.0
    tmp9 = tmp7 + tmp8
    tmp10 = tmp4 * tmp9
    tl.store(out_ptr0 + (xindex), tmp10, xmask)


@triton.jit
def poi_fused_cat_where(
    in_ptr0, in_ptr1, out_ptr0, ynumel, xnumel, YBLOCK: tl.constexpr, XBLOCK: tl.constexpr
):
    """The two inputs (y, 48) and (y, 80) next to each other; masked loads choose."""
    yoffset = (tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)) * YBLOCK
    yindex = yoffset + tl.arange(0, YBLOCK)[None, :]
    ymask = yindex < ynumel
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    x1 = xindex
    y0 = yindex
    tmp0 = x1
    tmp1 = tl.full([1, 1], 0, tl.int64)
    tmp3 = tl.full([1, 1], 48, tl.int64)
    tmp4 = (tmp0 >= tmp1) & (tmp0 < tmp3)
    tmp5 = tl.load(
        in_ptr0 + (tl.broadcast_to(x1 + 48 * y0, [XBLOCK, YBLOCK])),
        tmp4 & xmask & ymask,
        eviction_policy="evict_last",
        other=0.0,
    )
    tmp6 = tmp0 >= tmp3
    tmp10 = tl.load(
        in_ptr1 + (tl.broadcast_to(80 * y0 + ((-48) + x1), [XBLOCK, YBLOCK])),
        tmp6 & xmask & ymask,
        eviction_policy="evict_last",
        other=0.0,
    )
    tmp11 = tl.where(tmp4, tmp5, tmp10)
    tl.store(out_ptr0 + (x1 + 128 * y0), tmp11, xmask & ymask)


@triton.jit
def per_fused_softmax(
    in_ptr0, out_ptr2, xnumel, rnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr
):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rindex = tl.arange(0, RBLOCK)[None, :]
    rmask = rindex < rnumel
    r1, x0 = rindex, xindex
    tmp0 = tl.load(in_ptr0 + (r1 + rnumel * x0), rmask & xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, RBLOCK])
    tmp3 = tl.where(rmask & xmask, tmp1, float("-inf"))
    tmp4 = max2(tmp3, 1)[:, None]
    tmp5 = tmp0 - tmp4
    tmp6 = tl.math.exp(tmp5)
    tmp7 = tl.broadcast_to(tmp6, [XBLOCK, RBLOCK])
    tmp9 = tl.where(rmask & xmask, tmp7, 0)
    tmp10 = tl.sum(tmp9, 1)[:, None]
    tl.store(out_ptr2 + (r1 + rnumel * x0), tmp6 / tmp10, rmask & xmask)


@triton.jit
def red_fused_native_layer_norm(
    in_out_ptr0, in_ptr0, in_ptr1, in_ptr2, out_ptr0, out_ptr1, xnumel, rnumel,
    XBLOCK: tl.constexpr, RBLOCK: tl.constexpr,
):  # fmt: skip
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rbase = tl.arange(0, RBLOCK)[None, :]
    x0 = xindex
    tmp2_mean = tl.zeros([XBLOCK, RBLOCK], tl.float32)
    tmp2_m2 = tl.zeros([XBLOCK, RBLOCK], tl.float32)
    tmp2_weight = tl.zeros([XBLOCK, RBLOCK], tl.float32)
    for roffset in range(0, rnumel, RBLOCK):
        rindex = roffset + rbase
        rmask = rindex < rnumel
        tmp0 = tl.load(
            in_ptr0 + (rindex + rnumel * x0), rmask & xmask, eviction_policy="evict_last", other=0.0
        ).to(tl.float32)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, RBLOCK])
        tmp2_mean_next, tmp2_m2_next, tmp2_weight_next = welford_reduce(
            tmp1, tmp2_mean, tmp2_m2, tmp2_weight, roffset == 0
        )
        tmp2_mean = tl.where(rmask & xmask, tmp2_mean_next, tmp2_mean)
        tmp2_m2 = tl.where(rmask & xmask, tmp2_m2_next, tmp2_m2)
        tmp2_weight = tl.where(rmask & xmask, tmp2_weight_next, tmp2_weight)
    tmp2_tmp, tmp3_tmp, tmp4_tmp = welford(tmp2_mean, tmp2_m2, tmp2_weight, 1)
    tmp2 = tmp2_tmp[:, None]
    tmp3 = tmp3_tmp[:, None]
    tl.store(out_ptr0 + (x0), tmp2, xmask)
    tmp5 = rnumel
    tmp6 = tmp3 / tmp5.to(tl.float32)
    tmp9 = tl.rsqrt(tmp6 + 1e-05)
    tl.debug_barrier()
    tl.store(in_out_ptr0 + (x0), tmp9, xmask)
    for roffset in range(0, rnumel, RBLOCK):
        rindex = roffset + rbase
        rmask = rindex < rnumel
        tmp10 = tl.load(
            in_ptr0 + (rindex + rnumel * x0),
            rmask & xmask,
            eviction_policy="evict_first",
            other=0.0,
        ).to(tl.float32)
        tmp11 = tl.load(in_ptr1 + (rindex), rmask, eviction_policy="evict_last", other=0.0)
        tmp12 = tl.load(in_ptr2 + (rindex), rmask, eviction_policy="evict_last", other=0.0)
        tl.store(
            out_ptr1 + (rindex + rnumel * x0), (tmp10 - tmp2) * tmp9 * tmp11 + tmp12, rmask & xmask
        )


@triton.jit
def red_fused_argmax_any(
    in_ptr0,
    out_ptr0,
    out_ptr1,
    out_ptr2,
    xnumel,
    rnumel,
    XBLOCK: tl.constexpr,
    RBLOCK: tl.constexpr,
):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rbase = tl.arange(0, RBLOCK)[None, :]
    x0 = xindex
    _tmp2 = tl.full([XBLOCK, RBLOCK], float("-inf"), tl.float32)
    _tmp2_index = tl.full([XBLOCK, RBLOCK], 9223372036854775807, tl.int64)
    _tmp5 = tl.full([XBLOCK, RBLOCK], 0, tl.int1)
    for roffset in range(0, rnumel, RBLOCK):
        rindex = roffset + rbase
        rmask = rindex < rnumel
        tmp0 = tl.load(
            in_ptr0 + (rindex + rnumel * x0),
            rmask & xmask,
            eviction_policy="evict_first",
            other=0.0,
        )
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, RBLOCK])
        _tmp2_next, _tmp2_index_next = maximum_with_index(_tmp2, _tmp2_index, tmp1, rindex)
        _tmp2 = tl.where(rmask & xmask, _tmp2_next, _tmp2)
        _tmp2_index = tl.where(rmask & xmask, _tmp2_index_next, _tmp2_index)
        tmp4 = tmp1 > 2.5
        _tmp5 = tl.where(rmask & xmask, _tmp5 | tmp4, _tmp5)
    tmp2_val, tmp2_idx = max_with_index(_tmp2, _tmp2_index, 1)
    tl.store(out_ptr0 + (x0), tmp2_idx[:, None], xmask)
    tl.store(out_ptr1 + (x0), tmp2_val[:, None], xmask)
    tmp5 = tl.reduce(_tmp5, 1, either)[:, None].to(tl.int1)
    tl.store(out_ptr2 + (x0), tmp5, xmask)


@triton.jit
def red_fused_sum_split(
    in_ptr0, out_ptr0, xnumel, rnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr
):
    """A sum over one long row, cut into xnumel parts of rnumel; a second launch ends it."""
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK, RBLOCK], True, tl.int1) & (xindex < xnumel)
    rbase = tl.arange(0, RBLOCK)[None, :]
    _tmp2 = tl.full([XBLOCK, RBLOCK], 0, tl.float32)
    for roffset in range(0, rnumel, RBLOCK):
        rindex = roffset + rbase
        rmask = rindex < rnumel
        tmp0 = tl.load(in_ptr0 + (rindex + rnumel * xindex), rmask & xmask, other=0.0).to(
            tl.float32
        )
        _tmp2 = tl.where(rmask & xmask, _tmp2 + tmp0 * tmp0, _tmp2)
    tl.store(out_ptr0 + xindex, tl.sum(_tmp2, 1)[:, None], xindex < xnumel)


@triton.jit
def poi_fused_index_put(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x1, x0 = xindex // 24, xindex % 24
    tmp0 = tl.load(in_ptr0 + (x1), xmask, eviction_policy="evict_last")
    tmp6 = tl.load(in_ptr1 + (xindex), xmask)
    tmp1 = tl.full([XBLOCK], 0, tl.int32) + ks0
    tmp2 = tmp0 + tmp1
    tmp3 = tmp0 < 0
    tmp4 = tl.where(tmp3, tmp2, tmp0)
    tl.device_assert(((0 <= tmp4) & (tmp4 < ks0)) | ~xmask, "index out of bounds: 0 <= tmp4 < ks0")
    tl.atomic_add(out_ptr0 + (x0 + 24 * tmp4), tmp6, xmask, sem="relaxed")


def _gelu(x):
    import math

    return 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_pointwise(device, dtype):
    """A generated sum, GELU and permutation agree with NumPy."""
    batch, ks0 = 2, 19
    x, bias = random((batch, 128, ks0), dtype, 1), random(128, "fp32", 2)
    out = device.output((batch, ks0, 128), "fp32")
    poi_fused_add_gelu_permute[(triton.cdiv(x.size, 512),)](
        device.to(x), device.to(bias), out.array, ks0, x.size, XBLOCK=512, num_warps=8
    )
    expected = _gelu(x.astype(np.float64) + bias[:, None]).transpose(0, 2, 1)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("rows", [33, 128])
def test_cat(device, rows):
    """A generated concatenation takes each column from the right array."""
    left, right = random((rows, 48), "fp32", 3), random((rows, 80), "fp32", 4)
    out = device.output((rows, 128), "fp32")
    poi_fused_cat_where[(8, 1, triton.cdiv(rows, 32))](
        device.to(left), device.to(right), out.array, rows, 128, YBLOCK=32, XBLOCK=16
    )
    np.testing.assert_array_equal(out.numpy(), np.concatenate([left, right], axis=1))


@pytest.mark.parametrize("rows, columns, block", [(37, 100, 8), (5, 700, 1)])
def test_persistent_softmax(device, rows, columns, block):
    """In Inductor's older style: `RBLOCK` is a parameter."""
    x, out = random((rows, columns), "fp32", 5), device.output((rows, columns), "fp32")
    per_fused_softmax[(triton.cdiv(rows, block),)](
        device.to(x), out.array, rows, columns, XBLOCK=block, RBLOCK=triton.next_power_of_2(columns)
    )
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("rows, columns", [(9, 500), (2, 64)])
def test_welford_layer_norm(device, rows, columns, dtype):
    """In Inductor's older style, in place for the reciprocal deviation."""
    x = random((rows, columns), dtype, 6) + np.array(3, random(1, dtype).dtype)
    weight, bias = random(columns, "fp32", 7), random(columns, "fp32", 8)
    mean, rstd = device.output(rows, "fp32"), device.output(rows, "fp32")
    out = device.output(x.shape, "fp32")
    red_fused_native_layer_norm[(triton.cdiv(rows, 4),)](
        rstd.array, *map(device.to, (x, weight, bias)), mean.array, out.array, rows, columns,
        XBLOCK=4, RBLOCK=64,
    )  # fmt: skip
    wide = x.astype(np.float64)
    middle, spread = wide.mean(1, keepdims=True), 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(mean.numpy(), middle[:, 0], rtol=1e-5)
    np.testing.assert_allclose(rstd.numpy(), spread[:, 0], rtol=1e-5)
    expected = (wide - middle) * spread * weight + bias
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("nan", [False, True])
def test_argmax(device, nan):
    """A generated argmax finds the first largest element, or the first NaN."""
    rows, columns = 11, 333
    x = np.round(random((rows, columns), "fp32", 9) * 4) / 4
    if nan:
        x[2, [77, 200]] = np.nan
        x[5, 332] = np.nan
    index, value, found = (device.output(rows, d) for d in ("i64", "fp32", "i1"))
    red_fused_argmax_any[(triton.cdiv(rows, 2),)](
        device.to(x), index.array, value.array, found.array, rows, columns, XBLOCK=2, RBLOCK=128
    )
    np.testing.assert_array_equal(index.numpy(), np.argmax(x, axis=1))
    np.testing.assert_array_equal(value.numpy(), np.max(x, axis=1))
    np.testing.assert_array_equal(found.numpy(), (x > 2.5).any(axis=1))


def test_split_sum(device):
    parts, each = 40, 1000
    x = random(parts * each, "fp16", 10)
    middle, out = device.output(parts, "fp32"), device.output(1, "fp32")
    red_fused_sum_split[(triton.cdiv(parts, 8),)](
        device.to(x), middle.array, parts, each, XBLOCK=8, RBLOCK=128
    )
    roots = np.sqrt(middle.numpy())
    red_fused_sum_split[(1,)](device.to(roots), out.array, 1, parts, XBLOCK=1, RBLOCK=64)
    np.testing.assert_allclose(out.numpy()[0], (x.astype(np.float64) ** 2).sum(), rtol=1e-5)


@pytest.mark.parametrize("id_type", ["i64", "i32"])
def test_index_put(device, id_type):
    index, x = random(50, id_type, 11, low=-9, high=9), random((50, 24), "fp32", 12)
    out = device.to(np.zeros((9, 24), np.float32))
    poi_fused_index_put[(triton.cdiv(x.size, 256),)](
        device.to(index), device.to(x), out, 9, x.size, XBLOCK=256
    )
    expected = np.zeros((9, 24))
    np.add.at(expected, index % 9, x.astype(np.float64))
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-5, atol=1e-5)
