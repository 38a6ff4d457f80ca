# fp64 dots on tensor cores: the instruction's shape, operands by cp.async, and vectors along K where it is contiguous.
# RUN: pantilec %s --signature "*fp64:16, *fp64:16, *fp64:16, i32:16, i32:1, i32:1, i32:16" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefixes=CHECK,LARGE
# RUN: pantilec %s --signature "*fp64:16, *fp64:16, *fp64:16, i32:16, i32:1, i32:1, i32:16" --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefixes=CHECK,SMALL
# RUN: pantilec %s --signature "*fp64:16, *fp64:16, *fp64:16, i32:16, i32:1, i32:16, i32:1" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s --check-prefixes=COLUMNS
import pantile as triton
import pantile.language as tl


# CHECK-NOT: fma.rn.f64
# LARGE: mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%{{[a-z]+}}{{[0-9]+}}, %{{[a-z]+}}{{[0-9]+}}, %{{[a-z]+}}{{[0-9]+}}, %{{[a-z]+}}{{[0-9]+}}},
# SMALL: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%{{[a-z]+}}{{[0-9]+}}, %{{[a-z]+}}{{[0-9]+}}}, {%{{[a-z]+}}{{[0-9]+}}}, {%{{[a-z]+}}{{[0-9]+}}},
# CHECK-NOT: fma.rn.f64

# K is contiguous in A and B: no element is loaded alone.
# CHECK-NOT: ld.shared.b64

# COLUMNS: ld.shared.v2.b64
# COLUMNS: mma.sync.aligned.m16n8k16.row.col.f64
@triton.jit
def matmul(a, b, c, depth, ak, bk, bn):
    rm, rn, rk = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float64)
    for k in range(0, depth, 32):
        x = tl.load(a + rm[:, None] * depth + (k + rk)[None, :] * ak)
        y = tl.load(b + (k + rk)[:, None] * bk + rn[None, :] * bn)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * 64 + rn[None, :], acc)
