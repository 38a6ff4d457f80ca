# A producer that starts later than its kernel: after memory that it loads may have been written, after the scalars that
# its coordinates come from are known, or in the branch that its loop is in.
# DEFINE: %{sig} = *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16
# DEFINE: %{run} = pantilec %s --no-cache --remarks --emit pipeline -o - --signature "%{sig}, *i32:16"
# RUN: %{run} --kernel stores_before 2>&1 | FileCheck %s --check-prefix=STORED
# RUN: %{run} --kernel adds_before -D KIND=0 2>&1 | FileCheck %s --check-prefix=ADDED
# RUN: %{run} --kernel adds_before -D KIND=1 2>&1 | FileCheck %s --check-prefix=ADDED
# RUN: %{run} --kernel adds_before -D KIND=2 2>&1 | FileCheck %s --check-prefix=ADDED
# RUN: %{run} --kernel meets_before 2>&1 | FileCheck %s --check-prefix=MET
# RUN: %{run} --kernel takes_turns 2>&1 | FileCheck %s --check-prefix=TURNS
# RUN: %{run} --kernel stands_in_branches 2>&1 | FileCheck %s --check-prefix=BRANCHES
# RUN: %{run} --kernel stores_between 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel stores_in_a_loop_around 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel stores_a_product 2>&1 | FileCheck %s --check-prefix=PRODUCT
# RUN: pantilec %s --no-cache --emit pipeline -o - --kernel adds_products --signature "%{sig}, *fp32:16, *fp32:16" 2>&1 | FileCheck %s --check-prefix=PRODUCT
# RUN: pantilec %s --no-cache -o - --kernel takes_turns --signature "%{sig}, *i32:16" | FileCheck %s --check-prefix=PTX
import pantile as triton
import pantile.language as tl

B: tl.constexpr = 64


@triton.jit
def places(base, m, n, stride):
    within = tl.arange(0, B)
    return base + (m + within)[:, None] * stride + (n + within)[None, :]


@triton.jit
def matmul(a, b, m, n, depth, stride):
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        acc = tl.dot(tl.load(places(a, m, k, stride)), tl.load(places(b, k, n, stride)), acc)
    return acc


@triton.jit
def write(c, acc, m, n, stride):
    tl.store(places(c, m, n, stride), acc.to(tl.float16))


# Two arguments may be of the same memory.
# STORED: remark: a producer warp loads for this loop
# STORED: tl.store(places(c, m, n, stride), tl.load
# STORED: nv.fork_producer
# STORED: tile.store
# STORED-NEXT: nv.producer {
# STORED: nv.tma_load
@triton.jit
def stores_before(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m, n, stride), tl.load(places(a, m, n, stride)) + 1)
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# An atomic orders loads if it is not relaxed, if its old value is used, or if it may be to what is read.
# ADDED: nv.fork_producer
# ADDED: tile.atomic_rmw
# ADDED-NEXT: nv.producer {
@triton.jit
def adds_before(a, b, c, depth, stride, table, KIND: tl.constexpr):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    if KIND == 0:
        tl.atomic_add(c + m, 1.0)
    old = tl.atomic_add((a if KIND == 1 else c) + m, 1.0, sem="relaxed") if KIND else 0.0
    write(c, matmul(a, b, m, n, depth, stride) + old, m, n, stride)


# MET: nv.fork_producer
# MET: tile.barrier
# MET-NEXT: nv.producer {
@triton.jit
def meets_before(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.debug_barrier()
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# The branch without a loop sends the extra warps away. They have the turn from shared memory, after a word that says
# whether to go on; a fence and a named barrier are between what consumers and what TMA does.
# TURNS: nv.fork_producer
# TURNS: [[TURN:%[a-z0-9_]+]] = tile.atomic_rmw
# TURNS: scf.if
# TURNS: nv.dismiss_producer
# TURNS: } else {
# TURNS: nv.producer {
# TURNS: nv.tma_load
# PTX: bar.sync {{[ ]*}}7, 160;
# PTX: ld.shared.b64
# PTX: ld.shared.b32
# PTX: cp.async.bulk.tensor
# PTX: st.shared.b64 {{.*}}, 0;
# PTX: fence.proxy.async;
# PTX-NEXT: bar.arrive {{[ ]*}}7, 160;
# PTX: st.shared.b64 {{.*}}, 1;
# PTX: fence.proxy.async;
# PTX-NEXT: bar.arrive {{[ ]*}}7, 160;
@triton.jit
def takes_turns(a, b, c, depth, stride, table):
    turn = tl.atomic_add(table, 1)
    if turn < 4:
        tl.store(table + 1 + turn, turn)
    else:
        m = tl.maximum(turn - 4, 0) * B
        write(c, matmul(a, b, m, 0, depth, stride), m, 0, stride)


# Each branch that does not come to the loop sends the extra warps away.
# BRANCHES: nv.fork_producer
# BRANCHES-COUNT-2: nv.dismiss_producer
# BRANCHES-NOT: nv.dismiss_producer
@triton.jit
def stands_in_branches(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.full((B, B), 2.0, tl.float32)
    if m > n:
        acc += 1.0
        if m > 2 * n:
            acc = matmul(a, b, m, n, depth, stride)
    write(c, acc, m, n, stride)


# Stores and sums by TMA are done when the kernel ends, which is too late for a producer that starts after them.
# PRODUCT: nv.fork_producer
# PRODUCT-NOT: nv.tma_store
# PRODUCT: nv.producer {
# PRODUCT: nv.tma_load
@triton.jit
def stores_a_product(a, b, c, depth, stride, table):
    t, s, k = tl.arange(0, 32), tl.arange(0, 256), tl.arange(0, 32)
    x = tl.load(a + t[:, None] * 32 + k[None, :]).to(tl.float32)
    y = tl.load(c + k[:, None] * 256 + s[None, :]).to(tl.float32)
    product = tl.dot(x, y, input_precision="ieee")
    tl.store(b + t[:, None] * 256 + s[None, :], product.to(tl.float16))
    acc = tl.zeros((B, B), tl.float32)
    for at in range(0, 128, 64):
        acc = tl.dot(tl.load(places(a, 0, at, 128)), tl.load(places(b, at, 0, 64)), acc)
    write(c, acc, 0, 0, stride)


@triton.jit
def adds_products(a, b, c, depth, stride, sums, other):
    d, e = tl.arange(0, B), tl.arange(0, 32)
    x, y = tl.load(places(a, 0, 0, B)), tl.load(places(b, 0, 0, B))
    for i in range(0, depth):
        product = tl.dot(x * (i - 1).to(tl.float16), y)
        tl.atomic_add(sums + d[:, None] * B + d[None, :], product, sem="relaxed")
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, B, 32):
        left = tl.load(other + d[:, None] * B + (k + e)[None, :])
        acc = tl.dot(left, tl.load(sums + (k + e)[:, None] * B + d[None, :]), acc)
    write(c, acc, 0, 0, stride)


# It starts once, so nothing may be in its way between two loops, or in a loop around.
# REFUSED: warps are not specialised: memory that it loads may have been written before
# REFUSED-NOT: nv.producer {
@triton.jit
def stores_between(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)
    write(c, matmul(a, c, m, n, depth, stride), n, m, stride)


@triton.jit
def stores_in_a_loop_around(a, b, c, depth, stride, table):
    m = tl.program_id(0) * B
    tl.debug_barrier()
    for n in range(0, stride, B):
        write(c, matmul(a, b, m, n, depth, stride), m, n, stride)
