// Every tile gets a layout: memory accesses choose theirs, inexpensive values follow.
// RUN: pantile-opt %s -split-input-file -tile-assign-layouts | FileCheck %s

// A vector sum: 128 bits per access, one layout for everything.
// CHECK: #[[L:.*]] = #tile.layout<[1024], reg = {{\[\[}}1], [2], [512]], lane = {{\[\[}}4], [8], [16], [32], [64]], warp = {{\[\[}}128], [256]]>
// CHECK-NOT: #tile.layout
// CHECK-LABEL: @add
// CHECK: tile.arange 0, 1024 : tensor<1024xi32, #[[L]]>
// CHECK: arith.cmpi slt, {{.*}} : tensor<1024xi32, #[[L]]>
// CHECK-COUNT-2: tile.load {{.*}} -> tensor<1024xf32, #[[L]]>
// CHECK: arith.addf {{.*}} : tensor<1024xf32, #[[L]]>
// CHECK: tile.store {{.*}} tensor<1024xf32, #[[L]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @add(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %out: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c1024 = arith.constant 1024 : i32
  %pid = tile.program_id 0
  %start = arith.muli %pid, %c1024 : i32
  %r = tile.arange 0, 1024 : tensor<1024xi32>
  %s = tile.splat %start : tensor<1024xi32>
  %offs = arith.addi %s, %r : tensor<1024xi32>
  %ns = tile.splat %n : tensor<1024xi32>
  %mask = arith.cmpi slt, %offs, %ns : tensor<1024xi32>
  %xs = tile.splat %x : tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %offs : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %xv = tile.load %xp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %ys = tile.splat %y : tensor<1024x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %offs : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %yv = tile.load %yp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %sum = arith.addf %xv, %yv : tensor<1024xf32>
  %os = tile.splat %out : tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %offs : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %sum mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
}

// -----

// A row softmax: the reduction's results are broadcast back without a conversion.
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<[16], reg = {{\[\[}}4], [8]], lane = {{\[\[}}0], [0], [0], [0], [0]], warp = {{\[\[}}1], [2]]>
// CHECK-DAG: #[[TILE:.*]] = #tile.layout<[16, 256], reg = {{\[\[}}0, 1], [0, 2], [0, 128], [4, 0], [8, 0]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = {{\[\[}}1, 0], [2, 0]]>
// CHECK-LABEL: @softmax
// CHECK-NOT: convert_layout
// CHECK: tile.load {{.*}} -> tensor<16x256xf32, #[[TILE]]>
// CHECK: tile.reduce
// CHECK: (tensor<16x256xf32, #[[TILE]]>) -> tensor<16xf32, #[[ROWS]]>
// CHECK: tile.expand_dims {{.*}} tensor<16xf32, #[[ROWS]]>
// CHECK: tile.broadcast {{.*}} -> tensor<16x256xf32, #[[TILE]]>
// CHECK: tile.store {{.*}} tensor<16x256xf32, #[[TILE]]>
// CHECK-NOT: convert_layout
// CHECK: return
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @softmax(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c16 = arith.constant 16 : i32
  %pid = tile.program_id 0
  %first = arith.muli %pid, %c16 : i32
  %r = tile.arange 0, 16 : tensor<16xi32>
  %firsts = tile.splat %first : tensor<16xi32>
  %rows = arith.addi %firsts, %r : tensor<16xi32>
  %rows1 = tile.expand_dims %rows, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %strides = tile.splat %stride : tensor<16x1xi32>
  %starts = arith.muli %rows1, %strides : tensor<16x1xi32>
  %c = tile.arange 0, 256 : tensor<256xi32>
  %c1 = tile.expand_dims %c, 0 : tensor<256xi32> -> tensor<1x256xi32>
  %sb = tile.broadcast %starts : tensor<16x1xi32> -> tensor<16x256xi32>
  %cb = tile.broadcast %c1 : tensor<1x256xi32> -> tensor<16x256xi32>
  %offs = arith.addi %sb, %cb : tensor<16x256xi32>
  %xs = tile.splat %x : tensor<16x256x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %offs : tensor<16x256x!tile.ptr<f32>>, tensor<16x256xi32>
  %v = tile.load %xp : tensor<16x256x!tile.ptr<f32>> -> tensor<16x256xf32>
  %m = tile.reduce(%v), 1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<16x256xf32>) -> tensor<16xf32>
  %m1 = tile.expand_dims %m, 1 : tensor<16xf32> -> tensor<16x1xf32>
  %mb = tile.broadcast %m1 : tensor<16x1xf32> -> tensor<16x256xf32>
  %d = arith.subf %v, %mb : tensor<16x256xf32>
  %e = math.exp %d : tensor<16x256xf32>
  %sum = tile.reduce(%e), 1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<16x256xf32>) -> tensor<16xf32>
  %sum1 = tile.expand_dims %sum, 1 : tensor<16xf32> -> tensor<16x1xf32>
  %sumb = tile.broadcast %sum1 : tensor<16x1xf32> -> tensor<16x256xf32>
  %q = arith.divf %e, %sumb : tensor<16x256xf32>
  %ys = tile.splat %y : tensor<16x256x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %offs : tensor<16x256x!tile.ptr<f32>>, tensor<16x256xi32>
  tile.store %yp, %q : tensor<16x256x!tile.ptr<f32>>, tensor<16x256xf32>
  return
}
}

