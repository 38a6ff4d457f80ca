# Loads, stores and atomics.
# RUN: pantilec %s --kernel masks --signature "*fp16:16, *fp32, i32" --no-cache --emit tile | FileCheck %s --check-prefix=MASKS
# RUN: pantilec %s --kernel bools --signature "*i1" --no-cache --emit tile | FileCheck %s --check-prefix=BOOLS
# RUN: pantilec %s --kernel atomics --signature "*fp32, *i32" --no-cache --emit tile | FileCheck %s --check-prefix=ATOMICS
import pantile as triton
import pantile.language as tl


# MASKS: func.func @masks(%[[X:.*]]: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %[[Y:.*]]: !tile.ptr<f32>, %[[N:.*]]: i32)
@triton.jit
def masks(x_ptr, y_ptr, n):
    offs = tl.arange(0, 64)
    mask = offs < n
    # MASKS: tile.load %{{.*}} mask %[[MASK:.*]] : tensor<64xi1> : tensor<64x!tile.ptr<f16>> -> tensor<64xf16>
    a = tl.load(x_ptr + offs, mask=mask)
    # MASKS: tile.load %{{.*}} mask %[[MASK]] : tensor<64xi1> other %{{.*}} : tensor<64xf16> {cache = 2 : i32, evict = 1 : i32}
    b = tl.load(x_ptr + offs + 64, mask, other=-float("inf"), cache_modifier=".cg", eviction_policy="evict_first")
    # MASKS: tile.load %[[Y]] {isVolatile} : !tile.ptr<f32> -> f32
    c = tl.load(y_ptr, volatile=True)
    # MASKS: tile.store %{{.*}}, %{{.*}} mask %[[MASK]] : tensor<64xi1> : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    tl.store(y_ptr + offs, a + b + c, mask=mask)
    # MASKS: tile.store %[[Y]], %{{.*}} : !tile.ptr<f32>, f32
    tl.store(y_ptr, 7)


# BOOLS: func.func @bools(%arg0: !tile.ptr<i8>)
# BOOLS: %[[BYTE:.*]] = tile.load %{{.*}} -> tensor<16xi8>
# BOOLS: %[[BOOL:.*]] = arith.cmpi ne, %[[BYTE]], %{{.*}} : tensor<16xi8>
# BOOLS: %[[NOT:.*]] = arith.xori %[[BOOL]], %{{.*}} : tensor<16xi1>
# BOOLS: %[[OUT:.*]] = arith.extui %[[NOT]] : tensor<16xi1> to tensor<16xi8>
# BOOLS: tile.store %{{.*}}, %[[OUT]]
@triton.jit
def bools(p):
    offs = tl.arange(0, 16)
    tl.store(p + offs, not tl.load(p + offs))


@triton.jit
def atomics(f_ptr, i_ptr):
    offs = tl.arange(0, 16)
    # ATOMICS: tile.atomic_rmw add, relaxed, cta, %{{.*}} mask %{{.*}} : tensor<16xi1> : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
    old = tl.atomic_add(i_ptr + offs, 1, mask=offs < 9, sem="relaxed", scope="cta")
    # ATOMICS: tile.atomic_rmw fadd, acq_rel, gpu
    tl.atomic_add(f_ptr + offs, old)
    # ATOMICS: tile.ptr_cast %{{.*}} : !tile.ptr<f32> -> !tile.ptr<i32>
    # ATOMICS: tile.atomic_rmw max, acq_rel, gpu
    # ATOMICS: tile.atomic_rmw umin, acq_rel, gpu
    tl.atomic_max(f_ptr, tl.load(f_ptr))
    # ATOMICS: scf.while
    # ATOMICS: tile.atomic_cas acq_rel, gpu, %arg1, %c0_i32, %c1_i32
    while tl.atomic_cas(i_ptr, 0, 1) == 1:
        pass
    # ATOMICS: tile.barrier
    tl.debug_barrier()
    # ATOMICS: tile.atomic_rmw xchg, release, gpu
    tl.atomic_xchg(i_ptr, 0, sem="release")
