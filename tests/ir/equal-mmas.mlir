// Two MMAs of equal operands stay two: waits have counted both.
// RUN: pantile-opt %s -nv-insert-waits -cse | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!b = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
!sum = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32} {
  // CHECK-LABEL: @equal_operands
  func.func @equal_operands(%a: !b, %b: !b, %c: !sum) -> (!sum, !sum) {
    // CHECK-COUNT-2: nv.wgmma %
    // CHECK: nv.wgmma_wait 1,
    // CHECK: nv.wgmma_wait 0,
    %x = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %y = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !b, !b, !sum
    %x1 = nv.wgmma_wait %x : (!sum) -> !sum
    %y1 = nv.wgmma_wait %y : (!sum) -> !sum
    return %x1, %y1 : !sum, !sum
  }
}