// -----

// Two passes over a row: the sums that a loop carries live in the loads' layout, whose vectors are those of the widest elements.
// CHECK: #[[L:.*]] = #tile.layout<[1024], reg = {{\[\[}}1], [2], [512]], lane = {{\[\[}}4], [8], [16], [32], [64]], warp = {{\[\[}}128], [256]]>
// CHECK-NOT: #tile.layout
// CHECK-LABEL: @layer_norm
// CHECK-NOT: convert_layout
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (tensor<1024xf32, #[[L]]>)
// CHECK: tile.reduce
// CHECK: (tensor<1024xf32, #[[L]]>) -> f32
// CHECK: scf.for
// CHECK: tile.load {{.*}} -> tensor<1024xf16, #[[L]]>
// CHECK: tile.load {{.*}} -> tensor<1024xf32, #[[L]]>
// CHECK: tile.store {{.*}} tensor<1024xf16, #[[L]]>
// CHECK-NOT: convert_layout
// CHECK: return
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @layer_norm(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %w: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1024 = arith.constant 1024 : i32
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %pid = tile.program_id 0
  %row = arith.muli %pid, %n : i32
  %xrow = tile.addptr %x, %row : !tile.ptr<f16>, i32
  %yrow = tile.addptr %y, %row : !tile.ptr<f16>, i32
  %r = tile.arange 0, 1024 : tensor<1024xi32>
  %ns = tile.splat %n : tensor<1024xi32>
  %acc = scf.for %i = %c0 to %n step %c1024 iter_args(%sum = %zero) -> (tensor<1024xf32>) : i32 {
    %is = tile.splat %i : tensor<1024xi32>
    %cols = arith.addi %is, %r : tensor<1024xi32>
    %mask = arith.cmpi slt, %cols, %ns : tensor<1024xi32>
    %xs = tile.splat %xrow : tensor<1024x!tile.ptr<f16>>
    %xp = tile.addptr %xs, %cols : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
    %v = tile.load %xp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f16>> -> tensor<1024xf16>
    %vf = arith.extf %v : tensor<1024xf16> to tensor<1024xf32>
    %next = arith.addf %sum, %vf : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  }
  %total = tile.reduce(%acc), 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<1024xf32>) -> f32
  scf.for %i = %c0 to %n step %c1024 : i32 {
    %is = tile.splat %i : tensor<1024xi32>
    %cols = arith.addi %is, %r : tensor<1024xi32>
    %mask = arith.cmpi slt, %cols, %ns : tensor<1024xi32>
    %xs = tile.splat %xrow : tensor<1024x!tile.ptr<f16>>
    %xp = tile.addptr %xs, %cols : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
    %v = tile.load %xp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f16>> -> tensor<1024xf16>
    %ws = tile.splat %w : tensor<1024x!tile.ptr<f32>>
    %wp = tile.addptr %ws, %cols : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %wv = tile.load %wp mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
    %vf = arith.extf %v : tensor<1024xf16> to tensor<1024xf32>
    %t = tile.splat %total : tensor<1024xf32>
    %c = arith.subf %vf, %t : tensor<1024xf32>
    %o = arith.mulf %c, %wv : tensor<1024xf32>
    %oh = arith.truncf %o : tensor<1024xf32> to tensor<1024xf16>
    %ys = tile.splat %yrow : tensor<1024x!tile.ptr<f16>>
    %yp = tile.addptr %ys, %cols : tensor<1024x!tile.ptr<f16>>, tensor<1024xi32>
    tile.store %yp, %oh mask %mask : tensor<1024xi1> : tensor<1024x!tile.ptr<f16>>, tensor<1024xf16>
  }
  return
}
}

