// What does not take part in the fault goes: other functions, and operations before and after.
// RUN: pantile-reduce %s -drop-operations=test=%S/Inputs/divides.sh | FileCheck %s
// RUN: not pantile-reduce %S/Inputs/sound.mlir -drop-operations=test=%S/Inputs/divides.sh 2>&1 | FileCheck %s --check-prefix=SOUND

// CHECK-NOT: @unused
// CHECK: func.func @faulty(%[[A:.*]]: i32, %[[B:.*]]: i32, %{{.*}}: index) -> i32
// CHECK-NEXT: %[[D:.*]] = arith.divsi %[[A]], %[[B]]
// CHECK-NEXT: return
// SOUND: error: the script finds no fault in the whole module
func.func @unused(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func @faulty(%a: i32, %b: i32, %n: index) -> i32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c = arith.addi %a, %b : i32
  %d = arith.divsi %c, %b : i32
  %e = scf.for %i = %zero to %n step %one iter_args(%x = %d) -> i32 {
    %y = arith.muli %x, %c : i32
    scf.yield %y : i32
  }
  return %e : i32
}
