"""Copies that reorder: transposes in tiles, of any strides, in batches, permutations, patches, rolls.

Everything moves bit for bit; sizes are odd so that tiles hang over both edges.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def transpose_kernel(
    x_ptr, out_ptr, rows, cols, x_row, x_col, out_row, out_col,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """Reads and writes tiles along their own fast dimension."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    x = tl.load(
        x_ptr + r[:, None] * x_row + c[None, :] * x_col,
        mask=(r[:, None] < rows) & (c[None, :] < cols),
    )
    tl.store(
        out_ptr + c[:, None] * out_row + r[None, :] * out_col,
        x.T,
        mask=(c[:, None] < cols) & (r[None, :] < rows),
    )


@triton.jit
def block_pointer_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    i, j = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    source = tl.make_block_ptr(
        x_ptr + batch * rows * cols, (rows, cols), (cols, 1), (i, j), (ROWS, COLS), (1, 0)
    )
    target = tl.make_block_ptr(
        out_ptr + batch * rows * cols, (cols, rows), (rows, 1), (j, i), (COLS, ROWS), (1, 0)
    )
    x = tl.load(source, boundary_check=(0, 1))
    tl.store(target, tl.trans(x), boundary_check=(0, 1))


@triton.jit
def square_in_place_kernel(x_ptr, n, BLOCK: tl.constexpr):
    """Programs above the diagonal exchange their tile with its mirror image."""
    i, j = tl.program_id(0), tl.program_id(1)
    if i > j:
        return
    r, c = i * BLOCK + tl.arange(0, BLOCK), j * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < n) & (c[None, :] < n)
    upper = x_ptr + r[:, None] * n + c[None, :]
    lower = x_ptr + c[:, None] * n + r[None, :]
    a = tl.load(upper, mask=inside)
    b = tl.load(lower, mask=tl.trans(inside))
    tl.debug_barrier()
    tl.store(upper, tl.trans(b), mask=inside)
    tl.store(lower, tl.trans(a), mask=tl.trans(inside))


@triton.jit
def permute_heads_kernel(
    x_ptr, out_ptr, tokens, HEADS: tl.constexpr, DIM: tl.constexpr, TOKENS: tl.constexpr
):
    """(token, head, dim) to (head, dim, token): a permutation of a tile of rank 3."""
    t = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    h, d = tl.arange(0, HEADS), tl.arange(0, DIM)
    at = (t[:, None, None] * HEADS + h[None, :, None]) * DIM + d[None, None, :]
    x = tl.load(x_ptr + at, mask=t[:, None, None] < tokens)
    to = (h[:, None, None] * DIM + d[None, :, None]) * tokens + t[None, None, :]
    tl.store(out_ptr + to, tl.permute(x, (1, 2, 0)), mask=t[None, None, :] < tokens)


@triton.jit
def patches_kernel(x_ptr, out_ptr, columns, PATCH: tl.constexpr, PATCHES: tl.constexpr):
    """Rows of an image to squares of PATCH x PATCH that lie together, by reshape and permute."""
    top, left = tl.program_id(0), tl.program_id(1)
    r = top * PATCH + tl.arange(0, PATCH)
    c = left * PATCHES * PATCH + tl.arange(0, PATCHES * PATCH)
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :])
    x = tl.reshape(x, (PATCH, PATCHES, PATCH)).permute(1, 0, 2)
    x = tl.reshape(x, (PATCHES * PATCH * PATCH,))
    first = (top * (columns // PATCH) + left * PATCHES) * PATCH * PATCH
    tl.store(out_ptr + first + tl.arange(0, PATCHES * PATCH * PATCH), x)


@triton.jit
def roll_flip_kernel(
    x_ptr, out_ptr, rows, cols, down, right, COLS: tl.constexpr, FLIP: tl.constexpr
):
    r = tl.program_id(0)
    c = tl.arange(0, COLS)
    from_row = (r - down + rows) % rows
    from_col = (c - right + cols) % cols
    if FLIP:
        from_col = cols - 1 - from_col
    x = tl.load(x_ptr + from_row * cols + from_col, mask=c < cols)
    tl.store(out_ptr + r * cols + c, x, mask=c < cols)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "i8", "i64"])
