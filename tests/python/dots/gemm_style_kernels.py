"""Kernels of GEMMs as people write them, for test_gemm_styles.py.

Every kernel takes `(a, b, c, M, N, K, strides of A, B and C, block)`; the further arguments of a style come before `M`.
"""

import pantile as triton
import pantile.language as tl


@triton.jit
def put(c, acc, rm, rn, scm, scn, M, N):
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    tl.store(c + rm[:, None] * scm + rn[None, :] * scn, acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def left(a, rm, rk, sam, sak, M, K):
    mask = (rm < M)[:, None] & (rk < K)[None, :]
    return tl.load(a + rm[:, None] * sam + rk[None, :] * sak, mask=mask, other=0.0)


@triton.jit
def right(b, rk, rn, sbk, sbn, K, N):
    mask = (rk < K)[:, None] & (rn < N)[None, :]
    return tl.load(b + rk[:, None] * sbk + rn[None, :] * sbn, mask=mask, other=0.0)


@triton.jit
def advancing(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Pointers go on, and the bounds stand on the left of the comparisons."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a + rm[:, None] * sam + rk[None, :] * sak
    b_ptrs = b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a_ptrs, mask=(M > rm)[:, None] & (K - k > rk)[None, :], other=0.0)
        y = tl.load(b_ptrs, mask=(K - k - 1 >= rk)[:, None] & (N > rn)[None, :], other=0.0)
        acc += tl.dot(x, y)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def bounded_below(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Rows may lie before the tensor, written in two ways."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM) - 16, tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        inside = (rm > -1) & (rm < M)
        x = tl.load(
            a + rm[:, None] * sam + rk[None, :] * sak, inside[:, None] & (rk < K)[None, :], 0.0
        )
        y = tl.load(b + rk[:, None] * sbk + rn[None, :] * sbn, (0 <= rk)[:, None] & (rk < K)[:, None] & (rn < N)[None, :], 0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    mask = (rm >= 0) & (rm < M)
    tl.store(
        c + rm[:, None] * scm + rn[None, :] * scn,
        acc.to(tl.float16),
        mask[:, None] & (rn < N)[None, :],
    )


@triton.jit
def by_block_pointers(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    x = tl.make_block_ptr(a, (M, K), (sam, sak), (m, 0), (BM, BK), (1, 0))
    y = tl.make_block_ptr(b, (K, N), (sbk, sbn), (0, n), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(x, boundary_check=(0, 1)), tl.load(y, boundary_check=(0, 1)), acc)
        x, y = tl.advance(x, (0, BK)), tl.advance(y, (BK, 0))
    out = tl.make_block_ptr(c, (M, N), (scm, scn), (m, n), (BM, BN), (1, 0))
    tl.store(out, acc.to(tl.float16), boundary_check=(0, 1))


@triton.jit
def by_descriptors(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    x = tl.make_tensor_descriptor(a, [M, K], [sam, 1], [BM, BK])
    y = tl.make_tensor_descriptor(b, [K, N], [sbk, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(x.load([m, k]), y.load([k, n]), acc)
    out = tl.make_tensor_descriptor(c, [M, N], [scm, 1], [BM, BN])
    out.store([m, n], acc.to(tl.float16))


@triton.jit
def turned(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Both tiles are loaded transposed."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        rk = k * BK + tl.arange(0, BK)
        x, y = right(a, rk, rm, sak, sam, K, M), left(b, rn, rk, sbn, sbk, N, K)
        acc += tl.dot(tl.trans(x), y.T)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def grouped(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Rows wrap around, under hints that are true of the rows that count alone."""
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    pid = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    group = pid // (2 * across)
    size = tl.minimum(down - group * 2, 2)
    m, n = group * 2 + pid % size, pid % (2 * across) // size
    rm, rn = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
    ram, rbn = tl.max_contiguous(rm % M, BM), tl.max_contiguous(rn % N, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + ram[:, None] * sam + rk[None, :] * sak, mask=(rk < K)[None, :], other=0.0)
        y = tl.load(b + rk[:, None] * sbk + rbn[None, :] * sbn, mask=(rk < K)[:, None], other=0.0)
        acc += tl.dot(x, y)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def split(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Parts of K are added up in memory; rows wrap around, and the atomics are masked."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    a_ptrs = a + (rm % M)[:, None] * sam + rk[None, :] * sak
    b_ptrs = b + rk[:, None] * sbk + (rn % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK * 2)):
        x = tl.load(a_ptrs, mask=rk[None, :] < K - k * (BK * 2), other=0.0)
        y = tl.load(b_ptrs, mask=rk[:, None] < K - k * (BK * 2), other=0.0)
        acc += tl.dot(x, y)
        a_ptrs += BK * 2 * sak
        b_ptrs += BK * 2 * sbk
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    tl.atomic_add(c + rm[:, None] * scm + rn[None, :] * scn, acc, mask=mask)


@triton.jit
def loops_over_tiles(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Persistent by hand; `flatten` says that the next tile may be loaded before this one is stored."""
    across = tl.cdiv(N, BN)
    first = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    for tile in tl.range(first, tl.cdiv(M, BM) * across, 3, flatten=True):
        rm, rn = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
        put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def loops_in_order(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """The same without a word about its rounds."""
    across = tl.cdiv(N, BN)
    first = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    for tile in tl.range(first, tl.cdiv(M, BM) * across, 3):
        rm, rn = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
        put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def chooses_rows(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Rows and columns outside become the first, as in persistent GEMMs of the field."""
    first, across = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0), tl.cdiv(N, BN)
    for tile in tl.range(first, tl.cdiv(M, BM) * across, 3, flatten=True):
        rm, rn = tile // across * BM + tl.arange(0, BM), tile % across * BN + tl.arange(0, BN)
        ram, rbn = tl.where(rm < M, rm, 0), tl.where(rn < N, rn, 0)
        ram = tl.max_contiguous(tl.multiple_of(ram, BM), BM)
        rbn = tl.max_contiguous(tl.multiple_of(rbn, BN), BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            rk = step * BK + tl.arange(0, BK)
            a_ptrs = a + (ram[:, None] * sam + rk[None, :] * sak)
            b_ptrs = b + (rk[:, None] * sbk + rbn[None, :] * sbn)
            x = tl.load(a_ptrs, mask=tl.arange(0, BK)[None, :] < K - step * BK, other=0.0)
            y = tl.load(b_ptrs, mask=tl.arange(0, BK)[:, None] < K - step * BK, other=0.0)
            acc = tl.dot(x, y, acc)
        put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def clamps(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Rows outside become the last."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    ram = tl.minimum(rm, M - 1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + ram[:, None] * sam + rk[None, :] * sak, mask=(rk < K)[None, :], other=0.0)
        acc = tl.dot(x, right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def residual(a, b, c, bias, rest, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    acc += tl.load(bias + rn, mask=rn < N, other=0.0)[None, :]
    acc += left(rest, rm, rn, scm, scn, M, N)
    put(c, tl.where(acc > 0, acc, 0.25 * acc), rm, rn, scm, scn, M, N)


@triton.jit
def computed_left(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, sam, sak, M, K)
        x = tl.where(x > 0, x, x * 0.5).to(tl.float16)
        acc = tl.dot(x, right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def computed_right(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = (right(b, rk, rn, sbk, sbn, K, N).to(tl.float32) * 2).to(tl.float16)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), y, acc)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def gated(a, b, c, gate, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Two dots of one left operand."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc, open = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, sam, sak, M, K)
        acc = tl.dot(x, right(b, rk, rn, sbk, sbn, K, N), acc)
        open = tl.dot(x, right(gate, rk, rn, sbk, sbn, K, N), open)
    put(c, tl.where(open > 0, acc, 0.0), rm, rn, scm, scn, M, N)


@triton.jit
def twice(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Two dots of the same two operands."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc, half = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x, y = left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N)
        acc = tl.dot(x, y, acc)
        half += tl.dot(x, y) * 0.5
    put(c, acc + half, rm, rn, scm, scn, M, N)


@triton.jit
def leaves_early(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Programs outside of the matrix have nothing to do; one more loop follows."""
    if tl.program_id(0) * BM >= M:
        return
    if tl.program_id(1) * BN >= N:
        return
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.minimum(BK, K), BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    for k in range(BK, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def leaves_in_between(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Tiles below the diagonal and those above it are done by loops of their own."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    if tl.program_id(0) > tl.program_id(1):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
        put(c, acc, rm, rn, scm, scn, M, N)
        return
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N))
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def counts_programs(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """The grid is the user's, also where fewer CTAs run; programs go backwards through it."""
    m = tl.num_programs(0) - 1 - tl.program_id(0)
    n = tl.num_programs(1) - 1 - tl.program_id(1)
    rm, rn = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    count = tl.num_programs(0) * 100 + tl.num_programs(1) * 10 + tl.num_programs(2)
    put(c, acc + count, rm, rn, scm, scn, M, N)


@triton.jit
def synchronises_after(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """The consumer threads synchronise; the producer does not take part."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)
    tl.debug_barrier()
    put(c, 2 * left(c, rm, rn, scm, scn, M, N).to(tl.float32), rm, rn, scm, scn, M, N)


@triton.jit
def peels(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """The first dot is before the loop, the last one after it."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N))
    last = (K - 1) // BK * BK
    for k in range(BK, last, BK):
        acc = tl.dot(left(a, rm, k + rk, sam, sak, M, K), right(b, k + rk, rn, sbk, sbn, K, N), acc)
    rk += last
    acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def goes_on_while(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    k = 0
    while k < K:
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
        k += BK
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def is_left(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, 1 << 20, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
        if k + BK >= K:
            break
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def triangular(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.minimum((tl.program_id(0) + 1) * BM, K), BK):
        rk = k + tl.arange(0, BK)
        lower = (rk[None, :] <= rm[:, None]) & (rm < M)[:, None] & (rk < K)[None, :]
        x = tl.load(a + rm[:, None] * sam + rk[None, :] * sak, mask=lower, other=0.0)
        acc = tl.dot(x, right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)


@triton.jit
def gathered(a, b, c, rows, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    at = tl.load(rows + rm, mask=rm < M, other=0)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, at, rk, sam, sak, M, K), right(b, rk, rn, sbk, sbn, K, N), acc)
    put(c, acc, rm, rn, scm, scn, M, N)
