# Operands of mma.sync that a loop keeps go through a buffer where registers do not hold them next to what the loop carries, and
# then copies are issued before the operands of the first dot are read. The results at the end do not count against a stage.
# DEFINE: %{run} = pantilec %s --kernel decode --signature "*fp16:16,*fp16:16,*i32:16,*fp32:16,i32" --target sm_90a --no-cache --emit pipeline -o - --num-stages 2
# RUN: %{run} -D DEPTH=512 | FileCheck %s
# RUN: %{run} -D DEPTH=128 | FileCheck %s --check-prefix=FEW
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
# FEW-NOT: nv.alloc
# FEW: scf.for
# FEW: nv.barrier
# FEW: nv.local_load
# FEW: nv.copy_async
# FEW: tile.dot
@pantile.jit
def decode(Q, Cache, Table, Out, n, DEPTH: tl.constexpr):
    row, d = tl.arange(0, 16), tl.arange(0, DEPTH)
    q = tl.load(Q + row[:, None] * DEPTH + d[None, :])
    acc = tl.zeros([16, DEPTH], tl.float32)
    for start in range(0, n, 32):
        at = tl.load(Table + start + tl.arange(0, 32))
        k = tl.load(Cache + at[None, :] * DEPTH + d[:, None])
        p = tl.exp2(tl.dot(q, k))
        acc = tl.dot(p.to(tl.float16), tl.trans(k), acc)
    tl.store(Out + row[:, None] * DEPTH + d[None, :], acc)
