# Programs of one warp may run in one CTA where they have neither shared memory nor barriers; the size of the CTA says how many do.
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 1 --no-cache --emit mma | FileCheck %s --check-prefix=PACKED
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=PTX
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 1 --disable-pass nv-pack-programs --no-cache --emit mma | FileCheck %s --check-prefix=ALONE
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16, i32:16" --num-warps 2 --no-cache --emit mma | FileCheck %s --check-prefix=ALONE
# RUN: pantilec %s --kernel flip --signature "*fp32:16, *fp32:16" --num-warps 1 --no-cache --emit mma | FileCheck %s --check-prefix=ALONE
# RUN: pantilec %s --kernel count --signature "*i32:16" --num-warps 1 --no-cache --emit mma | FileCheck %s --check-prefix=ALONE
# RUN: pantilec %s --kernel threads --signature "*i32:16" --num-warps 1 --no-cache --emit mma | FileCheck %s --check-prefix=ALONE
import pantile as triton
import pantile.language as tl


# PACKED: module attributes {nv.launch = #nv.launch<programs_per_cta = 4{{.*}}
# ALONE-NOT: programs_per_cta
# PTX: .maxntid 128
# PTX-NOT: .reqntid
# PTX-DAG: %ntid.x
# PTX-DAG: %ctaid.x
@triton.jit
def row(y, x, n):
    cols = tl.arange(0, 128)
    v = tl.load(x + tl.program_id(0) * n + cols, mask=cols < n, other=0.0)
    tl.store(y + tl.program_id(0) * n + cols, v / tl.sum(v, axis=0), mask=cols < n)


# Its transpose goes through shared memory.
@triton.jit
def flip(y, x):
    r, c = tl.arange(0, 64), tl.arange(0, 64)
    v = tl.load(x + r[:, None] * 64 + c[None, :])
    tl.store(y + c[:, None] * 64 + r[None, :], tl.trans(v))


@triton.jit
def count(total):
    tl.atomic_add(total, tl.program_id(0))


@triton.jit
def threads(out):
    c = tl.arange(0, 32)
    number = tl.inline_asm_elementwise(
        "mov.u32 $0, %tid.x;", "=r,r", [c], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + tl.program_id(0) * 32 + c, number)
