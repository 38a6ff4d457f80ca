# The producer's start. Barriers are made in one branch. Early, the producer makes them and goes on at once, while the
# others wait for it; the number of a program is divided only where the grid has several axes.
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --no-cache --enable-pass early-producer --enable-pass plain-programs --emit ptx -o - | FileCheck %s --check-prefix=EARLY
# RUN: pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --no-cache --disable-pass nv-specialise-warps --enable-pass early-producer --emit ptx -o - | FileCheck %s --check-prefix=NONE
import pantile
import pantile.language as tl

# CHECK: setp.ne.b32 %p[[OTHERS:[0-9]+]], %r{{[0-9]+}}, 0;
# CHECK: @%p[[OTHERS]] bra [[MADE:.*]];
# CHECK-COUNT-8: mbarrier.init.shared::cta.b64
# CHECK-NOT: mbarrier.init
# CHECK: [[MADE]]:
# CHECK: fence.mbarrier_init.release.cluster
# CHECK: bar.sync 0;
# CHECK: rem.u32
# CHECK: cp.async.bulk.tensor.2d

# EARLY: @%p{{[0-9]+}} prefetch.tensormap
# EARLY: bra
# EARLY-COUNT-8: mbarrier.init.shared::cta.b64
# EARLY-NOT: mbarrier.init
# EARLY-NOT: bar.sync
# EARLY: fence.mbarrier_init.release.cluster
# EARLY: bar.arrive 0, 160;
# EARLY: setp.lt.u32 %p[[PLAIN:[0-9]+]],
# EARLY: @%p[[PLAIN]] bra [[DIVIDED:.*]];
# EARLY: rem.u32
# EARLY: [[DIVIDED]]:
# EARLY: cp.async.bulk.tensor.2d
# EARLY: bar.sync 0, 160;
# EARLY: wgmma.mma_async

# NONE-NOT: bar.arrive
@pantile.jit
def product(a, b, c, n):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns, within = tl.arange(0, 64), tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, n, 64):
        x = tl.load(a + rows[:, None] * n + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * 64 + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total.to(tl.float16))
