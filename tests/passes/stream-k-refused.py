# Kernels whose programs must not be split over CTAs: a remark says which rule each breaks.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --no-cache --enable-pass nv-stream-k --remarks --emit pipeline
# RUN: %{run} --kernel two_sums -o - 2>&1 | FileCheck %s --check-prefix=TWO-SUMS
# RUN: %{run} --kernel in_a_loop -o - 2>&1 | FileCheck %s --check-prefix=IN-A-LOOP
# RUN: %{run} --kernel begins_elsewhere -o - 2>&1 | FileCheck %s --check-prefix=BEGINS-ELSEWHERE
# RUN: %{run} --kernel scales_its_sum -o - 2>&1 | FileCheck %s --check-prefix=SCALES-ITS-SUM
# RUN: %{run} --kernel goes_faster -o - 2>&1 | FileCheck %s --check-prefix=GOES-FASTER
# RUN: %{run} --kernel counts -o - 2>&1 | FileCheck %s --check-prefix=COUNTS
# RUN: %{run} --kernel keeps_an_operand -o - 2>&1 | FileCheck %s --check-prefix=KEEPS-AN-OPERAND
# RUN: %{run} --kernel sums_in_halves -o - 2>&1 | FileCheck %s --check-prefix=SUMS-IN-HALVES
# RUN: %{run} --kernel outgrows_coordinates -o - 2>&1 | FileCheck %s --check-prefix=OUTGROWS
# RUN: %{run} --kernel promises_its_counter -o - 2>&1 | FileCheck %s --check-prefix=PROMISES
# RUN: %{run} --kernel bounds_what_it_carries -o - 2>&1 | FileCheck %s --check-prefix=BOUNDS
# RUN: %{run} --kernel matmul --disable-pass nv-make-persistent -o - 2>&1 | FileCheck %s --check-prefix=STANDS-ALONE
import pantile
import pantile.language as tl

B: tl.constexpr = 64


@pantile.jit
def pointers(a, b, m, n, stride):
    within = tl.arange(0, B)
    return (
        a + (m * B + within)[:, None] * stride + within[None, :],
        b + within[:, None] * stride + (n * B + within)[None, :],
    )


@pantile.jit
def write(c, acc, m, n, stride):
    within = tl.arange(0, B)
    tl.store(c + (m * B + within)[:, None] * stride + (n * B + within)[None, :], acc.to(tl.float16))


# STANDS-ALONE: stream-K does not apply: the kernel is not persistent
# STANDS-ALONE-NOT: nv.store_partial
@pantile.jit
def matmul(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, stride, B):
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc)
    write(c, acc, m, n, stride)


# TWO-SUMS: stream-K does not apply: the kernel has 2 dots, not one
# TWO-SUMS-NOT: nv.store_partial
@pantile.jit
def two_sums(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    first, second = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.float32)
    for k in range(0, stride, B):
        first = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), first)
    for k in range(0, stride, B):
        second = tl.dot(tl.load(xs + k), tl.load(ys + k), second)
    write(c, first * second, m, n, stride)


# IN-A-LOOP: stream-K does not apply
# IN-A-LOOP-NOT: nv.store_partial
@pantile.jit
def in_a_loop(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    total = tl.zeros((B, B), tl.float32)
    for part in range(2):
        xs, ys = pointers(a, b, 2 * m + part, n, stride)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, stride, B):
            acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc)
        total = total * 0.5 + acc
    write(c, total, m, n, stride)


# BEGINS-ELSEWHERE: stream-K does not apply: a value that it carries is neither a sum that begins at zero nor grows by the same amount in each iteration
# BEGINS-ELSEWHERE-NOT: nv.store_partial
@pantile.jit
def begins_elsewhere(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.full((B, B), 1.0, tl.float32)
    for k in range(0, stride, B):
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc)
    write(c, acc, m, n, stride)


# SCALES-ITS-SUM: stream-K does not apply: a value that it carries is neither a sum that begins at zero nor grows by the same amount in each iteration
# SCALES-ITS-SUM-NOT: nv.store_partial
@pantile.jit
def scales_its_sum(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, stride, B):
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc * 0.5)
    write(c, acc, m, n, stride)


# GOES-FASTER: stream-K does not apply: a value that it carries is neither a sum that begins at zero nor grows by the same amount in each iteration
# GOES-FASTER-NOT: nv.store_partial
@pantile.jit
def goes_faster(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float32)
    scale = 1.0
    for k in range(0, stride, B):
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc)
        scale = scale * 0.5
    write(c, acc * scale, m, n, stride)


# COUNTS: stream-K does not apply: more than its sum is used after it
# COUNTS-NOT: nv.store_partial
@pantile.jit
def counts(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float32)
    seen = 0
    for k in range(0, stride, B):
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc)
        seen += 3
    write(c, acc * seen, m, n, stride)


# KEEPS-AN-OPERAND: stream-K does not apply: operations before it have effects, and several CTAs would execute them
# KEEPS-AN-OPERAND-NOT: nv.store_partial
@pantile.jit
def keeps_an_operand(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    x = tl.load(xs)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, stride, B):
        acc = tl.dot(x, tl.load(ys + k * stride), acc)
    write(c, acc, m, n, stride)


# SUMS-IN-HALVES: stream-K does not apply: its sum is of neither fp32 nor int32
# SUMS-IN-HALVES-NOT: nv.store_partial
@pantile.jit
def sums_in_halves(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float16)
    for k in range(0, stride, B):
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc, out_dtype=tl.float16)
    write(c, acc, m, n, stride)


# What TMA needs to know is lost once the counter is begin + number * step: first how large it grows, then what it is a
# multiple of, then that pointers and counter have advanced by as much.
# OUTGROWS: stream-K does not apply: in a work range, a coordinate might not fit 32 bits
# OUTGROWS-NOT: nv.store_partial
# OUTGROWS: nv.tma_load
@pantile.jit
def outgrows_coordinates(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(1, tl.cdiv(stride, B)):
        acc = tl.dot(tl.load(xs), tl.load(ys), acc)
        xs += B
        ys += B * stride
    write(c, acc, m, n, stride)


# PROMISES: stream-K does not apply: in a work range, its rows are not known to begin at multiples of 16 bytes
# PROMISES-NOT: nv.store_partial
# PROMISES: nv.tma_load
@pantile.jit
def promises_its_counter(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, stride, 4):
        k = tl.multiple_of(k, 16)
        acc = tl.dot(tl.load(xs + k), tl.load(ys + k * stride), acc)
    write(c, acc, m, n, stride)


# BOUNDS: stream-K does not apply: in a work range, a bound in its mask is not known on the host
# BOUNDS-NOT: nv.store_partial
# BOUNDS: nv.tma_load
@pantile.jit
def bounds_what_it_carries(a, b, c, stride):
    m, n = tl.program_id(0), tl.program_id(1)
    xs, ys = pointers(a, b, m, n, stride)
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(B, stride, B):
        x = tl.load(xs, mask=(k + within < stride)[None, :], other=0.0)
        acc = tl.dot(x, tl.load(ys + k * stride), acc)
        xs += B
    write(c, acc, m, n, stride)
