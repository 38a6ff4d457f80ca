# Block pointers and tensor descriptors become pointers and masks; loops carry only their offsets.
# RUN: pantilec %s --kernel sum_rows --signature "*fp16:16, *fp32:16, i32, i32, i32:16" --no-cache --emit tile | FileCheck %s --check-prefix=ROWS
# RUN: pantilec %s --kernel described --signature "tensordesc<fp16[8, 64]>:16, tensordesc<fp16[8, 64],nan>" --no-cache --emit tile | FileCheck %s --check-prefix=DESC
# RUN: pantilec %s --kernel parts --signature "(*fp32, (i32, 5)), i32" --no-cache --emit tile | FileCheck %s --check-prefix=PARTS
# RUN: pantilec %s --kernel matmul --signature "tensordesc<fp16[128, 64]>:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16" --no-cache --emit ptx --target sm_80 --num-warps 8 | FileCheck %s --check-prefix=WIDE
import pantile as triton
import pantile.language as tl


# ROWS: func.func @sum_rows(%[[X:.*]]: !tile.ptr<f16> {{.*}}, %[[Y:.*]]: !tile.ptr<f32> {{.*}}, %[[M:.*]]: i32, %[[N:.*]]: i32, %[[STRIDE:.*]]: i32
@triton.jit
def sum_rows(x_ptr, y_ptr, m, n, stride):
    p = tl.make_block_ptr(x_ptr, (m, n), (stride, 1), (tl.program_id(0) * 8, 0), (8, 64), (1, 0))
    total = tl.zeros((8,), tl.float32)
    # ROWS: scf.for {{.*}} iter_args(%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,]*}}) -> (tensor<8xf32>, i32)
    for _ in range(0, n, 64):
        # ROWS: tile.load %{{.*}} mask %{{.*}} : tensor<8x64xi1> : tensor<8x64x!tile.ptr<f16>> -> tensor<8x64xf16>
        total += tl.sum(tl.load(p, boundary_check=(0, 1)).to(tl.float32), axis=1)
        p = tl.advance(p, (0, 64))
    # ROWS-NOT: mask
    # ROWS: tile.store
    q = tl.make_block_ptr(y_ptr, (m,), (1,), (tl.program_id(0) * 8,), (8,), (0,))
    tl.store(q, total)


# DESC: func.func @described(%{{.*}}: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %{{.*}}: i32, %{{.*}}: i32 {tile.divisibility = 16 : i32}, %{{.*}}: i64 {tile.divisibility = 8 : i32}, %{{.*}}: i64, %{{.*}}: !tile.ptr<f16>
@triton.jit
def described(x, y):
    # DESC: tile.load %{{.*}} mask %{{.*}} : tensor<8x64xi1> : tensor<8x64x!tile.ptr<f16>> -> tensor<8x64xf16>
    a = x.load([0, 8])
    # DESC: tile.load %{{.*}} mask %{{.*}} : tensor<8x64xi1> other %{{.*}} : tensor<8x64xf16>
    b = y.load([0, 8])
    # DESC: tile.store %{{.*}}, %{{.*}} mask
    x.store([8, 8], a + b)


# PARTS: func.func @parts(%[[P:.*]]: !tile.ptr<f32>, %[[A:.*]]: i32, %[[B:.*]]: i32)
@triton.jit
def parts(t, b):
    # PARTS-DAG: %[[FIVE:.*]] = arith.constant 5 : i32
    # PARTS: %[[SUM:.*]] = arith.addi %[[A]], %[[FIVE]]
    # PARTS: arith.addi %[[SUM]], %[[B]]
    tl.store(t[0], t[1][0] + t[1][1] + b)


# Both operands are copied 16 bytes at a time: sizes are multiples of 16.
# WIDE-NOT: ld.global
# WIDE: cp.async.cg.shared.global
# WIDE-NOT: ld.global
# WIDE: mma.sync
@triton.jit
def matmul(a, b_ptr, c_ptr, m, n, k):
    b = tl.make_block_ptr(b_ptr, (k, n), (n, 1), (0, tl.program_id(1) * 128), (64, 128), (1, 0))
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [128, 128])
    total = tl.zeros((128, 128), tl.float32)
    for at in range(0, k, 64):
        total = tl.dot(
            a.load([tl.program_id(0) * 128, at]), tl.load(b, boundary_check=(0, 1)), total
        )
        b = tl.advance(b, (64, 0))
    c.store([tl.program_id(0) * 128, tl.program_id(1) * 128], total)
