# A loop of loads whose length is known is unrolled as far as its loads fit registers; one with a dot, or of unknown length, is not.
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16" -D N=4096 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=SHORT
# RUN: pantilec %s --kernel row --signature "*fp32:16, *fp32:16" -D N=65536 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=LOOP
# RUN: pantilec %s --kernel told --signature "*fp32:16, *fp32:16, i32:16" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=LOOP
# RUN: pantilec %s --kernel nested --signature "*fp32:16, *fp32:16" --no-cache --emit ptx -o - | FileCheck %s --check-prefix=LOOP
# RUN: pantilec %s --kernel product --signature "*fp16:16, *fp32:16" --target sm_80 --no-cache --emit ptx -o - | FileCheck %s --check-prefix=LOOP
import pantile as triton
import pantile.language as tl

# SHORT-NOT: bra
# SHORT-COUNT-8: ld.global
# SHORT: bar.sync
# LOOP: bra


@triton.jit
def row(x, y, N: tl.constexpr):
    total = tl.zeros([1024], tl.float32)
    for start in range(0, N, 1024):
        total += tl.load(x + start + tl.arange(0, 1024))
    tl.store(y, tl.sum(total, axis=0))


@triton.jit
def told(x, y, n):
    total = tl.zeros([1024], tl.float32)
    for start in range(0, n, 1024):
        total += tl.load(x + start + tl.arange(0, 1024))
    tl.store(y + tl.arange(0, 1024), total)


@triton.jit
def nested(x, y):
    total = tl.zeros([1024], tl.float32)
    for i in range(2):
        for j in range(64):
            total += tl.load(x + (i * 64 + j) * 1024 + tl.arange(0, 1024))
    tl.store(y + tl.arange(0, 1024), total)


@triton.jit
def product(x, y):
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    total = tl.zeros([32, 32], tl.float32)
    for i in range(8):
        a = tl.load(x + i * 1024 + at)
        total = tl.dot(a, a, total)
    tl.store(y + at, total)