@pytest.mark.parametrize(
    "rows, cols, row_block, col_block, warps",
    [(70, 45, 32, 16, 4), (33, 129, 64, 64, 8), (5, 300, 8, 128, 1)],
)
def test_transpose(device, dtype, rows, cols, row_block, col_block, warps):
    """A transpose in tiles has every element in its place."""
    x = random((rows, cols), dtype, 1)
    out = device.output((cols, rows), dtype)
    transpose_kernel[(triton.cdiv(rows, row_block), triton.cdiv(cols, col_block))](
        device.to(x), out.array, rows, cols, cols, 1, rows, 1,
        ROWS=row_block, COLS=col_block, num_warps=warps,
    )  # fmt: skip
    np.testing.assert_array_equal(out.numpy(), x.T)


def test_strided(device):
    """Views of any strides are transposed, and what is between them is untouched."""
    x = random((90, 64), "fp32", 2)
    data, out = device.to(x), device.output((64, 60), "fp32")
    view, target = data[::3, 5:], out.array[3:62, ::2]
    transpose_kernel[(2, 4)](
        view, target, 30, 59, *device.strides(view), *device.strides(target), ROWS=16, COLS=16
    )
    result = out.numpy()
    np.testing.assert_array_equal(result[3:62, ::2], x[::3, 5:].T)
    result[3:62, ::2] = np.nan
    assert np.isnan(result).all()


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_batched_block_pointers(device, dtype):
    x = random((3, 48, 40), dtype, 3)
    out = device.output((3, 40, 48), dtype)
    block_pointer_kernel[(2, 3, 3)](device.to(x), out.array, 48, 40, ROWS=32, COLS=16)
    np.testing.assert_array_equal(out.numpy(), x.transpose(0, 2, 1))


@pytest.mark.parametrize("n, block", [(61, 16), (64, 32), (20, 32)])
def test_in_place(device, n, block):
    """Pairs of tiles of a square array are exchanged in place."""
    x = random((n, n), "fp32", 4)
    data, blocks = device.to(x.copy()), triton.cdiv(n, block)
    square_in_place_kernel[(blocks, blocks)](data, n, BLOCK=block)
    np.testing.assert_array_equal(device.numpy(data), x.T)


@pytest.mark.parametrize("dtype, dim, warps", [("fp16", 16, 4), ("fp32", 32, 8)])
def test_permute_heads(device, dtype, dim, warps):
    x = random((45, 4, dim), dtype, 5)
    out = device.output((4, dim, 45), dtype)
    permute_heads_kernel[(3,)](
        device.to(x), out.array, 45, HEADS=4, DIM=dim, TOKENS=16, num_warps=warps
    )
    np.testing.assert_array_equal(out.numpy(), x.transpose(1, 2, 0))


@pytest.mark.parametrize("patch, patches", [(4, 8), (16, 2)])
def test_patches(device, patch, patches):
    """Patches of an image come one after the other."""
    rows, cols = 48, 96 if patch == 16 else 64
    x = random((rows, cols), "fp16", 6)
    out = device.output(x.size, "fp16")
    patches_kernel[(rows // patch, cols // patch // patches)](
        device.to(x), out.array, cols, PATCH=patch, PATCHES=patches
    )
    expected = x.reshape(rows // patch, patch, cols // patch, patch).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(out.numpy(), expected.ravel())


@pytest.mark.parametrize("flip", [False, True])
def test_roll(device, flip):
    """Elements are rolled along both dimensions, of a reversed array too."""
    x = random((11, 50), "i32", 7)
    out = device.output(x.shape, "i32")
    roll_flip_kernel[(11,)](device.to(x), out.array, 11, 50, 4, 13, COLS=64, FLIP=flip)
    source = x[:, ::-1] if flip else x
    np.testing.assert_array_equal(out.numpy(), np.roll(source, (4, 13), axis=(0, 1)))
