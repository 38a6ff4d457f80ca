"""
Fused attention, forward and backward
=====================================

Attention compares every query with every key: for sequences of L tokens that is a matrix of L × L
scores for each head. Computing it with three library calls writes and reads that matrix several
times. Computed tile by tile it never exists: the method is FlashAttention (Dao, Fu, Ermon, Rudra
and Ré, 2022; Dao, 2023), on the softmax in one pass of Milakov and Gimelshein (2018). You will see

* a softmax over a row that is never complete;
* loops with two dots, one of which takes its operand from registers;
* a causal mask that costs only where it cuts through a tile;
* a backward pass that computes the scores again instead of storing them.

Tutorials 02 and 03 should come first. With torch and a GPU the script runs there; otherwise it runs
on the CPU, on NumPy arrays, for short sequences.
"""

import numpy as np
import pantile as triton
import pantile.language as tl

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False

# %%
# A softmax in pieces
# -------------------
# For one query, attention is the average of the rows of V with weights `softmax(scores)`:
#
#     scores = scale * K q           output = sum(exp(scores - best) * V) / sum(exp(scores - best))
#
# where `best` is the largest score. Suppose the keys come in tiles, and after some of them we know
# the largest score so far, the sum of the exponentials and the weighted sum of the rows of V. The
# next tile may have a larger score. Then both sums were taken relative to the wrong number, which
# a factor corrects: multiply them by `exp(best_before - best_now)`. So one pass over the keys is
# enough, and the state is a number, a number and a row for each query.
#
# The exponential is computed in base 2, the one that the hardware has; the factor log2(e) is folded
# into the scale.
#
# The loop over keys
# ------------------
# `attend` handles the keys from `begin` to `end`. K's tile is loaded transposed, with the depth
# along the columns of addresses, so that `tl.dot(q, k)` gives the scores. The weights `p` go
# straight into the second dot: they never leave the registers.
#
# With `MASKED`, scores of keys that come after the query are set to minus infinity. Only tiles on
# the diagonal need that, so there are two versions, made from one source.


@triton.jit
def attend(
    acc, total, best, q, k_ptrs, v_ptrs, rows, columns, scale2, begin, end,
    DEPTH: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    k_ptrs += begin * DEPTH
    v_ptrs += begin * DEPTH
    for start in range(begin, end, BLOCK_N):
        k = tl.load(k_ptrs)
        scores = tl.dot(q, k)
        if MASKED:
            scores = tl.where(rows[:, None] >= start + columns[None, :], scores, -float("inf"))
        now = tl.maximum(best, tl.max(scores, axis=1) * scale2)
        p = tl.exp2(scores * scale2 - now[:, None])
        rescale = tl.exp2(best - now)
        total = total * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None]
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc)
        best = now
        k_ptrs += BLOCK_N * DEPTH
        v_ptrs += BLOCK_N * DEPTH
    return acc, total, best


# %%
# Forward
# -------
# A program owns `BLOCK_M` queries of one head. Arrays are (heads, length, depth), one row after
# another; batch and heads are the same thing here.
#
# With a causal mask, query i sees the keys 0 ... i. The tiles left of the diagonal are complete,
# those on it are masked, those right of it are skipped.
#
# Besides the output, a program stores the logarithm of the sum of its exponentials. With that one
# number the backward pass can compute any weight again: `exp(score - lse)`.


@triton.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, length, scale,
    CAUSAL: tl.constexpr, DEPTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * DEPTH
    first = tl.program_id(0) * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, DEPTH)

    q = tl.load(q_ptr + base + rows[:, None] * DEPTH + depth[None, :])
    k_ptrs = k_ptr + base + columns[None, :] * DEPTH + depth[:, None]
    v_ptrs = v_ptr + base + columns[:, None] * DEPTH + depth[None, :]
    best = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, DEPTH], dtype=tl.float32)
    scale2 = scale * 1.4426950408889634

    complete = first if CAUSAL else length
    acc, total, best = attend(
        acc, total, best, q, k_ptrs, v_ptrs, rows, columns, scale2, 0, complete,
        DEPTH, BLOCK_N, MASKED=False,
    )  # fmt: skip
    if CAUSAL:
        acc, total, best = attend(
            acc, total, best, q, k_ptrs, v_ptrs, rows, columns, scale2, first, first + BLOCK_M,
            DEPTH, BLOCK_N, MASKED=True,
        )  # fmt: skip

    o = acc / total[:, None]
    o_ptrs = o_ptr + base + rows[:, None] * DEPTH + depth[None, :]
    tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty))
    tl.store(lse_ptr + head * length + rows, best + tl.log2(total))


