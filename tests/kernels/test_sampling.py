"""Sampling the next token: penalties, top-k and top-p by a sort, min-p, Gumbel noise, sorts by hand.

Rows are one block (sorted whole) or many (a top-k of blocks, then of their winners). The chosen
token is that of a NumPy walk over the same sorted probabilities and the same uniform number; the
numbers lie away from the steps by more than rounding.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random


@triton.jit
def penalties_kernel(
    logits_ptr, counts_ptr, repetition_ptr, frequency_ptr, presence_ptr, temperature_ptr,
    VOCAB, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = row.to(tl.int64) * VOCAB + c
    x = tl.load(logits_ptr + at, mask=c < VOCAB).to(tl.float32)
    count = tl.load(counts_ptr + at, mask=c < VOCAB, other=0)
    repetition = tl.load(repetition_ptr + row)
    x = tl.where(count > 0, tl.where(x > 0, x / repetition, x * repetition), x)
    x -= tl.load(frequency_ptr + row) * count + tl.load(presence_ptr + row) * (count > 0)
    tl.store(logits_ptr + at, x / tl.load(temperature_ptr + row), mask=c < VOCAB)


@triton.jit
def sortable(x):
    """The bits of fp32 as unsigned numbers of the same order."""
    bits = x.to(tl.uint32, bitcast=True)
    return tl.where(bits >> 31 != 0, ~bits, bits | 0x80000000)


@triton.jit
def unsortable(key):
    bits = tl.where(key >> 31 != 0, key ^ 0x80000000, ~key)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def sample_kernel(
    logits_ptr, uniform_ptr, k_ptr, top_p_ptr, min_p_ptr, token_ptr, kept_ptr, VOCAB,
    WIDTH: tl.constexpr,
):  # fmt: skip
    """Sorted once, downwards; equal logits keep the order of their tokens."""
    row = tl.program_id(0)
    c = tl.arange(0, WIDTH)
    x = tl.load(logits_ptr + row * VOCAB + c, mask=c < VOCAB, other=float("-inf"))
    pair = (sortable(x).to(tl.uint64) << 32) | (WIDTH - 1 - c).to(tl.uint64)
    pair = tl.sort(pair, descending=True)
    token = WIDTH - 1 - (pair & 0xFFFFFFFF).to(tl.int32)
    x = unsortable((pair >> 32).to(tl.uint32))
    p = tl.exp(x - tl.max(x, 0))
    p /= tl.sum(p, 0)
    before = tl.cumsum(p, 0) - p
    keep = (c < tl.load(k_ptr + row)) & (before < tl.load(top_p_ptr + row))
    keep &= p >= tl.load(min_p_ptr + row) * tl.max(p, 0)
    p = tl.where(keep, p, 0.0)
    target = tl.load(uniform_ptr + row) * tl.sum(p, 0)
    passed = tl.cumsum(p, 0) <= target
    place = tl.minimum(tl.sum(passed.to(tl.int32), 0), tl.sum(keep.to(tl.int32), 0) - 1)
    tl.store(token_ptr + row, tl.sum(tl.where(c == place, token, 0), 0))
    tl.store(kept_ptr + row, tl.sum(keep.to(tl.int32), 0))


@triton.jit
def block_top_k_kernel(
    x_ptr, key_ptr, columns, stride_key, K: tl.constexpr, BLOCK: tl.constexpr, FIRST: tl.constexpr
):
    """K largest of a block: of logits, or (`FIRST` false) of the keys of an earlier pass."""
    row, block = tl.program_id(0), tl.program_id(1)
    c = block * BLOCK + tl.arange(0, BLOCK)
    if FIRST:
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=float("-inf"))
        keys = (sortable(x.to(tl.float32)).to(tl.uint64) << 32) | (0x7FFFFFFF - c).to(tl.uint64)
        keys = tl.where(c < columns, keys, 0)
    else:
        keys = tl.load(x_ptr + row * columns + c, mask=c < columns, other=0)
    out = key_ptr + row * stride_key + block * K + tl.arange(0, K)
    tl.store(out, tl.topk(keys, K))


@triton.jit
def gumbel_kernel(logits_ptr, token_ptr, seed, VOCAB, BLOCK: tl.constexpr):
    """The index of the largest logit plus noise: exact sampling in one pass over the row."""
    row = tl.program_id(0)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    where = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(0, VOCAB, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * VOCAB + c, mask=c < VOCAB, other=float("-inf"))
        u = tl.maximum(tl.rand(seed, row * VOCAB + c), 1e-10)
        x -= tl.log(-tl.log(u))
        better = x > best
        best = tl.where(better, x, best)
        where = tl.where(better, c, where)
    place = tl.argmax(best, 0)
    tl.store(token_ptr + row, tl.sum(tl.where(tl.arange(0, BLOCK) == place, where, 0), 0))


@triton.jit
def compare_and_swap(x, ids, flip, i: tl.constexpr, n_dims: tl.constexpr):
    n_outer: tl.constexpr = x.numel >> n_dims
    shape: tl.constexpr = [n_outer * 2**i, 2, 2 ** (n_dims - i - 1)]
    y = tl.reshape(x, shape)
    mask = tl.arange(0, 2)[None, :, None]
    left = tl.broadcast_to(tl.sum(y * (1 - mask), 1)[:, None, :], shape).to(y.dtype)
    right = tl.broadcast_to(tl.sum(y * mask, 1)[:, None, :], shape).to(y.dtype)
    y_ids = tl.reshape(ids, shape)
    left_id = tl.broadcast_to(tl.sum(y_ids * (1 - mask), 1)[:, None, :], shape)
    right_id = tl.broadcast_to(tl.sum(y_ids * mask, 1)[:, None, :], shape)
    left, right = tl.reshape(left, x.shape), tl.reshape(right, x.shape)
    left_id, right_id = tl.reshape(left_id, x.shape), tl.reshape(right_id, x.shape)
    swap = (left > right) != flip
    other = left + right - x
    other_id = left_id ^ right_id ^ ids
    return tl.where(swap, other, x), tl.where(swap, other_id, ids)


@triton.jit
def bitonic_argsort_kernel(x_ptr, out_ptr, id_ptr, N: tl.constexpr, LOG: tl.constexpr):
    """A bitonic network written out: each stage doubles the length of the sorted runs."""
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x, ids = tl.load(x_ptr + row * N + c), c
    for stage in tl.static_range(1, LOG + 1):
        if stage < LOG:
            shape: tl.constexpr = [N // 2 ** (stage + 1), 2, 2**stage]
            flip = tl.reshape(tl.broadcast_to(tl.arange(0, 2)[None, :, None], shape), x.shape).to(
                tl.int1
            )
        else:
            flip = tl.full([N], 0, tl.int1)
        for i in tl.static_range(stage):
            x, ids = compare_and_swap(x, ids, flip, i + (LOG - stage), LOG)
    tl.store(out_ptr + row * N + c, x)
    tl.store(id_ptr + row * N + c, ids)


def test_penalties(device):
    """Logits are divided and lowered by how often their tokens have come."""
    rows, vocab = 3, 300
    logits, counts = (
        random((rows, vocab), "fp32", 1),
        random((rows, vocab), "i32", 2, low=0, high=3),
    )
    repetition, frequency, presence, temperature = (
        (0.5 + np.abs(random(rows, "fp32", s))).astype(np.float32) for s in (3, 4, 5, 6)
    )
    x = device.to(logits.copy())
    penalties_kernel[(rows, triton.cdiv(vocab, 128))](
        x, *map(device.to, (counts, repetition, frequency, presence, temperature)), vocab, BLOCK=128
    )
    wide, factor = logits.astype(np.float64), repetition[:, None]
    wide = np.where(counts > 0, np.where(wide > 0, wide / factor, wide * factor), wide)
    wide -= frequency[:, None] * counts + presence[:, None] * (counts > 0)
    np.testing.assert_allclose(device.numpy(x), wide / temperature[:, None], rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("vocab", [100, 1000])
def test_top_k_top_p(device, vocab):
    """As many logits are kept, and the same token is drawn, as by NumPy's sorted probabilities."""
    rows = 12
    logits = random((rows, vocab), "fp32", 7) * 2
    logits[1] = np.round(logits[1])
    uniform = np.random.default_rng(8).random(rows).astype(np.float32)
    k = np.array([1, 5, vocab, vocab, 40, 7] * 2, np.int32)
    top_p = np.array([1.1, 1.1, 0.9, 0.5, 0.3, 0.8] * 2, np.float32)
    min_p = np.array([0.0] * 6 + [0.05, 0.2] * 3, np.float32)
    token, kept = device.output(rows, "i32"), device.output(rows, "i32")
    sample_kernel[(rows,)](
        *map(device.to, (logits, uniform, k, top_p, min_p)), token.array, kept.array, vocab,
        WIDTH=triton.next_power_of_2(vocab),
    )  # fmt: skip
    for row in range(rows):
        order = np.argsort(-logits[row], kind="stable")
        p = np.exp(logits[row][order].astype(np.float64) - logits[row].max())
        p /= p.sum()
        before = np.cumsum(p) - p
        keep = (np.arange(vocab) < k[row]) & (before < top_p[row]) & (p >= min_p[row] * p[0])
        ends = np.cumsum(np.where(keep, p, 0))
        place = int((ends <= uniform[row] * ends[-1]).sum())
        assert kept.numpy()[row] == keep.sum()
        assert token.numpy()[row] == order[place]


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_top_k_of_blocks(device, dtype):
    rows, columns, k, block = 4, 3000, 16, 256
    x = random((rows, columns), dtype, 9)
    blocks = triton.cdiv(columns, block)
    first, last = device.output((rows, blocks * k), "u64"), device.output((rows, k), "u64")
    block_top_k_kernel[(rows, blocks)](
        device.to(x), first.array, columns, blocks * k, K=k, BLOCK=block, FIRST=True
    )
    block_top_k_kernel[(rows, 1)](
        first.array, last.array, blocks * k, k, K=k, BLOCK=triton.next_power_of_2(blocks * k),
        FIRST=False,
    )  # fmt: skip
    ids = 0x7FFFFFFF - (last.numpy() & 0xFFFFFFFF).astype(np.int64)
    expected = np.argsort(-x.astype(np.float64), axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, expected)


def test_gumbel(device):
    """4,000 draws from six tokens: each frequency within five standard deviations."""
    draws, vocab = 4000, 6
    p = np.array([0.4, 0.25, 0.2, 0.1, 0.04, 0.01])
    logits = np.tile(np.log(p).astype(np.float32), (draws, 1))
    token = device.output(draws, "i32")
    gumbel_kernel[(draws,)](device.to(logits), token.array, 1234, vocab, BLOCK=4, num_warps=1)
    share = np.bincount(token.numpy(), minlength=vocab) / draws
    assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / draws)).all()


@pytest.mark.parametrize("log", [1, 5, 7])
def test_bitonic_argsort(device, log):
    rows, n = 3, 2**log
    x = np.stack([np.random.default_rng(s).permutation(n * 3)[:n] for s in range(rows)]).astype(
        np.int32
    )
    out, ids = device.output(x.shape, "i32"), device.output(x.shape, "i32")
    bitonic_argsort_kernel[(rows,)](device.to(x), out.array, ids.array, N=n, LOG=log)
    np.testing.assert_array_equal(out.numpy(), np.sort(x, axis=1))
    np.testing.assert_array_equal(ids.numpy(), np.argsort(x, axis=1))
