# Complex numbers: one access per element, and dots that accumulate in place.
# RUN: pantilec %s --kernel memory --signature "*c64, *complex64" --no-cache --emit tile | FileCheck %s --check-prefix=MEMORY
# RUN: pantilec %s --kernel accumulation --signature "*c64, *c64, *fp32" --no-cache --emit tile | FileCheck %s --check-prefix=ACC
# RUN: pantilec %s --kernel constants --signature "*c64" --no-cache --emit tile | FileCheck %s --check-prefix=CONST
import pantile as triton
import pantile.language as tl

TURN = tl.constexpr(-1j)


@triton.jit
def memory(p, q):
    i = tl.arange(0, 32)
    # MEMORY: tile.load {{.*}} -> tensor<32xi64>
    # MEMORY-NOT: tile.load
    z = tl.load(p + i, mask=i < 7, other=1j)
    # MEMORY: tile.store {{.*}}tensor<32x!tile.ptr<i64>>
    # MEMORY-NOT: tile.store
    tl.store(q + i, z, mask=i < 7)


@triton.jit
def accumulation(p, q, r):
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    # ACC: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
    a, x = tl.load(p + at), tl.load(r + at)
    # ACC: scf.for {{.*}} iter_args(%[[RE:.*]] = {{.*}}, %[[IM:.*]] = {{[^)]*}})
    acc = tl.load(q + at)
    for i in range(4):
        # ACC: %[[RE1:.*]] = tile.dot {{.*}}, %[[RE]]
        # ACC: %[[RE2:.*]] = tile.dot {{.*}}, %[[RE1]]
        # ACC: %[[IM1:.*]] = tile.dot {{.*}}, %[[IM]]
        # ACC: %[[IM2:.*]] = tile.dot {{.*}}, %[[IM1]]
        acc += tl.dot(a, a)
        # ACC: %[[RE3:.*]] = tile.dot {{.*}}, %[[RE2]]
        # ACC: %[[IM3:.*]] = tile.dot {{.*}}, %[[IM2]]
        # ACC-NEXT: scf.yield %[[RE3]], %[[IM3]]
        acc = tl.dot(a, x) + acc
    # A dot with a name keeps its value.
    # ACC: tile.dot {{.*}}, %[[ZERO]]
    # ACC: tile.dot {{.*}}, %[[ZERO]]
    # ACC-COUNT-2: arith.addf
    named = tl.dot(x, a)
    tl.store(p + at, acc + named)
    tl.store(q + at, named)


@triton.jit
def constants(p):
    tl.static_assert((1 + 2j) * TURN == 2 - 1j)
    tl.static_assert(abs(3 - 4j) == 5 and (1j / (1 + 1j)).real == 0.5)
    tl.static_assert(1j != 1 and 2 + 0j == 2 and not 0j and TURN.imag == -1)
    tl.static_assert(isinstance(1j, tl.constexpr) and complex(1) + 1j == tl.complex(1, 1))
    tl.static_assert((1j).conj() == TURN and -TURN == 1j and TURN.dtype == tl.complex64)
    # The bits of np.complex64(0.5 - 3j).
    # CONST: arith.constant -4593671618860941312 : i64
    tl.store(p, 0.5 - 3j)
