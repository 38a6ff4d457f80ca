// Each kind of planted mistake changes one operation, that of number `at`; nothing changes where there is none.
// RUN: pantile-opt %s -test-plant-error="kind=drop-barrier at=1" | FileCheck %s --check-prefix=BARRIER
// RUN: pantile-opt %s -test-plant-error="kind=late-wait" | FileCheck %s --check-prefix=WAIT
// RUN: pantile-opt %s -test-plant-error="kind=drop-load-mask" | FileCheck %s --check-prefix=MASK
// RUN: pantile-opt %s -test-plant-error="kind=wide-bound" | FileCheck %s --check-prefix=BOUND
// RUN: pantile-opt %s -test-plant-error="kind=free-conversion" | FileCheck %s --check-prefix=FREE
// RUN: pantile-opt %s -test-plant-error="kind=overlap-buffers" | FileCheck %s --check-prefix=OVERLAP
// RUN: pantile-opt %s -test-plant-error="kind=short-buffer" | FileCheck %s --check-prefix=SHORT
// RUN: pantile-opt %s -test-plant-error="kind=early-release" | FileCheck %s --check-prefix=RELEASE
// RUN: pantile-opt %s -test-plant-error="kind=flipped-parity" | FileCheck %s --check-prefix=PARITY
// RUN: pantile-opt %s -test-plant-error="kind=drop-barrier at=9" | FileCheck %s --check-prefix=NOTHING
// RUN: not pantile-opt %s -test-plant-error="kind=other" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: there is no mistake `other`
#s = #nv.swizzle<[1, 0], 0>
#a = #tile.layout<[16, 8], reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.layout<[16, 8], reg = [[0, 4], [8, 0]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
!tile = tensor<16x8xf32, #a>
!other = tensor<16x8xf32, #b>
!index = tensor<16x8xi32, #a>
!mask = tensor<16x8xi1, #a>
!ptrs = tensor<16x8x!tile.ptr<f32>, #a>
!buffer = !nv.buffer<1 x [16, 8] x f32, #s>
!circular = !nv.buffer<3 x [16, 8] x f32, #s>
!barriers = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
module attributes {tile.num_warps = 1 : i32} {
  // WAIT: nv.wait 2
  // BARRIER: nv.wait
  // BARRIER-NEXT: nv.barrier
  // BARRIER-NEXT: nv.local_load
  // BARRIER-NOT: nv.barrier
  // NOTHING-COUNT-2: nv.barrier
  // OVERLAP: nv.alloc at 512
  // OVERLAP-NEXT: nv.alloc at 512 :
  // SHORT: nv.alloc at 0 : <2 x
  func.func @copies(%x: !tile, %stage: i32) -> !tile {
    %first = nv.alloc at 512 : !buffer
    %circular = nv.alloc at 0 : !circular
    %place = nv.select_stage %circular[%stage] : !circular -> !buffer
    nv.wait 1
    nv.barrier
    %y = nv.local_load %place : !buffer -> !tile
    nv.barrier
    nv.local_store %x, %first : !tile, !buffer
    return %y : !tile
  }

  // MASK: tile.load %{{[a-z0-9]+}} : tensor
  // BOUND: arith.cmpi sle
  // FREE-NOT: tile.convert_layout
  // FREE: tile.int_to_ptr
  // FREE: tile.ptr_to_int
  func.func @masks(%ptr: !ptrs, %i: !index, %n: !index) -> !other {
    %mask = arith.cmpi slt, %i, %n : !index
    %x = tile.load %ptr mask %mask : !mask : !ptrs -> !tile
    %y = tile.convert_layout %x : !tile -> !other
    return %y : !other
  }

  // RELEASE: nv.release
  // RELEASE-NEXT: nv.wgmma_wait
  // PARITY: %[[FLIPPED:.+]] = arith.xori
  // PARITY: nv.mbarrier_wait {{.*}}, %[[FLIPPED]]
  func.func @circular(%barriers: !barriers, %parity: i32, %sum: !tile) -> !tile {
    nv.mbarrier_wait %barriers, false, %parity : !barriers
    %done = nv.wgmma_wait 1, %sum : (!tile) -> !tile
    nv.release %barriers : !barriers
    return %done : !tile
  }
}
