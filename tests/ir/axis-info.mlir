// Contiguity, divisibility and constancy of each operation follow from those of its operands.
// RUN: pantile-opt %s -test-axis-info -verify-diagnostics -o /dev/null

func.func @arange_and_splat(%x: i32 {tile.divisibility = 16 : i32}, %y: i32) {
  // expected-remark @+1 {{contiguity = [128], divisibility = [1073741824], constancy = [1]}}
  %r = tile.arange 0, 128 : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [64], divisibility = [64], constancy = [1]}}
  %r64 = tile.arange 64, 128 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [16], constancy = [128]}}
  %xs = tile.splat %x : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [128], divisibility = [16], constancy = [1]}}
  %sum = arith.addi %xs, %r : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [128], divisibility = [16], constancy = [1]}}
  %other = arith.addi %r, %xs : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %down = arith.subi %xs, %r : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [16], constancy = [1]}}
  %scaled = arith.muli %r, %xs : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [128]}}
  %ys = tile.splat %y : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [128], divisibility = [1], constancy = [1]}}
  %off = arith.addi %ys, %r : tensor<128xi32>
  return
}

func.func @wrapping_around(%m: i32 {tile.divisibility = 16 : i32}) {
  // expected-remark @+1 {{constant = 64}}
  %c64 = arith.constant 64 : i32
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %pid = tile.program_id 0
  // expected-remark @+1 {{contiguity = [1], divisibility = [64], constancy = [1]}}
  %start = arith.muli %pid, %c64 : i32
  // expected-remark @+1 {{contiguity = [64]}}
  %r = tile.arange 0, 64 : tensor<64xi32>
  // expected-remark @+1 {{constancy = [64]}}
  %s = tile.splat %start : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [64], divisibility = [64], constancy = [1]}}
  %offs = arith.addi %s, %r : tensor<64xi32>
  // expected-remark @+1 {{constancy = [64]}}
  %ms = tile.splat %m : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [16], divisibility = [16], constancy = [1]}}
  %wrapped = arith.remsi %offs, %ms : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [16]}}
  %mask = arith.cmpi slt, %offs, %ms : tensor<64xi32>
  // x <= m changes right after a multiple of 16.
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %closed = arith.cmpi sle, %offs, %ms : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [16]}}
  %flipped = arith.cmpi sgt, %ms, %offs : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [16]}}
  %both = arith.andi %mask, %flipped : tensor<64xi1>
  // expected-remark @+1 {{constant = 8}}
  %c8 = arith.constant dense<8> : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [8]}}
  %group = arith.divsi %offs, %c8 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [8], divisibility = [8], constancy = [1]}}
  %inside = arith.remsi %offs, %c8 : tensor<64xi32>
  // expected-remark @+1 {{constant = 3}}
  %c3 = arith.constant dense<3> : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [8], constancy = [1]}}
  %shifted = arith.shli %offs, %c3 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [8]}}
  %back = arith.shrsi %offs, %c3 : tensor<64xi32>
  // expected-remark @+1 {{constant = 7}}
  %c7 = arith.constant dense<7> : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [8], divisibility = [8], constancy = [1]}}
  %low = arith.andi %offs, %c7 : tensor<64xi32>
  return
}

// A quotient of numbers that may be negative is not constant in a group of neighbours: -16 / 16 is not -15 / 16.
func.func @a_quotient_may_be_negative(%x: i32 {tile.divisibility = 16 : i32}) {
  // expected-remark @+1 {{contiguity = [16]}}
  %r = tile.arange 0, 16 : tensor<16xi32>
  // expected-remark @+1 {{constancy = [16]}}
  %xs = tile.splat %x : tensor<16xi32>
  // expected-remark @+1 {{contiguity = [16], divisibility = [16], constancy = [1]}}
  %offs = arith.addi %xs, %r : tensor<16xi32>
  // expected-remark @+1 {{constant = 16}}
  %c16 = arith.constant dense<16> : tensor<16xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %q = arith.divsi %offs, %c16 : tensor<16xi32>
  return
}

