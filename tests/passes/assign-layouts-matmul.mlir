// The tutorial's GEMM: rows and columns wrap around, K is masked. One source, three instruction families.
// RUN: pantile-opt %s -split-input-file -tile-select-mma -tile-assign-layouts 2>/dev/null | FileCheck %s --check-prefixes=WGMMA,EXACT
// RUN: sed 's/"sm_90a"/"sm_80"/' %s | pantile-opt -split-input-file -tile-select-mma -tile-assign-layouts 2>/dev/null | FileCheck %s --check-prefix=SYNC

// wgmma reads its operands from shared memory later: here they stay as loaded. The narrow result is converted, not the wide one,
// and inside warps.
// WGMMA-DAG: #[[ACC:.*]] = #tile.layout<[128, 128], reg = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64], [64, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// WGMMA-DAG: #[[A:.*]] = #tile.layout<[128, 32], reg = {{\[\[}}0, 1], [0, 2], [0, 4], [32, 0], [64, 0]]
// WGMMA-DAG: #[[B:.*]] = #tile.layout<[32, 128], reg = {{\[\[}}0, 1], [0, 2], [0, 4], [8, 0], [16, 0]]
// WGMMA-DAG: #[[OUT:.*]] = #tile.layout<[128, 128], reg = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 64], [4, 0], [8, 0], [64, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = {{\[\[}}16,
// WGMMA-LABEL: @matmul
// WGMMA: arith.constant dense<0.000000e+00> : tensor<128x128xf32, #[[ACC]]>
// WGMMA: scf.for {{.*}} -> (tensor<128x128xf32, #[[ACC]]>, tensor<128x32x!tile.ptr<f16>, #[[A]]>, tensor<32x128x!tile.ptr<f16>, #[[B]]>)
// WGMMA-NOT: convert_layout
// WGMMA: tile.dot {{.*}} mma<wgmma, 64 x 128 x 16, warps = 4 x 1> : tensor<128x32xf16, #[[A]]>, tensor<32x128xf16, #[[B]]>, tensor<128x128xf32, #[[ACC]]>
// WGMMA: %[[H:.*]] = arith.truncf
// WGMMA-NEXT: tile.convert_layout %[[H]] : tensor<128x128xf16, #[[ACC]]> -> tensor<128x128xf16, #[[OUT]]>
// WGMMA: tile.store {{.*}} tensor<128x128xf16, #[[OUT]]>

