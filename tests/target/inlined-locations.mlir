// What was inlined keeps the lines of its own file.
// RUN: pantile-lower --ptx %s | FileCheck %s

// CHECK: .loc [[MAIN:[0-9]+]] 3 5
// CHECK: .loc [[LIB:[0-9]+]] 12 7
// CHECK-NEXT: add.f32
// CHECK: .loc [[MAIN]] 5 5
// CHECK-DAG: .file [[MAIN]] "/k/main.py"
// CHECK-DAG: .file [[LIB]] "/k/lib.py"
module attributes {tile.target = "sm_90a", tile.num_warps = 1 : i32} {
  func.func @f(%x: !tile.ptr<f32>, %a: f32) attributes {tile.kernel} {
    %m = arith.addf %a, %a : f32 loc(callsite("/k/lib.py":12:7 at "/k/main.py":4:9))
    tile.store %x, %m : !tile.ptr<f32>, f32 loc("/k/main.py":5:5)
    return loc("/k/main.py":6:5)
  } loc("/k/main.py":3:5)
}
