"""A layer of experts: top-k routing, tokens sorted by expert, the grouped GEMM, the sum of k.

Routing takes the k largest of a softmax (ties go to the lower expert); sorting pads every expert's
tokens to whole blocks, so that a tile of the GEMM has one expert. Ids and offsets are exact,
weights within 1e-5, GEMMs within the rounding of the result.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def route_kernel(
    logits_ptr, weight_ptr, id_ptr, tokens, EXPERTS: tl.constexpr, WIDTH: tl.constexpr,
    TOP_K: tl.constexpr, RENORMALIZE: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    e = tl.arange(0, WIDTH)
    there = (row < tokens)[:, None] & (e < EXPERTS)[None, :]
    at = row[:, None] * EXPERTS + e[None, :]
    logits = tl.load(logits_ptr + at, mask=there, other=float("-inf")).to(tl.float32)
    p = tl.exp(logits - tl.max(tl.where(there, logits, -1e30), 1)[:, None])
    p = tl.where(there, p, 0.0)
    p /= tl.maximum(tl.sum(p, 1), 1e-30)[:, None]
    left = tl.where(e[None, :] < EXPERTS, p, -1.0)
    total = tl.zeros([ROWS], dtype=tl.float32)
    for k in tl.static_range(TOP_K):
        best, which = tl.max(left, 1, return_indices=True)
        total += best
        tl.store(id_ptr + row * TOP_K + k, which, mask=row < tokens)
        tl.store(weight_ptr + row * TOP_K + k, best, mask=row < tokens)
        left = tl.where(e[None, :] == which[:, None], -1.0, left)
    if RENORMALIZE:
        tl.debug_barrier()
        for k in tl.static_range(TOP_K):
            w = tl.load(weight_ptr + row * TOP_K + k, mask=row < tokens, other=0.0)
            tl.store(weight_ptr + row * TOP_K + k, w / total, mask=row < tokens)


@triton.jit
def packed_top_k_kernel(
    logits_ptr, weight_ptr, id_ptr, EXPERTS: tl.constexpr, WIDTH: tl.constexpr, TOP_K: tl.constexpr
):
    """One sort of pairs: the order of a float's bits above, the expert's number below."""
    token = tl.program_id(0)
    e = tl.arange(0, WIDTH)
    x = tl.load(logits_ptr + token * EXPERTS + e, mask=e < EXPERTS, other=float("-inf"))
    bits = x.to(tl.float32).to(tl.uint32, bitcast=True)
    key = tl.where(bits >> 31 != 0, ~bits, bits | 0x80000000)
    pair = (key.to(tl.uint64) << 32) | (WIDTH - 1 - e).to(tl.uint64)
    top = tl.topk(pair, TOP_K)
    expert = WIDTH - 1 - (top & 0xFFFFFFFF).to(tl.int32)
    high = (top >> 32).to(tl.uint32)
    value = tl.where(high >> 31 != 0, high ^ 0x80000000, ~high).to(tl.float32, bitcast=True)
    k = tl.arange(0, TOP_K)
    tl.store(id_ptr + token * TOP_K + k, expert)
    tl.store(weight_ptr + token * TOP_K + k, tl.softmax(value))


@triton.jit
def count_kernel(id_ptr, counts_ptr, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    """Plane p + 1 of the counts (programs + 1, EXPERTS) holds what program p saw."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    ids = tl.load(id_ptr + at, mask=at < n, other=0)
    found = tl.histogram(ids, EXPERTS, mask=at < n)
    tl.store(counts_ptr + (pid + 1) * EXPERTS + tl.arange(0, EXPERTS), found)


@triton.jit
def column_sums_kernel(counts_ptr, planes, EXPERTS: tl.constexpr):
    e = tl.arange(0, EXPERTS)
    so_far = tl.zeros([EXPERTS], dtype=tl.int32)
    for plane in range(1, planes):
        so_far += tl.load(counts_ptr + plane * EXPERTS + e)
        tl.store(counts_ptr + plane * EXPERTS + e, so_far)


@triton.jit
def expert_offsets_kernel(
    totals_ptr, starts_ptr, block_expert_ptr, blocks, EXPERTS: tl.constexpr, ALIGN: tl.constexpr,
    MAX_BLOCKS: tl.constexpr,
):  # fmt: skip
    e = tl.arange(0, EXPERTS)
    padded = tl.cdiv(tl.load(totals_ptr + e), ALIGN) * ALIGN
    ends = tl.cumsum(padded, 0)
    tl.store(starts_ptr + e, ends - padded)
    tl.store(starts_ptr + EXPERTS, tl.max(ends))
    block = tl.arange(0, MAX_BLOCKS)
    passed = tl.sum((ends[None, :] <= (block * ALIGN)[:, None]).to(tl.int32), axis=1)
    tl.store(block_expert_ptr + block, passed, mask=block < blocks)


