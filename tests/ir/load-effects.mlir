// RUN: pantile-opt %s -cse | FileCheck %s

// CHECK-LABEL: @plain_loads_are_one
// CHECK-COUNT-1: tile.load
// CHECK-NOT: tile.load
func.func @plain_loads_are_one(%p: !tile.ptr<f32>) -> (f32, f32) {
  %x = tile.load %p : !tile.ptr<f32> -> f32
  %y = tile.load %p : !tile.ptr<f32> -> f32
  return %x, %y : f32, f32
}

// CHECK-LABEL: @volatile_loads_are_two
// CHECK-COUNT-2: tile.load
func.func @volatile_loads_are_two(%p: !tile.ptr<f32>) -> (f32, f32) {
  %x = tile.load %p {isVolatile} : !tile.ptr<f32> -> f32
  %y = tile.load %p {isVolatile} : !tile.ptr<f32> -> f32
  return %x, %y : f32, f32
}
