# RUN: not pantilec %s --kernel kernel --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --no-cache --target sm_90a --num-stages 4 --num-warps 8 --emit ptx 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(a, b, c, K):
    rows = tl.arange(0, 256)
    ks = tl.arange(0, 128)
    a_ptrs = a + rows[:, None] * K + ks[None, :]
    b_ptrs = b + ks[:, None] + rows[None, :] * K
    acc = tl.zeros((256, 256), tl.float32)
    for k in range(0, K, 128):
        acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += 128
        b_ptrs += 128
    tl.store(c + rows[:, None] * 256 + rows[None, :], acc)

# ERROR: out of resource: shared memory, Required: {{[0-9]+}}, Hardware limit: 232448
