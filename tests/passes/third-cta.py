# What is added to a circular buffer, a stage or scratch next to it, leaves two CTAs per SM; on request, three.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --no-cache --emit pipeline
# RUN: %{run} -D N=256 -D K=32 --num-stages 4 -o - | FileCheck %s --check-prefix=TWO
# RUN: %{run} -D N=256 -D K=32 --num-stages 6 -o - | FileCheck %s --check-prefix=ONE
# RUN: %{run} -D N=128 -D K=64 --num-stages 3 -o - | FileCheck %s --check-prefix=MORE
# RUN: %{run} -D N=128 -D K=64 --num-stages 3 --enable-pass third-cta -o - | FileCheck %s --check-prefix=THREE
# RUN: %{run} -D N=128 -D K=64 --num-stages 3 --enable-pass third-cta --remarks -o %t 2>&1 | FileCheck %s --check-prefix=SAID
import pantile
import pantile.language as tl

M: tl.constexpr = 64

# A stage has 20 KiB: four and 16 KiB of scratch for two CTAs, but not five; where one CTA has the SM anyway, six become seven.
# TWO: persistent = true
# TWO: nv.channel via tma : <4 x[64, 32] x f16
# ONE: persistent = true
# ONE: nv.channel via tma : <7 x[64, 32] x f16

# Of 24 KiB: four for two CTAs, or three for three, which leave no space for scratch.
# MORE: persistent = true
# MORE: nv.channel via tma : <4 x[64, 64] x f16
# THREE-NOT: persistent = true
# THREE: nv.channel via tma : <3 x[64, 64] x f16
# SAID: the kernel is not persistent: scratch next to the stages would cost a CTA per SM
@pantile.jit
def matmul(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    within = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(a + m[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * columns + n[None, :])
        acc = tl.dot(x, y, acc)
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    tl.store(c + m[:, None] * columns + n[None, :], acc.to(tl.float16), mask=inside)
