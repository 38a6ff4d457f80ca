# Sorts of an extent that is no power of two compare its elements alone; where that does not do, a remark says what is done.
# RUN: pantilec %s --kernel sorted_kernel --signature "*fp32:16" --no-cache --target sm_90a --emit tile | FileCheck %s --check-prefix=SORT
# RUN: pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --target sm_90a --remarks 2>&1 | FileCheck %s --check-prefix=REMARK
import pantile as triton
import pantile.language as tl


# SORT-LABEL: @sorted_kernel
# SORT-NOT: tile.gather
# SORT: tile.exchange %{{.*}}, 0, 63 : tensor<48xi32>
# SORT-NOT: tile.gather
@triton.jit
def sorted_kernel(p):
    i = tl.arange(0, 48)
    tl.store(p + i, tl.sort(tl.load(p + i)))


@triton.jit
def kernel(p):
    i = tl.arange(0, 48)
    x = tl.load(p + i)
    tl.store(p + i, tl.bitonic_merge(x) + tl.sort(x))
    tl.store(p + tl.arange(0, 5), tl.topk(x, 5))

# REMARK-NOT: remark: `
# REMARK: sort-any-extent.py:22:{{[0-9]+}}: remark: `bitonic_merge` of 48 elements, no power of two, sorts them
# REMARK: sort-any-extent.py:23:{{[0-9]+}}: remark: `topk` pads 48 elements to 64, a power of two
# REMARK-NOT: remark: `
