# A thread adds up products (FMA) in four chains of fused operations, and other numbers as a tree.
# RUN: pantilec %s --kernel squares --signature "*fp32:16, *fp32:16" --num-warps 1 --no-cache --no-line-info --emit ptx | FileCheck %s --check-prefix=CHAINS
# RUN: pantilec %s --kernel plain --signature "*fp32:16, *fp32:16" --num-warps 1 --no-cache --no-line-info --emit ptx | FileCheck %s --check-prefix=TREE
import pantile as triton
import pantile.language as tl


# CHAINS-COUNT-4: mul.f32
# CHAINS-NOT: mul.f32
# CHAINS-COUNT-12: fma.rn.f32
# CHAINS-NOT: {{mul|fma}}
# CHAINS-COUNT-3: add.f32
# CHAINS: shfl.sync
@triton.jit
def squares(out, x):
    v = tl.load(x + tl.arange(0, 512))
    tl.store(out, tl.sum(v * v, axis=0))


# TREE: add.f32 [[A:%r[0-9]+]], {{%r[0-9]+, %r[0-9]+}};
# TREE-NEXT: add.f32 [[B:%r[0-9]+]], {{%r[0-9]+, %r[0-9]+}};
# TREE: shfl.sync
@triton.jit
def plain(out, x):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, 512)), axis=0))
