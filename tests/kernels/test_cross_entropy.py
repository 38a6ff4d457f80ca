"""Cross entropy over a vocabulary: smoothing, z-loss, ignored targets, logit soft-capping.

Liger's way: one program loops over a row in blocks and overwrites the logits with their gradient. The
chunked way: programs for pieces of a row give log-sum-exps that a second kernel joins, a third
gives the gradient. Within 1e-5.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from pantile.language.math import exp, log


@triton.jit
def _tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def fused_cross_entropy_kernel(
    X_ptr,
    X_stride,
    Y_ptr,
    Y_stride,
    loss_ptr,
    z_loss_ptr,
    n_cols,
    n_non_ignore,
    ignore_index,
    lse_square_scale: tl.constexpr,
    label_smoothing: tl.constexpr,
    softcap,
    RETURN_Z_LOSS: tl.constexpr,
    HAS_SOFTCAPPING: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """The loss of each row; its logits become the gradient of the mean over rows not ignored."""
    program_id = tl.program_id(0).to(tl.int64)
    Y_ptr += program_id * Y_stride
    y = tl.load(Y_ptr)
    X_ptr += program_id * X_stride
    if y == ignore_index:
        for i in range(0, n_cols, BLOCK_SIZE):
            X_offsets = i + tl.arange(0, BLOCK_SIZE)
            tl.store(X_ptr + X_offsets, 0.0, mask=X_offsets < n_cols)
        return

    loss_ptr += program_id
    if RETURN_Z_LOSS:
        z_loss_ptr += program_id
    m = float("-inf")
    d = 0.0
    ori_X_y = tl.load(X_ptr + y).cast(tl.float32)
    if HAS_SOFTCAPPING:
        ori_X_y = softcap * _tanh(ori_X_y / softcap)
    scaled_x_sum = 0.0
    eps = label_smoothing / n_cols
    for i in range(0, n_cols, BLOCK_SIZE):
        X_offsets = i + tl.arange(0, BLOCK_SIZE)
        X_block = tl.load(X_ptr + X_offsets, mask=X_offsets < n_cols, other=float("-inf")).cast(
            tl.float32
        )
        if HAS_SOFTCAPPING:
            X_block = tl.where(
                X_offsets < n_cols, softcap * _tanh(X_block / softcap), float("-inf")
            )
        block_max = tl.max(X_block)
        if label_smoothing > 0:
            scaled_x_sum += tl.sum(tl.where(X_offsets < n_cols, -eps * X_block, 0.0))
        m_new = tl.maximum(m, block_max)
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(X_block - m_new))
        m = m_new
    lse = m + tl.log(d)
    for i in range(0, n_cols, BLOCK_SIZE):
        X_offsets = i + tl.arange(0, BLOCK_SIZE)
        raw = tl.load(X_ptr + X_offsets, mask=X_offsets < n_cols, other=float("-inf")).cast(
            tl.float32
        )
        if HAS_SOFTCAPPING:
            t = _tanh(raw / softcap)
            X_block = softcap * t
        else:
            X_block = raw
        grad = tl.exp(X_block - m) / d
        grad += 2 * lse_square_scale * lse * grad
        grad += -eps
        grad = tl.where(X_offsets != y, grad, grad - (1 - label_smoothing))
        grad = grad / n_non_ignore
        if HAS_SOFTCAPPING:
            grad = grad * (1 - t * t)
        tl.store(X_ptr + X_offsets, grad, mask=X_offsets < n_cols)
    tl.debug_barrier()
    loss = lse - ori_X_y
    if label_smoothing > 0:
        smooth_loss = scaled_x_sum + label_smoothing * lse
        loss = loss * (1 - label_smoothing) + smooth_loss
    z_loss = lse_square_scale * lse * lse
    loss += z_loss
    tl.store(loss_ptr, loss / n_non_ignore)
    if RETURN_Z_LOSS:
        tl.store(z_loss_ptr, z_loss / n_non_ignore)


@triton.heuristics({"HAS_SMOOTHING": lambda args: args["smoothing"] > 0.0})
@triton.jit
def chunk_forward_kernel(
    loss_ptr, lse_ptr, logits_ptr, labels_ptr, smoothing, ignore_index, classes, stride, n_rows,
    BLOCK_SIZE: tl.constexpr, HAS_SMOOTHING: tl.constexpr,
):  # fmt: skip
    """Chunk by chunk: log-sum-exps, and the part of the loss that does not need their joint one."""
    row_idx = tl.program_id(0)
    col_block_idx = tl.program_id(1)
    logits_ptr = logits_ptr + row_idx * stride.to(tl.int64)
    col_offsets = col_block_idx * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    label_idx = tl.load(labels_ptr + row_idx)
    logits = tl.load(logits_ptr + col_offsets, mask=col_offsets < classes, other=-float("inf")).to(
        tl.float32
    )
    max_logits = tl.max(logits, 0)
    lse = log(tl.sum(exp(logits - max_logits), 0)) + max_logits
    tl.store(lse_ptr + col_block_idx * n_rows + row_idx, lse)
    if label_idx == ignore_index:
        loss = 0.0
    else:
        if HAS_SMOOTHING:
            total = tl.sum(tl.where(col_offsets < classes, logits, 0.0), 0)
        if label_idx >= col_block_idx * BLOCK_SIZE and label_idx < min(
            classes, (col_block_idx + 1) * BLOCK_SIZE
        ):
            logits_label = tl.load(logits_ptr + label_idx)
            if HAS_SMOOTHING:
                loss = -smoothing * total / classes - (1 - smoothing) * logits_label
            else:
                loss = -logits_label
        else:
            if HAS_SMOOTHING:
                loss = -smoothing * total / classes
            else:
                loss = 0.0
    tl.store(loss_ptr + col_block_idx * n_rows + row_idx, loss)


@triton.jit
def chunk_join_kernel(
    loss_ptr, lse_ptr, out_ptr, out_lse_ptr, labels_ptr, ignore_index, n_rows, n_chunks,
    ROWS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    chunks = tl.arange(0, CHUNKS)
    mask = (chunks < n_chunks)[:, None] & (rows < n_rows)[None, :]
    at = chunks[:, None] * n_rows + rows[None, :]
    lse = tl.load(lse_ptr + at, mask=mask, other=float("-inf"))
    best = tl.max(lse, axis=0)
    best = tl.where(rows < n_rows, best, 0.0)
    lse = best + tl.log(tl.sum(tl.exp(lse - best[None, :]), axis=0))
    part = tl.sum(tl.load(loss_ptr + at, mask=mask, other=0.0), axis=0)
    labels = tl.load(labels_ptr + rows, mask=rows < n_rows, other=ignore_index)
    tl.store(out_ptr + rows, tl.where(labels == ignore_index, 0.0, part + lse), mask=rows < n_rows)
    tl.store(out_lse_ptr + rows, lse, mask=rows < n_rows)


@triton.jit
def chunk_backward_kernel(
    dlogits_ptr, dloss_ptr, logits_ptr, lse_ptr, labels_ptr, smoothing, ignore_index, classes,
    stride, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    label = tl.load(labels_ptr + row)
    dloss = tl.load(dloss_ptr + row) if label != ignore_index else 0.0
    logits = tl.load(logits_ptr + row * stride + cols, mask=cols < classes, other=-float("inf"))
    probs = tl.exp(logits.to(tl.float32) - tl.load(lse_ptr + row))
    probs = tl.where(cols == label, probs - (1 - smoothing), probs) - smoothing / classes
    tl.store(dlogits_ptr + row * stride + cols, dloss * probs, mask=cols < classes)


def reference(x, y, ignored, smoothing=0.0, square=0.0, cap=0.0):
    """Losses of the rows, z-losses, and the gradients of their sum, in float64."""
    x = x.astype(np.float64)
    capped = cap * np.tanh(x / cap) if cap else x
    best = capped.max(axis=1, keepdims=True)
    lse = best + np.log(np.exp(capped - best).sum(axis=1, keepdims=True))
    keep = (y != ignored)[:, None]
    target = np.full(x.shape, smoothing / x.shape[1])
    target[np.arange(len(y)), np.where(y == ignored, 0, y)] += 1 - smoothing
    p = np.exp(capped - lse)
    grad = p - target + 2 * square * lse * p
    if cap:
        grad *= 1 - np.tanh(x / cap) ** 2
    z = np.where(keep, square * lse**2, 0)[:, 0]
    loss = np.where(keep, (target * (lse - capped)).sum(axis=1, keepdims=True), 0)[:, 0] + z
    return loss, z, np.where(keep, grad, 0)


def logits_and_labels(device, dtype, ignored):
    rows, classes = (400, 32003) if device.on_gpu else (13, 1003)
    labels = random(rows, "i64", 2, low=0, high=classes)
    labels[::5] = ignored
    return random((rows, classes), dtype, 1), labels


@pytest.mark.parametrize(
    "dtype, smoothing, square, cap",
    [
        ("fp32", 0.0, 0.0, 0.0),
        ("fp32", 0.1, 1e-3, 0.0),
        ("bf16", 0.1, 0.0, 0.0),
        ("fp32", 0.0, 0.0, 3.0),
    ],
)
def test_fused(device, dtype, smoothing, square, cap):
    """Loss, z-loss and gradient of the fused kernel are those of float64."""
    x, y = logits_and_labels(device, dtype, -100)
    rows, classes = x.shape
    counted = int((y != -100).sum())
    loss, z = (device.to(np.zeros(rows, np.float32)) for _ in range(2))
    d_x = device.to(x.copy())
    fused_cross_entropy_kernel[(rows,)](
        d_x, classes, device.to(y), 1, loss, z if square else None, classes, counted, -100,
        lse_square_scale=square, label_smoothing=smoothing, softcap=cap if cap else None,
        RETURN_Z_LOSS=square > 0, HAS_SOFTCAPPING=cap > 0, BLOCK_SIZE=512, num_warps=8,
    )  # fmt: skip
    expected, expected_z, grad = reference(x, y, -100, smoothing, square, cap)
    np.testing.assert_allclose(device.numpy(loss), expected / counted, rtol=1e-4, atol=1e-5)
    if square:
        np.testing.assert_allclose(device.numpy(z), expected_z / counted, rtol=1e-4, atol=1e-6)
    allowed = 1e-6 if dtype == "fp32" else 1e-2 * np.abs(grad / counted).max()
    np.testing.assert_allclose(
        device.numpy(d_x).astype(np.float64), grad / counted, atol=allowed, rtol=1e-4
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_chunked(device, smoothing):
    """The loss of a vocabulary in chunks is that of whole rows."""
    x, y = logits_and_labels(device, "fp32", 7)
    rows, classes = x.shape
    block = 4096 if device.on_gpu else 256
    chunks = triton.cdiv(classes, block)
    d_x, d_y = device.to(x), device.to(y)
    part, part_lse = (device.output((chunks, rows), "fp32") for _ in range(2))
    loss, lse = device.output(rows, "fp32"), device.output(rows, "fp32")
    chunk_forward_kernel[(rows, chunks)](
        part.array, part_lse.array, d_x, d_y, smoothing, 7, classes, classes, rows, BLOCK_SIZE=block
    )
    chunk_join_kernel[(triton.cdiv(rows, 8),)](
        part.array, part_lse.array, loss.array, lse.array, d_y, 7, rows, chunks,
        ROWS=8, CHUNKS=triton.next_power_of_2(chunks), num_warps=1,
    )  # fmt: skip
    expected, _, grad = reference(x, y, 7, smoothing)
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-5, atol=1e-5)
    dloss, dlogits = random(rows, "fp32", 3), device.output(x.shape, "fp32")
    chunk_backward_kernel[(rows, chunks)](
        dlogits.array, device.to(dloss), d_x, lse.array, d_y, smoothing, 7, classes, classes, block
    )
    np.testing.assert_allclose(dlogits.numpy(), grad * dloss[:, None], rtol=1e-4, atol=1e-6)
