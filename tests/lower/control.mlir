// Loops are rotated; values carried through are one phi per register. A counter that starts at or above
// zero is compared after its step, without a sign.
// RUN: pantile-lower %s | FileCheck %s

#layout = #tile.layout<[256], reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]]>
module attributes {tile.target = "sm_80", tile.num_warps = 4 : i32} {
  // CHECK-LABEL: define ptx_kernel void @sum
  // CHECK: %[[FIRST:.*]] = icmp slt i32 0, %1
  // CHECK: br i1 %[[FIRST]], label %loop, label %done
  // CHECK: loop:
  // CHECK-NEXT: %i = phi i32 [ 0, %body ], [ %[[NEXT:.*]], %loop ]
  // CHECK-NEXT: phi float [ 0.000000e+00, %body ]
  // CHECK-NEXT: phi float [ 0.000000e+00, %body ]
  // CHECK: %[[NEXT]] = add nuw i32 %i, 256
  // CHECK: %[[MORE:.*]] = icmp ult i32 %[[NEXT]], %1
  // CHECK: br i1 %[[MORE]], label %loop, label %done
  // CHECK: done:
  // CHECK-COUNT-2: phi float
  func.func @sum(%x: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %c256 = arith.constant 256 : i32
    %zero = arith.constant dense<0.0> : tensor<256xf32, #layout>
    %i = tile.arange 0, 256 : tensor<256xi32, #layout>
    %p = tile.splat %x : tensor<256x!tile.ptr<f32>, #layout>
    %r = scf.for %k = %c0 to %n step %c256 iter_args(%acc = %zero) -> (tensor<256xf32, #layout>) : i32 {
      %ks = tile.splat %k : tensor<256xi32, #layout>
      %o = arith.addi %i, %ks : tensor<256xi32, #layout>
      %q = tile.addptr %p, %o : tensor<256x!tile.ptr<f32>, #layout>, tensor<256xi32, #layout>
      %v = tile.load %q : tensor<256x!tile.ptr<f32>, #layout> -> tensor<256xf32, #layout>
      %s = arith.addf %acc, %v : tensor<256xf32, #layout>
      scf.yield %s : tensor<256xf32, #layout>
    }
    %w = tile.addptr %p, %i : tensor<256x!tile.ptr<f32>, #layout>, tensor<256xi32, #layout>
    tile.store %w, %r : tensor<256x!tile.ptr<f32>, #layout>, tensor<256xf32, #layout>
    return
  }

  // Below zero the step is subtracted from the upper bound.
  // CHECK-LABEL: define ptx_kernel void @from_below
  // CHECK: %[[LESS:.*]] = sub i32 %1, 256
  // CHECK: %last = select i1 %{{.*}}, i32 %[[LESS]], i32 -512
  // CHECK: icmp slt i32 %i, %last
  func.func @from_below(%x: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
    %lower = arith.constant -512 : i32
    %c0 = arith.constant 0 : i32
    %c256 = arith.constant 256 : i32
    %r = scf.for %k = %lower to %n step %c256 iter_args(%acc = %c0) -> (i32) : i32 {
      %s = arith.xori %acc, %k : i32
      scf.yield %s : i32
    }
    tile.store %x, %r : !tile.ptr<i32>, i32
    return
  }

  // CHECK-LABEL: define ptx_kernel void @choose(ptr addrspace(1) %0, i8 %1, i32 %2
  // CHECK: %[[FLAG:.*]] = trunc i8 %1 to i1
  // CHECK: br i1 %[[FLAG]], label %then, label %else
  // CHECK: endif:
  // CHECK-NEXT: phi i32 [ %{{.*}}, %then ], [ %2, %else ]
  // CHECK: while:
  // CHECK: br i1 {{.*}}, label %do, label %done
  // CHECK: do:
  // CHECK: br label %while
  func.func @choose(%x: !tile.ptr<i32>, %flag: i1, %n: i32) attributes {tile.kernel} {
    %one = arith.constant 1 : i32
    %r = scf.if %flag -> (i32) {
      %m = arith.addi %n, %one : i32
      scf.yield %m : i32
    } else {
      scf.yield %n : i32
    }
    %w = scf.while (%k = %r) : (i32) -> i32 {
      %more = arith.cmpi sgt, %k, %one : i32
      scf.condition(%more) %k : i32
    } do {
    ^bb0(%k: i32):
      %half = arith.shrsi %k, %one : i32
      scf.yield %half : i32
    }
    tile.store %x, %w : !tile.ptr<i32>, i32
    return
  }

  // The assembler must not unroll what may pass the end of the integers.
  // CHECK-LABEL: define ptx_kernel void @wide
  // CHECK: br i1 %{{.*}}, label %loop, label %done, !dbg !{{[0-9]+}}, !llvm.loop ![[LOOP:[0-9]+]]
  // CHECK: ![[LOOP]] = distinct !{![[LOOP]], ![[ROLLED:[0-9]+]]}
  // CHECK: ![[ROLLED]] = !{!"llvm.loop.unroll.disable"}
  func.func @wide(%x: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i32
    %step = arith.constant 1073741824 : i32
    scf.for %k = %c0 to %n step %step : i32 {
      tile.store %x, %k : !tile.ptr<i32>, i32
    }
    return
  }
}
