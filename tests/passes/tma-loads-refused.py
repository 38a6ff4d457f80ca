# Loads that TMA must not do, and loops that must not have a producer: a remark says which rule each breaks.
# DEFINE: %{sig} = *fp16:16, *fp16:16, *fp16:16, i32, i32:16
# DEFINE: %{run} = pantilec %s --no-cache --disable-pass mixed-transports --remarks --emit pipeline -o -
# RUN: %{run} --kernel plain --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=PLAIN
# RUN: %{run} --kernel plain --signature "%{sig}" --num-warps 2 2>&1 | FileCheck %s --check-prefix=FEW
# RUN: %{run} --kernel wide --signature "%{sig}" -D SIZE=128 --num-warps 32 2>&1 | FileCheck %s --check-prefix=MANY
# RUN: %{run} --kernel wide --signature "%{sig}" -D SIZE=256 --num-warps 16 2>&1 | FileCheck %s --check-prefix=SUMS
# RUN: %{run} --kernel plain --signature "%{sig}" --max-registers 128 2>&1 | FileCheck %s --check-prefix=LIMIT
# RUN: %{run} --kernel plain --signature "%{sig}" --num-stages 1 2>&1 | FileCheck %s --check-prefix=STAGE
# RUN: %{run} --kernel plain --signature "*fp16, *fp16:16, *fp16:16, i32, i32:16" 2>&1 | FileCheck %s --check-prefix=BASE
# RUN: %{run} --kernel plain --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32" 2>&1 | FileCheck %s --check-prefix=EIGHT
# RUN: %{run} --kernel odd_rows --signature "*fp16:16, *fp16:16, *fp16:16, i32" -D stride=1001 2>&1 | FileCheck %s --check-prefix=STRIDE
# RUN: %{run} --kernel calls_bitcode --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32" 2>&1 | FileCheck %s --check-prefix=STRIDE
# RUN: %{run} --kernel strides_both --signature "%{sig}, i32:16" 2>&1 | FileCheck %s --check-prefix=NEIGHBOURS
# RUN: %{run} --kernel masks_the_diagonal --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=DIAGONAL
# RUN: %{run} --kernel masks_either --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=EITHER
# RUN: %{run} --kernel masks_by_memory --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=MEMORY
# RUN: %{run} --kernel fills_with_one --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=OTHER
# RUN: %{run} --kernel reads_volatile --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=VOLATILE
# RUN: %{run} --kernel reads_past_caches --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=VOLATILE
# RUN: %{run} --kernel wraps_along_k --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRAPS
# RUN: %{run} --kernel wraps_and_sums --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRAPS
# RUN: %{run} --kernel wraps_and_stores_all --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRAPS
# RUN: %{run} --kernel adds_relaxed --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=PLAIN
# RUN: %{run} --kernel stores_in_the_loop --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=PLAIN
# RUN: %{run} --kernel stores_in_the_loop --signature "%{sig}" --disable-pass producer-past-stores 2>&1 | FileCheck %s --check-prefix=WRITTEN
# RUN: %{run} --kernel stores_in_the_loop_around --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRITTEN
# RUN: %{run} --kernel stores_in_both --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRITTEN
# RUN: %{run} --kernel stores_what_it_reads --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRITTEN
# RUN: %{run} --kernel stores_its_operand --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRITTEN
# RUN: %{run} --kernel overlaps --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=OVERLAPS
# RUN: %{run} --kernel chooses_and_stores_all --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=CHOOSES
# RUN: %{run} --kernel reads_its_base --signature "*u64:16, *fp16:16, *fp16:16, i32, i32:16" 2>&1 | FileCheck %s --check-prefix=POINTER
# RUN: %{run} --kernel reads_its_offset --signature "%{sig}, *i32:16" 2>&1 | FileCheck %s --check-prefix=OFFSET
# RUN: %{run} --kernel reads_its_depth --signature "%{sig}, *i32:16" 2>&1 | FileCheck %s --check-prefix=DEPTH
# RUN: %{run} --kernel gathers --signature "%{sig}, *i32:16" 2>&1 | FileCheck %s --check-prefix=GATHERS
# RUN: %{run} --kernel has_six_dimensions --signature "%{sig}, i32:16, i32:16, i32:16, i32:16" 2>&1 | FileCheck %s --check-prefix=SIX
# RUN: %{run} --kernel starts_before --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=BEFORE
# RUN: %{run} --kernel goes_on_while --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WHILE
# RUN: %{run} --kernel has_assembly --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=ASSEMBLY
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


