# An exponential whose denormal results have no effect becomes one of base 2, which flushes them; others stay.
# RUN: pantilec %s --kernel softmax --signature "*fp32:16,*fp16:16" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=SOFTMAX
# RUN: pantilec %s --kernel logistic --signature "*fp32:16,*fp32:16" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=LOGISTIC
# RUN: pantilec %s --kernel running --signature "*fp32:16,*fp32:16,i32" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=RUNNING
# RUN: pantilec %s --kernel weights --signature "*fp16:16,*fp16:16,*fp32:16" -D N=64 --no-cache --emit layout -o - | FileCheck %s --check-prefix=WEIGHTS
# RUN: pantilec %s --kernel shown --signature "*fp32:16,*fp32:16" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=KEPT
# RUN: pantilec %s --kernel added --signature "*fp32:16,*fp32:16" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=KEPT
# RUN: pantilec %s --kernel small_constant --signature "*fp32:16,*fp32:16" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=KEPT
# RUN: pantilec %s --kernel another_maximum --signature "*fp32:16,*fp32:16" -D N=1024 --no-cache --emit layout -o - | FileCheck %s --check-prefix=KEPT
# RUN: pantilec %s --kernel logistic --signature "*fp32:16,*fp32:16" -D N=1024 --no-cache --disable-pass tile-approximate-exp --emit layout -o - | FileCheck %s --check-prefix=KEPT
# KEPT-NOT: math.exp2
# KEPT: math.exp
# KEPT-NOT: math.exp2
import pantile
import pantile.language as tl


# The sum has a 1 in it; a bf16 or an fp32 would show the weight itself.
# SOFTMAX: arith.constant dense<1.4426950{{.*}}> : tensor<1024xf32
# SOFTMAX: math.exp2
# SOFTMAX-NOT: math.exp
@pantile.jit
def softmax(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(X + at)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + at, e.to(tl.float16))
    tl.store(Y + N, tl.sum(e, 0).to(tl.float16))


# LOGISTIC: math.exp2
# LOGISTIC-NOT: math.exp
@pantile.jit
def logistic(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(Y + at, tl.sigmoid(tl.load(X + at)))


# The scale of what came before stays as it is.
# RUNNING: scf.for
# RUNNING-DAG: math.exp {{.*}} : f32
# RUNNING-DAG: math.exp2 {{.*}} : tensor<1024xf32
@pantile.jit
def running(X, Y, blocks, N: tl.constexpr):
    top = -float("inf")
    total = 0.0
    for i in range(blocks):
        x = tl.load(X + i * N + tl.arange(0, N))
        new = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), 0)
        top = new
    tl.store(Y, total)
    tl.store(Y + 1, top)


# WEIGHTS: math.exp2
# WEIGHTS-NOT: math.exp
@pantile.jit
def weights(Q, V, O, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    q, v = tl.load(Q + at), tl.load(V + at)
    s = tl.dot(q, tl.trans(v))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    tl.store(O + at, tl.dot(p.to(tl.bfloat16), v.to(tl.bfloat16)) / tl.sum(p, 1)[:, None])


@pantile.jit
def shown(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(X + at)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + at, e / tl.sum(e, 0))


@pantile.jit
def added(X, Y, N: tl.constexpr):
    tl.store(Y, tl.sum(tl.exp(tl.load(X + tl.arange(0, N))), 0))


@pantile.jit
def small_constant(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(Y + at, tl.exp(tl.load(X + at)) + 1e-30)


@pantile.jit
def another_maximum(X, Y, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(X + at)
    tl.store(Y, tl.sum(tl.exp(x - tl.max(tl.load(Y + at), 0)), 0))
