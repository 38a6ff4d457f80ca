# An operand that a loop computes from a loaded tile is computed in the layout of the MMA, to which nothing converts it.
# DEFINE: %{types} = "*bf16:16, *u8:16, *bf16:16, i32:16, i32:16"
# DEFINE: %{args} = --signature %{types} --no-cache --target sm_80
# DEFINE: %{chosen} = %{args} --enable-pass computed-operands
# RUN: pantilec %s --kernel across -D N=64 %{chosen} --emit mma | FileCheck %s --check-prefix=ONCE
# RUN: pantilec %s --kernel across -D N=64 %{chosen} --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel across -D N=64 %{args} --emit mma | FileCheck %s --check-prefix=AFTER
# RUN: pantilec %s --kernel across -D N=32 %{chosen} --emit mma | FileCheck %s --check-prefix=AFTER
# RUN: pantilec %s --kernel along -D N=64 %{chosen} --emit mma | FileCheck %s --check-prefix=ONCE
# RUN: pantilec %s --kernel stored -D N=64 %{chosen} --emit layout | FileCheck %s --check-prefix=STORED
import pantile as triton
import pantile.language as tl

M: tl.constexpr = 16
K: tl.constexpr = 128


@triton.jit
def unpack(packed):
    low = (packed << 4).to(tl.int8) >> 4
    high = packed.to(tl.int8) >> 4
    return tl.join(low.to(tl.bfloat16), high.to(tl.bfloat16))


# Two per byte along K, and bytes contiguous along N: ldmatrix transposes pairs of columns. With 8 columns per warp there
# are no such pairs.
# ONCE-LABEL: scf.for
# ONCE-NOT: nv.scratch
# ONCE-NOT: nv.local_store
# ONCE: nv.local_load {{.*}}xi8
# ONCE-NOT: nv.scratch
# ONCE-NOT: nv.local_store
# ONCE: tile.dot
# PTX: ldmatrix.sync.aligned.m8n8.x4.trans
# PTX: mma.sync
# AFTER-LABEL: scf.for
# AFTER: nv.local_load {{.*}}xi8
# AFTER: {{nv.scratch|nv.local_store}} {{.*}}xbf16
# AFTER: tile.dot
@triton.jit
def across(a_ptr, b_ptr, c_ptr, end, stride, N: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, end, K):
        a = tl.load(a_ptr + m * end + (start + k)[None, :])
        packed = tl.load(b_ptr + (start // 2 + tl.arange(0, K // 2))[:, None] * stride + n)
        acc = tl.dot(a, unpack(packed).permute(0, 2, 1).reshape(K, N), acc)
    tl.store(c_ptr + m * stride + n, acc.to(tl.bfloat16))


# Bytes contiguous along K: a lane reads four of them, and A in the same order.
@triton.jit
def along(a_ptr, b_ptr, c_ptr, end, stride, N: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, end, K):
        a = tl.load(a_ptr + m * end + (start + k)[None, :])
        at = tl.arange(0, N)[:, None] * stride + (start // 2 + tl.arange(0, K // 2))[None, :]
        acc = tl.dot(a, unpack(tl.load(b_ptr + at)).reshape(N, K).trans(), acc)
    tl.store(c_ptr + m * stride + n, acc.to(tl.bfloat16))


# What is used otherwise, too, stays in the layout of the load.
# STORED-LABEL: scf.for
# STORED: tile.load {{.*}}xi8
# STORED-NOT: tile.convert_layout {{.*}}i8
# STORED: tile.convert_layout {{.*}}bf16
# STORED: tile.dot
@triton.jit
def stored(a_ptr, b_ptr, c_ptr, end, stride, N: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, end, K):
        a = tl.load(a_ptr + m * end + (start + k)[None, :])
        packed = tl.load(b_ptr + (start // 2 + tl.arange(0, K // 2))[:, None] * stride + n)
        b = unpack(packed).permute(0, 2, 1).reshape(K, N)
        acc = tl.dot(a, b, acc)
        tl.store(c_ptr + (start + k)[:, None] * stride + n, b)
    tl.store(c_ptr + m * stride + n, acc.to(tl.bfloat16))