func.func @rows_of_a_matrix(%p: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %stride: i32 {tile.divisibility = 16 : i32}, %odd: i32) {
  // expected-remark @+1 {{contiguity = [32]}}
  %r = tile.arange 0, 32 : tensor<32xi32>
  // expected-remark @+1 {{contiguity = [32, 1], divisibility = [1073741824, 1], constancy = [1, 1]}}
  %i = tile.expand_dims %r, 1 : tensor<32xi32> -> tensor<32x1xi32>
  // expected-remark @+1 {{contiguity = [1, 32], divisibility = [1, 1073741824], constancy = [1, 1]}}
  %j = tile.expand_dims %r, 0 : tensor<32xi32> -> tensor<1x32xi32>
  // expected-remark @+1 {{constancy = [32, 1]}}
  %s = tile.splat %stride : tensor<32x1xi32>
  // expected-remark @+1 {{contiguity = [1, 1], divisibility = [16, 16], constancy = [1, 1]}}
  %is = arith.muli %i, %s : tensor<32x1xi32>
  // expected-remark @+1 {{contiguity = [1, 1], divisibility = [16, 16], constancy = [1, 32]}}
  %isb = tile.broadcast %is : tensor<32x1xi32> -> tensor<32x32xi32>
  // expected-remark @+1 {{contiguity = [1, 32], divisibility = [1, 1073741824], constancy = [32, 1]}}
  %jb = tile.broadcast %j : tensor<1x32xi32> -> tensor<32x32xi32>
  // expected-remark @+1 {{contiguity = [1, 32], divisibility = [1, 16], constancy = [1, 1]}}
  %offs = arith.addi %isb, %jb : tensor<32x32xi32>
  // expected-remark @+1 {{contiguity = [1, 1], divisibility = [16, 16], constancy = [32, 32]}}
  %ps = tile.splat %p : tensor<32x32x!tile.ptr<f16>>
  // expected-remark @+1 {{contiguity = [1, 32], divisibility = [2, 16], constancy = [1, 1]}}
  %ptr = tile.addptr %ps, %offs : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
  // expected-remark @+1 {{elements per access: 1 x 8}}
  %v = tile.load %ptr : tensor<32x32x!tile.ptr<f16>> -> tensor<32x32xf16>
  // expected-remark @+1 {{contiguity = [32, 1], divisibility = [16, 1], constancy = [1, 1]}}
  %to = tile.trans %offs [1, 0] : tensor<32x32xi32> -> tensor<32x32xi32>
  // expected-remark @+1 {{contiguity = [32, 1], divisibility = [16, 2], constancy = [1, 1]}}
  %tp = tile.addptr %ps, %to : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
  // expected-remark @+1 {{elements per access: 8 x 1}}
  tile.store %tp, %v : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xf16>
  // expected-remark @+1 {{constancy = [32]}}
  %odds = tile.splat %odd : tensor<32xi32>
  // expected-remark @+1 {{constancy = [1]}}
  %m = arith.cmpi slt, %r, %odds : tensor<32xi32>
  // expected-remark @+1 {{constancy = [1, 1]}}
  %m2 = tile.expand_dims %m, 0 : tensor<32xi1> -> tensor<1x32xi1>
  // expected-remark @+1 {{constancy = [32, 1]}}
  %mb = tile.broadcast %m2 : tensor<1x32xi1> -> tensor<32x32xi1>
  // A mask that may change at any column leaves single elements.
  // expected-remark @+1 {{elements per access: 1 x 1}}
  tile.store %ptr, %v mask %mb : tensor<32x32xi1> : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xf16>
  return
}

