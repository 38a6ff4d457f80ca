# What loops with `disable_licm` compute in every iteration stays in them, through all passes and in LLVM.
# RUN: pantilec %s --kernel ranges --signature "*fp32:16, fp32, i32" -D KEEP=False --no-cache --emit tile | FileCheck %s --check-prefix=MOVED
# RUN: pantilec %s --kernel ranges --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --emit tile | FileCheck %s --check-prefix=KEPT
# RUN: pantilec %s --kernel ranges --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --target sm_90a --emit mma | FileCheck %s --check-prefix=KEPT
# RUN: pantilec %s --kernel ranges --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --target sm_90a --emit llvm | FileCheck %s --check-prefix=LLVM
# RUN: pantilec %s --kernel left --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --target sm_90a --emit mma | FileCheck %s --check-prefix=LEFT
# RUN: pantilec %s --kernel left --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --target sm_90a --emit llvm | FileCheck %s --check-prefix=LLVM
# RUN: pantilec %s --kernel conditions --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --target sm_90a --emit mma | FileCheck %s --check-prefix=LEFT
# RUN: pantilec %s --kernel conditions --signature "*fp32:16, fp32, i32" -D KEEP=True --no-cache --target sm_90a --emit llvm | FileCheck %s --check-prefix=LLVM
import pantile as triton
import pantile.language as tl

# MOVED: math.sqrt
# MOVED: scf.for
# MOVED-NOT: math.sqrt

# KEPT-NOT: math.sqrt
# KEPT: scf.for
# KEPT: math.sqrt

# LEFT-NOT: math.sqrt
# LEFT: scf.while
# LEFT: math.sqrt

# LLVM: br {{.*}}!llvm.loop ![[LOOP:[0-9]+]]
# LLVM: ![[LOOP]] = distinct !{![[LOOP]], ![[HINT:[0-9]+]]
# LLVM: ![[HINT]] = !{!"llvm.licm.disable"}


@triton.jit
def ranges(p, x, n, KEEP: tl.constexpr):
    at = tl.arange(0, 128)
    for i in tl.range(0, n, disable_licm=KEEP):
        tl.store(p + i * 128 + at, tl.load(p + i * 128 + at) * tl.sqrt(x))


@triton.jit
def left(p, x, n, KEEP: tl.constexpr):
    at = tl.arange(0, 128)
    for i in tl.range(0, n, disable_licm=KEEP):
        y = tl.load(p + i * 128 + at)
        if tl.max(y) > 3.0:
            break
        tl.store(p + i * 128 + at, y * tl.sqrt(x))


@triton.jit
def conditions(p, x, n, KEEP: tl.constexpr):
    at = tl.arange(0, 128)
    i = 0
    while tl.condition(tl.load(p + i) < n, disable_licm=KEEP):
        tl.store(p + i * 128 + at, tl.load(p + i * 128 + at) * tl.sqrt(x))
        i += 3