// -----

// What is read along rows is written along columns: one conversion, wide accesses on both sides.
// CHECK-DAG: #[[ROW:.*]] = #tile.layout<[64, 64], reg = {{\[\[}}0, 1], [0, 2], [8, 0], [16, 0], [32, 0]], lane
// CHECK-DAG: #[[COL:.*]] = #tile.layout<[64, 64], reg = {{\[\[}}1, 0], [2, 0], [0, 8], [0, 16], [0, 32]], lane
// CHECK-LABEL: @transposed_store
// CHECK: %[[V:.*]] = tile.load {{.*}} -> tensor<64x64xf32, #[[ROW]]>
// CHECK-NEXT: %[[T:.*]] = tile.convert_layout %[[V]] : tensor<64x64xf32, #[[ROW]]> -> tensor<64x64xf32, #[[COL]]>
// CHECK-NOT: convert_layout
// CHECK: tile.store {{.*}}, %[[T]] : tensor<64x64x!tile.ptr<f32>, #[[COL]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @transposed_store(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %c64t = arith.constant dense<64> : tensor<1x64xi32>
  %r = tile.arange 0, 64 : tensor<64xi32>
  %i = tile.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %j = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %is = arith.muli %i, %c64 : tensor<64x1xi32>
  %isb = tile.broadcast %is : tensor<64x1xi32> -> tensor<64x64xi32>
  %jb = tile.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>
  %from = arith.addi %isb, %jb : tensor<64x64xi32>
  %js = arith.muli %j, %c64t : tensor<1x64xi32>
  %jsb = tile.broadcast %js : tensor<1x64xi32> -> tensor<64x64xi32>
  %ib = tile.broadcast %i : tensor<64x1xi32> -> tensor<64x64xi32>
  %to = arith.addi %jsb, %ib : tensor<64x64xi32>
  %xs = tile.splat %x : tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %from : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %v = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %ys = tile.splat %y : tensor<64x64x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %to : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %yp, %v : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
}

// -----

