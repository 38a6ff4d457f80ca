# What a producer that runs ahead must not do.
# RUN: pantilec %s --kernel nested --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32:16, i32:16" --no-cache --disable-pass nv-make-persistent --emit mma | FileCheck %s --check-prefix=NEST
# RUN: pantilec %s --kernel shrinking --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32:16, i32:16" --no-cache --emit mma | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel counted --signature "*fp16:16, *fp16:16, *fp32:16, *i32, i32:16, i32:16" --no-cache --emit mma | FileCheck %s --check-prefix=COUNTED
# RUN: pantilec %s --kernel batched --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32:16, i32" --no-cache --emit mma | FileCheck %s --check-prefix=TESTED
# RUN: pantilec %s --kernel batched --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32:16, i32:16" --no-cache --emit mma | FileCheck %s --check-prefix=FAR
# RUN: pantilec %s --kernel narrow --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16" --no-cache --emit mma | FileCheck %s --check-prefix=NARROW
import pantile as triton
import pantile.language as tl

B: tl.constexpr = 64


@triton.jit
def matmul(acc, a, b, pid, n, end, stride_am, stride_bk):
    rows = pid * B + tl.arange(0, B)
    within = tl.arange(0, B)
    for k in range(0, end, B):
        x = tl.load(a + rows[:, None] * stride_am + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * stride_bk + (n * B + within)[None, :])
        acc += tl.dot(x, y)
    return acc


# The reduction's scratch is not in the circular buffers, which are being filled for the next iterations.
# NEST-DAG: nv.channel at 0 via tma : <4 x[64, 64] x f16
# NEST-DAG: nv.channel at 32768 via tma : <4 x[64, 64] x f16
# NEST: nv.producer {
# NEST: tile.reduce
# NEST: nv.scratch = 65536
# NEST: nv.dealloc
# NEST-NOT: tile.reduce
# NEST: tile.store
@triton.jit
def nested(a, b, c, columns, depth, stride_am, stride_bk):
    pid = tl.program_id(0)
    best = tl.zeros((B,), tl.float32)
    for n in range(0, columns):
        acc = matmul(tl.zeros((B, B), tl.float32), a, b, pid, n, depth, stride_am, stride_bk)
        best = tl.maximum(best, tl.max(acc, 0))
    tl.store(c + pid * B + tl.arange(0, B), best)


# The producer has no tiles to find the next depth in.
# PLAIN-NOT: nv.producer
# PLAIN: nv.wgmma
# PLAIN: tile.store
@triton.jit
def shrinking(a, b, c, columns, depth, stride_am, stride_bk):
    pid = tl.program_id(0)
    sum = tl.zeros((B, B), tl.float32)
    for n in range(0, columns):
        acc = matmul(tl.zeros((B, B), tl.float32), a, b, pid, n, depth, stride_am, stride_bk)
        depth = tl.minimum(depth, tl.max(tl.max(acc, 0), 0).to(tl.int32))
        sum += acc
    within = tl.arange(0, B)
    tl.store(c + pid * B * B + within[:, None] * B + within[None, :], sum)


# Scalars from memory are loaded once, before producer and consumers part: they may change as soon as one of them continues.
# COUNTED: %[[DEPTH:.*]] = tile.load
# COUNTED: nv.producer {
# COUNTED-NOT: tile.load
# COUNTED: scf.for %{{.*}} = %{{.*}} to %[[DEPTH]]
# COUNTED-NOT: tile.load
# COUNTED: scf.for %{{.*}} = %{{.*}} to %[[DEPTH]]
# COUNTED-NOT: tile.load
# COUNTED: tile.store
@triton.jit
def counted(a, b, c, count, stride_am, stride_bk):
    pid = tl.program_id(0)
    depth = tl.load(count)
    acc = matmul(tl.zeros((B, B), tl.float32), a, b, pid, 0, depth, stride_am, stride_bk)
    within = tl.arange(0, B)
    tl.store(c + pid * B * B + within[:, None] * B + within[None, :], acc)
    tl.store(count, 64)


# A coordinate has 32 bits: long strides are dimensions of their own. The launch tests those that are not known to be multiples.
# TESTED: box = array<i32: 64, 64, 1>, divisors = array<i64: 8>
# TESTED: box = array<i32: 64, 64, 1>, element
# TESTED: nv.producer {
# FAR-COUNT-2: box = array<i32: 64, 64, 1>
# FAR: nv.producer {
@triton.jit
def batched(a, b, c, depth, stride_am, stride_bk, stride_batch):
    pid = tl.program_id(0)
    batch = tl.program_id(1).to(tl.int64)
    a += batch * stride_batch
    b += batch * (1 << 25)
    acc = matmul(tl.zeros((B, B), tl.float32), a, b, pid, 0, depth, stride_am, stride_bk)
    within = tl.arange(0, B)
    tl.store(c + pid * B * B + within[:, None] * B + within[None, :], acc)


# fp16 accumulators are unpacked from iteration to iteration, so no MMA stays in flight.
# NARROW: nv.producer {
# NARROW: nv.wgmma %
# NARROW-NEXT: nv.wgmma_wait 0
@triton.jit
def narrow(a, b, c, depth, stride_am, stride_bk):
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float16)
    for k in range(0, depth, B):
        x = tl.load(a + within[:, None] * stride_am + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * stride_bk + within[None, :])
        acc = tl.dot(x, y, acc, out_dtype=tl.float16)
    tl.store(c + within[:, None] * B + within[None, :], acc)
