# Persistent programs whose rows and columns come from a grid are run in raster groups; those that order themselves are left alone.
# DEFINE: %{run} = pantilec %s --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" --target sm_90a --no-cache
# RUN: %{run} --kernel by_two_axes --emit pipeline | FileCheck %s --check-prefix=AXES
# RUN: %{run} --kernel by_two_axes -D N=256 --num-warps 8 --emit pipeline | FileCheck %s --check-prefix=WIDE
# RUN: %{run} --kernel columns_first -D N=256 --num-warps 8 --emit pipeline | FileCheck %s --check-prefix=COLUMNS
# RUN: %{run} --kernel by_one_axis --emit pipeline | FileCheck %s --check-prefix=QUOTIENT
# RUN: %{run} --kernel of_a_batch --emit pipeline | FileCheck %s --check-prefix=AXES
# RUN: %{run} --kernel by_two_axes --disable-pass nv-order-raster --emit pipeline | FileCheck %s --check-prefix=KEPT
# RUN: %{run} --kernel in_groups --emit pipeline | FileCheck %s --check-prefix=KEPT
# RUN: %{run} --kernel of_one_row --emit pipeline | FileCheck %s --check-prefix=KEPT
# RUN: %{run} --kernel of_a_product_each --emit pipeline | FileCheck %s --check-prefix=KEPT
# RUN: %{run} --kernel by_its_own_width --emit pipeline | FileCheck %s --check-prefix=KEPT
# RUN: %{run} --kernel by_two_axes --emit pipeline --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
# RUN: %{run} --kernel by_two_axes --emit cubin -o %t
# RUN: %{run} --kernel by_one_axis --emit cubin -o %t
import pantile as triton
import pantile.language as tl

M: tl.constexpr = 128
N: tl.constexpr = 128
K: tl.constexpr = 64


@triton.jit
def matmul(a, b, m, n, depth, columns):
    within = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        x = tl.load(a + (m + tl.arange(0, M))[:, None] * depth + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * columns + (n + tl.arange(0, N))[None, :])
        acc = tl.dot(x, y, acc)
    return acc


@triton.jit
def write(c, acc, m, n, rows, columns):
    along, across = m + tl.arange(0, M), n + tl.arange(0, N)
    mask = (along[:, None] < rows) & (across[None, :] < columns)
    tl.store(c + along[:, None] * columns + across[None, :], acc.to(tl.float16), mask=mask)


# SAID: [[@LINE+19]]:5: remark: programs are run in raster order (threadblock swizzle), in groups of 8 (as GROUP_M), so that a wave reads the same rows and columns
# Producer and consumers visit programs in the same order. A group has 1024 rows, or columns.
# AXES: nv.producer {
# AXES: scf.for %[[POSITION:[a-z0-9]*]] =
# AXES: %[[NUMBER:.*]] = nv.raster_program %[[POSITION]], %{{.*}} x %{{.*}} by 8
# AXES-DAG: nv.program_at %[[NUMBER]], 0
# AXES-DAG: nv.program_at %[[NUMBER]], 1
# AXES: {nv.programs}
# AXES: scf.for %[[POSITION:[a-z0-9]*]] =
# AXES: %[[NUMBER:.*]] = nv.raster_program %[[POSITION]], %{{.*}} x %{{.*}} by 8
# AXES-NOT: nv.program_at %[[POSITION]]
# AXES: {nv.programs}
# WIDE: nv.raster_program {{.*}} by 8
# COLUMNS: nv.raster_program {{.*}} by 4
# KEPT-NOT: nv.raster_program
# KEPT: nv.program_at
# KEPT: {nv.programs}
# KEPT-NOT: nv.raster_program
@triton.jit
def by_two_axes(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)


@triton.jit
def columns_first(a, b, c, rows, columns, depth):
    m, n = tl.program_id(1) * M, tl.program_id(0) * N
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)


# QUOTIENT: %[[COUNT:.*]] = tile.num_programs 0
# QUOTIENT: %[[HEIGHT:.*]] = arith.divui %[[COUNT]], %[[WIDTH:.*]] : i32
# QUOTIENT: %[[NUMBER:.*]] = nv.raster_program %{{.*}}, %[[WIDTH]] x %[[HEIGHT]] by 8
# QUOTIENT: %[[INDEX:.*]] = nv.program_at %[[NUMBER]], 0
# QUOTIENT-DAG: arith.divsi %[[INDEX]], %[[WIDTH]]
# QUOTIENT-DAG: arith.remsi %[[INDEX]], %[[WIDTH]]
@triton.jit
def by_one_axis(a, b, c, rows, columns, depth):
    across = tl.cdiv(columns, N)
    m, n = tl.program_id(0) // across * M, tl.program_id(0) % across * N
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)


@triton.jit
def of_a_batch(a, b, c, rows, columns, depth):
    m, n, batch = tl.program_id(0) * M, tl.program_id(1) * N, tl.program_id(2)
    a, b, c = a + batch * rows * depth, b + batch * depth * columns, c + batch * rows * columns
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)


# Whoever groups programs has chosen.
@triton.jit
def in_groups(a, b, c, rows, columns, depth):
    program, across, along = tl.program_id(0), tl.cdiv(columns, N), tl.cdiv(rows, M)
    first = program // (8 * across) * 8
    height = min(along - first, 8)
    m = (first + program % (8 * across) % height) * M
    n = program % (8 * across) // height * N
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)


@triton.jit
def of_one_row(a, b, c, rows, columns, depth):
    n = tl.program_id(0) * N
    write(c, matmul(a, b, 0, n, depth, columns), 0, n, rows, columns)


@triton.jit
def of_a_product_each(a, b, c, rows, columns, depth):
    m, n = tl.program_id(0) * M, tl.program_id(0) * N
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)


# The width is not known before the program is.
@triton.jit
def by_its_own_width(a, b, c, rows, columns, depth):
    across = tl.cdiv(columns, N) + tl.program_id(1)
    m, n = tl.program_id(0) // across * M, tl.program_id(0) % across * N
    write(c, matmul(a, b, m, n, depth, columns), m, n, rows, columns)