// A free tile that a loop carries is wanted in two layouts: it becomes two carried tiles.
// CHECK-DAG: #[[WIDE:.*]] = #tile.layout<[1024], reg = {{\[\[}}1], [2], [512]]
// CHECK-DAG: #[[SINGLE:.*]] = #tile.layout<[1024], reg = {{\[\[}}128], [256], [512]], lane = {{\[\[}}1]
// CHECK-LABEL: @two_versions
// CHECK: %[[LAST:.*]]:2 = scf.for {{.*}} -> (tensor<1024xi32, #[[WIDE]]>, tensor<1024xi32, #[[SINGLE]]>)
// CHECK: scf.yield {{.*}} : tensor<1024xi32, #[[WIDE]]>, tensor<1024xi32, #[[SINGLE]]>
// CHECK: scf.if {{.*}} -> (tensor<1024xi32, #[[SINGLE]]>)
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[LAST]]#1
// CHECK: tile.store {{.*}} tensor<1024xf32, #[[SINGLE]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @two_versions(%x: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32>, %n: i32, %flag: i1) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant dense<1024> : tensor<1024xi32>
  %r = tile.arange 0, 1024 : tensor<1024xi32>
  %xs = tile.splat %x : tensor<1024x!tile.ptr<f32>>
  %ys = tile.splat %y : tensor<1024x!tile.ptr<f32>>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%offs = %r) -> (tensor<1024xi32>) : i32 {
    %xp = tile.addptr %xs, %offs : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    %v = tile.load %xp : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
    %yp = tile.addptr %ys, %offs : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
    tile.store %yp, %v : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
    %next = arith.addi %offs, %step : tensor<1024xi32>
    scf.yield %next : tensor<1024xi32>
  }
  %chosen = scf.if %flag -> (tensor<1024xi32>) {
    %twice = arith.addi %last, %last : tensor<1024xi32>
    scf.yield %twice : tensor<1024xi32>
  } else {
    scf.yield %last : tensor<1024xi32>
  }
  %yp = tile.addptr %ys, %chosen : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  tile.store %yp, %zero : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
}

// -----

// Rows and columns of a free operand that comes from a loaded one: the small tile is loaded as the
// rows of the large one lie.
// CHECK-LABEL: @gather
// CHECK: %[[I:.*]] = tile.load {{.*}} -> tensor<64xi32,
// CHECK-NOT: convert_layout
// CHECK: tile.expand_dims %[[I]], 1
// CHECK: tile.load {{.*}} -> tensor<64x128xf16, #[[T:.*]]>
// CHECK-NOT: convert_layout
// CHECK: tile.store {{.*}} tensor<64x128xf16, #[[T]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @gather(%idx: !tile.ptr<i32> {tile.divisibility = 16 : i32}, %x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c128 = arith.constant dense<128> : tensor<64x1xi32>
  %r = tile.arange 0, 64 : tensor<64xi32>
  %c = tile.arange 0, 128 : tensor<128xi32>
  %c1 = tile.expand_dims %c, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %cb = tile.broadcast %c1 : tensor<1x128xi32> -> tensor<64x128xi32>
  %is = tile.splat %idx : tensor<64x!tile.ptr<i32>>
  %ip = tile.addptr %is, %r : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %i = tile.load %ip : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %i1 = tile.expand_dims %i, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %rows = arith.muli %i1, %c128 : tensor<64x1xi32>
  %rowsb = tile.broadcast %rows : tensor<64x1xi32> -> tensor<64x128xi32>
  %offs = arith.addi %rowsb, %cb : tensor<64x128xi32>
  %xs = tile.splat %x : tensor<64x128x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %offs : tensor<64x128x!tile.ptr<f16>>, tensor<64x128xi32>
  %v = tile.load %xp : tensor<64x128x!tile.ptr<f16>> -> tensor<64x128xf16>
  %r1 = tile.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %to = arith.muli %r1, %c128 : tensor<64x1xi32>
  %tob = tile.broadcast %to : tensor<64x1xi32> -> tensor<64x128xi32>
  %tos = arith.addi %tob, %cb : tensor<64x128xi32>
  %ys = tile.splat %y : tensor<64x128x!tile.ptr<f16>>
  %yp = tile.addptr %ys, %tos : tensor<64x128x!tile.ptr<f16>>, tensor<64x128xi32>
  tile.store %yp, %v : tensor<64x128x!tile.ptr<f16>>, tensor<64x128xf16>
  return
}
}

// -----

