"""
Layer norm, forward and backward
================================

Layer norm brings each row of a matrix to mean 0 and variance 1, then scales and shifts its columns:

    y = (x - mean) / sqrt(variance + eps) * w + b

The forward pass is a relative of the softmax. The backward pass is where it gets interesting: the
gradients of `w` and `b` are sums over all rows, so that the programs have to work together. You
will see

* a gradient derived and written as a kernel;
* programs that walk over several rows and keep sums in registers;
* a lock in memory, and what makes it correct;
* how to hang kernels into torch's automatic differentiation.

With torch and a GPU the script runs there; otherwise it runs on the CPU, on NumPy arrays.
"""

import numpy as np
import pantile as triton
import pantile.language as tl

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False

# %%
# Forward
# -------
# A program takes one row and keeps all of it in registers, so that memory is read once although the
# variance needs the mean first. Data may be fp16; sums are always taken in fp32. The lanes beyond
# the row must not count in the variance: there `x - mean` would not be zero, so it is set to zero.
#
# The mean and the inverse of the standard deviation, two numbers per row, are kept for the backward
# pass.


@triton.jit
def forward_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, row_stride, n_cols, eps,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    at = row * row_stride + columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n_cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    y = centred * rstd * w + b
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


# %%
# The gradients
# -------------
# Write `h = (x - mean) * rstd` for the normalised row, `g` for the gradient that arrives from
# above, and n for the number of columns. The columns' parameters are simple, but reach over all
# rows:
#
#     dw = sum over rows of g * h          db = sum over rows of g
#
# For `dx`, the row depends on x in three ways: directly, through the mean, and through the standard
# deviation. Working that out leaves two averages over the row:
#
#     dx = (w g - h * average(h * w g) - average(w g)) * rstd
#
# which a program computes alone. The sums over rows are another matter. Storing `g * h` for every
# element and adding up later would move as much memory as everything else together. Instead the sum
# is taken in three steps, from the fastest memory to the slowest:
#
# 1. A program loops over many rows, `pid`, `pid + P`, `pid + 2 P`, ..., with P programs in all, and
#    adds up in registers.
# 2. At its end it adds what it has to one of `GROUPS` buffers in memory, which several programs use.
# 3. A second kernel adds up the few buffers.
#
# The lock
# --------
# Two programs that read, add and write the same buffer at the same time would lose a contribution.
# So each buffer has a lock: a number that is 0 when the buffer is free. `tl.atomic_cas(lock, 0, 1)`
# looks and, if it finds 0, writes 1, in one indivisible step; it returns what it
# found. A program that finds 1 tries again. `tl.atomic_xchg(lock, 0)` opens the lock.
#
# Three things make that right. The atomic operations order memory (they *acquire* and *release*):
# what was written before the release is seen by a program that acquires later. `tl.debug_barrier` lets all
# threads of the program finish their stores before one of them opens the lock. And programs that
# wait do not keep others from finishing, since the program that has the lock is running already.
#
# The first to come finds rubbish in the buffer. A second number next to the lock says whether
# a program was there, which saves setting the buffers to zero.
#
# Long rows
# ---------
# Registers are the scarcest memory: a program has at most 65,536 numbers of 32 bits in all of them.
# `dw` and `db` of a row of 16,384 elements would take half of them, and the row itself the rest.
# When the compiler runs out of registers it moves values to memory and back (it *spills*), and the
# kernel becomes several times slower. So rows above 8192 are cut into `PARTS`: each program keeps
# the sums of one part only. It still has to see the whole row for the two averages; the other parts
# are read by the programs next to it at about the same time, so that they come from the cache.


@triton.jit
def normalised(x_ptr, dy_ptr, w_ptr, row, columns, row_stride, n_cols, mean, rstd):
    """Of one row, or a part of it: h, the gradient, and the gradient times w."""
    mask = columns < n_cols
    at = row * row_stride + columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    return tl.where(mask, (x - mean) * rstd, 0.0), dy, w * dy


