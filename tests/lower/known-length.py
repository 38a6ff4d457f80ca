# A loop of known length with an MMA stays a loop: ptxas 13.0 would unroll it whole, and lose the first of its MMAs. One whose length is an argument of the launch is left to ptxas.
# The branch after the MMA is the one back to the loop's beginning.
# DEFINE: %{run} = pantilec %s --kernel halved --target sm_90a --no-cache -o -
# RUN: %{run} --signature "*fp16:16, *fp16:16, *fp32:16" -D N=3 --emit llvm | FileCheck %s --check-prefix=KNOWN
# RUN: %{run} --signature "*fp16:16, *fp16:16, *fp32:16, i32" --emit llvm | FileCheck %s --check-prefix=OPEN
# RUN: %{run} --signature "*fp16:16, *fp16:16, *fp32:16" -D N=3 --disable-pass nv-make-persistent --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: %{run} --signature "*fp16:16, *fp16:16, *fp32:16, i32" --disable-pass nv-make-persistent --emit ptx | FileCheck %s --check-prefix=OPEN-PTX
import pantile as triton
import pantile.language as tl


# KNOWN: wgmma.mma_async
# KNOWN: br i1
# KNOWN-SAME: !llvm.loop ![[LOOP:[0-9]+]]
# KNOWN-DAG: ![[LOOP]] = distinct !{{[{]}}![[LOOP]], ![[ROLLED:[0-9]+]]}
# KNOWN-DAG: ![[ROLLED]] = !{!"llvm.loop.unroll.disable"}
# OPEN: wgmma.mma_async
# OPEN: br i1
# OPEN-NOT: llvm.loop
# OPEN: {{$}}
# PTX: .pragma "nounroll"
# PTX: wgmma.mma_async
# OPEN-PTX-NOT: nounroll
# OPEN-PTX: wgmma.mma_async
# OPEN-PTX-NOT: nounroll
@triton.jit
def halved(a, b, c, N):
    r = tl.arange(0, 64)
    at = r[:, None] * 64 + r[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, N):
        acc = tl.dot(tl.load(a + i * 4096 + at), tl.load(b + i * 4096 + at), acc * 0.5)
    tl.store(c + at, acc)
