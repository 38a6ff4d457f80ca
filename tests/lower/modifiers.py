# The cache operators, priorities, orders and scopes that reach PTX.
# RUN: pantilec %s --kernel loads --signature "*fp32:16, *fp32:16, i32" --no-cache --emit ptx | FileCheck %s --check-prefix=LOADS
# RUN: pantilec %s --kernel stores --signature "*fp32:16, i32" --no-cache --emit ptx | FileCheck %s --check-prefix=STORES
# RUN: pantilec %s --kernel atomics --signature "*i32" --no-cache --emit ptx | FileCheck %s --check-prefix=ATOMICS
# RUN: pantilec %s --kernel tiles --signature "*fp32:16" --target sm_80 --no-cache --emit ptx | FileCheck %s --check-prefix=TILES
# RUN: pantilec %s --kernel tiles --signature "*fp32:16" --target sm_90a --no-cache --emit ptx | FileCheck %s --check-prefix=TILES-90
# RUN: pantilec %s --kernel half_sums --signature "*fp16:16, *i32:16" --target sm_90a --no-cache --emit ptx | FileCheck %s --check-prefix=HALF-SUMS
# RUN: pantilec %s --kernel half_sums --signature "*fp16:16, *i32:16" --target sm_90a --no-cache --emit cubin -o %t.cubin
# RUN: pantilec %s --kernel halves --signature "*bf16:16" --target sm_90a --no-cache --emit ptx | FileCheck %s --check-prefix=BF16-90
# RUN: pantilec %s --kernel halves --signature "*bf16:16" --target sm_80 --no-cache --emit ptx | FileCheck %s --check-prefix=BF16-80
import pantile as triton
import pantile.language as tl


# LOADS: ld.global.ca.v4.b32
# LOADS: @%p{{[0-9]+}} ld.global.cg.v4.b32
# LOADS: ld.volatile.global
# LOADS: ld.global.cv.v4.b32
# LOADS: ld.global.L1::evict_first.v4.b32
# LOADS: @%p{{[0-9]+}} ld.global.L1::evict_last.v4.b32
@triton.jit
def loads(out_ptr, x_ptr, n):
    offsets = tl.arange(0, 512)
    mask = offsets < n // 16 * 16
    x = tl.load(x_ptr + offsets, cache_modifier=".ca")
    x += tl.load(x_ptr + 512 + offsets, mask=mask, cache_modifier=".cg")
    x += tl.load(x_ptr + 1024 + offsets, volatile=True)
    x += tl.load(x_ptr + 1536 + offsets, cache_modifier=".cv")
    x += tl.load(x_ptr + 2048 + offsets, eviction_policy="evict_first")
    x += tl.load(x_ptr + 2560 + offsets, mask=mask, eviction_policy="evict_last")
    tl.store(out_ptr + offsets, x)


# STORES: st.global.wb.v4.b32
# STORES: st.global.cg.v4.b32
# STORES: @%p{{[0-9]+}} st.global.cs.v4.b32
# STORES: st.global.wt.v4.b32
# STORES: st.global.L1::evict_first.v4.b32
@triton.jit
def stores(out_ptr, n):
    offsets = tl.arange(0, 512)
    x = offsets.to(tl.float32)
    tl.store(out_ptr + offsets, x, cache_modifier=".wb")
    tl.store(out_ptr + 512 + offsets, x, cache_modifier=".cg")
    tl.store(out_ptr + 1024 + offsets, x, mask=offsets < n // 16 * 16, cache_modifier=".cs")
    tl.store(out_ptr + 1536 + offsets, x, cache_modifier=".wt")
    tl.store(out_ptr + 2048 + offsets, x, eviction_policy="evict_first")


# ATOMICS: atom.relaxed.cta.global.add.u32
# ATOMICS: atom.acquire.sys.global.max.s32
# A scalar that releases comes after a barrier.
# ATOMICS: bar.sync
# ATOMICS: atom.release.gpu.global.exch.b32
# ATOMICS: bar.sync
# ATOMICS: atom.acq_rel.gpu.global.cas.b32
@triton.jit
def atomics(p):
    a = tl.atomic_add(p, 1, sem="relaxed", scope="cta")
    b = tl.atomic_max(p + 1, a, sem="acquire", scope="sys")
    c = tl.atomic_xchg(p + 2, b, sem="release")
    tl.store(p + 4, tl.atomic_cas(p + 3, c, 0))


# A thread with several elements takes two fences for all of them. Neighbours are one vector on Hopper.
# TILES: fence.acq_rel.gpu;
# TILES-COUNT-4: red.relaxed.gpu.global.add.f32
# TILES: fence.acq_rel.gpu;
# TILES: fence.acq_rel.sys;
# TILES-COUNT-4: red.relaxed.sys.global.add.f32
# TILES-NOT: fence
# TILES: ret;
# TILES-90: red.relaxed.gpu.global.add.v4.f32 [%rd{{[0-9]+}}], {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}};
# TILES-90: red.relaxed.sys.global.add.v4.f32
# TILES-90-NOT: red.
@triton.jit
def tiles(p):
    offsets = tl.arange(0, 512)
    tl.atomic_add(p + offsets, offsets.to(tl.float32))
    tl.atomic_add(p + 512 + offsets, offsets.to(tl.float32), sem="release", scope="sys")


# What the mask keeps together is one vector, at most 16 bytes; an old value that is read takes an instruction an element.
# HALF-SUMS-COUNT-2: @%p{{[0-9]+}} red.relaxed.gpu.global.add.noftz.v4.f16
# HALF-SUMS-NOT: red.
# HALF-SUMS-COUNT-8: atom.relaxed.gpu.global.add.noftz.f16
# HALF-SUMS-NOT: atom.
@triton.jit
def half_sums(p, n):
    offsets = tl.arange(0, 1024)
    value = tl.load(n + offsets).to(tl.float16)
    tl.atomic_add(p + offsets, value, mask=offsets < tl.load(n) * 4, sem="relaxed")
    old = tl.atomic_add(p + offsets, value, sem="relaxed")
    tl.store(n + offsets, old.to(tl.int32))


# BF16-90: atom.acq_rel.gpu.global.add.noftz.bf16
# BF16-80: ld.volatile.global
# BF16-80: atom.acq_rel.gpu.global.cas.b16
@triton.jit
def halves(p):
    offsets = tl.arange(0, 128)
    tl.atomic_add(p + offsets, offsets.to(tl.bfloat16))