# %%
# Backward
# --------
# Let S be the scores with their scale, P the weights, O = P V the output and g its gradient. Then
#
#     dV = Pᵀ g             dP = g Vᵀ             dS = P * (dP - delta)
#     dQ = scale dS K       dK = scale dSᵀ Q
#
# where `delta`, a number for each query, is the sum of P * dP along the row. Since that sum is
# equal to the one of g * O, a small kernel computes it beforehand.


@triton.jit
def delta_kernel(o_ptr, g_ptr, delta_ptr, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = rows.to(tl.int64)[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]
    o = tl.load(o_ptr + at).to(tl.float32)
    g = tl.load(g_ptr + at).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(o * g, axis=1))


# %%
# dK and dV belong to keys and sum over queries, dQ belongs to queries and sums over keys. With one
# kernel for each there are no sums across programs, at the price of computing P and dP twice.
#
# The first kernel keeps `BLOCK_N` keys and loops over queries. It computes everything transposed,
# keys down and queries across. That way the weights come out of one dot in the shape in which
# the next one takes them.


@triton.jit
def collect_keys(
    dk, dv, k, v, q_ptrs, g_ptrs, lse_ptr, delta_ptr, keys, queries, scale2, begin, end,
    DEPTH: tl.constexpr, BLOCK_M: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for start in range(begin, end, BLOCK_M):
        q = tl.load(q_ptrs + start * DEPTH)
        lse = tl.load(lse_ptr + start + queries)
        p = tl.exp2(tl.dot(k, tl.trans(q)) * scale2 - lse[None, :])
        if MASKED:
            p = tl.where(start + queries[None, :] >= keys[:, None], p, 0.0)
        g = tl.load(g_ptrs + start * DEPTH)
        dv = tl.dot(p.to(g.dtype), g, dv)
        delta = tl.load(delta_ptr + start + queries)
        ds = p * (tl.dot(v, tl.trans(g)) - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
    return dk, dv


@triton.jit
def keys_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, length, scale,
    CAUSAL: tl.constexpr, DEPTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * DEPTH
    lse_ptr += head * length
    delta_ptr += head * length
    first = tl.program_id(0) * BLOCK_N
    keys = first + tl.arange(0, BLOCK_N)
    queries = tl.arange(0, BLOCK_M)
    depth = tl.arange(0, DEPTH)
    q_ptrs = q_ptr + base + queries[:, None] * DEPTH + depth[None, :]
    g_ptrs = g_ptr + base + queries[:, None] * DEPTH + depth[None, :]
    own = base + keys[:, None] * DEPTH + depth[None, :]
    k = tl.load(k_ptr + own)
    v = tl.load(v_ptr + own)
    dk = tl.zeros([BLOCK_N, DEPTH], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, DEPTH], dtype=tl.float32)
    scale2 = scale * 1.4426950408889634

    complete = 0
    if CAUSAL:
        complete = first + BLOCK_N
        dk, dv = collect_keys(
            dk, dv, k, v, q_ptrs, g_ptrs, lse_ptr, delta_ptr, keys, queries, scale2, first,
            complete, DEPTH, BLOCK_M, MASKED=True,
        )  # fmt: skip
    dk, dv = collect_keys(
        dk, dv, k, v, q_ptrs, g_ptrs, lse_ptr, delta_ptr, keys, queries, scale2, complete, length,
        DEPTH, BLOCK_M, MASKED=False,
    )  # fmt: skip
    tl.store(dv_ptr + own, dv.to(dv_ptr.dtype.element_ty))
    tl.store(dk_ptr + own, (dk * scale).to(dk_ptr.dtype.element_ty))


# %%
# The second kernel is the forward loop once more, with the known `lse` in the place of the running
# maximum and sum.


@triton.jit
def collect_queries(
    dq, q, g, lse, delta, k_ptrs, v_ptrs, rows, columns, scale2, begin, end,
    DEPTH: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for start in range(begin, end, BLOCK_N):
        k = tl.load(k_ptrs + start * DEPTH)
        v = tl.load(v_ptrs + start * DEPTH)
        p = tl.exp2(tl.dot(q, tl.trans(k)) * scale2 - lse[:, None])
        if MASKED:
            p = tl.where(rows[:, None] >= start + columns[None, :], p, 0.0)
        ds = p * (tl.dot(g, tl.trans(v)) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    return dq


@triton.jit
def queries_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, lse_ptr, delta_ptr, dq_ptr, length, scale,
    CAUSAL: tl.constexpr, DEPTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if CAUSAL:
        pid = tl.num_programs(0) - 1 - pid
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * DEPTH
    first = pid * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, DEPTH)
    own = base + rows[:, None] * DEPTH + depth[None, :]
    q = tl.load(q_ptr + own)
    g = tl.load(g_ptr + own)
    lse = tl.load(lse_ptr + head * length + rows)
    delta = tl.load(delta_ptr + head * length + rows)
    k_ptrs = k_ptr + base + columns[:, None] * DEPTH + depth[None, :]
    v_ptrs = v_ptr + base + columns[:, None] * DEPTH + depth[None, :]
    dq = tl.zeros([BLOCK_M, DEPTH], dtype=tl.float32)
    scale2 = scale * 1.4426950408889634

    complete = first if CAUSAL else length
    dq = collect_queries(
        dq, q, g, lse, delta, k_ptrs, v_ptrs, rows, columns, scale2, 0, complete,
        DEPTH, BLOCK_N, MASKED=False,
    )  # fmt: skip
    if CAUSAL:
        dq = collect_queries(
            dq, q, g, lse, delta, k_ptrs, v_ptrs, rows, columns, scale2, first, first + BLOCK_M,
            DEPTH, BLOCK_N, MASKED=True,
        )  # fmt: skip
    tl.store(dq_ptr + own, (dq * scale).to(dq_ptr.dtype.element_ty))


# %%
# The wrappers
# ------------
# Tiles, warps and stages, found by measuring on an H200. `num_stages` says how many tiles of the
# loop are in flight: while one is multiplied, the next are on their way from memory.

QUERIES = {
    64: dict(BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=2),
    128: dict(BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3),
}


def empty(like, *shape, dtype=None):
    """An array of that shape, of the type and on the device of another."""
    if ON_GPU:
        return torch.empty(
            shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device
        )
    return np.empty(shape, dtype or like.dtype)


def key_blocks(depth, causal):
    """Large tiles read the queries less often; of small ones fewer elements are masked."""
    if causal and depth == 64:
        return dict(BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=3)
    return dict(BLOCK_M=64, BLOCK_N=128, num_warps=8, num_stages=3 if depth == 64 else 2)


def forward_blocks(length, depth, causal):
    """Large tiles read K and V less often; of small ones several share an SM, and one
    multiplies while another waits."""
    if depth == 128:
        return dict(BLOCK_M=128, BLOCK_N=128, num_warps=8, num_stages=2)
    if causal or length <= 8192:
        return dict(BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=3)
    return dict(BLOCK_M=128, BLOCK_N=128, num_warps=8, num_stages=3)


def attention_forward(q, k, v, causal, scale, config=None):
    """Output and lse; q, k and v are (heads, length, depth), with a length that 128 divides."""
    heads, length, depth = q.shape
    assert length % 128 == 0, "the length must be a multiple of the tiles"
    config = config or forward_blocks(length, depth, causal)
    o, lse = empty(q, *q.shape), empty(q, heads, length, dtype="float32")
    forward_kernel[(triton.cdiv(length, config["BLOCK_M"]), heads)](
        q, k, v, o, lse, length, scale, CAUSAL=causal, DEPTH=depth, **config
    )
    return o, lse


def attention_backward(g, q, k, v, o, lse, causal, scale, keys=None, queries=None):
    """The gradients of q, k and v."""
    heads, length, depth = q.shape
    keys, queries = keys or key_blocks(depth, causal), queries or QUERIES[depth]
    dq, dk, dv = (empty(q, *q.shape) for _ in range(3))
    delta = empty(q, heads, length, dtype="float32")
    delta_kernel[(heads * length // 64,)](o, g, delta, DEPTH=depth, BLOCK=64)
    keys_kernel[(length // keys["BLOCK_N"], heads)](
        q, k, v, g, lse, delta, dk, dv, length, scale, CAUSAL=causal, DEPTH=depth, **keys
    )
    queries_kernel[(length // queries["BLOCK_M"], heads)](
        q, k, v, g, lse, delta, dq, length, scale, CAUSAL=causal, DEPTH=depth, **queries
    )
    return dq, dk, dv


# %%
# Unit test
# ---------
# The formulas with whole matrices, in double precision. Each result of the kernels, forward and
# backward, has to be within one percent of the largest.


def weights(q, k, causal, scale):
    scores = scale * q @ k.swapaxes(1, 2)
    if causal:
        scores = np.where(np.tri(scores.shape[1], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return p / p.sum(axis=2, keepdims=True)


def reference(q, k, v, g, causal, scale):
    p = weights(q, k, causal, scale)
    o = p @ v
    ds = p * (g @ v.swapaxes(1, 2) - (g * o).sum(axis=2, keepdims=True))
    return o, scale * ds @ k, scale * ds.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ g


def on_host(array):
    return (array.cpu().numpy() if ON_GPU else array).astype(np.float64)


def random_fp16(*shape):
    if ON_GPU:
        return torch.randn(shape, device="cuda", dtype=torch.float16)
    return np.random.default_rng().standard_normal(shape).astype(np.float16)


def test():
    for depth in (64, 128):
        for causal in (False, True):
            heads, length, scale = (4, 1024, 0.5) if ON_GPU else (1, 256, 0.5)
            q, k, v, g = (random_fp16(heads, length, depth) for _ in range(4))
            o, lse = attention_forward(q, k, v, causal, scale)
            gradients = attention_backward(g, q, k, v, o, lse, causal, scale)
            expected = reference(*map(on_host, (q, k, v, g)), causal, scale)
            for ours, exact in zip((o, *gradients), expected):
                worst = np.abs(on_host(ours) - exact).max() / np.abs(exact).max()
                assert worst < 1e-2, f"off by {worst:.1e} of the largest"
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# Forward has two dots of 2 L² D operations for each head, backward five (those that are
# computed twice count once). A causal mask halves both. The peer is torch's own fused attention; on
# the CPU it is NumPy in fp32, whose backward pass starts with the forward one.

BATCH_HEADS = 128 if ON_GPU else 1


def library(q, k, v, g, causal, scale):
    """The library's two passes, as functions without arguments."""
    if not ON_GPU:
        wide = [x.astype(np.float32) for x in (q, k, v, g)]
        forward = lambda: weights(*wide[:2], causal, np.float32(scale)) @ wide[2]
        return forward, lambda: reference(*wide, causal, np.float32(scale))[1:]
    attention = torch.nn.functional.scaled_dot_product_attention
    shaped = [x.unsqueeze(0) for x in (q, k, v)]
    leaves = [x.detach().requires_grad_() for x in shaped]
    o = attention(*leaves, is_causal=causal, scale=scale)
    forward = lambda: attention(*shaped, is_causal=causal, scale=scale)
    return forward, lambda: torch.autograd.grad(o, leaves, g.unsqueeze(0), retain_graph=True)


def plot(direction, depth, causal):
    return triton.testing.Benchmark(
        x_names=["length"],
        x_vals=[2**i for i in range(10, 15)] if ON_GPU else [128, 256],
        x_log=True,
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "torch" if ON_GPU else "NumPy"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="TFLOP/s",
        plot_name=f"attention-{direction}-d{depth}{'-causal' if causal else ''}",
        args={"depth": depth, "causal": causal, "direction": direction},
    )


@triton.testing.perf_report(
    [
        plot(direction, depth, causal)
        for direction in ("forward", "backward")
        for depth in (64, 128)
        for causal in ((False, True) if ON_GPU else (True,))
    ]
)
def benchmark(length, provider, depth, causal, direction):
    q, k, v, g = (random_fp16(BATCH_HEADS, length, depth) for _ in range(4))
    scale = depth**-0.5
    if provider == "library":
        run = library(q, k, v, g, causal, scale)[direction == "backward"]
    elif direction == "forward":
        run = lambda: attention_forward(q, k, v, causal, scale)
    else:
        o, lse = attention_forward(q, k, v, causal, scale)
        run = lambda: attention_backward(g, q, k, v, o, lse, causal, scale)
    ms = triton.testing.do_bench(run, warmup=10, rep=50, return_mode="median")
    dots = (2 if direction == "forward" else 5) * (0.5 if causal else 1)
    return dots * 2 * BATCH_HEADS * length**2 * depth / ms * 1e-9


# %%
# What to try next
# ----------------
# * Let several heads of queries use one head of keys and values.
# * Limit the view to a window of the last W keys. Which tiles are complete, which are masked?
# * Allow any length: which loads and stores need a mask, and what must masked scores be?
# * Put the two gradient kernels into one that adds to dQ atomically. Is it faster?

if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
