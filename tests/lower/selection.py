# Exchanges, gathers, counts, maps and PTX of the user.
# RUN: pantilec %s --kernel sorted --signature "*i32:16" --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=SORT
# RUN: pantilec %s --kernel gathered --signature "*fp32:16, *i32:16" --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=WARP
# RUN: pantilec %s --kernel gathered --signature "*fp32:16, *i32:16" --num-warps 4 --no-cache --emit ptx | FileCheck %s --check-prefix=SHARED
# RUN: pantilec %s --kernel counted --signature "*i32:16, *i32:16" --no-cache --emit ptx | FileCheck %s --check-prefix=COUNT
# RUN: pantilec %s --kernel mapped --signature "*i32:16" --no-cache --emit ptx | FileCheck %s --check-prefix=MAP
# RUN: pantilec %s --kernel packed --signature "*fp16:16" --no-cache --emit ptx | FileCheck %s --check-prefix=PACK
# RUN: pantilec %s --kernel dependent --signature "*i32" --no-cache --emit ptx | FileCheck %s --check-prefix=SPECIAL
import pantile as triton
import pantile.language as tl


# A warp sorts in registers and shuffles.
# SORT-NOT: bar.sync
# SORT: shfl.sync.bfly
# SORT: min.s32
# SORT-NOT: shared
@triton.jit
def sorted(p):
    offsets = tl.arange(0, 128)
    tl.store(p + offsets, tl.sort(tl.load(p + offsets)))


# WARP: shfl.sync.idx
# WARP-NOT: st.shared
# SHARED: st.shared
# SHARED: bar.sync
# SHARED: ld.shared
@triton.jit
def gathered(p, index_ptr):
    offsets = tl.arange(0, 256)
    tl.store(p + offsets, tl.gather(tl.load(p + offsets), tl.load(index_ptr + offsets), 0))


# COUNT: st.shared.b32 [{{.*}}], 0;
# COUNT: bar.sync
# COUNT: red.shared.add.u32
# COUNT: bar.sync
# COUNT: ld.shared
@triton.jit
def counted(out_ptr, p):
    counts = tl.histogram(tl.load(p + tl.arange(0, 512)), 32)
    tl.store(out_ptr + tl.arange(0, 32), counts)


@triton.jit
def halvings(x):
    n = 0
    while x > 1:
        x = x // 2
        n += 1
    return n


# The warp reconverges after the loops.
# MAP: bar.warp.sync -1
# MAP: st.global
@triton.jit
def mapped(p):
    offsets = tl.arange(0, 512)
    tl.store(p + offsets, tl.map_elementwise(halvings, tl.load(p + offsets)))


# PACK: abs.f16x2 %r{{[0-9]+}}, %r{{[0-9]+}};
@triton.jit
def packed(p):
    offsets = tl.arange(0, 512)
    x = tl.inline_asm_elementwise(
        "abs.f16x2 $0, $1;", "=r,r", [tl.load(p + offsets)], tl.float16, True, 2
    )
    tl.store(p + offsets, x)


# SPECIAL: griddepcontrol.wait
# SPECIAL: %globaltimer
# SPECIAL: %smid
# SPECIAL: griddepcontrol.launch_dependents
@triton.jit
def dependent(p):
    tl.extra.cuda.gdc_wait()
    tl.store(p, tl.extra.cuda.globaltimer().to(tl.int32))
    tl.store(p + 1, tl.extra.cuda.smid())
    tl.extra.cuda.gdc_launch_dependents()
