# Tiles that no dot reads as they are go through buffers too and are prefetched, and read where they are used first; not where the
# loop writes to them, and rows and numbers stay in registers. Rows that come from one address lie in one thread, which loads once.
# RUN: pantilec %s --kernel unpacked --signature "*fp16:16,*i8:16,*fp16:16,*fp16:16,i32:16,i32:16" -D WRITES=0 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o - | FileCheck %s
# RUN: pantilec %s --kernel unpacked --signature "*fp16:16,*i8:16,*fp16:16,*fp16:16,i32:16,i32:16" -D WRITES=1 --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit pipeline -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel unpacked --signature "*fp16:16,*i8:16,*fp16:16,*fp16:16,i32:16,i32:16" -D WRITES=0 --target sm_90a --no-cache --disable-pass nv-specialise-warps --disable-pass buffered-values --emit pipeline -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel nibbles --signature "*fp16:16,*i32:16,*fp16:16,i32:16,i32:16" --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit ptx -o - | FileCheck %s --check-prefix=NIBBLES
# RUN: pantilec %s --kernel unpacked --signature "*fp16:16,*i8:16,*fp16:16,*fp16:16,i32:16,i32:16" -D WRITES=0 --target sm_80 --no-cache --emit cubin -o %t.cubin
import pantile
import pantile.language as tl


# CHECK: scf.for
# CHECK: nv.wait 1
# CHECK-NOT: tile.load {{.*}}xi8
# CHECK: nv.local_load %{{.*}} -> tensor<64x64xi8
# CHECK-NEXT: arith.sitofp
# CHECK: nv.copy_async {{.*}}64x64x!tile.ptr<i8>
# CHECK: nv.local_load %{{.*}} -> tensor<64x64xf16
# CHECK: scf.yield
# PLAIN: scf.for
# PLAIN-NOT: nv.local_load %{{.*}} -> tensor<64x64xi8
# PLAIN: scf.yield
@pantile.jit
def unpacked(A, B, Bias, Out, stride, n, WRITES: tl.constexpr):
    at = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        a = tl.load(A + at[:, None] * stride + (start + at)[None, :])
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        product = tl.dot(a, b.to(tl.float16))
        acc += product * tl.load(Bias + (start + at)[:, None] * stride + at[None, :])
        if WRITES:
            tl.store(B + start + at, tl.sum(product, 0).to(tl.int8))
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


# Two vectors of packed numbers per thread and iteration, from which 64 elements are unpacked; loaded once before the loop.
# NIBBLES-COUNT-2: @%p{{[0-9]+}} ld.global.v4.b32
# NIBBLES-COUNT-2: ld.global.v4.b32
# NIBBLES-NOT: ld.global.v4.b32
# NIBBLES: wgmma
# NIBBLES-NOT: ld.global.v4.b32
# NIBBLES: ret;
@pantile.jit
def nibbles(A, B, Out, stride, n):
    at, rows = tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros([64, 128], tl.float32)
    for start in range(0, n, 64):
        a = tl.load(A + rows[:, None] * stride + (start + rows)[None, :])
        word = tl.load(B + ((start + rows) // 8)[:, None] * stride + at[None, :])
        b = (word >> ((rows % 8) * 4)[:, None]) & 15
        acc += tl.dot(a, b.to(tl.float16))
    tl.store(Out + rows[:, None] * 128 + at[None, :], acc)
