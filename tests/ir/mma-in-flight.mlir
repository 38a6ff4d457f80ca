// A wait holds the registers that its MMA reads; each constraint has its message.
// RUN: pantile-opt %s -split-input-file -verify-diagnostics | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!b = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>

// CHECK-LABEL: func @held
func.func @held(%a: tensor<64x64xf16, #acc>, %b: !b, %c: tensor<64x64xf32, #acc>) {
  // CHECK: %[[MMA:.*]] = nv.wgmma
  %mma = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : tensor<64x64xf16, #acc>, !b, tensor<64x64xf32, #acc>
  // CHECK: nv.wgmma_wait 0, %[[MMA]] holding %{{.*}} : tensor<64x64xf16
  %done = nv.wgmma_wait 0, %mma holding %a : tensor<64x64xf16, #acc> : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
  // CHECK: nv.copy_registers %{{.*}} : tensor<64x64xf16
  %copy = nv.copy_registers %a : tensor<64x64xf16, #acc>
  return
}

// -----
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
func.func @types(%c: tensor<64x64xf32, #acc>) {
  // expected-error @below {{wgmma_wait_c1: result types differ from operand types}}
  %done = nv.wgmma_wait 0, %c : (tensor<64x64xf32, #acc>) -> tensor<64x64xf16, #acc>
  return
}

// -----
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!b = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
func.func @not_held(%a: tensor<64x64xf16, #acc>, %b: !b, %c: tensor<64x64xf32, #acc>) {
  %mma = nv.wgmma %a, %b, %c mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : tensor<64x64xf16, #acc>, !b, tensor<64x64xf32, #acc>
  // expected-error @below {{wgmma_wait_c2: registers that an MMA reads are not held until it is over}}
  %done = nv.wgmma_wait 0, %mma : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
  return
}
