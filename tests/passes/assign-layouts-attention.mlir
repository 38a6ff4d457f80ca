// Attention: both dots keep their rows in the same warps, so the probabilities, the running maximum and the sum never change threads.
// RUN: sed 's/"sm_90a"/"sm_80"/' %s | pantile-opt -tile-select-mma -tile-assign-layouts | FileCheck %s --check-prefix=SYNC
// RUN: pantile-opt %s -tile-select-mma -tile-assign-layouts | FileCheck %s --check-prefix=WGMMA

// SYNC-DAG: #[[ACC:.*]] = #tile.layout<[64, 64], reg = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// SYNC-DAG: #[[ROWS:.*]] = #tile.layout<[64], reg = {{\[\[}}8]], lane = {{\[\[}}0], [0], [1], [2], [4]], warp = {{\[\[}}16], [32]]>
// SYNC-LABEL: @attention
// The query becomes an operand before the loop.
// SYNC: %[[Q:.*]] = tile.convert_layout {{.*}} -> tensor<64x64xf16, #[[ACC]]>
// SYNC: scf.for {{.*}} -> (tensor<64x64xf32, #[[ACC]]>, tensor<64xf32, #[[ROWS]]>, tensor<64xf32, #[[ROWS]]>,
// SYNC: tile.dot %[[Q]], {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 1>
// SYNC: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x64xf16, #[[ACC]]>
// SYNC-NEXT: tile.dot %[[P]], {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 4 x 1>
// SYNC: scf.yield
// SYNC: tile.convert_layout
// SYNC-NOT: tile.convert_layout
// SYNC: tile.store

// WGMMA-DAG: #[[ACC:.*]] = #tile.layout<[64, 64], reg = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane
// WGMMA-DAG: #[[ROWS:.*]] = #tile.layout<[64], reg = {{\[\[}}8]], lane = {{\[\[}}0], [0], [1], [2], [4]], warp = {{\[\[}}16], [32]]>
// WGMMA-LABEL: @attention
// WGMMA-NOT: tile.convert_layout
// WGMMA: scf.for {{.*}} -> (tensor<64x64xf32, #[[ACC]]>, tensor<64xf32, #[[ROWS]]>, tensor<64xf32, #[[ROWS]]>,
// WGMMA-NOT: tile.convert_layout
// WGMMA: scf.yield
// WGMMA: tile.convert_layout {{.*}} : tensor<64x64xf16, #[[ACC]]>
// WGMMA-NOT: tile.convert_layout
// WGMMA: tile.store
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32, tile.num_stages = 2 : i32} {
func.func @attention(%q: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %k: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %v: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %o: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ninf = arith.constant dense<0xFF800000> : tensor<64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %w = arith.constant dense<64> : tensor<64x1xi32>
  %r = tile.arange 0, 64 : tensor<64xi32>
  %i = tile.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %j = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %is = arith.muli %i, %w : tensor<64x1xi32>
  %isb = tile.broadcast %is : tensor<64x1xi32> -> tensor<64x64xi32>
  %jb = tile.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>
  %offs = arith.addi %isb, %jb : tensor<64x64xi32>
  %qs = tile.splat %q : tensor<64x64x!tile.ptr<f16>>
  %qp = tile.addptr %qs, %offs : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %qv = tile.load %qp : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
  %ks = tile.splat %k : tensor<64x64x!tile.ptr<f16>>
  %kp0 = tile.addptr %ks, %offs : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %vs = tile.splat %v : tensor<64x64x!tile.ptr<f16>>
  %vp0 = tile.addptr %vs, %offs : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %adv = arith.constant dense<4096> : tensor<64x64xi32>
  %res:5 = scf.for %s = %c0 to %n step %c64 iter_args(%acc = %zero, %m = %ninf, %l = %one, %kp = %kp0, %vp = %vp0) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>) : i32 {
    %kv = tile.load %kp : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %kt = tile.trans %kv [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
    %qk = tile.dot %qv, %kt, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %mx = tile.reduce(%qk), 1 {
    ^bb0(%a: f32, %b: f32):
      %t = arith.maximumf %a, %b : f32
      tile.yield %t : f32
    } : (tensor<64x64xf32>) -> tensor<64xf32>
    %m2 = arith.maximumf %m, %mx : tensor<64xf32>
    %m1 = tile.expand_dims %m2, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %mb = tile.broadcast %m1 : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %qk, %mb : tensor<64x64xf32>
    %p = math.exp2 %d : tensor<64x64xf32>
    %al = arith.subf %m, %m2 : tensor<64xf32>
    %alpha = math.exp2 %al : tensor<64xf32>
    %ls = tile.reduce(%p), 1 {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      tile.yield %t : f32
    } : (tensor<64x64xf32>) -> tensor<64xf32>
    %l1 = arith.mulf %l, %alpha : tensor<64xf32>
    %l2 = arith.addf %l1, %ls : tensor<64xf32>
    %a1 = tile.expand_dims %alpha, 1 : tensor<64xf32> -> tensor<64x1xf32>
    %ab = tile.broadcast %a1 : tensor<64x1xf32> -> tensor<64x64xf32>
    %acc1 = arith.mulf %acc, %ab : tensor<64x64xf32>
    %vv = tile.load %vp : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %ph = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vv, %acc1 : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %kp2 = tile.addptr %kp, %adv : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %vp2 = tile.addptr %vp, %adv : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    scf.yield %acc2, %m2, %l2, %kp2, %vp2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x!tile.ptr<f16>>, tensor<64x64x!tile.ptr<f16>>
  }
  %li = tile.expand_dims %res#2, 1 : tensor<64xf32> -> tensor<64x1xf32>
  %lb = tile.broadcast %li : tensor<64x1xf32> -> tensor<64x64xf32>
  %out = arith.divf %res#0, %lb : tensor<64x64xf32>
  %oh = arith.truncf %out : tensor<64x64xf32> to tensor<64x64xf16>
  %os = tile.splat %o : tensor<64x64x!tile.ptr<f16>>
  %op = tile.addptr %os, %offs : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  tile.store %op, %oh : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xf16>
  return
}
}
