# The producer's start: it makes the barriers in one branch and goes on at once, while the others wait for it; the number
# of a program is divided only where the grid has several axes.
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --no-cache --disable-pass nv-specialise-warps --emit ptx -o - | FileCheck %s --check-prefix=NONE
import pantile
import pantile.language as tl

# CHECK: @%p{{[0-9]+}} prefetch.tensormap
# CHECK: bra
# CHECK-COUNT-8: mbarrier.init.shared::cta.b64
# CHECK-NOT: mbarrier.init
# CHECK-NOT: bar.sync
# CHECK: fence.mbarrier_init.release.cluster
# CHECK: bar.arrive 0, 160;
# CHECK: setp.lt.u32 %p[[PLAIN:[0-9]+]],
# CHECK: @%p[[PLAIN]] bra [[DIVIDED:.*]];
# CHECK: rem.u32
# CHECK: [[DIVIDED]]:
# CHECK: cp.async.bulk.tensor.2d
# CHECK: bar.sync 0, 160;
# CHECK: wgmma.mma_async

# NONE-NOT: bar.arrive
@pantile.jit
def matmul(a, b, c, n):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns, within = tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, n, 64):
        x = tl.load(a + rows[:, None] * n + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * 64 + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total.to(tl.float16))