// SYNC-DAG: #[[ACC:.*]] = #tile.layout<[128, 128], reg = {{\[\[}}0, 1], [8, 0], [0, 16], [0, 32], [0, 64], [32, 0], [64, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [0, 8]]>
// SYNC-DAG: #[[A:.*]] = #tile.layout<[128, 32], reg = {{\[\[}}0, 1], [8, 0], [0, 8], [0, 16], [32, 0], [64, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [0, 0]]>
// SYNC-DAG: #[[B:.*]] = #tile.layout<[32, 128], reg = {{\[\[}}1, 0], [8, 0], [16, 0], [0, 16], [0, 32], [0, 64]], lane = {{\[\[}}2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = {{\[\[}}0, 0], [0, 8]]>
// SYNC-LABEL: @matmul
// SYNC: %[[LA:.*]] = tile.load
// SYNC-NEXT: %[[CA:.*]] = tile.convert_layout %[[LA]] : {{.*}} -> tensor<128x32xf16, #[[A]]>
// SYNC: %[[LB:.*]] = tile.load
// SYNC-NEXT: %[[CB:.*]] = tile.convert_layout %[[LB]] : {{.*}} -> tensor<32x128xf16, #[[B]]>
// SYNC: tile.dot %[[CA]], %[[CB]], {{.*}} mma<mma_sync, 16 x 8 x 16, warps = 2 x 2> : tensor<128x32xf16, #[[A]]>, tensor<32x128xf16, #[[B]]>, tensor<128x128xf32, #[[ACC]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @matmul(%a: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f16> {tile.divisibility = 16 : i32},
    %M: i32 {tile.divisibility = 16 : i32}, %N: i32 {tile.divisibility = 16 : i32}, %K: i32 {tile.divisibility = 16 : i32},
    %sam: i32 {tile.divisibility = 16 : i32}, %sbk: i32 {tile.divisibility = 16 : i32}, %scm: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %bm = arith.constant 128 : i32
  %bn = arith.constant 128 : i32
  %bk = arith.constant 32 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %pm = tile.program_id 0
  %pn = tile.program_id 1
  %rm = tile.arange 0, 128 : tensor<128xi32>
  %rn = tile.arange 0, 128 : tensor<128xi32>
  %rk = tile.arange 0, 32 : tensor<32xi32>
  %m0 = arith.muli %pm, %bm : i32
  %n0 = arith.muli %pn, %bn : i32
  %m0s = tile.splat %m0 : tensor<128xi32>
  %n0s = tile.splat %n0 : tensor<128xi32>
  %om = arith.addi %m0s, %rm : tensor<128xi32>
  %on = arith.addi %n0s, %rn : tensor<128xi32>
  %Ms = tile.splat %M : tensor<128xi32>
  %Ns = tile.splat %N : tensor<128xi32>
  %omw = arith.remsi %om, %Ms : tensor<128xi32>
  %onw = arith.remsi %on, %Ns : tensor<128xi32>
  %om2 = tile.expand_dims %omw, 1 : tensor<128xi32> -> tensor<128x1xi32>
  %sam2 = tile.splat %sam : tensor<128x1xi32>
  %omS = arith.muli %om2, %sam2 : tensor<128x1xi32>
  %ok2 = tile.expand_dims %rk, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %omB = tile.broadcast %omS : tensor<128x1xi32> -> tensor<128x32xi32>
  %okB = tile.broadcast %ok2 : tensor<1x32xi32> -> tensor<128x32xi32>
  %aoff = arith.addi %omB, %okB : tensor<128x32xi32>
  %as = tile.splat %a : tensor<128x32x!tile.ptr<f16>>
  %ap0 = tile.addptr %as, %aoff : tensor<128x32x!tile.ptr<f16>>, tensor<128x32xi32>
  %rk1 = tile.expand_dims %rk, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %sbk1 = tile.splat %sbk : tensor<32x1xi32>
  %bkS = arith.muli %rk1, %sbk1 : tensor<32x1xi32>
  %on2 = tile.expand_dims %onw, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %bkB = tile.broadcast %bkS : tensor<32x1xi32> -> tensor<32x128xi32>
  %onB = tile.broadcast %on2 : tensor<1x128xi32> -> tensor<32x128xi32>
  %boff = arith.addi %bkB, %onB : tensor<32x128xi32>
  %bs = tile.splat %b : tensor<32x128x!tile.ptr<f16>>
  %bp0 = tile.addptr %bs, %boff : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi32>
  %bstep = arith.muli %sbk, %bk : i32
  %astepS = tile.splat %bk : tensor<128x32xi32>
  %bstepS = tile.splat %bstep : tensor<32x128xi32>
  %r:3 = scf.for %k = %c0 to %K step %bk iter_args(%acc = %zero, %ap = %ap0, %bp = %bp0) -> (tensor<128x128xf32>, tensor<128x32x!tile.ptr<f16>>, tensor<32x128x!tile.ptr<f16>>) : i32 {
    %left = arith.subi %K, %k : i32
    %leftA = tile.splat %left : tensor<1x32xi32>
    %ma1 = arith.cmpi slt, %ok2, %leftA : tensor<1x32xi32>
    %ma = tile.broadcast %ma1 : tensor<1x32xi1> -> tensor<128x32xi1>
    %leftB = tile.splat %left : tensor<32x1xi32>
    %mb1 = arith.cmpi slt, %rk1, %leftB : tensor<32x1xi32>
    %mb = tile.broadcast %mb1 : tensor<32x1xi1> -> tensor<32x128xi1>
    %av = tile.load %ap mask %ma : tensor<128x32xi1> : tensor<128x32x!tile.ptr<f16>> -> tensor<128x32xf16>
    %bv = tile.load %bp mask %mb : tensor<32x128xi1> : tensor<32x128x!tile.ptr<f16>> -> tensor<32x128xf16>
    %d = tile.dot %av, %bv, %acc  : tensor<128x32xf16>, tensor<32x128xf16>, tensor<128x128xf32>
    %ap2 = tile.addptr %ap, %astepS : tensor<128x32x!tile.ptr<f16>>, tensor<128x32xi32>
    %bp2 = tile.addptr %bp, %bstepS : tensor<32x128x!tile.ptr<f16>>, tensor<32x128xi32>
    scf.yield %d, %ap2, %bp2 : tensor<128x128xf32>, tensor<128x32x!tile.ptr<f16>>, tensor<32x128x!tile.ptr<f16>>
  }
  %cv = arith.truncf %r#0 : tensor<128x128xf32> to tensor<128x128xf16>
  %cm2 = tile.expand_dims %om, 1 : tensor<128xi32> -> tensor<128x1xi32>
  %scm2 = tile.splat %scm : tensor<128x1xi32>
  %cmS = arith.muli %cm2, %scm2 : tensor<128x1xi32>
  %cn2 = tile.expand_dims %on, 0 : tensor<128xi32> -> tensor<1x128xi32>
  %cmB = tile.broadcast %cmS : tensor<128x1xi32> -> tensor<128x128xi32>
  %cnB = tile.broadcast %cn2 : tensor<1x128xi32> -> tensor<128x128xi32>
  %coff = arith.addi %cmB, %cnB : tensor<128x128xi32>
  %cs = tile.splat %c : tensor<128x128x!tile.ptr<f16>>
  %cp = tile.addptr %cs, %coff : tensor<128x128x!tile.ptr<f16>>, tensor<128x128xi32>
  %M1 = tile.splat %M : tensor<128x1xi32>
  %N1 = tile.splat %N : tensor<1x128xi32>
  %mm = arith.cmpi slt, %cm2, %M1 : tensor<128x1xi32>
  %mn = arith.cmpi slt, %cn2, %N1 : tensor<1x128xi32>
  %mmB = tile.broadcast %mm : tensor<128x1xi1> -> tensor<128x128xi1>
  %mnB = tile.broadcast %mn : tensor<1x128xi1> -> tensor<128x128xi1>
  %mask = arith.andi %mmB, %mnB : tensor<128x128xi1>
  tile.store %cp, %cv mask %mask : tensor<128x128xi1> : tensor<128x128x!tile.ptr<f16>>, tensor<128x128xf16>
  return
}
}

