"""Small and unusual GEMMs: matrix times vector, by halves and 4 bits, batches of any strides.

Decoding reads each weight once, so these kernels sum in registers: row blocks, split columns with
atomics, a batch of heads in one dot of rank 3, LoRA adapters chosen by token, gated pairs.
fp32 sums within 1e-5 of the magnitudes, halves within their rounding.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import check_gemm, random


@triton.autotune(
    [triton.Config({"ROWS": r, "COLS": c}, num_warps=w) for r, c, w in ((4, 128, 4), (16, 64, 2))],
    key=["M", "N"],
)
@triton.jit
def gemv_kernel(
    w_ptr, x_ptr, y_ptr, M, N, stride_wb, stride_wm, stride_xb,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros((ROWS, COLS), dtype=tl.float32)
    w_rows = w_ptr + batch * stride_wb + row[:, None] * stride_wm
    for start in range(0, N, COLS):
        c = start + tl.arange(0, COLS)
        mask = (row < M)[:, None] & (c < N)[None, :]
        w = tl.load(w_rows + c[None, :], mask=mask, other=0.0, eviction_policy="evict_first")
        x = tl.load(
            x_ptr + batch * stride_xb + c, mask=c < N, other=0.0, eviction_policy="evict_last"
        )
        acc += w.to(tl.float32) * x.to(tl.float32)[None, :]
    y = tl.sum(acc, axis=1).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + batch * M + row, y, mask=row < M)


@triton.autotune(
    [triton.Config({"ROWS": 32, "COLS": c}) for c in (32, 64)],
    key=["M", "N"], reset_to_zero=["y_ptr"],
)  # fmt: skip
@triton.jit
def split_gemv_kernel(w_ptr, x_ptr, y_ptr, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    """x W for W (N, M): programs of axis 1 take slices of N and add up by atomics."""
    column = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.program_id(1) * COLS + tl.arange(0, COLS)
    x = tl.load(x_ptr + k, mask=k < N, other=0.0)
    mask = (k < N)[:, None] & (column < M)[None, :]
    w = tl.load(w_ptr + k[:, None] * M + column[None, :], mask=mask, other=0.0)
    part = tl.sum(x.to(tl.float32)[:, None] * w.to(tl.float32), 0)
    tl.atomic_add(y_ptr + column, part, mask=column < M, sem="relaxed", scope="gpu")


@triton.jit
def gated_gemv_kernel(gate_ptr, up_ptr, x_ptr, y_ptr, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    gate = tl.zeros([ROWS], dtype=tl.float32)
    up = tl.zeros([ROWS], dtype=tl.float32)
    for start in range(0, N, COLS):
        c = start + tl.arange(0, COLS)
        mask = (row < M)[:, None] & (c < N)[None, :]
        at = row[:, None] * N + c[None, :]
        x = tl.load(x_ptr + c, mask=c < N, other=0.0).to(tl.float32)[None, :]
        gate += tl.sum(tl.load(gate_ptr + at, mask=mask, other=0.0) * x, axis=1)
        up += tl.sum(tl.load(up_ptr + at, mask=mask, other=0.0) * x, axis=1)
    y = gate * tl.sigmoid(gate) * up
    tl.store(y_ptr + row, y.to(y_ptr.dtype.element_ty), mask=row < M)


@triton.jit
def int4_gemv_kernel(
    w_ptr, scale_ptr, zero_ptr, x_ptr, y_ptr, M, N, GROUP: tl.constexpr, ROWS: tl.constexpr
):
    """w: (M, N // 8) int32; one group of columns a step."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    words: tl.constexpr = GROUP // 8
    shifts = tl.arange(0, 8) * 4
    acc = tl.zeros([ROWS], dtype=tl.float32)
    for group in range(0, N // GROUP):
        word = group * words + tl.arange(0, words)
        packed = tl.load(
            w_ptr + row[:, None] * (N // 8) + word[None, :], mask=(row < M)[:, None], other=0
        )
        q = (packed[:, :, None] >> shifts[None, None, :]) & 0xF
        q = tl.reshape(q, (ROWS, GROUP)).to(tl.float32)
        x = tl.load(x_ptr + group * GROUP + tl.arange(0, GROUP)).to(tl.float32)
        at = row * (N // GROUP) + group
        scale = tl.load(scale_ptr + at, mask=row < M, other=0.0).to(tl.float32)
        zero = tl.load(zero_ptr + at, mask=row < M, other=0.0).to(tl.float32)
        acc += scale * (tl.sum(q * x[None, :], 1) - zero * tl.sum(x, 0))
    tl.store(y_ptr + row, acc, mask=row < M)


@triton.jit
def batched_product_kernel(
    a_ptr, b_ptr, c_ptr, BATCH, M, N, K, a_strides, b_strides, c_strides,
    BLOCK_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Several matrices of a batch in one dot of rank 3; strides come as tuples."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    m = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)[None, :, None]
    n = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, None, :]
    batch = tl.program_id(1) * BLOCK_B + tl.arange(0, BLOCK_B)[:, None, None]
    acc = tl.zeros((BLOCK_B, BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ka = start + tl.arange(0, BLOCK_K)[None, None, :]
        kb = start + tl.arange(0, BLOCK_K)[None, :, None]
        a = tl.load(
            a_ptr + batch * a_strides[0] + m * a_strides[1] + ka * a_strides[2],
            mask=(batch < BATCH) & (m < M) & (ka < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + batch * b_strides[0] + kb * b_strides[1] + n * b_strides[2],
            mask=(batch < BATCH) & (kb < K) & (n < N),
            other=0.0,
        )
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + batch * c_strides[0] + m * c_strides[1] + n * c_strides[2]
    mask = (batch < BATCH) & (m < M) & (n < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def lora_kernel(
    x_ptr, a_ptr, b_ptr, y_ptr, adapter_ptr, scaling_ptr, IN, OUT,
    RANK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y[token] += s (x A^T) B^T with the adapter of the token; -1 means none."""
    token = tl.program_id(0)
    adapter = tl.load(adapter_ptr + token)
    if adapter < 0:
        return
    r = tl.arange(0, RANK)
    low = tl.zeros([RANK], dtype=tl.float32)
    for start in range(0, IN, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + token * IN + c, mask=c < IN, other=0.0).to(tl.float32)
        at = (adapter * RANK + r)[:, None] * IN + c[None, :]
        a = tl.load(a_ptr + at, mask=(c < IN)[None, :], other=0.0).to(tl.float32)
        low += tl.sum(a * x[None, :], axis=1)
    low *= tl.load(scaling_ptr + adapter)
    for start in range(0, OUT, BLOCK):
        c = start + tl.arange(0, BLOCK)
        at = (adapter * OUT + c)[:, None] * RANK + r[None, :]
        b = tl.load(b_ptr + at, mask=(c < OUT)[:, None], other=0.0).to(tl.float32)
        y_ptrs = y_ptr + token * OUT + c
        y = tl.load(y_ptrs, mask=c < OUT, other=0.0)
        tl.store(y_ptrs, y + tl.sum(b * low[None, :], axis=1), mask=c < OUT)


def near(result, expected, size, dtype="fp32"):
    ulp = {"fp16": 2.0**-10, "bf16": 2.0**-8, "fp32": 0}[dtype]
    allowed = 1e-5 * size + ulp * np.abs(expected) + 1e-6
    assert (np.abs(result.astype(np.float64) - expected) <= allowed).all()


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("batch, M, N", [(3, 50, 300), (1, 17, 64), (2, 1, 1000)])
def test_gemv(device, batch, M, N, dtype):
    """Each matrix of the batch is multiplied by its vector."""
    w, x = random((batch, M, N), dtype, 1), random((batch, N), dtype, 2)
    y = device.output((batch, M), dtype)
    grid = lambda meta: (triton.cdiv(M, meta["ROWS"]), batch)
    gemv_kernel[grid](device.to(w), device.to(x), y.array, M, N, M * N, N, N)
    wide_w, wide_x = w.astype(np.float64), x.astype(np.float64)
    expected = np.einsum("bmn,bn->bm", wide_w, wide_x)
    near(y.numpy(), expected, np.einsum("bmn,bn->bm", np.abs(wide_w), np.abs(wide_x)), dtype)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_split_gemv(device, dtype):
    M, N = 70, 500
    w, x = random((N, M), dtype, 3), random(N, dtype, 4)
    y = device.to(np.zeros(M, np.float32))
    grid = lambda meta: (triton.cdiv(M, meta["ROWS"]), triton.cdiv(N, meta["COLS"]))
    split_gemv_kernel[grid](device.to(w), device.to(x), y, M, N)
    wide_w, wide_x = w.astype(np.float64), x.astype(np.float64)
    near(device.numpy(y), wide_x @ wide_w, np.abs(wide_x) @ np.abs(wide_w))


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_gated_gemv(device, dtype):
    M, N = 45, 200
    gate, up, x = random((M, N), dtype, 5), random((M, N), dtype, 6), random(N, dtype, 7)
    y = device.output(M, dtype)
    gated_gemv_kernel[(triton.cdiv(M, 8),)](
        *map(device.to, (gate, up, x)), y.array, M, N, ROWS=8, COLS=64
    )
    g, u = (m.astype(np.float64) @ x.astype(np.float64) for m in (gate, up))
    np.testing.assert_allclose(
        y.numpy().astype(np.float64),
        g / (1 + np.exp(-g)) * u,
        rtol=2.0**-8 if dtype == "bf16" else 1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("group", [32, 128])
def test_int4_gemv(device, group):
    M, N = 37, 512
    q = random((M, N), "u8", 8, low=0, high=16)
    scales, zeros = random((M, N // group), "fp16", 9), random((M, N // group), "fp16", 10)
    x, y = random(N, "fp16", 11), device.output(M, "fp32")
    words = q.astype(np.uint32).reshape(M, -1, 8) << (4 * np.arange(8, dtype=np.uint32))
    packed = np.bitwise_or.reduce(words, axis=2).view(np.int32)
    int4_gemv_kernel[(triton.cdiv(M, 4),)](
        *map(device.to, (packed, scales, zeros, x)), y.array, M, N, GROUP=group, ROWS=4
    )
    s, z = (v.astype(np.float64).repeat(group, 1) for v in (scales, zeros))
    wide = x.astype(np.float64)
    near(y.numpy(), ((q - z) * s) @ wide, (np.abs(s) * (q + np.abs(z))) @ np.abs(wide))


@pytest.mark.parametrize("layout", ["plain", "b transposed", "batch inside", "broadcast a"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_batched_gemv(device, dtype, layout):
    batch, M, N, K = 5, 20, 33, 40
    a, b = random((batch, M, K), dtype, 12), random((batch, K, N), dtype, 13)
    da, db, order = device.to(a), device.to(b), (0, 1, 2)
    if layout == "b transposed":
        db = device.to(np.ascontiguousarray(b.transpose(0, 2, 1)))
        order = (0, 2, 1)
    elif layout == "batch inside":
        db = device.to(np.ascontiguousarray(b.transpose(1, 0, 2)))
        order = (1, 0, 2)
    b_strides = [device.strides(db)[axis] for axis in order]
    a_strides = list(device.strides(da))
    if layout == "broadcast a":
        a_strides[0], a = 0, a[:1].repeat(batch, 0)
    out = device.output((batch, M, N), dtype)
    batched_product_kernel[(triton.cdiv(M, 16) * triton.cdiv(N, 16), triton.cdiv(batch, 2))](
        da, db, out.array, batch, M, N, K, tuple(a_strides), tuple(b_strides), (M * N, N, 1),
        BLOCK_B=2, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
    )  # fmt: skip
    check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("rank", [4, 16])
def test_lora(device, rank, dtype):
    """A token gets the GEMV with its adapter, one without an adapter nothing."""
    tokens, inner, outer, adapters = 11, 100, 72, 3
    x, a = random((tokens, inner), dtype, 14), random((adapters, rank, inner), dtype, 15)
    b, y = random((adapters, outer, rank), dtype, 16), random((tokens, outer), "fp32", 17)
    which = random(tokens, "i32", 18, low=-1, high=adapters)
    scaling = random(adapters, "fp32", 19)
    there = device.to(y.copy())
    lora_kernel[(tokens,)](
        *map(device.to, (x, a, b)), there, *map(device.to, (which, scaling)), inner, outer,
        RANK=rank, BLOCK=32,
    )  # fmt: skip
    wide = [v.astype(np.float64) for v in (x, a, b)]
    low = np.einsum("ti,tri->tr", wide[0], wide[1][which]) * scaling[which][:, None]
    added = np.einsum("tr,tor->to", low, wide[2][which]) * (which >= 0)[:, None]
    size = np.einsum("ti,tri->tr", np.abs(wide[0]), np.abs(wide[1][which]))
    size = np.einsum("tr,tor->to", size, np.abs(wide[2][which])) * 3
    near(device.numpy(there), y + added, size + np.abs(y))
