# Named tuples and aggregates, found in the source of the file alone.
# RUN: pantilec %s --kernel kernel --signature "*fp32, i32" --no-cache --emit tile | FileCheck %s
from typing import NamedTuple

import pantile as triton
import pantile.language as tl


class Range(NamedTuple):
    start: tl.tensor
    stop: tl.tensor = 10


@triton.aggregate
class Buffer:
    ptr: tl.tensor
    size: tl.constexpr
    factor: tl.constexpr = 3

    def __init__(self, ptr, size):
        self.ptr = ptr
        self.size = 2 * size
        self.factor = Buffer.scaled(size)

    @triton.jit
    def scaled(size):
        return size + 1

    @property
    @triton.jit
    def offsets(self):
        return tl.arange(0, self.size)

    @triton.jit
    def fill(self, value):
        tl.store(self.ptr + self.offsets, value)

    @staticmethod
    @triton.jit
    def of(ptr):
        return Buffer(ptr, 16)


# CHECK: func.func @kernel(%[[P:.*]]: !tile.ptr<f32>, %[[N:.*]]: i32)
@triton.jit
def kernel(p, n):
    r = Range(n)
    b = Buffer.of(p)
    tl.static_assert(b.factor == 17)
    # CHECK-DAG: tile.arange 0, 32 : tensor<32xi32>
    # CHECK: scf.for %{{.*}} = %[[N]] to %c10_i32
    for i in range(r.start, r.stop):
        # CHECK: tile.store %{{.*}}, %{{.*}} : tensor<32x!tile.ptr<f32>>, tensor<32xf32>
        b.fill(i)