@triton.jit
def place_kernel(
    id_ptr, before_ptr, starts_ptr, sorted_ptr, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr
):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    ids = tl.load(id_ptr + at, mask=at < n, other=-1)
    hits = (ids[:, None] == tl.arange(0, EXPERTS)[None, :]).to(tl.int32)
    rank = tl.sum((tl.cumsum(hits, axis=0) - 1) * hits, axis=1)
    before = tl.load(before_ptr + pid * EXPERTS + ids, mask=at < n, other=0)
    start = tl.load(starts_ptr + ids, mask=at < n, other=0)
    tl.store(sorted_ptr + start + before + rank, at, mask=at < n)


@triton.jit
def expert_product_kernel(
    x_ptr, w_ptr, out_ptr, topk_weight_ptr, sorted_ptr, block_expert_ptr, padded_ptr,
    N, K, valid, stride_xm, stride_xk, stride_we, stride_wk, stride_wn, stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    TOP_K: tl.constexpr, WEIGH: tl.constexpr, compute_type: tl.constexpr,
):  # fmt: skip
    """Row `sorted // TOP_K` of x times the matrix of its block's expert, into row `sorted`."""
    pid = tl.program_id(0)
    padded = tl.load(padded_ptr)
    num_pid_m, num_pid_n = tl.cdiv(padded, BLOCK_M), tl.cdiv(N, BLOCK_N)
    if pid >= num_pid_m * num_pid_n:
        return
    width = GROUP_M * num_pid_n
    first = pid // width * GROUP_M
    rows = min(num_pid_m - first, GROUP_M)
    pid_m = first + ((pid % width) % rows)
    pid_n = (pid % width) // rows
    token = tl.load(sorted_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    token_mask = token < valid
    expert = tl.load(block_expert_ptr + pid_m).to(tl.int64)
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)) % N
    offs_k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (token[:, None] // TOP_K * stride_xm + offs_k[None, :] * stride_xk)
    w_ptrs = (
        w_ptr + expert * stride_we + (offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn)
    )
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        x = tl.load(x_ptrs, mask=token_mask[:, None] & (offs_k[None, :] < left), other=0.0)
        w = tl.load(w_ptrs, mask=offs_k[:, None] < left, other=0.0)
        acc += tl.dot(x, w)
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk
    if WEIGH:
        acc = acc * tl.load(topk_weight_ptr + token, mask=token_mask, other=0)[:, None]
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    o_ptrs = out_ptr + stride_om * token[:, None] + stride_on * offs_cn[None, :]
    tl.store(o_ptrs, acc.to(compute_type), mask=token_mask[:, None] & (offs_cn[None, :] < N))


@triton.jit
def sum_experts_kernel(x_ptr, out_ptr, N, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for k in tl.static_range(TOP_K):
        acc += tl.load(x_ptr + (token * TOP_K + k) * N + c, mask=c < N, other=0.0)
    tl.store(out_ptr + token * N + c, acc, mask=c < N)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def routed(logits, k, renormalize):
    p = softmax(logits.astype(np.float64))
    ids = np.argsort(-logits.astype(np.float64), axis=1, kind="stable")[:, :k]
    weights = np.take_along_axis(p, ids, 1)
    return weights / weights.sum(1, keepdims=True) if renormalize else weights, ids


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("dtype, tokens, experts, k", [("fp32", 37, 60, 4), ("bf16", 9, 8, 2)])
def test_routing(device, dtype, tokens, experts, k, renormalize):
    """The top k experts of each token, and their weights, are those of float64."""
    logits = random((tokens, experts), dtype, 1)
    weights, ids = device.output((tokens, k), "fp32"), device.output((tokens, k), "i32")
    route_kernel[(triton.cdiv(tokens, 4),)](
        device.to(logits), weights.array, ids.array, tokens, EXPERTS=experts,
        WIDTH=triton.next_power_of_2(experts), TOP_K=k, RENORMALIZE=renormalize, ROWS=4,
    )  # fmt: skip
    expected, which = routed(logits, k, renormalize)
    np.testing.assert_array_equal(ids.numpy(), which)
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype, experts, k", [("fp32", 60, 8), ("fp16", 256, 4)])
def test_packed_top_k(device, dtype, experts, k):
    tokens = 21
    logits = random((tokens, experts), dtype, 2)
    logits[3] = logits[3, 0]
    logits[4, ::2] = 0
    weights, ids = device.output((tokens, k), "fp32"), device.output((tokens, k), "i32")
    packed_top_k_kernel[(tokens,)](
        device.to(logits), weights.array, ids.array, EXPERTS=experts,
        WIDTH=triton.next_power_of_2(experts), TOP_K=k,
    )  # fmt: skip
    expected, which = routed(logits, k, True)
    np.testing.assert_array_equal(ids.numpy(), which)
    np.testing.assert_allclose(weights.numpy(), expected, rtol=1e-5)


def sort_tokens(device, ids, experts, align):
    """Arrays on the device: sorted token ids (padding: `ids.size`), experts of blocks, starts."""
    n, block = ids.size, 32
    programs = triton.cdiv(n, block)
    blocks = triton.cdiv(n, align) + experts
    counts = device.to(np.zeros((programs + 1, experts), np.int32))
    starts, block_expert = device.output(experts + 1, "i32"), device.output(blocks, "i32")
    d_sorted, d_ids = device.to(np.full(blocks * align, n, np.int32)), device.to(ids)
    count_kernel[(programs,)](d_ids, counts, n, EXPERTS=experts, BLOCK=block)
    column_sums_kernel[(1,)](counts, programs + 1, EXPERTS=experts)
    expert_offsets_kernel[(1,)](
        counts[programs], starts.array, block_expert.array, blocks, EXPERTS=experts, ALIGN=align,
        MAX_BLOCKS=triton.next_power_of_2(blocks),
    )  # fmt: skip
    place_kernel[(programs,)](
        d_ids, counts, starts.array, d_sorted, n, EXPERTS=experts, BLOCK=block
    )
    return d_sorted, block_expert, starts


@pytest.mark.parametrize(
    "tokens, experts, k, align", [(50, 8, 2, 16), (7, 16, 4, 32), (300, 4, 1, 64)]
)
def test_sorted_tokens(device, tokens, experts, k, align):
    ids = random((tokens, k), "i32", 3, low=0, high=experts)
    ids[ids == 1] = 0
    d_sorted, block_expert, starts = sort_tokens(device, ids, experts, align)
    expected, owners = [], []
    for expert in range(experts):
        mine = np.flatnonzero(ids.reshape(-1) == expert)
        padding = -len(mine) % align
        expected += [*mine, *[ids.size] * padding]
        owners += [expert] * ((len(mine) + padding) // align)
    found = device.numpy(d_sorted)
    np.testing.assert_array_equal(found[: len(expected)], expected)
    assert (found[len(expected) :] == ids.size).all()
    np.testing.assert_array_equal(block_expert.numpy()[: len(owners)], owners)
    assert starts.numpy()[-1] == len(expected)


@pytest.mark.parametrize("dtype, shape", [("fp16", (30, 72, 64)), ("bf16", (11, 64, 100))])
def test_experts_layer(device, dtype, shape):
    tokens, N, K = (200, 512, 256) if device.on_gpu else shape
    experts, k, align = 8, 2, 16
    x, logits = random((tokens, K), dtype, 4), random((tokens, experts), "fp32", 5)
    w = random((experts, N, K), dtype, 6)
    weights, ids = device.output((tokens, k), "fp32"), device.output((tokens, k), "i32")
    route_kernel[(triton.cdiv(tokens, 4),)](
        device.to(logits), weights.array, ids.array, tokens, EXPERTS=experts, WIDTH=experts,
        TOP_K=k, RENORMALIZE=True, ROWS=4,
    )  # fmt: skip
    d_sorted, block_expert, starts = sort_tokens(device, ids.numpy(), experts, align)
    rows, out = device.output((tokens * k, N), dtype), device.output((tokens, N), "fp32")
    expert_product_kernel[(len(d_sorted) // align * triton.cdiv(N, 32),)](
        device.to(x), device.to(w), rows.array, weights.array, d_sorted, block_expert.array,
        starts.array[experts:], N, K, tokens * k, K, 1, N * K, 1, K, N, 1, BLOCK_M=align,
        BLOCK_N=32, BLOCK_K=32, GROUP_M=4, TOP_K=k, WEIGH=True,
        compute_type=tl.float16 if dtype == "fp16" else tl.bfloat16,
    )  # fmt: skip
    sum_experts_kernel[(tokens, triton.cdiv(N, 64))](rows.array, out.array, N, TOP_K=k, BLOCK=64)
    expected_weights, which = routed(logits, k, True)
    every = np.einsum("tk,enk->ten", x.astype(np.float64), w.astype(np.float64), optimize=True)
    each = np.take_along_axis(every, which[..., None], 1) * expected_weights[..., None]
    relative = 2.0**-11 if dtype == "fp16" else 2.0**-8
    allowed = relative * 1.1 * np.abs(each).sum(1) + 1e-4 * np.sqrt(K)
    assert (np.abs(out.numpy() - each.sum(1)) <= allowed).all()
