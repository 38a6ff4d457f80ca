# A right operand of bytes that is contiguous along its columns is prefetched into one buffer, from which threads turn it
# into another one, words at a time; that one outlives the iteration, so the MMA is in flight over the back edge. Where two buffers do not fit, it is turned as it is stored.
# DEFINE: %{run} = pantilec %s --kernel product --signature "*i8:16, *i8:16, *i32:16, i32:16" --target sm_90a --no-cache -o -
# RUN: %{run} -D N=128 --num-stages 3 --emit pipeline | FileCheck %s --check-prefix=TURNED
# RUN: %{run} -D N=256 --num-stages 6 --emit mma --remarks 2>&1 | FileCheck %s --check-prefix=PLACE
import pantile
import pantile.language as tl


# TURNED: nv.tma_load
# TURNED: nv.tma_load {{.*}} <1 x[128, 128] x i8, <[1, 0], 128>>
# TURNED: %[[RIGHT:.*]] = nv.alloc : <1 x[128, 128] x i8, <[0, 1], 128>>
# TURNED: scf.for
# TURNED: %[[ALONG_N:.*]] = nv.local_load {{.*}} <1 x[128, 128] x i8, <[1, 0], 128>>
# TURNED: %[[ALONG_K:.*]] = tile.convert_layout %[[ALONG_N]]
# TURNED: nv.local_store %[[ALONG_K]], %[[RIGHT]] : {{.*}} <1 x[128, 128] x i8, <[0, 1], 128>>
# TURNED: %[[SUM:.*]] = nv.wgmma %{{.*}}, %[[RIGHT]]
# TURNED: nv.wgmma_wait 1
# TURNED: scf.yield %[[SUM]]
# PLACE: remark: bytes along columns are not prefetched: two buffers for them do not fit into shared memory
# PLACE: %[[LOADED:.*]] = tile.load {{.*}} -> tensor<128x256xi8
# PLACE: nv.local_store %[[LOADED]], %[[RIGHT:.*]] : {{.*}} <1 x[128, 256] x i8, <[0, 1], 128>>
# PLACE: nv.wgmma %{{.*}}, %[[RIGHT]]
@pantile.jit
def product(a, b, c, depth, N: tl.constexpr):
    m, n, within = tl.arange(0, 128), tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, 128)
    acc = tl.zeros((128, N), tl.int32)
    for k in range(0, depth, 128):
        x = tl.load(a + m[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * 4096 + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 4096 + n[None, :], acc)
