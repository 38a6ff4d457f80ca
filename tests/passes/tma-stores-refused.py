# Stores that TMA must not do: a remark says which rule each breaks.
# DEFINE: %{sig} = *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16
# DEFINE: %{run} = pantilec %s --no-cache --enable-pass nv-tma-stores --remarks --emit pipeline
# RUN: %{run} --kernel reads_afterwards --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=READS
# RUN: %{run} --kernel meets_afterwards --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=MEETS
# RUN: %{run} --kernel writes_in_a_loop --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=LOOP
# RUN: %{run} --kernel adds_to_it --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=ADDS
# RUN: %{run} --kernel writes_twice --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=TWICE
# RUN: %{run} --kernel plain --signature "*fp16:16, *fp16:16, *fp16, i32:16, i32:16" 2>&1 | FileCheck %s --check-prefix=BASE
# RUN: %{run} --kernel plain --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32:16" 2>&1 | FileCheck %s --check-prefix=TESTED
# RUN: %{run} --kernel plain --signature "*fp16:16, *fp16:16, *fp8e5:16, i32:16, i32:16" 2>&1 | FileCheck %s --check-prefix=BITS
# RUN: %{run} --kernel masks_the_diagonal --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=DIAGONAL
# RUN: %{run} --kernel masks_by_memory --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=MEMORY
# RUN: %{run} --kernel scatters --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=SCATTERS
# RUN: %{run} --kernel wraps --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=WRAPS
# RUN: %{run} --kernel caches --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=CACHES
# RUN: %{run} --kernel copies --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=COPIES
# RUN: %{run} --kernel starts_before --signature "%{sig}" 2>&1 | FileCheck %s --check-prefix=BEFORE
# RUN: %{run} --kernel reads_its_base --signature "*fp16:16, *fp16:16, *u64:16, i32:16, i32:16" 2>&1 | FileCheck %s --check-prefix=POINTER
import pantile as triton
import pantile.language as tl

B: tl.constexpr = 64


@triton.jit
def matmul(a, b, m, n, depth):
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + (m + within)[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (n + within)[:, None] * depth + (k + within)[None, :])
        acc = tl.dot(x, y.T, acc)
    return acc


@triton.jit
def places(c, m, n, stride):
    within = tl.arange(0, B)
    return c + (m + within)[:, None] * stride + (n + within)[None, :]


# What another pointer reaches may be the same memory.
# READS: remark: store is not converted to TMA: a later operation may read what it writes
# READS: note: here
# READS: tile.store
# READS-NOT: nv.tma_store
@triton.jit
def reads_afterwards(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m, n, stride), matmul(a, b, m, n, depth).to(tl.float16))
    tl.store(b + m, tl.load(a + n) + 1)


# Whoever sees the lock open reads the result.
# MEETS: store is not converted to TMA: a later operation may read what it writes
# MEETS-NOT: nv.tma_store
@triton.jit
def meets_afterwards(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m, n, stride), matmul(a, b, m, n, depth).to(tl.float16))
    tl.atomic_add(a.to(tl.pointer_type(tl.int32)), 1, sem="release")


# Writes of two rounds would come in any order.
# LOOP: store is not converted to TMA: it is in a loop
# LOOP-NOT: nv.tma_store
@triton.jit
def writes_in_a_loop(a, b, c, stride, depth):
    m = tl.program_id(0) * B
    acc = matmul(a, b, m, 0, depth)
    for n in range(0, stride, B):
        tl.store(places(c, m, n, stride), (acc + n).to(tl.float16))


# A faster warp would write what another one has not read yet.
# ADDS: store is not converted to TMA: another operation accesses memory through its pointer
# ADDS-NOT: nv.tma_store
@triton.jit
def adds_to_it(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    old = tl.load(places(c, m, n, stride))
    tl.store(places(c, m, n, stride), (matmul(a, b, m, n, depth) + old).to(tl.float16))


# The second one must win.
# TWICE: store is not converted to TMA: another operation accesses memory through its pointer
# TWICE-NOT: nv.tma_store
@triton.jit
def writes_twice(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    acc = matmul(a, b, m, n, depth)
    tl.store(places(c, m, n, stride), acc.to(tl.float16))
    tl.store(places(c, m, n, stride), (acc * 2).to(tl.float16))


# What a tensor map cannot say: the specialisation settles it.
# BASE: store is not converted to TMA: its base is not known to be aligned to 16 bytes
# BASE-NOT: nv.tma_store
# TESTED: store is converted to TMA {{.*}} where its strides and the ends of its rows are multiples of 16 bytes
# TESTED: scf.if
# TESTED: nv.tma_store
# TESTED: else
# TESTED: tile.store
# BITS: store is not converted to TMA: its elements have neither 16 nor 32 bits
# BITS-NOT: nv.tma_store
@triton.jit
def plain(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m, n, stride), matmul(a, b, m, n, depth).to(c.dtype.element_ty))


# DIAGONAL: store is not converted to TMA: its mask
# DIAGONAL-NOT: nv.tma_store
@triton.jit
def masks_the_diagonal(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    within = tl.arange(0, B)
    lower = (m + within)[:, None] < (n + within)[None, :]
    tl.store(places(c, m, n, stride), matmul(a, b, m, n, depth).to(tl.float16), mask=lower)


# MEMORY: store is not converted to TMA: its mask
# MEMORY-NOT: nv.tma_store
@triton.jit
def masks_by_memory(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    wanted = tl.load(a + tl.arange(0, B))[:, None] > 0
    tl.store(places(c, m, n, stride), matmul(a, b, m, n, depth).to(tl.float16), mask=wanted)


# SCATTERS: store is not converted to TMA: its addresses are not affine in the indices
# SCATTERS-NOT: nv.tma_store
@triton.jit
def scatters(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    row = tl.load(a.to(tl.pointer_type(tl.int32)) + m + tl.arange(0, B))
    at = c + row[:, None] * stride + (n + tl.arange(0, B))[None, :]
    tl.store(at, matmul(a, b, m, n, depth).to(tl.float16))


# WRAPS: store is not converted to TMA: a modulo in its address wraps rows that are used
# WRAPS-NOT: nv.tma_store
@triton.jit
def wraps(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    rows = (m + tl.arange(0, B)) % depth
    at = c + rows[:, None] * stride + (n + tl.arange(0, B))[None, :]
    tl.store(at, matmul(a, b, m, n, depth).to(tl.float16))


# CACHES: store is not converted to TMA: it has a cache modifier or an eviction policy
# CACHES-NOT: nv.tma_store
@triton.jit
def caches(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m, n, stride), matmul(a, b, m, n, depth).to(tl.float16), cache_modifier=".cs")


# Vectors of 16 bytes from registers are as good for what was never in the layout of an accumulator.
# COPIES: store is not converted to TMA: no warp holds a box (consecutive rows and columns) of the tile
# COPIES-NOT: nv.tma_store
@triton.jit
def copies(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m, n, stride), tl.load(places(a, m, n, stride)) + 1)


# Memory before the tensor would be left out.
# BEFORE: store is not converted to TMA: a coordinate may be negative
# BEFORE-NOT: nv.tma_store
@triton.jit
def starts_before(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    tl.store(places(c, m - depth, n, stride), matmul(a, b, m, n, depth).to(tl.float16))


# POINTER: store is not converted to TMA: its base is not an argument of the kernel
# POINTER-NOT: nv.tma_store
@triton.jit
def reads_its_base(a, b, c, stride, depth):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    out = tl.load(c).to(tl.pointer_type(tl.float16))
    tl.store(places(out, m, n, stride), matmul(a, b, m, n, depth).to(tl.float16))
