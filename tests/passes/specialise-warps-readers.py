# A tile that several dots read, also transposed, has one circular buffer: the stage is waited for
# before the first MMA and released after the last.
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16" --num-warps 4 --num-stages 2 --no-cache --disable-pass nv-make-persistent --disable-pass occupancy-first --disable-pass nv-carry-mmas --emit pipeline | FileCheck %s
# RUN: pantilec %s --kernel gradients --signature "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16" --num-warps 4 --num-stages 2 --no-cache --disable-pass nv-make-persistent --disable-pass nv-specialise-warps --emit pipeline | FileCheck %s --check-prefix=PLAIN
import pantile as triton
import pantile.language as tl

B: tl.constexpr = 64


# CHECK: %[[Q:.*]] = nv.channel via tma : <2 x[64, 64] x f16
# CHECK-NOT: nv.channel via tma : <2 x[64, 64] x f16
# CHECK: %[[BARRIERS:.*]] = nv.alloc : <2 x[2] x i64
# CHECK: nv.producer {
# CHECK:   nv.tma_load
# CHECK-NOT: nv.tma_load
# CHECK: scf.for
# CHECK:   %[[FULL:.*]] = nv.select_stage %[[BARRIERS]]
# CHECK:   %[[SLOT:.*]] = nv.select_stage %[[Q]]
# CHECK:   %[[TURNED:.*]] = nv.buffer_trans %[[SLOT]]
# CHECK:   nv.mbarrier_wait %[[FULL]], false
# CHECK:   nv.wgmma %{{.*}}, %[[TURNED]]
# CHECK-NOT: nv.release
# CHECK-NOT: nv.local_store
# CHECK:   nv.wgmma %{{.*}}, %[[SLOT]]
# CHECK:   nv.wgmma_wait 0
# CHECK-NEXT: nv.release %[[FULL]]

# Without the pass, each dot has its own buffer.
# PLAIN-COUNT-2: nv.wgmma %
@triton.jit
def gradients(k_ptr, q_ptr, v_ptr, out_ptr, length):
    keys = tl.program_id(0) * B + tl.arange(0, B)
    within = tl.arange(0, B)
    k = tl.load(k_ptr + keys[:, None] * B + within[None, :])
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, length, B):
        q = tl.load(q_ptr + (start + within)[:, None] * B + within[None, :])
        p = tl.exp2(tl.dot(k, tl.trans(q)))
        acc = tl.dot(p.to(tl.float16), q, acc)
    tl.store(out_ptr + keys[:, None] * B + within[None, :], acc)
