# A poll between the loops that a producer loads for is done by the producer, in the consumers' place.
# DEFINE: %{sig} = *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16
# DEFINE: %{run} = pantilec %s --no-cache --remarks --emit pipeline -o - --signature "%{sig}, *i32:16, *i64:16"
# RUN: %{run} --kernel in_a_loop 2>&1 | FileCheck %s --check-prefix=LOOP
# RUN: %{run} --kernel between_loops 2>&1 | FileCheck %s --check-prefix=BETWEEN
# RUN: pantilec %s --no-cache -o - --kernel in_a_loop --signature "%{sig}, *i32:16, *i64:16" | FileCheck %s --check-prefix=PTX
# RUN: %{run} --kernel other_polls -D KIND=0 2>&1 | FileCheck %s --check-prefix=LOOP-REMARK
# RUN: %{run} --kernel other_polls -D KIND=1 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=2 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=3 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=4 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=5 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=6 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=7 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=9 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=10 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=11 2>&1 | FileCheck %s --check-prefix=REFUSED
# RUN: %{run} --kernel other_polls -D KIND=8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
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


# Consumers wait at an mbarrier. The poll is theirs no more, and their own accesses come after the wait.
# LOOP: remark: the producer warp polls, and the other warps wait for it
# LOOP: nv.producer {
# LOOP: scf.for
# LOOP: tile.atomic_rmw poll
# LOOP: nv.mbarrier_wait {{.*}}, true,
# LOOP-NEXT: nv.expect {{.*}}, 0
# LOOP: scf.for
# LOOP: nv.tma_load
# LOOP-NOT: tile.atomic_rmw
# LOOP: scf.for
# LOOP: nv.acquire
# LOOP-NEXT: nv.release
# LOOP: tile.load
# LOOP: scf.for
# LOOP: nv.mbarrier_wait {{.*}}, false,
# One thread polls, and a fence is between that and its copies.
# PTX: ld.acquire.gpu.global.b32
# PTX-NOT: bar.sync
# PTX: fence.proxy.async;
# PTX: mbarrier.arrive.expect_tx
# PTX: cp.async.bulk.tensor
@triton.jit
def in_a_loop(a, b, c, depth, stride, flags, table):
    m = tl.program_id(0) * B
    for n in tl.range(0, stride, B, flatten=True):
        tl.atomic_poll(flags + n, 1, sem="acquire")
        bias = tl.load(places(a, n, n, stride))
        write(c, matmul(a, b, m, n, depth, stride) + bias, m, n, stride)


# BETWEEN: nv.producer {
# BETWEEN: nv.tma_load
# BETWEEN: tile.atomic_rmw poll
# BETWEEN: nv.tma_load
# BETWEEN: nv.acquire
@triton.jit
def between_loops(a, b, c, depth, stride, flags, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = matmul(a, b, m, n, depth, stride)
    tl.atomic_poll(flags + m, 1, sem="acquire")
    write(c, acc + matmul(a, b, n, m, depth, stride), m, n, stride)


# The producer polls for a scalar alone, knows where, and may be ahead of what consumers do before the poll: they must not
# write the flag, or synchronise in another way.
# LOOP-REMARK: remark: the producer warp polls
# REFUSED: remark: warps are not specialised: memory that it loads may have been written before
# REFUSED-NOT: nv.producer {
# UNKNOWN: remark: warps are not specialised: what it polls depends on tiles or on values in memory
# UNKNOWN-NOT: nv.producer {
@triton.jit
def other_polls(a, b, c, depth, stride, flags, table, KIND: tl.constexpr):
    m = tl.program_id(0) * B
    for n in tl.range(0, stride, B, flatten=True):
        if KIND == 1:  # the value is used
            tl.store(c + n, tl.atomic_poll(flags + n, 1, sem="acquire").to(tl.float16))
        elif KIND == 2:  # it may end too early
            tl.atomic_poll(flags + n, 1, sem="acquire", timeout_ns=1000)
        elif KIND == 3:  # of a tile
            tl.atomic_poll(flags + n + tl.arange(0, 2), 1, sem="acquire")
        elif KIND == 8:
            at = tl.load(table + n).to(tl.pointer_type(tl.int32))
            tl.atomic_poll(at, 1, sem="acquire")
        elif KIND == 9:  # the flag may be one that is stored
            tl.atomic_poll(
                tl.where(stride > 7, flags + n, c.to(tl.pointer_type(tl.int32))), 1, sem="acquire"
            )
        else:
            tl.atomic_poll(flags + n, 1, sem="acquire")
        acc = matmul(a, b, m, n, depth, stride)
        if KIND == 4:
            tl.store(flags + n, 0)
        elif KIND == 10:  # might ask for what is polled next
            tl.atomic_add(table, 1, sem="relaxed")
        elif KIND == 11:
            tl.atomic_xchg(table, 1, sem="relaxed")
        elif KIND == 5:
            tl.atomic_add(flags + n, 1, sem="relaxed")
        elif KIND == 6:
            tl.atomic_add(table + n, 1)
        elif KIND == 7:
            tl.debug_barrier()
        write(c, acc, m, n, stride)
