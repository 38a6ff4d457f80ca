// A tile constant with different elements is read from constant memory by each thread's element numbers.
// RUN: pantile-lower --ptx --no-line-info %s | FileCheck %s
// CHECK: .const .align 4 .b8 {{.*}}[256] = {7, 0, 0, 0, 3, 0, 0, 0
// CHECK-LABEL: .entry varied
// CHECK: ld.const.b32
// CHECK: st.global
#l = #tile.layout<[64], reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 2 : i32} {
  func.func @varied(%x: !tile.ptr<i32>) attributes {tile.kernel} {
    %c = arith.constant dense<"0x07000000030000001100000042000000070000000300000011000000420000000700000003000000110000004200000007000000030000001100000042000000070000000300000011000000420000000700000003000000110000004200000007000000030000001100000042000000070000000300000011000000420000000700000003000000110000004200000007000000030000001100000042000000070000000300000011000000420000000700000003000000110000004200000007000000030000001100000042000000070000000300000011000000420000000700000003000000110000004200000007000000030000001100000042000000"> : tensor<64xi32, #l>
    %i = tile.arange 0, 64 : tensor<64xi32, #l>
    %xs = tile.splat %x : tensor<64x!tile.ptr<i32>, #l>
    %xp = tile.addptr %xs, %i : tensor<64x!tile.ptr<i32>, #l>, tensor<64xi32, #l>
    tile.store %xp, %c : tensor<64x!tile.ptr<i32>, #l>, tensor<64xi32, #l>
    return
  }
}
