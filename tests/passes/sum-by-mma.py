# The sum of weights that were rounded to 16 bits is a dot with ones: no conversion, no partial sums that meet behind the loop. Sums of fp32,
# sums over the other dimension, and sums without a dot beside them stay as they are.
# RUN: pantilec %s --kernel rows --signature "*fp16:16,*fp16:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=MARKED
# RUN: pantilec %s --kernel rows --signature "*bf16:16,*bf16:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_80 --no-cache --emit layout -o - | FileCheck %s --check-prefix=MARKED
# RUN: pantilec %s --kernel rows --signature "*fp16:16,*fp16:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel rows --signature "*fp16:16,*fp16:16,*fp32:16,i32:16" -D KIND=0 --num-warps 4 --target sm_90a --disable-pass tile-sum-by-mma --no-cache --emit layout -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel rows --signature "*fp16:16,*fp16:16,*fp32:16,i32:16" -D KIND=1 --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel rows --signature "*fp16:16,*fp16:16,*fp32:16,i32:16" -D KIND=2 --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=PLAIN
# RUN: pantilec %s --kernel alone --signature "*fp16:16,*fp32:16" --num-warps 4 --target sm_90a --no-cache --emit layout -o - | FileCheck %s --check-prefix=PLAIN
# MARKED: tile.reduce{{.*}}
# MARKED: by_mma
# PLAIN-NOT: by_mma
# PTX-NOT: cvt.f32.f16
# PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
# PTX-NOT: cvt.f32.f16
import pantile
import pantile.language as tl


@pantile.jit
def rows(X, Y, Sums, n, KIND: tl.constexpr):
    at = tl.arange(0, 64)
    place = at[:, None] * 64 + at[None, :]
    total = tl.zeros((64,), tl.float32)
    acc = tl.zeros((64, 64), tl.float32)
    x = tl.load(X + place)
    for start in range(0, n):
        y = tl.load(Y + start * 4096 + place)
        wide = tl.dot(x, y)
        rounded = wide.to(x.dtype)
        if KIND == 0:
            total += tl.sum(rounded.to(tl.float32), 1)
        elif KIND == 1:
            total += tl.sum(wide, 1)
        else:
            total += tl.sum(rounded.to(tl.float32), 0)
        acc = tl.dot(rounded, y, acc)
    tl.store(Sums + at, total)
    tl.store(Sums + 64 + place, acc)


@pantile.jit
def alone(X, Sums):
    at = tl.arange(0, 64)
    tl.store(Sums + at, tl.sum(tl.load(X + at[:, None] * 64 + at[None, :]).to(tl.float32), 1))