// A cast to wider elements is made after the conversion, not before.
// CHECK-LABEL: @widen_after_converting
// CHECK: %[[V:.*]] = tile.load
// CHECK: %[[C:.*]] = tile.convert_layout %[[V]] : tensor<64x64xf16,
// CHECK: arith.extf %[[C]]
// CHECK-NOT: convert_layout
// CHECK: tile.store
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @widen_after_converting(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c64 = arith.constant dense<64> : tensor<64x1xi32>
  %c64t = arith.constant dense<64> : tensor<1x64xi32>
  %r = tile.arange 0, 64 : tensor<64xi32>
  %i = tile.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %j = tile.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %is = arith.muli %i, %c64 : tensor<64x1xi32>
  %isb = tile.broadcast %is : tensor<64x1xi32> -> tensor<64x64xi32>
  %jb = tile.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>
  %from = arith.addi %isb, %jb : tensor<64x64xi32>
  %js = arith.muli %j, %c64t : tensor<1x64xi32>
  %jsb = tile.broadcast %js : tensor<1x64xi32> -> tensor<64x64xi32>
  %ib = tile.broadcast %i : tensor<64x1xi32> -> tensor<64x64xi32>
  %to = arith.addi %jsb, %ib : tensor<64x64xi32>
  %xs = tile.splat %x : tensor<64x64x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %from : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %v = tile.load %xp : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
  %w = arith.extf %v : tensor<64x64xf16> to tensor<64x64xf32>
  %ys = tile.splat %y : tensor<64x64x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %to : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %yp, %w : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
}

// -----

// What a `while` carries has one layout; transposed, joined, split and scanned tiles follow theirs.
// CHECK-DAG: #[[L:.*]] = #tile.layout<[256], reg = {{\[\[}}1]], lane = {{\[\[}}2]
// CHECK-DAG: #[[PAIR:.*]] = #tile.layout<[256, 2], reg = {{\[\[}}0, 1], [1, 0]], lane = {{\[\[}}2, 0]
// CHECK-DAG: #[[T:.*]] = #tile.layout<[2, 256], reg = {{\[\[}}1, 0], [0, 1]], lane = {{\[\[}}0, 2]
// CHECK-LABEL: @shapes
// CHECK: scf.while {{.*}} : (tensor<256xf32, #[[L]]>, i32) -> (tensor<256xf32, #[[L]]>, i32)
// CHECK: tile.join {{.*}} tensor<256xf32, #[[L]]> -> tensor<256x2xf32, #[[PAIR]]>
// CHECK: tile.trans {{.*}} tensor<256x2xf32, #[[PAIR]]> -> tensor<2x256xf32, #[[T]]>
// CHECK: tile.scan
// CHECK: (tensor<2x256xf32, #[[T]]>) -> tensor<2x256xf32, #[[T]]>
// CHECK: tile.split {{.*}} tensor<256x2xf32, #[[PAIR]]> -> tensor<256xf32, #[[L]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @shapes(%x: !tile.ptr<f32> {tile.divisibility = 8 : i32}, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant dense<1.0> : tensor<256xf32>
  %r = tile.arange 0, 256 : tensor<256xi32>
  %xs = tile.splat %x : tensor<256x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %v:2 = scf.while (%t = %one, %i = %c0) : (tensor<256xf32>, i32) -> (tensor<256xf32>, i32) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %t, %i : tensor<256xf32>, i32
  } do {
  ^bb0(%t: tensor<256xf32>, %i: i32):
    %l = tile.load %xp : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    %p = arith.mulf %t, %l : tensor<256xf32>
    %j = arith.addi %i, %c1 : i32
    scf.yield %p, %j : tensor<256xf32>, i32
  }
  %w = tile.load %xp : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  %pair = tile.join %w, %v#0 : tensor<256xf32> -> tensor<256x2xf32>
  %tr = tile.trans %pair [1, 0] : tensor<256x2xf32> -> tensor<2x256xf32>
  %sc = tile.scan(%tr), 1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<2x256xf32>) -> tensor<2x256xf32>
  %back = tile.trans %sc [1, 0] : tensor<2x256xf32> -> tensor<256x2xf32>
  %lo, %hi = tile.split %back : tensor<256x2xf32> -> tensor<256xf32>
  %sum = arith.addf %lo, %hi : tensor<256xf32>
  tile.store %xp, %sum : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}
}

