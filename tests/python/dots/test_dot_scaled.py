"""Dots of scaled operands against float64: formats, packings, scales and their NaN."""

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FLOATS = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
}


@triton.jit
def scaled_kernel(
    out_ptr,
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    A_ROWS: tl.constexpr,
    A_COLS: tl.constexpr,
    B_ROWS: tl.constexpr,
    B_COLS: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    GROUPS: tl.constexpr,
    A_SCALED: tl.constexpr,
    B_SCALED: tl.constexpr,
    A_K_PACK: tl.constexpr,
    B_K_PACK: tl.constexpr,
    HAS_ACC: tl.constexpr,
):
    m, n, group = tl.arange(0, M), tl.arange(0, N), tl.arange(0, GROUPS)
    a = tl.load(a_ptr + tl.arange(0, A_ROWS)[:, None] * A_COLS + tl.arange(0, A_COLS)[None, :])
    b = tl.load(b_ptr + tl.arange(0, B_ROWS)[:, None] * B_COLS + tl.arange(0, B_COLS)[None, :])
    a_scale = None
    b_scale = None
    if A_SCALED:
        a_scale = tl.load(a_scale_ptr + m[:, None] * GROUPS + group[None, :])
    if B_SCALED:
        b_scale = tl.load(b_scale_ptr + n[:, None] * GROUPS + group[None, :])
    acc = tl.full((M, N), 3.0, tl.float32) if HAS_ACC else None
    c = tl.dot_scaled(
        a,
        a_scale,
        A_FORMAT,
        b,
        b_scale,
        B_FORMAT,
        acc,
        lhs_k_pack=A_K_PACK,
        rhs_k_pack=B_K_PACK,
    )
    tl.store(out_ptr + m[:, None] * N + n[None, :], c)


def operand(rng, shape, form, pack_axis):
    """Stored numbers and their values; pairs of e2m1 lie along `pack_axis`, the first one low."""
    if form == "e2m1":
        codes = rng.integers(0, 16, shape).astype(np.uint8)
        values = np.where(codes & 8, -1, 1) * E2M1[codes & 7]
        low, high = (codes.take(range(i, shape[pack_axis], 2), pack_axis) for i in (0, 1))
        return low | high << 4, values
    stored = rng.standard_normal(shape).astype(FLOATS[form])
    return stored, stored.astype(np.float64)


def scales(rng, rows, groups, kind):
    """Stored scales and the number of each."""
    if kind == "e8m0":
        codes = rng.integers(120, 134, (rows, groups)).astype(np.uint8)
        return codes, 2.0 ** (codes.astype(np.float64) - 127)
    stored = (1 + rng.random((rows, groups))).astype(ml_dtypes.float8_e4m3fn)
    return stored, stored.astype(np.float64)


def run(device, formats, shape, kinds=("e8m0", "e8m0"), k_packs=(True, True), acc=False, nan=False):
    """Return the result of the dot and the float64 one."""
    M, N, K = shape
    rng = np.random.default_rng(hash((formats, shape)) & 0xFFFF)
    a, a_values = operand(rng, (M, K), formats[0], 1 if k_packs[0] else 0)
    b, b_values = operand(rng, (K, N), formats[1], 0 if k_packs[1] else 1)
    groups = K // (16 if "e4m3" in kinds else 32)
    stored = [None, None]
    for i, (kind, rows) in enumerate(zip(kinds, (M, N), strict=True)):
        if kind is None:
            continue
        stored[i], numbers = scales(rng, rows, groups, kind)
        if nan and i == 0:
            stored[i][1, 0], numbers[1, 0] = 255, np.nan
        wide = np.repeat(numbers, K // groups, axis=1)
        if i == 0:
            a_values = a_values * wide
        else:
            b_values = b_values * wide.T
    out = device.output((M, N), "fp32")
    da, db = device.to(a), device.to(b)
    scaled_kernel[(1,)](
        out.array,
        da,
        da if stored[0] is None else device.to(stored[0]),
        db,
        db if stored[1] is None else device.to(stored[1]),
        *formats,
        *a.shape,
        *b.shape,
        M,
        N,
        groups,
        stored[0] is not None,
        stored[1] is not None,
        *k_packs,
        acc,
    )
    return out.numpy(), a_values, b_values


def check(result, a, b, start=0.0):
    exact, size = a @ b + start, np.abs(a) @ np.abs(b) + start
    assert (np.abs(result - exact) <= 2.0**-19 * size).all()


@pytest.mark.parametrize("rhs", ["e2m1", "e4m3", "e5m2", "bf16"])
@pytest.mark.parametrize("lhs", ["e2m1", "e4m3", "e5m2", "bf16"])
def test_formats(device, lhs, rhs):
    """Every pair of formats agrees with float64."""
    check(*run(device, (lhs, rhs), (32, 32, 64)))


@pytest.mark.parametrize("formats", [("fp16", "fp16"), ("e2m1", "fp16"), ("fp16", "e5m2")])
def test_fp16(device, formats):
    """An operand in fp16 needs no scales."""
    kinds = tuple(None if form == "fp16" else "e8m0" for form in formats)
    check(*run(device, formats, (64, 32, 64), kinds))


@pytest.mark.parametrize("kinds", [(None, "e8m0"), ("e8m0", None), (None, None)])
def test_scales_may_lack(device, kinds):
    check(*run(device, ("e4m3", "e2m1"), (64, 64, 128), kinds))


@pytest.mark.parametrize("k_packs", [(False, True), (True, False), (False, False)])
def test_packed_along_rows_and_columns(device, k_packs):
    check(*run(device, ("e2m1", "e2m1"), (32, 64, 64), k_packs=k_packs))


def test_scales_of_groups_of_16(device):
    check(*run(device, ("e2m1", "e2m1"), (32, 32, 64), ("e4m3", "e4m3")))


def test_accumulator(device):
    """An accumulator is added once."""
    check(*run(device, ("e2m1", "e4m3"), (64, 32, 64), acc=True), 3.0)


def test_nan_scale(device):
    result, a, b = run(device, ("e4m3", "e4m3"), (32, 32, 64), nan=True)
    assert np.isnan(result[1]).all()
    rows = np.arange(32) != 1
    check(result[rows], a[rows], b)


@triton.jit
def smallest_scale_kernel(out_ptr, a_ptr, scale_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    scale = tl.load(scale_ptr + i[:, None])
    ones = tl.full((N, N), 1.0, tl.bfloat16)
    tl.store(out_ptr + at, tl.dot_scaled(tl.load(a_ptr + at), scale, "bf16", ones, None, "bf16"))


def test_smallest_scale_is_no_zero(device):
    a = (random((32, 32), "fp32", 1) * 1000).astype(ml_dtypes.bfloat16)
    out = device.output((32, 32), "fp32")
    smallest_scale_kernel[(1,)](out.array, device.to(a), device.to(np.zeros(32, np.uint8)), 32)
    exact = (a.astype(np.float64).sum(axis=1) * 2.0**-127)[:, None] * np.ones(32)
    np.testing.assert_allclose(out.numpy(), exact, rtol=0, atol=32000 * 2.0**-133)


def test_errors(device):
    """What cannot be scaled or packed is refused with a reason."""

    def message(*args, **options):
        with pytest.raises(triton.CompilationError) as raised:
            run(device, *args, **options)
        return str(raised.value)

    assert "only e2m1 can be packed" in message(
        ("e4m3", "e4m3"), (32, 32, 64), k_packs=(False, True)
    )