func.func @loops_settle(%p: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %n: i32, %flag: i1) {
  // expected-remark @+1 {{constant = 0}}
  %c0 = arith.constant 0 : i32
  // expected-remark @+1 {{constant = 32}}
  %c32 = arith.constant 32 : i32
  // expected-remark @+1 {{contiguity = [32]}}
  %r = tile.arange 0, 32 : tensor<32xi32>
  // expected-remark @+1 {{constant = 2}}
  %c2 = arith.constant dense<2> : tensor<32xi32>
  // expected-remark @+1 {{constancy = [32]}}
  %ps = tile.splat %p : tensor<32x!tile.ptr<f32>>
  // The first carried offset advances by 2: groups of 32 neighbours start at even numbers only.
  // expected-remark @+2 {{contiguity = [32], divisibility = [2], constancy = [1]}}
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %res:2 = scf.for %i = %c0 to %n step %c32 iter_args(%offs = %r, %k = %c0) -> (tensor<32xi32>, i32) : i32 {
    // expected-remark @+1 {{contiguity = [1], divisibility = [32], constancy = [32]}}
    %is = tile.splat %i : tensor<32xi32>
    // expected-remark @+1 {{contiguity = [32], divisibility = [32], constancy = [1]}}
    %cols = arith.addi %is, %r : tensor<32xi32>
    // expected-remark @+1 {{contiguity = [32], divisibility = [8], constancy = [1]}}
    %q = tile.addptr %ps, %offs : tensor<32x!tile.ptr<f32>>, tensor<32xi32>
    // expected-remark @+1 {{elements per access: 2}}
    %v = tile.load %q : tensor<32x!tile.ptr<f32>> -> tensor<32xf32>
    // expected-remark @+1 {{contiguity = [32], divisibility = [2], constancy = [1]}}
    %next = arith.addi %offs, %c2 : tensor<32xi32>
    // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
    %k2 = arith.addi %k, %n : i32
    scf.yield %next, %k2 : tensor<32xi32>, i32
  }
  // expected-remark @+1 {{contiguity = [1], divisibility = [2], constancy = [1]}}
  %chosen = scf.if %flag -> (tensor<32xi32>) {
    // expected-remark @+1 {{contiguity = [1], divisibility = [2], constancy = [1]}}
    %twice = arith.muli %res#0, %c2 : tensor<32xi32>
    scf.yield %twice : tensor<32xi32>
  } else {
    scf.yield %c2 : tensor<32xi32>
  }
  return
}

func.func @hints_are_believed(%p: !tile.ptr<f16>, %x: i32) {
  // expected-remark @+1 {{contiguity = [64]}}
  %r = tile.arange 0, 64 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [8], constancy = [1]}}
  %h = arith.addi %x, %x {tile.divisibility = 8 : i32} : i32
  // expected-remark @+1 {{contiguity = [1], divisibility = [8], constancy = [64]}}
  %hs = tile.splat %h : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [32], divisibility = [8], constancy = [1]}}
  %odd = arith.muli %r, %hs {tile.contiguity = array<i32: 32>} : tensor<64xi32>
  return
}

// 12 divides the stride and 16 the address; only 4 divides all that is reached.
func.func @promises_that_are_no_powers_of_two(%p: !tile.ptr<i8> {tile.divisibility = 16 : i32}, %x: i32 {tile.divisibility = 48 : i32}, %y: i32) {
  // expected-remark @+1 {{contiguity = [1], divisibility = [16], constancy = [64]}}
  %xs = tile.splat %x : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [4], constancy = [64]}}
  %ys = tile.splat %y {tile.divisibility = array<i32: 12>} : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [16], constancy = [64]}}
  %ps = tile.splat %p : tensor<64x!tile.ptr<i8>>
  // expected-remark @+1 {{contiguity = [1], divisibility = [4], constancy = [64]}}
  %q = tile.addptr %ps, %ys : tensor<64x!tile.ptr<i8>>, tensor<64xi32>
  return
}

