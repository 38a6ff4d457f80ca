# A producer that would load less than threads load for their own arithmetic is left out: they wait for their own loads in
# any case. A tile of as many bytes is no reason, and neither is one whose elements have few addresses.
# DEFINE: %{run} = pantilec %s --kernel masked --target sm_90a --no-cache --remarks --emit plan -o - --num-stages 3
# RUN: %{run} --signature "*fp32:16,*fp16:16,*fp16:16,i32:16" -D LENGTH=1 2>&1 | FileCheck %s
# RUN: %{run} --signature "*fp16:16,*fp16:16,*fp16:16,i32:16" -D LENGTH=1 2>&1 | FileCheck %s --check-prefix=TAKEN
# RUN: %{run} --signature "*fp32:16,*fp16:16,*fp16:16,i32:16" -D LENGTH=16 2>&1 | FileCheck %s --check-prefix=TAKEN
import pantile
import pantile.language as tl


# CHECK: remark: warps are not specialised: threads load more of an iteration for their own arithmetic than a producer would
# CHECK-NEXT: w = tl.load
# CHECK: candidate: grid, a producer: threads load more of an iteration
# TAKEN: candidate: grid, a producer: about {{.*}}; taken
@pantile.jit
def masked(W, X, Out, K, LENGTH: tl.constexpr):
    i, n = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, tl.program_id(0) * 64 + 64, 32):
        k = start + tl.arange(0, 32)
        w = tl.load(W + i[:, None] * K + (k // LENGTH)[None, :], mask=i[:, None] >= k[None, :], other=0.0)
        x = tl.load(X + k[:, None] * 64 + n[None, :])
        acc = tl.dot((w * 2).to(tl.float16), x, acc)
    tl.store(Out + i[:, None] * 64 + n[None, :], acc.to(tl.float16))