// -----

// Exact fp32 runs on scalar FMA, which reads shared memory: the operands stay as they were loaded. A warp's rows are
// neighbours.
// EXACT-DAG: #[[FACC:.*]] = #tile.layout<[32, 64], reg = {{\[\[}}0, 1], [0, 2], [8, 0], [16, 0]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = {{\[\[}}0, 32], [4, 0]]>
// EXACT-LABEL: @exact_matmul
// EXACT: tile.dot {{.*}} mma<fma, 1 x 1 x 1, warps = 2 x 2> {{.*}} tensor<32x64xf32, #[[FACC]]>
// EXACT-NOT: convert_layout
// EXACT: tile.store {{.*}} tensor<32x64xf32, #[[FACC]]>
module attributes {tile.target = "sm_90a", tile.num_warps = 4 : i32} {
func.func @exact_matmul(%a: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %b: !tile.ptr<f32> {tile.divisibility = 16 : i32}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i32},
    %M: i32 {tile.divisibility = 16 : i32}, %N: i32 {tile.divisibility = 16 : i32}, %K: i32 {tile.divisibility = 16 : i32},
    %sam: i32 {tile.divisibility = 16 : i32}, %sbk: i32 {tile.divisibility = 16 : i32}, %scm: i32 {tile.divisibility = 16 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %bm = arith.constant 32 : i32
  %bn = arith.constant 64 : i32
  %bk = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %pm = tile.program_id 0
  %pn = tile.program_id 1
  %rm = tile.arange 0, 32 : tensor<32xi32>
  %rn = tile.arange 0, 64 : tensor<64xi32>
  %rk = tile.arange 0, 16 : tensor<16xi32>
  %m0 = arith.muli %pm, %bm : i32
  %n0 = arith.muli %pn, %bn : i32
  %m0s = tile.splat %m0 : tensor<32xi32>
  %n0s = tile.splat %n0 : tensor<64xi32>
  %om = arith.addi %m0s, %rm : tensor<32xi32>
  %on = arith.addi %n0s, %rn : tensor<64xi32>
  %Ms = tile.splat %M : tensor<32xi32>
  %Ns = tile.splat %N : tensor<64xi32>
  %omw = arith.remsi %om, %Ms : tensor<32xi32>
  %onw = arith.remsi %on, %Ns : tensor<64xi32>
  %om2 = tile.expand_dims %omw, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %sam2 = tile.splat %sam : tensor<32x1xi32>
  %omS = arith.muli %om2, %sam2 : tensor<32x1xi32>
  %ok2 = tile.expand_dims %rk, 0 : tensor<16xi32> -> tensor<1x16xi32>
  %omB = tile.broadcast %omS : tensor<32x1xi32> -> tensor<32x16xi32>
  %okB = tile.broadcast %ok2 : tensor<1x16xi32> -> tensor<32x16xi32>
  %aoff = arith.addi %omB, %okB : tensor<32x16xi32>
  %as = tile.splat %a : tensor<32x16x!tile.ptr<f32>>
  %ap0 = tile.addptr %as, %aoff : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
  %rk1 = tile.expand_dims %rk, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %sbk1 = tile.splat %sbk : tensor<16x1xi32>
  %bkS = arith.muli %rk1, %sbk1 : tensor<16x1xi32>
  %on2 = tile.expand_dims %onw, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %bkB = tile.broadcast %bkS : tensor<16x1xi32> -> tensor<16x64xi32>
  %onB = tile.broadcast %on2 : tensor<1x64xi32> -> tensor<16x64xi32>
  %boff = arith.addi %bkB, %onB : tensor<16x64xi32>
  %bs = tile.splat %b : tensor<16x64x!tile.ptr<f32>>
  %bp0 = tile.addptr %bs, %boff : tensor<16x64x!tile.ptr<f32>>, tensor<16x64xi32>
  %bstep = arith.muli %sbk, %bk : i32
  %astepS = tile.splat %bk : tensor<32x16xi32>
  %bstepS = tile.splat %bstep : tensor<16x64xi32>
  %r:3 = scf.for %k = %c0 to %K step %bk iter_args(%acc = %zero, %ap = %ap0, %bp = %bp0) -> (tensor<32x64xf32>, tensor<32x16x!tile.ptr<f32>>, tensor<16x64x!tile.ptr<f32>>) : i32 {
    %left = arith.subi %K, %k : i32
    %leftA = tile.splat %left : tensor<1x16xi32>
    %ma1 = arith.cmpi slt, %ok2, %leftA : tensor<1x16xi32>
    %ma = tile.broadcast %ma1 : tensor<1x16xi1> -> tensor<32x16xi1>
    %leftB = tile.splat %left : tensor<16x1xi32>
    %mb1 = arith.cmpi slt, %rk1, %leftB : tensor<16x1xi32>
    %mb = tile.broadcast %mb1 : tensor<16x1xi1> -> tensor<16x64xi1>
    %av = tile.load %ap mask %ma : tensor<32x16xi1> : tensor<32x16x!tile.ptr<f32>> -> tensor<32x16xf32>
    %bv = tile.load %bp mask %mb : tensor<16x64xi1> : tensor<16x64x!tile.ptr<f32>> -> tensor<16x64xf32>
    %d = tile.dot %av, %bv, %acc {precision = 1 : i32} : tensor<32x16xf32>, tensor<16x64xf32>, tensor<32x64xf32>
    %ap2 = tile.addptr %ap, %astepS : tensor<32x16x!tile.ptr<f32>>, tensor<32x16xi32>
    %bp2 = tile.addptr %bp, %bstepS : tensor<16x64x!tile.ptr<f32>>, tensor<16x64xi32>
    scf.yield %d, %ap2, %bp2 : tensor<32x64xf32>, tensor<32x16x!tile.ptr<f32>>, tensor<16x64x!tile.ptr<f32>>
  }
  
  %cm2 = tile.expand_dims %om, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %scm2 = tile.splat %scm : tensor<32x1xi32>
  %cmS = arith.muli %cm2, %scm2 : tensor<32x1xi32>
  %cn2 = tile.expand_dims %on, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %cmB = tile.broadcast %cmS : tensor<32x1xi32> -> tensor<32x64xi32>
  %cnB = tile.broadcast %cn2 : tensor<1x64xi32> -> tensor<32x64xi32>
  %coff = arith.addi %cmB, %cnB : tensor<32x64xi32>
  %cs = tile.splat %c : tensor<32x64x!tile.ptr<f32>>
  %cp = tile.addptr %cs, %coff : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xi32>
  %M1 = tile.splat %M : tensor<32x1xi32>
  %N1 = tile.splat %N : tensor<1x64xi32>
  %mm = arith.cmpi slt, %cm2, %M1 : tensor<32x1xi32>
  %mn = arith.cmpi slt, %cn2, %N1 : tensor<1x64xi32>
  %mmB = tile.broadcast %mm : tensor<32x1xi1> -> tensor<32x64xi1>
  %mnB = tile.broadcast %mn : tensor<1x64xi1> -> tensor<32x64xi1>
  %mask = arith.andi %mmB, %mnB : tensor<32x64xi1>
  tile.store %cp, %r#0 mask %mask : tensor<32x64xi1> : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xf32>
  return
}
}
