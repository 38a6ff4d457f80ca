# Parts of tiles take the cheapest way: registers, shuffles, shared memory for what is taken alone.
# RUN: pantilec %s --kernel columns --signature "*fp16:16, *fp32:16" --num-warps 4 --no-cache --emit llvm | FileCheck %s --check-prefix=COLUMNS
# RUN: pantilec %s --kernel element --signature "*fp32:16, i32" --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=ELEMENT
# RUN: pantilec %s --kernel row --signature "*fp32:16, i32" --num-warps 4 --no-cache --emit ptx | FileCheck %s --check-prefix=ROW
# RUN: pantilec %s --kernel put --signature "*fp32:16, i32" --num-warps 4 --no-cache --emit ptx | FileCheck %s --check-prefix=PUT
# RUN: pantilec %s --kernel part_of_pointers --signature "*fp16:16, *fp16:16" --num-warps 4 --no-cache --emit ptx | FileCheck %s --check-prefix=POINTERS
import pantile as triton
import pantile.language as tl


# Halves of an accumulator's columns lie in each thread: what follows the MMA needs no barrier.
# COLUMNS: {{mma}}
# COLUMNS: asm sideeffect "# halves"
# COLUMNS-NOT: call void @llvm.nvvm.barrier
# COLUMNS: ret void
@triton.jit
def columns(p, out):
    rows, places = tl.arange(0, 64), tl.arange(0, 32)
    x = tl.load(p + rows[:, None] * 64 + rows[None, :])
    total = tl.dot(x, x)
    tl.inline_asm_elementwise("# halves", "=r,r", [rows], tl.int32, False, 1)
    half = total[:, :32] * total[:, 32:]
    largest = half[:, 0:8] + half[:, 8:16]
    tl.store(out + rows[:, None] * 8 + places[None, 0:8], largest)


# ELEMENT: shfl.sync.idx
# ELEMENT-NOT: st.shared
# ELEMENT-NOT: bar.sync
@triton.jit
def element(p, i):
    x = tl.load(p + tl.arange(0, 128))
    tl.store(p, x[i] + x[5])


# One row of 32 passes shared memory: 256 bytes.
# ROW: .extern .shared
# ROW: setp
# ROW: st.shared
# ROW: bar.sync
# ROW-NOT: st.shared
# ROW: ld.shared
# ROW-NOT: bar.sync
@triton.jit
def row(p, i):
    columns = tl.arange(0, 64)
    x = tl.load(p + tl.arange(0, 32)[:, None] * 64 + columns[None, :])
    tl.store(p + columns, x[i])


# Where an element goes is chosen in the thread that holds it.
# PUT-NOT: shared
# PUT: selp
# PUT-NOT: shared
@triton.jit
def put(p, i):
    columns = tl.arange(0, 64)
    places = p + tl.arange(0, 32)[:, None] * 64 + columns[None, :]
    x = tl.load(places)
    x[i, 3] = 1.0
    x[4] = 2.0
    x[:, 8:16] = 3.0
    tl.store(places, x)


# What is contiguous in the whole is so in a part: accesses take 16 bytes.
# POINTERS-NOT: shared
# POINTERS: ld.global{{.*}}v4
# POINTERS-NOT: shared
# POINTERS: st.global{{.*}}v4
@triton.jit
def part_of_pointers(p, out):
    places = tl.arange(0, 32)[:, None] * 128 + tl.arange(0, 128)[None, :]
    pointers = p + places
    tl.store((out + places)[:16, :64], tl.load(pointers[16:, 64:]))
