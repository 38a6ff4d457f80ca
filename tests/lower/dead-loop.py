# A loop that ends in its first iteration leaves no MMA: ptxas 13.0 drops such a loop and with it the zeros that the accumulators begin with.
# RUN: pantilec %s --kernel matmul --signature "*fp16:16, *fp16:16, *fp32:16" --num-stages 1 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --kernel matmul --signature "*fp16:16, *fp16:16, *fp32:16" --num-stages 3 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
import pantile as triton
import pantile.language as tl


# CHECK-NOT: wgmma.mma_async
# CHECK: st.global
# CHECK-NOT: wgmma.mma_async
@triton.jit
def matmul(a, b, c):
    r = tl.arange(0, 64)
    at = r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, 0):
        if i * 32 == 0:
            break
        acc += tl.dot(tl.load(a + i * 4096 + at), tl.load(b + i * 4096 + at))
    tl.store(c + at, acc)
