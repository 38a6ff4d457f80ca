# A row of 16 bits that fills the registers once it is widened is widened again after each reduction that it is live across, from a
# copy that LLVM cannot see through; a row that fits, and one that is used after the reduction only, are left.
# RUN: pantilec %s --kernel log_sum --signature "*bf16:16,*fp32:16" -D N=65536 --num-warps 32 --no-cache --emit mma -o - | FileCheck %s
# RUN: pantilec %s --kernel log_sum --signature "*bf16:16,*fp32:16" -D N=16384 --num-warps 32 --no-cache --emit mma -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel behind --signature "*bf16:16,*fp32:16" -D N=65536 --num-warps 32 --no-cache --emit mma -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel log_sum --signature "*bf16:16,*fp32:16" -D N=65536 --num-warps 32 --no-cache --emit mma --disable-pass nv-rematerialise -o - | FileCheck %s --check-prefix=SAME
import pantile
import pantile.language as tl


# CHECK: %[[ROW:.*]] = tile.load
# CHECK: arith.extf %[[ROW]]
# CHECK: tile.reduce
# CHECK: %[[COPY:.*]] = tile.inline_asm "mov.b32 $0, $1;"{{.*}}(%[[ROW]])
# CHECK: %[[WIDE:.*]] = arith.extf %[[COPY]]
# CHECK: arith.subf %[[WIDE]]
# CHECK: tile.reduce
# CHECK: tile.inline_asm "mov.b32 $0, $1;"{{.*}}(%[[ROW]])
# SAME-NOT: tile.inline_asm
@pantile.jit
def log_sum(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(X + at).to(tl.float32)
    top = tl.max(x, 0)
    total = tl.sum(tl.exp(x - top), 0)
    tl.store(Y + at, x * total)


@pantile.jit
def behind(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    weights = tl.load(X + at).to(tl.float32)
    total = tl.sum(tl.load(Y + at), 0)
    tl.store(Y + at, weights * total)
