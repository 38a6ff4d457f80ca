# A loop of known length with an MMA stays a loop: ptxas 13.0 would unroll it whole, and lose the first of its MMAs.
# RUN: pantilec %s --kernel halved --signature "*fp16:16, *fp16:16, *fp32:16" -D N=3 --target sm_90a --no-cache --emit ptx | FileCheck %s --check-prefix=KNOWN
import pantile as triton
import pantile.language as tl


# KNOWN: .pragma "nounroll"
# KNOWN: wgmma.mma_async
@triton.jit
def halved(a, b, c, N):
    r = tl.arange(0, 64)
    at = r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, N):
        acc = tl.dot(tl.load(a + i * 4096 + at), tl.load(b + i * 4096 + at), acc * 0.5)
    tl.store(c + at, acc)