# What all the others are but for one thing.
# PLAIN-COUNT-2: remark: load is converted to TMA
# PLAIN: nv.producer {
# Warps that come in fours multiply in groups; the others use mma.sync, whose fragments threads load.
# FEW: not on wgmma: wgmma needs warp groups of 4 warps
# FEW-NOT: nv.producer {
# The limit would bind both roles.
# LIMIT: `maxnreg` would bind
# LIMIT-NOT: nv.producer {
# STAGE: warps are not specialised: it has one stage
# STAGE-NOT: nv.producer {
# What a tensor map cannot say: the specialisation settles it.
# BASE: warps are not specialised: its base is not known to be aligned to 16 bytes
# BASE-NOT: nv.producer {
# What the launch settles, for loads alone: a number that 16 does not divide may be one that 8 divides.
# EIGHT-COUNT-2: remark: load is converted to TMA with a tensor map of 2 dimensions, for launches where {{.*}} is a multiple of 8
# EIGHT: nv.producer {
@triton.jit
def plain(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# STRIDE: warps are not specialised: a stride is not known on the host to be a multiple of 16 bytes
# STRIDE-NOT: nv.producer {
@triton.jit
def odd_rows(a, b, c, depth, stride: tl.constexpr):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# Its variables would be others in the variant that runs where the stride is odd.
@triton.jit
def calls_bitcode(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = matmul(a, b, m, n, depth, stride)
    acc = tl.extern_elementwise(
        "own", "own.bc", [acc], {(tl.float32,): ("scaled", tl.float32)}, is_pure=True
    )
    write(c, acc, m, n, stride)


# A CTA has 1024 threads, and none is left for a producer.
# MANY: warps are not specialised: a CTA of 32 warps has no room for another
# MANY-NOT: nv.producer {
# Nor do 16 warps with 128 registers per thread multiply by instructions whose accumulators take all of them.
# SUMS: this dot runs on mma.sync m16n8k16, 4 x 4 warps; not on wgmma: the accumulator of one instruction leaves a thread too few registers
@triton.jit
def wide(a, b, c, depth, stride, SIZE: tl.constexpr):
    at, across = tl.arange(0, SIZE), tl.arange(0, SIZE)
    acc = tl.zeros((SIZE, SIZE), tl.float32)
    for k in range(0, depth, B):
        deep = k + tl.arange(0, B)
        x = tl.load(a + at[:, None] * stride + deep[None, :])
        y = tl.load(b + deep[:, None] * stride + across[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + at[:, None] * stride + across[None, :], acc.to(tl.float16))


# Rows of shared memory are of neighbours.
# NEIGHBOURS: warps are not specialised: elements contiguous in shared memory are not contiguous in global memory
# NEIGHBOURS-NOT: nv.producer {
@triton.jit
def strides_both(a, b, c, depth, stride, other_stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + (m + within)[:, None] * stride + (k + within)[None, :] * other_stride)
        acc = tl.dot(x, tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# DIAGONAL: warps are not specialised: its mask bounds something else than one dimension
# DIAGONAL-NOT: nv.producer {
@triton.jit
def masks_the_diagonal(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        lower = (m + within)[:, None] >= (k + within)[None, :]
        acc = tl.dot(tl.load(places(a, m, k, stride), lower, 0.0), tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# EITHER: warps are not specialised: its mask is not a conjunction of bounds
# EITHER-NOT: nv.producer {
@triton.jit
def masks_either(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        mask = (m + within < depth)[:, None] | (k + within < depth)[None, :]
        acc = tl.dot(tl.load(places(a, m, k, stride), mask, 0.0), tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# MEMORY: warps are not specialised: its mask is not a conjunction of bounds
# MEMORY-NOT: nv.producer {
@triton.jit
def masks_by_memory(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    wanted = tl.load(c + tl.arange(0, B))[:, None] > 0
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        acc = tl.dot(tl.load(places(a, m, k, stride), wanted, 0.0), tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# TMA fills with zeros.
# OTHER: warps are not specialised: `other` is not zero
# OTHER-NOT: nv.producer {
@triton.jit
def fills_with_one(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    rows = (m + tl.arange(0, B) < depth)[:, None]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        acc = tl.dot(tl.load(places(a, m, k, stride), rows, 1.0), tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# VOLATILE: warps are not specialised: it is volatile
# VOLATILE-NOT: nv.producer {
@triton.jit
def reads_volatile(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        acc = tl.dot(tl.load(places(a, m, k, stride), volatile=True), tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


@triton.jit
def reads_past_caches(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(places(a, m, k, stride), cache_modifier=".cv")
        acc = tl.dot(x, tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# The rows that a remainder changes may not matter; depth always does, and so do rows that are added up or stored. No
# launch makes tiles fill the remainder's range that start eight late.
# WRAPS: warps are not specialised: a modulo in its address wraps rows that are used
# WRAPS-NOT: nv.producer {
@triton.jit
def wraps_along_k(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + (m + within)[:, None] * stride + ((k + 8 + within) % depth)[None, :])
        acc = tl.dot(x, tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


@triton.jit
def wrapped(a, b, m, n, depth, stride):
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + ((m + 8 + within) % depth)[:, None] * stride + (k + within)[None, :])
        acc = tl.dot(x, tl.load(places(b, k, n, stride)), acc)
    return acc


@triton.jit
def wraps_and_sums(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    acc = wrapped(a, b, m, n, depth, stride)
    total = tl.sum(acc, 0)[None, :] + acc
    tl.store(places(c, m, n, stride), total.to(tl.float16), mask=(m + within < depth)[:, None])


@triton.jit
def wraps_and_stores_all(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    write(c, wrapped(a, b, m, n, depth, stride), m, n, stride)


# A relaxed atomic orders nothing.
@triton.jit
def adds_relaxed(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.atomic_add(c + m, 1.0, sem="relaxed")
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# Two arguments may be of the same memory, and what others announced may have been written.
# WRITTEN: warps are not specialised: memory that it loads may have been written before
# WRITTEN-NOT: nv.producer {
@triton.jit
def stores_in_the_loop(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        acc = tl.dot(tl.load(places(a, m, k, stride)), tl.load(places(b, k, n, stride)), acc)
        write(c, acc, m, k, stride)


# Its own stores a loop passes, if they are through other arguments and no other loop is around it.
@triton.jit
def stores_its_operand(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, depth, B, warp_specialize=True):
        acc = tl.dot(tl.load(places(a, m, k, stride)), tl.load(places(b, k, n, stride)), acc)
        write(b, acc, m, k, stride)
    write(c, acc, m, n, stride)


# What the loop stores, its next round loads.
@triton.jit
def stores_in_both(a, b, c, depth, stride):
    m = tl.program_id(0) * B
    for n in range(0, stride, B):
        acc = tl.zeros((B, B), tl.float32)
        for k in tl.range(0, depth, B, warp_specialize=True):
            acc = tl.dot(tl.load(places(a, m, k, stride)), tl.load(places(b, k, n, stride)), acc)
            write(c, acc, m, k, stride)


@triton.jit
def stores_in_the_loop_around(a, b, c, depth, stride):
    m = tl.program_id(0) * B
    for n in range(0, stride, B):
        write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# Rounds may overlap, says `flatten`; not where they write what they read.
@triton.jit
def stores_what_it_reads(a, b, c, depth, stride):
    m = tl.program_id(0) * B
    for n in tl.range(0, stride, B, flatten=True):
        write(a, matmul(a, b, m, n, depth, stride), m, n, stride)


# OVERLAPS: remark: load is converted to TMA
# OVERLAPS: nv.producer {
@triton.jit
def overlaps(a, b, c, depth, stride):
    m = tl.program_id(0) * B
    for n in tl.range(0, stride, B, flatten=True):
        write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# CHOOSES: warps are not specialised: a `where` in its address changes rows that are used
# CHOOSES-NOT: nv.producer {
@triton.jit
def chooses_and_stores_all(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    rows = tl.where(m + within < depth, m + within, 0)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + rows[:, None] * stride + (k + within)[None, :])
        acc = tl.dot(x, tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# POINTER: warps are not specialised: its base is not an argument of the kernel
# POINTER-NOT: nv.producer {
@triton.jit
def reads_its_base(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    first = tl.multiple_of(tl.load(a + tl.program_id(2)).to(tl.pointer_type(tl.float16)), 16)
    write(c, matmul(first, b, m, n, depth, stride), m, n, stride)


# What a coordinate is made of must not be negative, as far as the host can see.
# OFFSET: warps are not specialised: a coordinate may be negative
# OFFSET-NOT: nv.producer {
@triton.jit
def reads_its_offset(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    first = tl.load(table + tl.program_id(0))
    write(c, matmul(a + first, b, m, n, depth, stride), m, n, stride)


# Numbers in memory may have changed before the producer reads them.
# DEPTH: warps are not specialised: its trip count depends on tiles or on values in memory
# DEPTH-NOT: nv.producer {
@triton.jit
def reads_its_depth(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for i in range(depth):
        acc += matmul(a, b, m, n, tl.load(table + i), stride)
    write(c, acc, m, n, stride)


# GATHERS: warps are not specialised: its addresses are not affine in the indices
# GATHERS-NOT: nv.producer {
@triton.jit
def gathers(a, b, c, depth, stride, table):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    rows = tl.load(table + m + within)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + rows[:, None] * stride + (k + within)[None, :])
        acc = tl.dot(x, tl.load(places(b, k, n, stride)), acc)
    write(c, acc, m, n, stride)


# SIX: warps are not specialised: its address has more than five dimensions
# SIX-NOT: nv.producer {
@triton.jit
def has_six_dimensions(a, b, c, depth, stride, third, fourth, fifth, sixth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    at = tl.program_id(2)
    a += at % 2 * third + at // 2 % 3 * fourth + at // 6 % 5 * fifth + at // 30 * sixth
    write(c, matmul(a, b, m, n, depth, stride), m, n, stride)


# Memory before the tensor would be read as zeros.
# BEFORE: warps are not specialised: a coordinate may be negative
# BEFORE-NOT: nv.producer {
@triton.jit
def starts_before(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    write(c, matmul(a, b, m - depth, n, depth, stride), m, n, stride)


# The trip count is known only to the threads of the loop.
# WHILE: load is not prefetched: its loop is a `while`
# WHILE-NOT: nv.producer {
@triton.jit
def goes_on_while(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    k = 0
    while True:
        acc = tl.dot(tl.load(places(a, m, k, stride)), tl.load(places(b, k, n, stride)), acc)
        k += B
        if tl.load(c + k).to(tl.float32) > 1.0:
            break
    write(c, acc, m, n, stride)


# Assembly may depend on the number of threads that was requested.
# ASSEMBLY: warps are not specialised: inline assembly with side effects may depend on its threads
# ASSEMBLY-NOT: nv.producer {
@triton.jit
def has_assembly(a, b, c, depth, stride):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = matmul(a, b, m, n, depth, stride)
    at = tl.inline_asm_elementwise(
        "bar.sync 0; mov.u32 $0, $1;", "=r,r", [n], dtype=tl.int32, is_pure=False, pack=1
    )
    write(c, acc, m, at, stride)
