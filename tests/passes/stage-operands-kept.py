# Operands of mma.sync that a loop keeps go through a buffer where registers do not hold them next to what the loop carries, and
# then copies are issued before the operands of the first dot are read. The results at the end do not count against a stage.
# A fourth stage of gathered rows, which would cost the second CTA per SM, is left out, and where two stages would, there is one.
# DEFINE: %{run} = pantilec %s --kernel decode --signature "*fp16:16,*fp16:16,*i32:16,*fp32:16,i32" --target sm_90a --no-cache --emit pipeline -o -
# RUN: %{run} -D DEPTH=512 -D COLUMNS=32 --num-stages 2 | FileCheck %s
# RUN: %{run} -D DEPTH=512 -D COLUMNS=32 --num-stages 4 | FileCheck %s --check-prefix=FOUR
# RUN: %{run} -D DEPTH=128 -D COLUMNS=32 --num-stages 2 | FileCheck %s --check-prefix=FEW
# RUN: %{run} -D DEPTH=512 -D COLUMNS=64 --num-stages 3 --remarks 2>&1 | FileCheck %s --check-prefix=ONE
import pantile
import pantile.language as tl


# CHECK: %[[QUERIES:.*]] = nv.alloc {{.*}}[16, 512] x f16
# CHECK: nv.channel via cp_async ahead 1 by 16 : <2 x
# CHECK: scf.for
# CHECK: nv.barrier
# CHECK: nv.copy_async
# CHECK: nv.commit
# CHECK: nv.local_load %[[QUERIES]]
# CHECK: tile.dot
# FOUR: nv.channel via cp_async ahead 2 by 16 : <3 x
# ONE: load is not prefetched: its buffers would leave one CTA per SM
# ONE-NOT: nv.channel
# FEW-NOT: nv.alloc
# FEW: scf.for
# FEW: nv.barrier
# FEW: nv.local_load
# FEW: nv.copy_async
# FEW: tile.dot
@pantile.jit
def decode(Q, Cache, Table, Out, n, DEPTH: tl.constexpr, COLUMNS: tl.constexpr):
    row, d = tl.arange(0, 16), tl.arange(0, DEPTH)
    q = tl.load(Q + row[:, None] * DEPTH + d[None, :])
    acc = tl.zeros([16, DEPTH], tl.float32)
    for start in range(0, n, COLUMNS):
        at = tl.load(Table + start + tl.arange(0, COLUMNS))
        k = tl.load(Cache + at[None, :] * DEPTH + d[:, None])
        p = tl.exp2(tl.dot(q, k))
        acc = tl.dot(p.to(tl.float16), tl.trans(k), acc)
    tl.store(Out + row[:, None] * DEPTH + d[None, :], acc)
