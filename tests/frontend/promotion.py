# The common type of operands, conversions, and what the result is stored as.
# RUN: pantilec %s --kernel arithmetic --signature "*fp16, *i8, *fp32, u32" --no-cache --emit tile | FileCheck %s --check-prefix=ARITH
# RUN: pantilec %s --kernel conversions --signature "*fp32, *i32" --no-cache --emit tile | FileCheck %s --check-prefix=CAST
# RUN: pantilec %s --kernel comparisons --signature "*fp32, *i32, u32" --no-cache --emit tile | FileCheck %s --check-prefix=COMPARE
import pantile as triton
import pantile.language as tl


@triton.jit
def arithmetic(h_ptr, b_ptr, out, u):
    offs = tl.arange(0, 16)
    h = tl.load(h_ptr + offs)
    b = tl.load(b_ptr + offs)
    # A number follows the tile.
    # ARITH: arith.mulf %{{.*}}, %{{.*}} : tensor<16xf16>
    tl.store(h_ptr + offs, h * 2.5)
    # A run-time scalar does not.
    # ARITH: arith.extf %{{.*}} : tensor<16xf16> to tensor<16xf32>
    # ARITH: arith.mulf %{{.*}}, %{{.*}} : tensor<16xf32>
    factor = 3.0
    tl.store(out + offs, h * factor)
    # Division of halves is done in fp32, of integers too.
    # ARITH: arith.divf %{{.*}}, %{{.*}} : tensor<16xf32>
    tl.store(out + offs, h / 2)
    # ARITH: arith.sitofp %{{.*}} : tensor<16xi8> to tensor<16xf32>
    # ARITH: arith.divf %{{.*}}, %{{.*}} : tensor<16xf32>
    tl.store(out + offs, b / 3)
    # ARITH: arith.divsi %{{.*}}, %{{.*}} : tensor<16xi8>
    tl.store(b_ptr + offs, b // 3)
    # Of one rank, unsigned wins.
    # ARITH: arith.divui %{{.*}}, %{{.*}} : tensor<16xi32>
    # ARITH: arith.uitofp %{{.*}} : tensor<16xi32> to tensor<16xf32>
    tl.store(out + offs, (offs + u) // 3)
    # ARITH: arith.shrsi %{{.*}}, %{{.*}} : tensor<16xi32>
    # ARITH: arith.shrui %{{.*}}, %{{.*}} : i32
    tl.store(out + offs, (offs >> 1) + (u >> 1))


@triton.jit
def conversions(f_ptr, i_ptr):
    offs = tl.arange(0, 16)
    x = tl.load(f_ptr + offs)
    # CAST: arith.fptosi %{{.*}} : tensor<16xf32> to tensor<16xi32>
    tl.store(i_ptr + offs, x)
    # CAST: arith.cmpf une, %{{.*}}, %{{.*}} : tensor<16xf32>
    # CAST: arith.extui %{{.*}} : tensor<16xi1> to tensor<16xi32>
    tl.store(i_ptr + offs, x.to(tl.int1))
    # CAST: arith.bitcast %{{.*}} : tensor<16xf32> to tensor<16xi32>
    tl.store(i_ptr + offs, x.to(tl.int32, bitcast=True))
    # CAST: arith.truncf %[[X:.*]] : tensor<16xf32> to tensor<16xf16>
    # CAST: arith.extf %{{.*}} : tensor<16xf16> to tensor<16xf32>
    # CAST: arith.truncf %{{.*}} : tensor<16xf32> to tensor<16xbf16>
    tl.store(f_ptr + offs, x.to(tl.float16).to(tl.bfloat16))
    # CAST: arith.truncf %{{.*}} toward_zero : tensor<16xf32> to tensor<16xf16>
    tl.store(f_ptr + offs, x.to(tl.float16, fp_downcast_rounding="rtz"))
    # CAST: arith.truncf %{{.*}} : tensor<16xf32> to tensor<16xf8E4M3FN>
    tl.store(f_ptr + offs, tl.cast(x, tl.float8e4nv))


@triton.jit
def comparisons(f_ptr, i_ptr, u):
    offs = tl.arange(0, 16)
    x = tl.load(f_ptr + offs)
    # COMPARE: arith.cmpf une, %{{.*}}, %{{.*}} : tensor<16xf32>
    # COMPARE: arith.cmpi ult, %{{.*}}, %{{.*}} : tensor<16xi32>
    # COMPARE: arith.andi %{{.*}}, %{{.*}} : tensor<16xi1>
    tl.store(i_ptr + offs, (x != 1.0) & (offs < u))
    # COMPARE: arith.cmpi sge, %{{.*}}, %{{.*}} : tensor<16xi32>
    tl.store(i_ptr + offs, offs, mask=(offs >= 3) and (u > 2))