// Facts about the largest numbers overflow nowhere.
func.func @extremes(%x: i64 {tile.divisibility = 16 : i32}) {
  // expected-remark @+1 {{constant = 9223372036854775807}}
  %most = arith.constant 9223372036854775807 : i64
  // expected-remark @+1 {{divisibility = [1073741824], constancy = [1], constant = -9223372036854775808}}
  %least = arith.constant -9223372036854775808 : i64
  // expected-remark-re @+1 {{{{contiguity = \[1\], divisibility = \[16\], constancy = \[1\]$}}}}
  %positive = arith.andi %x, %most : i64
  // expected-remark-re @+1 {{{{contiguity = \[1\], divisibility = \[1\], constancy = \[1\]$}}}}
  %sum = arith.addi %most, %most : i64
  // expected-remark-re @+1 {{{{contiguity = \[1\], divisibility = \[1\], constancy = \[1\]$}}}}
  %difference = arith.subi %least, %most : i64
  // expected-remark-re @+1 {{{{contiguity = \[1\], divisibility = \[1\], constancy = \[1\]$}}}}
  %product = arith.muli %most, %most : i64
  return
}

// Numbers of 8 bits begin again after 128, those of 16 after 32768.
func.func @few_bits(%n: i32) {
  // expected-remark @+1 {{contiguity = [1024], divisibility = [1073741824], constancy = [1]}}
  %r = tile.arange 0, 1024 : tensor<1024xi32>
  // expected-remark @+1 {{contiguity = [128], divisibility = [128], constancy = [1]}}
  %i8 = arith.trunci %r : tensor<1024xi32> to tensor<1024xi8>
  // expected-remark @+1 {{contiguity = [128], divisibility = [128], constancy = [1]}}
  %wide = arith.extsi %i8 : tensor<1024xi8> to tensor<1024xi32>
  // expected-remark @+1 {{constancy = [1024], constant = 0}}
  %c0 = arith.constant dense<0> : tensor<1024xi32>
  // expected-remark @+1 {{constancy = [128]}}
  %negative = arith.cmpi slt, %wide, %c0 : tensor<1024xi32>
  // expected-remark @+1 {{contiguity = [1024], divisibility = [1073741824], constancy = [1]}}
  %i16 = arith.trunci %r : tensor<1024xi32> to tensor<1024xi16>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1024]}}
  %ns = tile.splat %n : tensor<1024xi32>
  // expected-remark @+1 {{contiguity = [1024], divisibility = [1], constancy = [1]}}
  %sum = arith.addi %r, %ns : tensor<1024xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %begins_anywhere = arith.trunci %sum : tensor<1024xi32> to tensor<1024xi8>
  return
}

// The rest of a negative number has its sign or not.
func.func @rests_of_negative_constants() {
  // expected-remark @+1 {{constant = -5}}
  %x = arith.constant -5 : i32
  // expected-remark @+1 {{constant = 7}}
  %c7 = arith.constant 7 : i32
  // expected-remark-re @+1 {{constancy = [1]{{$}}}}
  %and = arith.andi %x, %c7 : i32
  return
}

// An unsigned minimum with a number that is not negative is none, so its quotients round down; a maximum may be.
func.func @unsigned_extrema(%x: i32) {
  // expected-remark @+1 {{contiguity = [1]}}
  %pid = tile.program_id 0
  // expected-remark @+1 {{constant = 64}}
  %c64 = arith.constant 64 : i32
  // expected-remark @+1 {{contiguity = [64]}}
  %r = tile.arange 0, 64 : tensor<64xi32>
  // expected-remark @+1 {{constant = 16}}
  %c16 = arith.constant dense<16> : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1]}}
  %least = arith.minui %x, %pid : i32
  // expected-remark @+1 {{divisibility = [64]}}
  %low = arith.muli %least, %c64 : i32
  // expected-remark @+1 {{constancy = [64]}}
  %lows = tile.splat %low : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [64]}}
  %from_low = arith.addi %lows, %r : tensor<64xi32>
  // expected-remark @+1 {{constancy = [16]}}
  %sixteenths = arith.divsi %from_low, %c16 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1]}}
  %most = arith.maxui %x, %pid : i32
  // expected-remark @+1 {{divisibility = [64]}}
  %high = arith.muli %most, %c64 : i32
  // expected-remark @+1 {{constancy = [64]}}
  %highs = tile.splat %high : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [64]}}
  %from_high = arith.addi %highs, %r : tensor<64xi32>
  // expected-remark @+1 {{constancy = [1]}}
  %others = arith.divsi %from_high, %c16 : tensor<64xi32>
  return
}

