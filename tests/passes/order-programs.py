# Programs that loop over more the further they are along an axis start from the end of it, as those of causal attention; such that
# do the same work, less and less, or as much as memory says, start as they are numbered, and so do programs that meet.
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=0 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=LAST
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=0 --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=0 --target sm_90a --no-cache --emit pipeline --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=0 --target sm_90a --no-cache --emit pipeline --disable-pass nv-order-programs -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=1 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=LAST
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=2 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=3 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=4 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=SAME
# RUN: pantilec %s --kernel triangle --signature "*fp32:16,*fp32:16,i32" -D KIND=5 --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=SAME
# LAST: nv.last_first = array<i32: 0>
# SAME-NOT: nv.last_first
# PTX-DAG: mov.u32 %{{.*}}, %ctaid.x
# PTX-DAG: mov.u32 %{{.*}}, %nctaid.x
# PTX: not.b32
# SAID: remark: programs start from the end of axis 0, where they have the most to do
import pantile
import pantile.language as tl


@pantile.jit
def triangle(X, Out, n, KIND: tl.constexpr):
    block = tl.program_id(0)
    columns = tl.arange(0, 128)
    start, end = 0, (block + 1) * 128
    if KIND == 1:
        end = tl.minimum(end, n)
    elif KIND == 2:
        start, end = block * 128, n
    elif KIND == 3:
        end = n
    elif KIND == 4:
        end = tl.load(X + block).to(tl.int32)
    total = tl.zeros([128], tl.float32)
    for i in range(start, end, 128):
        total += tl.load(X + i + columns)
    if KIND == 5:
        tl.atomic_add(Out + columns, total)
    else:
        tl.store(Out + block * 128 + columns, total)