// -----

// A loop gives what its branch gives: the number as well as the tile, in another order.
// CHECK-LABEL: @number_and_tile
// CHECK: scf.for
// CHECK: %[[IF:.*]]:2 = scf.if {{.*}} -> (f32, tensor<256xf32, {{.*}}>)
// CHECK: scf.yield %[[IF]]#1, %[[IF]]#0 : tensor<256xf32, {{.*}}>, f32
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @number_and_tile(%x: !tile.ptr<f32> {tile.divisibility = 8 : i32}, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<256xf32>
  %v:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %one, %best = %zero) -> (tensor<256xf32>, f32) : i32 {
    %some = arith.cmpi slt, %i, %c1 : i32
    %b:2 = scf.if %some -> (f32, tensor<256xf32>) {
      %p = tile.addptr %x, %i : !tile.ptr<f32>, i32
      %l = tile.load %p : !tile.ptr<f32> -> f32
      %s = tile.splat %l : tensor<256xf32>
      %u = arith.addf %t, %s : tensor<256xf32>
      scf.yield %l, %u : f32, tensor<256xf32>
    } else {
      scf.yield %best, %t : f32, tensor<256xf32>
    }
    scf.yield %b#1, %b#0 : tensor<256xf32>, f32
  }
  %more = tile.splat %v#1 : tensor<256xf32>
  %sum = arith.addf %v#0, %more : tensor<256xf32>
  %r = tile.arange 0, 256 : tensor<256xi32>
  %xs = tile.splat %x : tensor<256x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  tile.store %xp, %sum : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}
}

// -----

// The result of a loop is converted before a widening cast that was rewritten earlier.
// CHECK-LABEL: @widened_result
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: tile.convert_layout %[[SUM]] : tensor<64x32xf16, {{.*}}> -> tensor<64x32xf16
// CHECK: arith.extf {{.*}} to tensor<64x32xf32
// CHECK: tile.store
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
func.func @widened_result(%x: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %y: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf16>
  %row = arith.constant dense<32> : tensor<64x1xi32>
  %column = arith.constant dense<64> : tensor<1x32xi32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %j = tile.arange 0, 32 : tensor<32xi32>
  %ic = tile.expand_dims %i, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %jr = tile.expand_dims %j, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %start = arith.muli %ic, %row : tensor<64x1xi32>
  %starts = tile.broadcast %start : tensor<64x1xi32> -> tensor<64x32xi32>
  %columns = tile.broadcast %jr : tensor<1x32xi32> -> tensor<64x32xi32>
  %offsets = arith.addi %starts, %columns : tensor<64x32xi32>
  %down = arith.muli %jr, %column : tensor<1x32xi32>
  %downs = tile.broadcast %down : tensor<1x32xi32> -> tensor<64x32xi32>
  %rows = tile.broadcast %ic : tensor<64x1xi32> -> tensor<64x32xi32>
  %transposed = arith.addi %downs, %rows : tensor<64x32xi32>
  %xs = tile.splat %x : tensor<64x32x!tile.ptr<f16>>
  %px = tile.addptr %xs, %transposed : tensor<64x32x!tile.ptr<f16>>, tensor<64x32xi32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf16>) : i32 {
    %v = tile.load %px : tensor<64x32x!tile.ptr<f16>> -> tensor<64x32xf16>
    %more = arith.addf %acc, %v : tensor<64x32xf16>
    scf.yield %more : tensor<64x32xf16>
  }
  %wide = arith.extf %sum : tensor<64x32xf16> to tensor<64x32xf32>
  %ys = tile.splat %y : tensor<64x32x!tile.ptr<f32>>
  %py = tile.addptr %ys, %offsets : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xi32>
  tile.store %py, %wide : tensor<64x32x!tile.ptr<f32>>, tensor<64x32xf32>
  return
}
}