func.func @parts(%x: i32 {tile.divisibility = 16 : i32}, %p: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %i: i32) {
  // expected-remark @+1 {{contiguity = [128]}}
  %r = tile.arange 0, 128 : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [64], divisibility = [64], constancy = [1]}}
  %first = tile.extract_slice %r [0] step [1] : tensor<128xi32> -> tensor<64xi32>
  // expected-remark @+1 {{contiguity = [32], divisibility = [32], constancy = [1]}}
  %second = tile.extract_slice %r [32] step [1] : tensor<128xi32> -> tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [1]}}
  %odd = tile.extract_slice %r [3] step [1] : tensor<128xi32> -> tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [4], constancy = [1]}}
  %fourths = tile.extract_slice %r [64] step [4] : tensor<128xi32> -> tensor<16xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [2], constancy = [1]}}
  %others = tile.extract_slice %r [2] step [4] : tensor<128xi32> -> tensor<16xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [8], constancy = [1]}}
  %one = tile.extract_slice %r [40] step [1] : tensor<128xi32> -> tensor<1xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [16], constancy = [128]}}
  %xs = tile.splat %x : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [16], constancy = [16]}}
  %equal = tile.extract_slice %xs [3] step [5] : tensor<128xi32> -> tensor<16xi32>
  // expected-remark @+1 {{constancy = [16]}}
  %mask = arith.cmpi slt, %r, %xs : tensor<128xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [1], constancy = [8]}}
  %inside = tile.extract_slice %mask [8] step [1] : tensor<128xi1> -> tensor<32xi1>
  // expected-remark @+1 {{contiguity = [1, 128]}}
  %line = tile.expand_dims %r, 0 : tensor<128xi32> -> tensor<1x128xi32>
  // expected-remark @+1 {{contiguity = [1, 128]}}
  %rows = tile.broadcast %line : tensor<1x128xi32> -> tensor<4x128xi32>
  // expected-remark @+1 {{constancy = [4, 128]}}
  %base = tile.splat %p : tensor<4x128x!tile.ptr<f16>>
  // expected-remark @+1 {{contiguity = [1, 128], divisibility = [2, 16]}}
  %ptrs = tile.addptr %base, %rows : tensor<4x128x!tile.ptr<f16>>, tensor<4x128xi32>
  // expected-remark @+1 {{contiguity = [1, 16], divisibility = [2, 16], constancy = [2, 1]}}
  %some = tile.extract_slice %ptrs [2, 16] step [1, 1] : tensor<4x128x!tile.ptr<f16>> -> tensor<2x64x!tile.ptr<f16>>
  // expected-remark @+1 {{contiguity = [1, 16], divisibility = [2, 16], constancy = [1, 1]}}
  %row = tile.extract %some, %i, 0 : tensor<2x64x!tile.ptr<f16>> -> tensor<1x64x!tile.ptr<f16>>
  // expected-remark @+1 {{contiguity = [1, 1], divisibility = [2, 2], constancy = [2, 1]}}
  %column = tile.extract %some, %i, 1 : tensor<2x64x!tile.ptr<f16>> -> tensor<2x1x!tile.ptr<f16>>
  return
}

