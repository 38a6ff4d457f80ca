# Copies of a tile whose rows have a constant distance: one pointer per 4 KiB, which a loop carries. LLVM does not see where
# it starts, or strength reduction would split it. With a stride that is an argument, each copy has a pointer of its own; where
# an index wraps around, too.
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D KNOWN=1 -D WRAPS=0 --num-warps 4 --num-stages 3 --target sm_90a --disable-pass nv-specialise-warps --no-cache --emit ptx -o - | FileCheck %s --check-prefix=CONST
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D KNOWN=0 -D WRAPS=0 --num-warps 4 --num-stages 3 --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=TOLD
# RUN: pantilec %s --kernel matmul --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" -D KNOWN=1 -D WRAPS=1 --num-warps 4 --num-stages 3 --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=TOLD
# CONST: mov.b64 %{{rd[0-9]+}}, %{{rd[0-9]+}};
# CONST: $L__BB0_{{.*}}:
# CONST: cp.async.cg.shared.global [{{.*}}], [%[[FIRST:rd[0-9]+]]+-2048], 16
# CONST: cp.async.cg.shared.global [{{.*}}], [%[[FIRST]]], 16
# CONST: cp.async.cg.shared.global [{{.*}}], [%[[SECOND:rd[0-9]+]]+-2048], 16
# CONST: cp.async.cg.shared.global [{{.*}}], [%[[SECOND]]], 16
# TOLD-NOT: cp.async.{{.*}}[%rd{{[0-9]+}}+
# TOLD: cp.async.cg.shared.global
# TOLD-NOT: cp.async.{{.*}}[%rd{{[0-9]+}}+
import pantile
import pantile.language as tl


@pantile.jit
def matmul(A, B, Out, n, stride, KNOWN: tl.constexpr, WRAPS: tl.constexpr):
    rows = tl.arange(0, 64)
    columns = tl.arange(0, 64)
    step: tl.constexpr = 64
    row = step if KNOWN else stride
    if WRAPS:
        a_rows = (tl.program_id(0) * 64 + rows) % n
        b_rows = rows % stride
    else:
        a_rows = rows
        b_rows = rows
    a = tl.load(A + a_rows[:, None] * row + columns[None, :])
    b_ptrs = B + b_rows[:, None] * row + columns[None, :]
    total = tl.zeros((64, 64), tl.float32)
    for _ in range(0, n, 64):
        total = tl.dot(a, tl.load(b_ptrs), total)
        b_ptrs += 64 * row
    tl.store(Out + rows[:, None] * 64 + columns[None, :], total)