@triton.jit
def backward_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, locks_ptr,
    row_stride, n_rows, n_cols,
    GROUPS: tl.constexpr, PARTS: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0)
    pid = tl.program_id(1)
    columns = part * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    dw = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    db = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for row in range(pid, n_rows, tl.num_programs(1)):
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        h, dy, wdy = normalised(x_ptr, dy_ptr, w_ptr, row, columns, row_stride, n_cols, mean, rstd)
        along = tl.sum(h * wdy, axis=0)
        level = tl.sum(wdy, axis=0)
        for other in tl.static_range(1, PARTS):
            elsewhere = (part + other) % PARTS * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
            other_h, _, other_wdy = normalised(
                x_ptr, dy_ptr, w_ptr, row, elsewhere, row_stride, n_cols, mean, rstd
            )
            along += tl.sum(other_h * other_wdy, axis=0)
            level += tl.sum(other_wdy, axis=0)
        dx = (wdy - h * (along / n_cols) - level / n_cols) * rstd
        tl.store(dx_ptr + row * row_stride + columns, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dw += dy * h
        db += dy

    group = pid % GROUPS
    lock = locks_ptr + 2 * (part * GROUPS + group)
    used = lock + 1
    at = group * n_cols + columns
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(used) == 0:
        tl.atomic_xchg(used, 1)
    else:
        dw += tl.load(dw_ptr + at, mask=mask)
        db += tl.load(db_ptr + at, mask=mask)
    tl.store(dw_ptr + at, dw, mask=mask)
    tl.store(db_ptr + at, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


# %%
# The second kernel adds up the buffers, in tiles of `ROWS` buffers by `COLUMNS` columns. Order in
# the first kernel was a matter of luck, so that the last bits of `dw` and `db` may differ from run
# to run.


@triton.jit
def sum_kernel(
    dw_ptr, db_ptr, dw_sum_ptr, db_sum_ptr, n_rows, n_cols,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    dw = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    db = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, n_rows, ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        at = rows[:, None] * n_cols + columns[None, :]
        dw += tl.load(dw_ptr + at, mask=mask, other=0.0)
        db += tl.load(db_ptr + at, mask=mask, other=0.0)
    inside = columns < n_cols
    tl.store(dw_sum_ptr + columns, tl.sum(dw, 0).to(dw_sum_ptr.dtype.element_ty), mask=inside)
    tl.store(db_sum_ptr + columns, tl.sum(db, 0).to(db_sum_ptr.dtype.element_ty), mask=inside)


# %%
# The wrappers
# ------------
# Backward, two programs for each processor of the GPU keep it busy, or one where a row fills its
# registers; more would only mean more sums to combine.


def empty(like, *shape, dtype=None):
    """An array of that shape, of the type and on the device of another."""
    if ON_GPU:
        return torch.empty(
            shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device
        )
    return np.empty(shape, dtype or like.dtype)


def warps(block):
    return min(max(block // 512, 2), 8)


def layer_norm_forward(x, w, b, eps=1e-5):
    n_rows, n_cols = x.shape
    y, mean, rstd = (
        empty(x, n_rows, n_cols),
        empty(x, n_rows, dtype="float32"),
        empty(x, n_rows, dtype="float32"),
    )
    block = triton.next_power_of_2(n_cols)
    forward_kernel[(n_rows,)](
        x, y, w, b, mean, rstd, n_cols, n_cols, eps, BLOCK_SIZE=block, num_warps=warps(block)
    )
    return y, mean, rstd


def layer_norm_backward(dy, x, w, mean, rstd, per_processor=None, num_warps=None):
    n_rows, n_cols = x.shape
    block = min(triton.next_power_of_2(n_cols), 8192 if ON_GPU else 512)
    parts = triton.cdiv(n_cols, block)
    per_processor = per_processor or (2 if block <= 4096 else 1)
    programs = min(n_rows, max(1, per_processor * processors(x) // parts))
    groups = min(programs, 64 if ON_GPU else 3)
    dx, dw, db = empty(x, n_rows, n_cols), empty(w, n_cols), empty(w, n_cols)
    dw_parts = empty(w, groups, n_cols, dtype="float32")
    db_parts = empty(w, groups, n_cols, dtype="float32")
    locks = empty(w, 2 * parts * groups, dtype="int32")
    locks[:] = 0
    backward_kernel[(parts, programs)](
        dx, dy, dw_parts, db_parts, x, w, mean, rstd, locks, n_cols, n_rows, n_cols,
        GROUPS=groups, PARTS=parts, BLOCK_SIZE=block,
        num_warps=num_warps or (4 if block <= 4096 else 16),
    )  # fmt: skip
    sum_kernel[(triton.cdiv(n_cols, 64),)](
        dw_parts, db_parts, dw, db, groups, n_cols, ROWS=32, COLUMNS=64
    )
    return dx, dw, db


def processors(array):
    """How many programs run side by side at least."""
    if ON_GPU:
        return torch.cuda.get_device_properties(array.device).multi_processor_count
    return 4


# %%
# Unit test
# ---------
# The formulas once more, in NumPy and in double precision. The kernels' data is fp16, whose own
# rounding is about 5e-4; sums over many rows are compared relative to the largest.


def normalise_rows(x, eps=1e-5):
    rstd = 1 / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    return (x - x.mean(axis=1, keepdims=True)) * rstd, rstd


def reference(x, w, b, dy):
    (h, rstd), wdy = normalise_rows(x), w * dy
    level, along = wdy.mean(axis=1, keepdims=True), (h * wdy).mean(axis=1, keepdims=True)
    return h * w + b, (wdy - h * along - level) * rstd, (dy * h).sum(axis=0), dy.sum(axis=0)


def on_host(array):
    return (array.detach().cpu().numpy() if ON_GPU else array).astype(np.float64)


def random_fp16(*shape):
    if ON_GPU:
        return torch.randn(shape, device="cuda", dtype=torch.float16)
    return np.random.default_rng().standard_normal(shape).astype(np.float16)


def check(ours, expected):
    for result, reference in zip(ours, expected):
        worst = np.abs(on_host(result) - reference).max() / np.abs(reference).max()
        assert worst < 2e-3, f"off by {worst:.1e} of the largest"


def test():
    for n_rows, n_cols in [(1151, 8192), (4096, 1000)] if ON_GPU else [(37, 200), (5, 1024)]:
        x, dy = 2 * random_fp16(n_rows, n_cols) + 1, random_fp16(n_rows, n_cols)
        w, b = random_fp16(n_cols), random_fp16(n_cols)
        y, mean, rstd = layer_norm_forward(x, w, b)
        gradients = layer_norm_backward(dy, x, w, mean, rstd)
        check((y, *gradients), reference(*map(on_host, (x, w, b, dy))))
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# In torch
# --------
# A pair of functions becomes part of torch's automatic differentiation by a class with `forward`
# and `backward`; the context carries what the second needs of the first.

if ON_GPU:

    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b, eps=1e-5):
            y, mean, rstd = layer_norm_forward(x, w, b, eps)
            ctx.save_for_backward(x, w, mean, rstd)
            return y

        @staticmethod
        def backward(ctx, dy):
            return *layer_norm_backward(dy.contiguous(), *ctx.saved_tensors), None

    def test_in_torch():
        x, w, b = (random_fp16(*shape).requires_grad_() for shape in [(512, 768), (768,), (768,)])
        dy = random_fp16(512, 768)
        LayerNorm.apply(x, w, b).backward(dy)
        _, *gradients = reference(*map(on_host, (x, w, b, dy)))
        check((x.grad, w.grad, b.grad), gradients)


# %%
# Benchmark
# ---------
# Forward reads and writes the matrix once; backward reads two matrices and writes one. Rates are
# given in these bytes of fp16, also for NumPy, which computes in fp32 and normalises again to go
# backward.


def library(x, w, b, dy):
    """The library's two passes, as functions without arguments."""
    if not ON_GPU:
        x, w, b, dy = (part.astype(np.float32) for part in (x, w, b, dy))
        forward = lambda: normalise_rows(x)[0] * w + b
        return forward, lambda: reference(x, w, b, dy)[1:]
    leaves = [part.detach().requires_grad_() for part in (x, w, b)]
    y = torch.nn.functional.layer_norm(leaves[0], w.shape, *leaves[1:])
    forward = lambda: torch.nn.functional.layer_norm(x, w.shape, w, b)
    return forward, lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)


def plot(direction, rows):
    return triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[512 * i for i in range(2, 32)] if ON_GPU else [256, 512],
        line_arg="provider",
        line_vals=["ours", "library"],
        line_names=["Pantile", "torch" if ON_GPU else "NumPy"],
        styles=[("blue", "-"), ("green", "-")],
        xlabel="columns",
        ylabel="GB/s",
        plot_name=f"layer-norm-{direction}",
        args={"M": rows, "direction": direction},
    )


@triton.testing.perf_report([plot(d, 4096 if ON_GPU else 16) for d in ("forward", "backward")])
def benchmark(M, N, provider, direction):
    x, dy, w, b = random_fp16(M, N), random_fp16(M, N), random_fp16(N), random_fp16(N)
    if provider == "library":
        run = library(x, w, b, dy)[direction == "backward"]
    elif direction == "forward":
        run = lambda: layer_norm_forward(x, w, b)
    else:
        _, mean, rstd = layer_norm_forward(x, w, b)
        run = lambda: layer_norm_backward(dy, x, w, mean, rstd)
    ms, fastest, slowest = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: (2 if direction == "forward" else 3) * x.itemsize * M * N / ms * 1e-6
    return gbps(ms), gbps(slowest), gbps(fastest)


# %%
# What to try next
# ----------------
# * RMS norm has no mean and no `b`. Which lines fall away, and which terms of `dx`?
# * Replace the lock by `tl.atomic_add` of every element. When is that faster?
# * Make the result the same in every run: give each program a buffer of its own. What does it cost?
# * Fuse the residual connection: the kernel reads x and a residual, and writes their sum as well.

if __name__ == "__main__":
    test()
    if ON_GPU:
        test_in_torch()
    benchmark.run(print_data=True, save_path=".out")