func.func @loads(%p: !tile.ptr<i32>, %n: i32 {tile.divisibility = 16 : i32}) {
  // expected-remark @+1 {{contiguity = [64]}}
  %r = tile.arange 0, 64 : tensor<64xi32>
  // expected-remark @+1 {{constant = 8}}
  %c8 = arith.constant dense<8> : tensor<64xi32>
  // expected-remark @+1 {{constancy = [8]}}
  %group = arith.divsi %r, %c8 : tensor<64xi32>
  // expected-remark @+1 {{constancy = [64]}}
  %base = tile.splat %p : tensor<64x!tile.ptr<i32>>
  // expected-remark @+1 {{constancy = [8]}}
  %ptrs = tile.addptr %base, %group : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  // What is read repeats as its addresses do, and no more than its mask and filling.
  // expected-remark @+2 {{contiguity = [1], divisibility = [1], constancy = [8]}}
  // expected-remark @+1 {{elements per access: 1}}
  %row = tile.load %ptrs : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  // expected-remark @+1 {{constant = 4}}
  %c4 = arith.constant dense<4> : tensor<64xi32>
  // expected-remark @+1 {{constancy = [4]}}
  %half = arith.divsi %r, %c4 : tensor<64xi32>
  // expected-remark @+1 {{constant = 1}}
  %c1 = arith.constant dense<1> : tensor<64xi32>
  // expected-remark @+1 {{constancy = [4]}}
  %bit = arith.andi %half, %c1 : tensor<64xi32>
  // expected-remark @+1 {{constancy = [4]}}
  %mask = arith.cmpi eq, %bit, %c1 : tensor<64xi32>
  // expected-remark @+2 {{constancy = [4]}}
  // expected-remark @+1 {{elements per access: 1}}
  %masked = tile.load %ptrs mask %mask : tensor<64xi1> other %c8 : tensor<64xi32> : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  // expected-remark @+2 {{constancy = [1]}}
  // expected-remark @+1 {{elements per access: 1}}
  %filled = tile.load %ptrs mask %mask : tensor<64xi1> other %r : tensor<64xi32> : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  // One that is volatile may read two values from one address.
  // expected-remark @+2 {{constancy = [1]}}
  // expected-remark @+1 {{elements per access: 1}}
  %volatile = tile.load %ptrs {isVolatile} : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  // expected-remark @+1 {{contiguity = [1], divisibility = [8], constancy = [8]}}
  %start = arith.muli %row, %c8 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [8], divisibility = [8], constancy = [1]}}
  %column = arith.remsi %r, %c8 : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [8], divisibility = [8], constancy = [1]}}
  %at = arith.addi %start, %column : tensor<64xi32>
  return
}

// A remainder counts up where its dividend is supposed not to be negative, and its quotient has runs. That of
// another number has none: it is known of neither.
func.func @groups(%start: i32, %modulus: i32 {tile.divisibility = 16 : i32}, %group: i32 {tile.divisibility = 16 : i32}) {
  // expected-remark @+1 {{contiguity = [64]}}
  %r = tile.arange 0, 64 : tensor<64xi32>
  // expected-remark @+1 {{constant = 64}}
  %c64 = arith.constant 64 : i32
  // expected-remark @+1 {{divisibility = [64]}}
  %first = arith.muli %start, %c64 : i32
  // expected-remark @+1 {{constancy = [64]}}
  %firsts = tile.splat %first : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [64]}}
  %at = arith.addi %firsts, %r : tensor<64xi32>
  // expected-remark @+1 {{constancy = [64]}}
  %moduli = tile.splat %modulus : tensor<64xi32>
  // expected-remark @+1 {{contiguity = [16], divisibility = [16], constancy = [1]}}
  %rest = arith.remsi %at, %moduli : tensor<64xi32>
  // expected-remark @+1 {{constancy = [64]}}
  %groups = tile.splat %group : tensor<64xi32>
  // expected-remark @+1 {{constancy = [16]}}
  %which = arith.divsi %rest, %groups : tensor<64xi32>
  // expected-remark @+1 {{constancy = [1]}}
  %any = arith.divsi %at, %groups : tensor<64xi32>
  // A sum with a remainder may be negative.
  // expected-remark @+1 {{contiguity = [16], divisibility = [16]}}
  %sum = arith.addi %rest, %firsts : tensor<64xi32>
  // expected-remark @+1 {{constancy = [1]}}
  %of_sum = arith.divsi %sum, %groups : tensor<64xi32>
  return
}
