"""Bandwidth-bound kernels, for Pantile and for Triton from one source.

`kernels.load(package, streams.__file__)` gives a module of them, with `triton` and `tl` of that
package. The texts are the plain ones that a user writes first; nothing in them is for one device.
"""

import importlib

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")
OPTIONS = {}  # of every launch, in addition to num_warps


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """out = x + y."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    """Each element is dropped with probability p, else scaled by 1 / (1 - p)."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def softmax_kernel(out_ptr, x_ptr, out_stride, x_stride, n_cols, BLOCK: tl.constexpr):
    """The softmax of one row, which a program holds at once."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + cols, mask=cols < n_cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


@triton.jit
def softmax_walk_kernel(
    out_ptr, x_ptr, out_stride, x_stride, n_rows, n_cols, BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """The softmax of every so many rows: a program walks over them."""
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def layer_norm_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, stride, n, eps, BLOCK: tl.constexpr
):  # fmt: skip
    """The layer norm of one row, which a program holds at once."""
    at = tl.program_id(0) * stride
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + at + cols, mask=mask, other=0.0).to(tl.float32)
    x = tl.where(mask, x - tl.sum(x, axis=0) / n, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(x * x, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    b = tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + at + cols, x * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_rows_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, stride, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The same of several rows, for which w and b are loaded once."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    at = r[:, None] * stride + cols[None, :]
    mask = (r[:, None] < rows) & (cols[None, :] < n)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    x = tl.where(mask, x - (tl.sum(x, axis=1) / n)[:, None], 0.0)
    rstd = 1 / tl.sqrt(tl.sum(x * x, axis=1) / n + eps)
    w = tl.load(w_ptr + cols, mask=cols < n)
    b = tl.load(b_ptr + cols, mask=cols < n)
    tl.store(y_ptr + at, x * rstd[:, None] * w[None, :] + b[None, :], mask=mask)


@triton.jit
def layer_norm_walks_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr
):  # fmt: skip
    """One row in three walks over its columns: mean, variance, result."""
    row = tl.program_id(0)
    y_ptr += row * stride
    x_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
        x = tl.where(cols < n, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_dx_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, stride, rows, n,
    BLOCK: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """dx of every so many rows, and the program's share of dw and db, kept in registers. With AHEAD the
    next row is loaded before this one is stored: no argument is another one's memory."""
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], dtype=tl.float32)
    db = tl.zeros([BLOCK], dtype=tl.float32)
    for row in tl.range(program, rows, tl.num_programs(0), num_stages=2 if AHEAD else None):
        x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        normal = tl.where(mask, (x - mean) * rstd, 0.0)
        wdy = w * dy
        c1 = tl.sum(normal * wdy, axis=0) / n
        c2 = tl.sum(wdy, axis=0) / n
        tl.store(dx_ptr + row * stride + cols, (wdy - normal * c1 - c2) * rstd, mask=mask)
        dw += dy * normal
        db += dy
    tl.store(dw_ptr + program * n + cols, dw, mask=mask)
    tl.store(db_ptr + program * n + cols, db, mask=mask)


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Sums of columns, in steps of ROWS rows."""
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for start in range(0, rows, ROWS):
        r = start + tl.arange(0, ROWS)
        mask = (r[:, None] < rows) & (cols[None, :] < n)
        total += tl.load(x_ptr + r[:, None] * n + cols[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + cols, tl.sum(total, axis=0), mask=cols < n)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Sums of rows, in steps of COLS columns."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for start in range(0, n, COLS):
        cols = start + tl.arange(0, COLS)
        mask = (r[:, None] < rows) & (cols[None, :] < n)
        total += tl.load(x_ptr + r[:, None] * n + cols[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + r, tl.sum(total, axis=1), mask=r < rows)


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    """out[j, i] = x[i, j], both stored row by row."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = (i[:, None] < rows) & (j[None, :] < cols)
    x = tl.load(x_ptr + i[:, None] * cols + j[None, :], mask=inside)
    tl.store(out_ptr + j[:, None] * rows + i[None, :], tl.trans(x), mask=tl.trans(inside))


@triton.jit
def bias_gelu_kernel(
    x_ptr, bias_ptr, out_ptr, rows, n, ROWS: tl.constexpr, COLS: tl.constexpr
):  # fmt: skip
    """out = gelu(x + bias), the bias one number a column; gelu by its sigmoid form."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (r[:, None] < rows) & (cols[None, :] < n)
    x = tl.load(x_ptr + r[:, None] * n + cols[None, :], mask=mask).to(tl.float32)
    x += tl.load(bias_ptr + cols, mask=cols < n).to(tl.float32)[None, :]
    y = x / (1 + tl.exp(-1.702 * x))
    tl.store(out_ptr + r[:, None] * n + cols[None, :], y, mask=mask)
