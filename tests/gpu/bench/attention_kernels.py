"""Attention for Pantile and for Triton from one source: forward over pointers and over descriptors,
backward.

`load("pantile")` and `load("triton")` each give a module of these kernels. Arrays are (batch x
heads, length, head dim), contiguous; the length is a multiple of every block.
"""

import importlib
import importlib.util

from field_case import corpus

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")


# Configurations by head dimension: (rows, columns, stages, warps).
FORWARD = {
    64: [(128, 64, 3, 4), (128, 128, 3, 8), (64, 64, 3, 4), (128, 64, 3, 8), (64, 64, 2, 4)],
    128: [(128, 64, 3, 8), (128, 128, 2, 8), (64, 64, 2, 4), (64, 64, 3, 4), (64, 128, 2, 4)],
}
# Tiles that are no powers of two, forward and for Pantile alone.
ANY_EXTENT = {
    64: [(128, 176, 2, 8), (128, 192, 2, 8), (128, 192, 3, 8), (192, 128, 2, 12), (192, 96, 3, 12)],
    128: [(128, 176, 2, 8), (128, 96, 3, 8), (192, 96, 2, 12), (192, 128, 2, 12)],
}
BACKWARD = {
    64: [(32, 128, 3, 4), (64, 64, 2, 4), (64, 128, 2, 8)],
    128: [(32, 128, 2, 8), (64, 128, 2, 8), (64, 64, 2, 4)],
    256: [(32, 64, 2, 8), (64, 64, 1, 8), (32, 32, 2, 4)],
}
# Of one kernel for all gradients, whose programs of keys add to the gradient of queries.
SUMS = {
    64: [(128, 128, 2, 8), (64, 128, 3, 8), (64, 64, 2, 4)],
    128: [(64, 128, 2, 8), (64, 128, 3, 8), (64, 64, 2, 4)],
    256: [(64, 64, 2, 8), (64, 64, 1, 8), (32, 64, 2, 8), (64, 128, 1, 16)],
}


def load(package):
    """Import this file once more, with its kernels belonging to `package`, and the kernel of `SUMS`."""
    spec = importlib.util.spec_from_file_location(f"attention_of_{package}", __file__)
    module = importlib.util.module_from_spec(spec)
    module.PACKAGE = package
    spec.loader.exec_module(module)
    module.summed_gradients_kernel = corpus("test_attention_one_kernel", package).gradients_kernel
    return module


# ===-- forward ----------------------------------------------------------------------===


