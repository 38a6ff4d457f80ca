# Vectors that a larger tile repeats are loaded as it repeats them, without a trip through shared memory.
# RUN: pantilec %s --kernel affine --signature "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=AFFINE
# RUN: pantilec %s --kernel shared_use --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=TWO
# RUN: pantilec %s --kernel indirect --signature "*fp16:16, *fp16:16, *i32:16, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=INDIRECT
# RUN: pantilec %s --kernel matmul --signature "*fp32:16, *fp8e5:16, *fp8e5:16, i32" --num-warps 2 --no-cache --emit layout | FileCheck %s --check-prefix=MATMUL
# RUN: pantilec %s --kernel two_tiles --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=BOTH
# RUN: pantilec %s --kernel three_tiles --signature "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16" --no-cache --emit layout | FileCheck %s --check-prefix=THREE
import pantile as triton
import pantile.language as tl

M: tl.constexpr = 16
N: tl.constexpr = 256


@triton.jit
def tile_of(x, stride):
    return x + tl.arange(0, M)[:, None] * stride + tl.arange(0, N)[None, :]


# A bias and, with a computation on it, the scales of rows.
# AFFINE-NOT: convert_layout
# AFFINE: tile.store
@triton.jit
def affine(out, x, bias, variance, stride):
    b = tl.load(bias + tl.arange(0, N), mask=tl.arange(0, N) < stride, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.load(variance + tl.arange(0, M)) + 1.0)
    y = (tl.load(tile_of(x, stride)) + b[None, :]) * scale[:, None]
    tl.store(tile_of(out, stride), y.to(tl.float16))


# Stored as it is, too: then it is loaded as it is stored.
# TWO: tile.load
# TWO: convert_layout
# TWO: tile.store
@triton.jit
def shared_use(out, x, bias, stride):
    b = tl.load(bias + tl.arange(0, N))
    tl.store(bias + N + tl.arange(0, N), b)
    tl.store(tile_of(out, stride), tl.load(tile_of(x, stride)) + b[None, :])


# An address that comes from memory stays where it was loaded.
# INDIRECT: convert_layout
# INDIRECT: tile.store
@triton.jit
def indirect(out, table, index, stride):
    i = tl.load(index + tl.arange(0, N))
    tl.store(index + N + tl.arange(0, N), i)
    b = tl.load(table + i)
    tl.store(tile_of(out, stride), tl.load(tile_of(out, stride)) + b[None, :])


# Operands of a dot are loaded in vectors, however small they are.
# MATMUL: tile.load {{.*}} -> tensor<32x32xf8E5M2, #[[ROWS:.*]]>
# MATMUL: convert_layout {{.*}} tensor<32x32xf8E5M2, #[[ROWS]]>
# MATMUL: tile.dot
@triton.jit
def matmul(out, x, y, rows):
    m, n = tl.arange(0, 32), tl.arange(0, 64)
    a = tl.load(x + m[:, None] * 32 + m[None, :], mask=m[:, None] < rows, other=0.0)
    b = tl.load(y + m[:, None] * 64 + n[None, :])
    tl.store(out + m[:, None] * 64 + n[None, :], tl.dot(a, b))


# Two tiles repeat the vector, each in its layout: it is loaded twice, before the stores.
# BOTH-COUNT-2: tile.load {{.*}} -> tensor<64xf16
# BOTH-NOT: convert_layout
# BOTH: tile.store
# BOTH-NOT: tensor<64xf16{{.*}} = tile.load
# BOTH: tile.store
@triton.jit
def two_tiles(x, y, bias, stride):
    n = tl.arange(0, 64)
    b = -tl.load(bias + n).to(tl.float32)
    at_x = x + tl.arange(0, 32)[:, None] * stride + n[None, :]
    tl.store(at_x, (tl.load(at_x) + b[None, :]).to(tl.float16))
    at_y = y + tl.arange(0, 8)[:, None] * stride + n[None, :]
    tl.store(at_y, (tl.load(at_y) + b[None, :]).to(tl.float16))


# Three layouts are too many.
# THREE-COUNT-1: tile.load {{.*}} -> tensor<64xf16
# THREE: convert_layout
# THREE-NOT: tile.load {{.*}} -> tensor<64xf16
@triton.jit
def three_tiles(x, y, bias, z, stride):
    n = tl.arange(0, 64)
    b = tl.load(bias + n).to(tl.float32)
    at_x = x + tl.arange(0, 32)[:, None] * stride + n[None, :]
    at_y = y + tl.arange(0, 8)[:, None] * stride + n[None, :]
    at_z = z + tl.arange(0, 2)[:, None] * stride + n[None, :]
    a, c, d = tl.load(at_x), tl.load(at_y), tl.load(at_z)
    tl.store(at_x, (a + b[None, :]).to(tl.float16))
    tl.store(at_y, (c + b[None, :]).to(tl.float16))
    tl.store(at_z, d + b[None, :])
