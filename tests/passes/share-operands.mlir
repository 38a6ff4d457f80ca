// An operand that two loops read stays in one buffer, and so does what two MMAs of a loop read, loaded or computed. Threads
// that need it in another layout read it there, too.
// RUN: pantile-opt %s -nv-share-operands | FileCheck %s
#acc = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!stage = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
#across = #tile.layout<[64, 64], reg = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], lane = [[32, 0], [0, 1], [0, 2], [0, 4], [0, 8]], warp = [[0, 16], [0, 32]]>
#rows = #tile.layout<[64, 64], reg = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#renamed = #tile.layout<[64, 64], reg = [[8, 0], [0, 1], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!narrow = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 64>>
!turned = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[0, 1], 128>>
!left = tensor<64x64xf16, #acc>
!tile = tensor<64x64xf32, #acc>
module attributes {tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
  // CHECK-LABEL: @two_loops
  // CHECK: %[[QUERY:.*]] = nv.alloc
  // CHECK: nv.local_store %{{.*}}, %[[QUERY]]
  // CHECK: nv.wgmma %[[QUERY]]
  // CHECK-NOT: nv.local_store
  // CHECK-NOT: nv.dealloc
  // CHECK: nv.wgmma %[[QUERY]]
  // CHECK: nv.dealloc %[[QUERY]]
  // CHECK-NOT: nv.dealloc
  func.func @two_loops(%tile: !left, %key: !stage, %zero: !tile, %middle: i32, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %query = nv.alloc : !stage
    nv.local_store %tile, %query : !left, !stage
    nv.fence_async
    %first = scf.for %i = %c0 to %middle step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %sum = nv.wgmma %query, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    }
    nv.dealloc %query : !stage
    %again = nv.alloc : !stage
    nv.local_store %tile, %again : !left, !stage
    nv.fence_async
    %second = scf.for %i = %middle to %n step %c1 iter_args(%acc = %first) -> (!tile) : i32 {
      %sum = nv.wgmma %again, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    }
    nv.dealloc %again : !stage
    return %second : !tile
  }

  // A buffer that lives longer would take the place of one between the loops.
  // CHECK-LABEL: @shared_memory_in_between
  // CHECK-COUNT-3: nv.local_store
  func.func @shared_memory_in_between(%tile: !left, %key: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %query = nv.alloc : !stage
    nv.local_store %tile, %query : !left, !stage
    nv.fence_async
    %first = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
      %sum = nv.wgmma %query, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    }
    nv.dealloc %query : !stage
    scf.for %i = %c0 to %n step %c1 : i32 {
      %other = nv.alloc : !stage
      nv.local_store %tile, %other : !left, !stage
      nv.dealloc %other : !stage
    }
    %again = nv.alloc : !stage
    nv.local_store %tile, %again : !left, !stage
    nv.fence_async
    %second = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %first) -> (!tile) : i32 {
      %sum = nv.wgmma %again, %key, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %next = nv.wgmma_wait %sum : (!tile) -> !tile
      scf.yield %next : !tile
    }
    nv.dealloc %again : !stage
    return %second : !tile
  }

  // The second MMA sees the tile transposed.
  // CHECK-LABEL: @read_twice
  // CHECK: scf.for
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %{{.*}}, %[[X]]
  // CHECK-NOT: nv.local_store
  // CHECK: nv.wgmma %{{.*}}, %[[X]]
  // CHECK: %[[T:.*]] = nv.buffer_trans %[[X]]
  // CHECK: nv.wgmma %{{.*}}, %[[T]]
  // CHECK: nv.dealloc %[[X]]
  func.func @read_twice(%from: tensor<64x64x!tile.ptr<f16>, #acc>, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = tile.load %from : tensor<64x64x!tile.ptr<f16>, #acc> -> !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %s mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %again = nv.alloc : !stage
      nv.local_store %tile, %again : !left, !stage
      %transposed = nv.buffer_trans %again : !stage -> !turned
      nv.fence_async
      %second = nv.wgmma %left, %transposed, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !turned, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.dealloc %again : !stage
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // A computed tile is stored once, too.
  // CHECK-LABEL: @computed
  // CHECK: scf.for
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %{{.*}}, %[[X]]
  // CHECK-NOT: nv.local_store
  // CHECK: nv.wgmma %{{.*}}, %[[X]]
  // CHECK-NOT: nv.dealloc
  // CHECK: nv.wgmma %{{.*}}, %[[X]]
  // CHECK: nv.dealloc %[[X]]
  // CHECK-NOT: nv.dealloc
  func.func @computed(%other: !left, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %again = nv.alloc : !stage
      nv.local_store %tile, %again : !left, !stage
      nv.fence_async
      %second = nv.wgmma %left, %again, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.dealloc %again : !stage
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // Another swizzle has other bytes.
  // CHECK-LABEL: @another_type
  // CHECK-COUNT-2: nv.local_store %{{.*}}
  // CHECK-NOT: nv.local_store
  func.func @another_type(%other: !left, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %again = nv.alloc : !narrow
      nv.local_store %tile, %again : !left, !narrow
      nv.fence_async
      %second = nv.wgmma %left, %again, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !narrow, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.dealloc %again : !narrow
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // Another buffer has the place of the first between the two.
  // CHECK-LABEL: @another_buffer_in_between
  // CHECK-COUNT-3: nv.local_store %{{.*}}
  func.func @another_buffer_in_between(%other: !left, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %more = nv.alloc : !stage
      nv.local_store %other, %more : !left, !stage
      nv.dealloc %more : !stage
      %again = nv.alloc : !stage
      nv.local_store %tile, %again : !left, !stage
      nv.fence_async
      %second = nv.wgmma %left, %again, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.dealloc %again : !stage
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // A buffer next to the second is there anyway.
  // CHECK-LABEL: @another_operand_in_between
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %{{.*}}, %[[X]]
  // CHECK: %[[Y:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %{{.*}}, %[[Y]]
  // CHECK-NOT: nv.local_store
  // CHECK: nv.wgmma %[[Y]], %[[X]]
  func.func @another_operand_in_between(%other: !left, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %more = nv.alloc : !stage
      nv.local_store %other, %more : !left, !stage
      %again = nv.alloc : !stage
      nv.local_store %tile, %again : !left, !stage
      nv.fence_async
      %second = nv.wgmma %more, %again, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.dealloc %again : !stage
      nv.dealloc %more : !stage
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // So has the scratch of a conversion.
  // CHECK-LABEL: @scratch_in_between
  // CHECK-COUNT-2: nv.local_store %{{.*}}
  // CHECK-NOT: nv.local_store
  func.func @scratch_in_between(%other: !left, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %turn = tile.convert_layout %other : !left -> tensor<64x64xf16, #across>
      %again = nv.alloc : !stage
      nv.local_store %tile, %again : !left, !stage
      nv.fence_async
      %second = nv.wgmma %left, %again, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.dealloc %again : !stage
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // Something else is stored into the second buffer later.
  // CHECK-LABEL: @stored_again
  // CHECK-COUNT-3: nv.local_store %{{.*}}
  func.func @stored_again(%other: !left, %left: !stage, %zero: !tile, %n: i32) -> (!tile, !tile) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %t = %zero) -> (!tile, !tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %again = nv.alloc : !stage
      nv.local_store %tile, %again : !left, !stage
      nv.fence_async
      %second = nv.wgmma %left, %again, %t mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %ready = nv.wgmma_wait %second : (!tile) -> !tile
      nv.local_store %other, %again : !left, !stage
      nv.dealloc %again : !stage
      scf.yield %done, %ready : !tile, !tile
    }
    return %sums#0, %sums#1 : !tile, !tile
  }

  // Threads that store the tile read it from the buffer, for which that is filled earlier.
  // CHECK-LABEL: @stored_to_global_memory
  // CHECK: scf.for
  // CHECK-NEXT: %[[TILE:.*]] = arith.truncf
  // CHECK-NEXT: %[[X:.*]] = nv.alloc
  // CHECK-NEXT: nv.local_store %[[TILE]], %[[X]]
  // CHECK-NEXT: nv.fence_async
  // CHECK-NEXT: %[[ROWS:.*]] = nv.local_load %[[X]]
  // CHECK-NEXT: tile.store %{{.*}}, %[[ROWS]]
  // CHECK-NEXT: nv.wgmma %{{.*}}, %[[X]]
  func.func @stored_to_global_memory(%to: tensor<64x64x!tile.ptr<f16>, #rows>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #rows>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #rows>, tensor<64x64xf16, #rows>
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // The fence behind a store that moves up is for the other operand's store, too.
  // CHECK-LABEL: @two_stores_one_fence
  // CHECK: scf.for
  // CHECK: nv.local_store %[[TILE:.*]], %[[RIGHT:.*]] :
  // CHECK: nv.fence_async
  // CHECK: nv.local_load %[[RIGHT]]
  // CHECK: nv.local_store %arg1, %[[LEFT:.*]] :
  // CHECK: nv.fence_async
  // CHECK: nv.wgmma %[[LEFT]], %[[RIGHT]]
  func.func @two_stores_one_fence(%to: tensor<64x64x!tile.ptr<f16>, #rows>, %other: !left, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #rows>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #rows>, tensor<64x64xf16, #rows>
      %left = nv.alloc : !stage
      nv.local_store %other, %left : !left, !stage
      %right = nv.alloc : !stage
      nv.local_store %tile, %right : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %right, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %right : !stage
      nv.dealloc %left : !stage
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // Or freed later.
  // CHECK-LABEL: @stored_after_the_dot
  // CHECK: %[[X:.*]] = nv.alloc
  // CHECK: nv.wgmma_wait
  // CHECK-NEXT: %[[ROWS:.*]] = nv.local_load %[[X]]
  // CHECK-NEXT: nv.dealloc %[[X]]
  // CHECK-NEXT: tile.store %{{.*}}, %[[ROWS]]
  func.func @stored_after_the_dot(%to: tensor<64x64x!tile.ptr<f16>, #rows>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #rows>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #rows>, tensor<64x64xf16, #rows>
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // Another buffer has the place of the scratch afterwards.
  // CHECK-LABEL: @buffer_after_the_conversion
  // CHECK: tile.convert_layout
  func.func @buffer_after_the_conversion(%to: tensor<64x64x!tile.ptr<f16>, #rows>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #rows>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #rows>, tensor<64x64xf16, #rows>
      %more = nv.alloc : !stage
      nv.local_store %other, %more : !left, !stage
      nv.dealloc %more : !stage
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // Or after the dot.
  // CHECK-LABEL: @buffer_before_the_conversion
  // CHECK: tile.convert_layout
  func.func @buffer_before_the_conversion(%to: tensor<64x64x!tile.ptr<f16>, #rows>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      %more = nv.alloc : !stage
      nv.local_store %other, %more : !left, !stage
      nv.dealloc %more : !stage
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #rows>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #rows>, tensor<64x64xf16, #rows>
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // A conversion that needs no scratch stays.
  // CHECK-LABEL: @in_registers
  // CHECK: tile.convert_layout
  func.func @in_registers(%to: tensor<64x64x!tile.ptr<f16>, #renamed>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #renamed>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #renamed>, tensor<64x64xf16, #renamed>
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // So does one whose elements the buffer does not have next to each other.
  // CHECK-LABEL: @along_columns
  // CHECK: tile.convert_layout
  func.func @along_columns(%to: tensor<64x64x!tile.ptr<f16>, #across>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!tile) : i32 {
      %tile = arith.truncf %s : !tile to !left
      %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #across>
      tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #across>, tensor<64x64xf16, #across>
      %plain = nv.alloc : !stage
      nv.local_store %tile, %plain : !left, !stage
      nv.fence_async
      %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
      %done = nv.wgmma_wait %first : (!tile) -> !tile
      nv.dealloc %plain : !stage
      scf.yield %done : !tile
    }
    return %sum : !tile
  }

  // So does one outside of loops: TMA may store what it converts.
  // CHECK-LABEL: @not_in_a_loop
  // CHECK: tile.convert_layout
  func.func @not_in_a_loop(%to: tensor<64x64x!tile.ptr<f16>, #rows>, %other: !left, %left: !stage, %zero: !tile, %n: i32) -> !tile {
    %tile = arith.truncf %zero : !tile to !left
    %rows = tile.convert_layout %tile : !left -> tensor<64x64xf16, #rows>
    tile.store %to, %rows : tensor<64x64x!tile.ptr<f16>, #rows>, tensor<64x64xf16, #rows>
    %plain = nv.alloc : !stage
    nv.local_store %tile, %plain : !left, !stage
    nv.fence_async
    %first = nv.wgmma %left, %plain, %zero mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : !stage, !stage, !tile
    %done = nv.wgmma_wait %first : (!tile) -> !tile
    nv.dealloc %plain : !stage
    return %done : !tile
  }
}
