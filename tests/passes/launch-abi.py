# Kernels of the launch ABI `triton` take their arguments and two pointers; their CTAs have the warps that were requested. What needs more is left out, even where it was switched on, and a remark says what that is.
# DEFINE: %{matmul} = pantilec %s --kernel matmul --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --num-warps 8 --no-cache
# RUN: %{matmul} --emit ptx -o - | FileCheck %s --check-prefix=FULL
# RUN: %{matmul} --launch-abi triton --emit ptx -o - | FileCheck %s --check-prefix=MATMUL
# RUN: %{matmul} --launch-abi triton --enable-pass nv-stream-k --enable-pass nv-tma-stores --emit ptx -o - | FileCheck %s --check-prefix=MATMUL
# RUN: %{matmul} --launch-abi triton --enable-pass nv-stream-k --remarks --emit mma -o %t 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 1 --no-cache --launch-abi triton --emit ptx -o - | FileCheck %s --check-prefix=ROW
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 1 --no-cache --launch-abi triton --remarks --emit mma -o %t 2>&1 | FileCheck %s --check-prefix=ROW-SAID
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 4 --no-cache --launch-abi triton --remarks --emit mma -o %t 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
# RUN: pantilec %s --kernel described --signature "*fp16:16, *fp16:16, i32, i32" --no-cache --launch-abi triton --emit ptx -o - | FileCheck %s --check-prefix=DESCRIBED
# RUN: not pantilec %s --kernel row --launch-abi plain 2>&1 | FileCheck %s --check-prefix=UNKNOWN
import pantile
import pantile.language as tl

# FULL: .reqntid 288
# FULL: cp.async.bulk.tensor

# MATMUL: .visible .entry matmul(
# MATMUL-NEXT: .param .u64 .ptr .global .align 16 matmul_param_0,
# MATMUL-NEXT: .param .u64 .ptr .global .align 16 matmul_param_1,
# MATMUL-NEXT: .param .u64 .ptr .global .align 16 matmul_param_2,
# MATMUL-NEXT: .param .u32 matmul_param_3,
# MATMUL-NEXT: .param .u32 matmul_param_4,
# MATMUL-NEXT: .param .u32 matmul_param_5,
# MATMUL-NEXT: .param .u64 .ptr .global .align 1 matmul_param_6,
# MATMUL-NEXT: .param .u64 .ptr .global .align 1 matmul_param_7
# MATMUL-NEXT: )
# MATMUL-NEXT: .reqntid 256, 1, 1
# MATMUL-NOT: reqnctapercluster
# MATMUL-NOT: cp.async.bulk.tensor
# MATMUL: wgmma.mma_async

# SAID: remark: for the launch ABI `triton` the kernel does without 2 tensor maps, a producer of 2 warps, CTAs that run several programs, memory for partial tiles


@pantile.jit
def matmul(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * 128 + tl.arange(0, 128), tl.program_id(1) * 128 + tl.arange(0, 128)
    within = tl.arange(0, 64)
    acc = tl.zeros((128, 128), tl.float32)
    for k in range(0, depth, 64):
        x = tl.load(a + m[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * columns + n[None, :])
        acc = tl.dot(x, y, acc)
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(c + m[:, None] * columns + n[None, :], acc.to(tl.float16), mask=inside)


# ROW: .reqntid 32, 1, 1
# ROW-NOT: %ntid.x
# ROW-SAID: remark: for the launch ABI `triton` the kernel does without CTAs of up to 4 programs
# SILENT-NOT: launch ABI
@pantile.jit
def row(y, x, n):
    cols = tl.arange(0, 128)
    v = tl.load(x + tl.program_id(0) * n + cols, mask=cols < n, other=0.0)
    tl.store(y + tl.program_id(0) * n + cols, v / tl.sum(v, axis=0), mask=cols < n)


# A descriptor that the kernel makes stays in it.
# DESCRIBED: described_param_5
# DESCRIBED-NOT: described_param_6
# DESCRIBED: .reqntid 128, 1, 1
# DESCRIBED-NOT: cp.async.bulk.tensor
@pantile.jit
def described(out, a, rows, columns):
    source = tl.make_tensor_descriptor(a, [rows, columns], [columns, 1], [64, 64])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [64, 64])
    for i in range(0, columns, 64):
        target.store([0, i], source.load([0, i]) * 2)


# UNKNOWN: --launch-abi: plain not in {full,triton}