@triton.jit
def soften(qk, acc, l_i, m_i, scale, rows, columns, MASKED: tl.constexpr):
    """One step of the online softmax: probabilities, and what was summed so far on the new scale."""
    if MASKED:
        qk = tl.where(rows[:, None] >= columns[None, :], qk * scale, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
    else:
        m_new = tl.maximum(m_i, tl.max(qk, 1) * scale)
        p = tl.math.exp2(qk * scale - m_new[:, None])
    alpha = tl.math.exp2(m_i - m_new)
    return p, acc * alpha[:, None], l_i * alpha + tl.sum(p, 1), m_new


@triton.jit
def attend_pointers(
    acc, l_i, m_i, q, k_ptrs, v_ptrs, lo, hi, scale, rows, columns, stride,
    BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """The keys from `lo` up to `hi`."""
    k_ptrs += lo * stride
    v_ptrs += lo * stride
    for start in range(lo, hi, BLOCK_N):
        k = tl.load(k_ptrs)
        qk = tl.dot(q, k)
        p, acc, l_i, m_i = soften(qk, acc, l_i, m_i, scale, rows, start + columns, MASKED)
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc)
        k_ptrs += BLOCK_N * stride
        v_ptrs += BLOCK_N * stride
    return acc, l_i, m_i


@triton.jit
def pointer_kernel(
    Q, K, V, O, LSE, scale, stride_head, stride_row, N,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Forward, plain pointers."""
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * stride_head
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    features = tl.arange(0, HEAD)
    q = tl.load(Q + head + rows[:, None] * stride_row + features[None, :])
    k_ptrs = K + head + columns[None, :] * stride_row + features[:, None]
    v_ptrs = V + head + columns[:, None] * stride_row + features[None, :]
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    scale *= 1.44269504
    if CAUSAL:
        acc, l_i, m_i = attend_pointers(
            acc, l_i, m_i, q, k_ptrs, v_ptrs, 0, block * BLOCK_M, scale, rows, columns, stride_row,
            BLOCK_N, False,
        )  # fmt: skip
        acc, l_i, m_i = attend_pointers(
            acc, l_i, m_i, q, k_ptrs, v_ptrs, block * BLOCK_M, (block + 1) * BLOCK_M, scale, rows,
            columns, stride_row, BLOCK_N, True,
        )  # fmt: skip
    else:
        acc, l_i, m_i = attend_pointers(
            acc, l_i, m_i, q, k_ptrs, v_ptrs, 0, N, scale, rows, columns, stride_row, BLOCK_N, False
        )
    tl.store(LSE + tl.program_id(1) * N + rows, m_i + tl.math.log2(l_i))
    acc = acc / l_i[:, None]
    tl.store(O + head + rows[:, None] * stride_row + features[None, :], acc.to(O.dtype.element_ty))


@triton.jit
def attend_descriptors(
    acc, l_i, m_i, q, desc_k, desc_v, base, lo, hi, scale, rows, columns,
    BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """The keys from `lo` up to `hi`."""
    for start in tl.range(lo, hi, BLOCK_N):
        k = desc_k.load([base + start, 0]).T
        qk = tl.dot(q, k)
        p, acc, l_i, m_i = soften(qk, acc, l_i, m_i, scale, rows, start + columns, MASKED)
        v = desc_v.load([base + start, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
    return acc, l_i, m_i


@triton.jit
def descriptor_kernel(
    desc_q, desc_k, desc_v, desc_o, LSE, scale, N,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Forward, tensor descriptors made by the host, as tutorial 06 of Triton has it."""
    block = tl.program_id(0)
    base = tl.program_id(1) * N
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    q = desc_q.load([base + block * BLOCK_M, 0])
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    scale *= 1.44269504
    if CAUSAL:
        acc, l_i, m_i = attend_descriptors(
            acc, l_i, m_i, q, desc_k, desc_v, base, 0, block * BLOCK_M, scale, rows, columns,
            BLOCK_N, False,
        )  # fmt: skip
        acc, l_i, m_i = attend_descriptors(
            acc, l_i, m_i, q, desc_k, desc_v, base, block * BLOCK_M, (block + 1) * BLOCK_M, scale,
            rows, columns, BLOCK_N, True,
        )  # fmt: skip
    else:
        acc, l_i, m_i = attend_descriptors(
            acc, l_i, m_i, q, desc_k, desc_v, base, 0, N, scale, rows, columns, BLOCK_N, False
        )
    tl.store(LSE + base + rows, m_i + tl.math.log2(l_i))
    acc = acc / l_i[:, None]
    desc_o.store([base + block * BLOCK_M, 0], acc.to(tl.float16))


# ===-- backward ---------------------------------------------------------------------===


@triton.jit
def delta_kernel(O, dO, Delta, BLOCK: tl.constexpr, HEAD: tl.constexpr):
    """Sums of O dO over the features; one program for BLOCK rows."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    offsets = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    o = tl.load(O + offsets)
    do = tl.load(dO + offsets).to(tl.float32)
    tl.store(Delta + rows, tl.sum(o * do, axis=1))


@triton.jit
def key_gradients(
    dk, dv, Q, k, v, dO, LSE, Delta, stride, start_n, lo, steps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """What `steps` blocks of queries from `lo` on add to the gradients of a block of keys."""
    rows = lo + tl.arange(0, BLOCK_M)
    columns = start_n + tl.arange(0, BLOCK_N)
    features = tl.arange(0, HEAD)
    qt_ptrs = Q + rows[None, :] * stride + features[:, None]
    do_ptrs = dO + rows[:, None] * stride + features[None, :]
    start = lo
    for _ in range(steps):
        qt = tl.load(qt_ptrs)
        rows = start + tl.arange(0, BLOCK_M)
        m = tl.load(LSE + rows)
        pt = tl.math.exp2(tl.dot(k, qt) - m[None, :])
        if MASKED:
            pt = tl.where(rows[None, :] >= columns[:, None], pt, 0.0)
        do = tl.load(do_ptrs)
        dv += tl.dot(pt.to(tl.float16), do)
        delta = tl.load(Delta + rows)
        dpt = tl.dot(v, tl.trans(do)).to(tl.float32)
        dst = pt * (dpt - delta[None, :])
        dk += tl.dot(dst.to(tl.float16), tl.trans(qt))
        start += BLOCK_M
        qt_ptrs += BLOCK_M * stride
        do_ptrs += BLOCK_M * stride
    return dk, dv


@triton.jit
def query_gradients(
    dq, q, K, V, do, m, delta, stride, start_m, lo, steps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """What `steps` blocks of keys from `lo` on add to the gradient of a block of queries."""
    rows = start_m + tl.arange(0, BLOCK_M)
    columns = lo + tl.arange(0, BLOCK_N)
    features = tl.arange(0, HEAD)
    kt_ptrs = K + columns[None, :] * stride + features[:, None]
    vt_ptrs = V + columns[None, :] * stride + features[:, None]
    start = lo
    for _ in range(steps):
        kt = tl.load(kt_ptrs)
        vt = tl.load(vt_ptrs)
        p = tl.math.exp2(tl.dot(q, kt) - m[:, None])
        if MASKED:
            columns = start + tl.arange(0, BLOCK_N)
            p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        dp = tl.dot(do, vt).to(tl.float32)
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(tl.float16), tl.trans(kt))
        start += BLOCK_N
        kt_ptrs += BLOCK_N * stride
        vt_ptrs += BLOCK_N * stride
    return dq


@triton.jit
def backward_kernel(
    Q, K, V, scale, dO, dQ, dK, dV, LSE, Delta, stride_head, stride, N,
    BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr, BLOCK_M2: tl.constexpr,
    BLOCK_N2: tl.constexpr, SLICES: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys, then of the block of queries at the same place. K comes scaled
    by `scale` / ln 2; blocks on the diagonal go in SLICES parts."""
    head = tl.program_id(1)
    offset = head.to(tl.int64) * stride_head
    Q += offset
    K += offset
    V += offset
    dO += offset
    dQ += offset
    dK += offset
    dV += offset
    LSE += head.to(tl.int64) * N
    Delta += head.to(tl.int64) * N
    features = tl.arange(0, HEAD)

    start_n = tl.program_id(0) * BLOCK_N1
    columns = start_n + tl.arange(0, BLOCK_N1)
    dv = tl.zeros([BLOCK_N1, HEAD], tl.float32)
    dk = tl.zeros([BLOCK_N1, HEAD], tl.float32)
    k = tl.load(K + columns[:, None] * stride + features[None, :])
    v = tl.load(V + columns[:, None] * stride + features[None, :])
    lo = 0
    if CAUSAL:
        SLICE_M: tl.constexpr = BLOCK_M1 // SLICES
        lo = start_n
        steps = BLOCK_N1 // SLICE_M
        dk, dv = key_gradients(
            dk, dv, Q, k, v, dO, LSE, Delta, stride, start_n, lo, steps,
            SLICE_M, BLOCK_N1, HEAD, True,
        )  # fmt: skip
        lo += steps * SLICE_M
    dk, dv = key_gradients(
        dk, dv, Q, k, v, dO, LSE, Delta, stride, start_n, lo, (N - lo) // BLOCK_M1,
        BLOCK_M1, BLOCK_N1, HEAD, False,
    )  # fmt: skip
    tl.store(dV + columns[:, None] * stride + features[None, :], dv.to(tl.float16))
    dk *= scale
    tl.store(dK + columns[:, None] * stride + features[None, :], dk.to(tl.float16))

    start_m = tl.program_id(0) * BLOCK_M2
    rows = start_m + tl.arange(0, BLOCK_M2)
    q = tl.load(Q + rows[:, None] * stride + features[None, :])
    do = tl.load(dO + rows[:, None] * stride + features[None, :])
    m = tl.load(LSE + rows)
    delta = tl.load(Delta + rows)
    dq = tl.zeros([BLOCK_M2, HEAD], tl.float32)
    hi = N
    if CAUSAL:
        SLICE_N: tl.constexpr = BLOCK_N2 // SLICES
        steps = BLOCK_M2 // SLICE_N
        dq = query_gradients(
            dq, q, K, V, do, m, delta, stride, start_m, start_m, steps,
            BLOCK_M2, SLICE_N, HEAD, True,
        )  # fmt: skip
        hi = start_m
    dq = query_gradients(
        dq, q, K, V, do, m, delta, stride, start_m, 0, hi // BLOCK_N2,
        BLOCK_M2, BLOCK_N2, HEAD, False,
    )  # fmt: skip
    dq *= 0.6931471824645996
    tl.store(dQ + rows[:, None] * stride + features[None, :], dq.to(tl.float16))
