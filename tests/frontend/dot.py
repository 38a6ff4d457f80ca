# Dots: what accumulates in place, the types of results, precision.
# RUN: pantilec %s --kernel accumulation --signature "*fp16, *fp32" --no-cache --emit tile | FileCheck %s --check-prefix=ACC
# RUN: pantilec %s --kernel types --signature "*fp32, *i8, *i32" --no-cache --emit tile | FileCheck %s --check-prefix=TYPES
import pantile as triton
import pantile.language as tl


@triton.jit
def same(x):
    return x


@triton.jit
def accumulation(p, q):
    offs = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(p + offs)
    acc = tl.load(q + offs)
    # ACC: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
    # ACC: %[[A:.*]] = tile.load %{{.*}} -> tensor<32x32xf16>
    # ACC: %[[ACC:.*]] = tile.load %{{.*}} -> tensor<32x32xf32>
    # ACC: %[[ONE:.*]] = tile.dot %[[A]], %[[A]], %[[ACC]]
    acc += tl.dot(a, a)
    # ACC: %[[TWO:.*]] = tile.dot %[[A]], %[[A]], %[[ONE]]
    acc = tl.dot(a, a) + acc
    # A dot with a name keeps its value.
    # ACC: %[[NAMED:.*]] = tile.dot %[[A]], %[[A]], %[[ZERO]]
    # ACC: %[[THREE:.*]] = arith.addf %[[TWO]], %[[NAMED]]
    named = tl.dot(a, a)
    acc += same(named)
    tl.store(q + offs, named)
    # So do zeros with a name.
    # ACC: %[[FOUR:.*]] = tile.dot %[[A]], %[[A]], %[[THREE]]
    zeros = tl.zeros((32, 32), tl.float32)
    acc += tl.dot(a, a, zeros)
    # ACC: tile.store %{{.*}}, %[[ZERO]]
    tl.store(q + offs, zeros)
    # ACC: tile.store %{{.*}}, %[[FOUR]]
    tl.store(q + offs, acc)


@triton.jit
def types(f_ptr, b_ptr, i_ptr):
    offs = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    f = tl.load(f_ptr + offs)
    # TYPES: tile.dot %[[F:.*]], %[[F]], %{{.*}} : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
    tl.store(f_ptr + offs, tl.dot(f, f))
    # TYPES: tile.dot %[[F]], %[[F]], %{{.*}} {precision = 1 : i32}
    tl.store(f_ptr + offs, tl.dot(f, f, input_precision="ieee"))
    # TYPES: %[[T:.*]] = tile.trans %[[F]]
    # TYPES: tile.dot %[[F]], %[[T]], %{{.*}} {precision = 1 : i32}
    tl.store(f_ptr + offs, tl.dot(f, f.T, allow_tf32=False))
    # TYPES: tile.dot %{{.*}} : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf16>
    h = f.to(tl.float16)
    tl.store(f_ptr + offs, tl.dot(h, h, out_dtype=tl.float16))
    # TYPES: tile.dot %{{.*}} : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>
    w = f.to(tl.bfloat16)
    tl.store(f_ptr + offs, tl.dot(w, w))
    # TYPES: tile.dot %{{.*}} : tensor<32x32xi8>, tensor<32x32xi8>, tensor<32x32xi32>
    b = tl.load(b_ptr + offs)
    tl.store(i_ptr + offs, tl.dot(b, b))
    # TYPES: tile.dot %{{.*}} : tensor<2x16x32xf32>, tensor<2x32x16xf32>, tensor<2x16x16xf32>
    batch = tl.reshape(f, (2, 16, 32))
    tl.store(f_ptr + tl.reshape(offs, (4, 16, 16)), tl.reshape(tl.join(tl.dot(batch, tl.trans(batch)), 0.0), (4, 16, 16)))
