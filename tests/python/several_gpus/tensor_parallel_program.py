"""A rank of `test_tensor_parallel.py`: a transformer block whose heads and columns are split over the ranks.

On GPUs with NCCL, or on the CPU with gloo. Every rank has whole rows of the input; the dots before
attention and before the activation are cut by columns, those after them by rows, so that a sum over
the ranks follows each of these. Arguments: "cuda" or "cpu", and a folder for the reports. What is
computed is compared with the whole block in double precision.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import torch
import torch.distributed as distributed

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ON_GPU = sys.argv[1] == "cuda"
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if ON_GPU else torch.device("cpu")
TOKENS, WIDTH, HEADS, DEPTH, BETWEEN = 24, 64, 4, 16, 160


@triton.autotune(
    [triton.Config({"BM": m, "BN": n}) for m, n in [(16, 32), (32, 32), (32, 16)]],
    key=["N", "K"],
)
@triton.jit
def matmul_kernel(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, 32):
        k = start + tl.arange(0, 32)
        left = tl.load(
            a + row[:, None] * K + k[None, :], (row < M)[:, None] & (k < K)[None, :], 0.0
        )
        right = tl.load(
            b + k[:, None] * N + column[None, :], (k < K)[:, None] & (column < N)[None, :], 0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    mask = (row < M)[:, None] & (column < N)[None, :]
    tl.store(c + row[:, None] * N + column[None, :], total, mask)


@triton.jit
def norm_kernel(y, x, weight, n, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    at, mask = tl.program_id(0) * n + column, column < n
    row = tl.load(x + at, mask, 0.0)
    scale = tl.rsqrt(tl.sum(row * row) / n + 1e-6)
    tl.store(y + at, row * scale * tl.load(weight + column, mask), mask)


@triton.jit
def attention_kernel(out, q, k, v, length, width, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    """A head; rows of q, k, v and out have the `width` numbers of this rank's heads."""
    row, depth = tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    at = row[:, None] * width + tl.program_id(0) * DEPTH + depth[None, :]
    mask = (row < length)[:, None]
    queries, keys, values = (
        tl.load(q + at, mask, 0.0),
        tl.load(k + at, mask, 0.0),
        tl.load(v + at, mask, 0.0),
    )
    scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * DEPTH**-0.5
    seen = (row[None, :] <= row[:, None]) & (row < length)[None, :]
    scores = tl.where(seen, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=1, keep_dims=True))
    weights /= tl.sum(weights, axis=1, keep_dims=True)
    tl.store(out + at, tl.dot(weights, values, input_precision="ieee"), mask)


@triton.jit
def gate_kernel(out, gate, up, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(gate + at, at < n)
    tl.store(out + at, x * tl.sigmoid(x) * tl.load(up + at, at < n), at < n)


def empty(*shape):
    return torch.full(shape, float("nan"), device=DEVICE)


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = empty(M, N)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    matmul_kernel[grid](c, a, b, M, N, K)
    return c


def norm(x, weight):
    y = torch.empty_like(x)
    norm_kernel[(len(x),)](y, x, weight, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def summed(x):
    distributed.all_reduce(x)
    return x


def block(x, w):
    """The block, with this rank's parts of the weights `w`."""
    h = norm(x, w["norm1"])
    q, k, v = (matmul(h, w[name]) for name in ("q", "k", "v"))
    heads = torch.empty_like(q)
    attention_kernel[(q.shape[1] // DEPTH,)](
        heads, q, k, v, len(x), q.shape[1], DEPTH=DEPTH, BLOCK=triton.next_power_of_2(len(x))
    )
    x = x + summed(matmul(heads, w["o"]))
    h = norm(x, w["norm2"])
    gate, up = matmul(h, w["gate"]), matmul(h, w["up"])
    between = torch.empty_like(gate)
    n = gate.numel()
    gate_kernel[(triton.cdiv(n, 256),)](between, gate, up, n, BLOCK=256)
    return x + summed(matmul(between, w["down"]))


def draw():
    """The input and all weights, the same on all ranks."""
    random = np.random.default_rng(5)
    shapes = {name: (WIDTH, HEADS * DEPTH) for name in ("q", "k", "v")}
    shapes.update(o=(HEADS * DEPTH, WIDTH), gate=(WIDTH, BETWEEN), up=(WIDTH, BETWEEN))
    shapes.update(down=(BETWEEN, WIDTH), norm1=(WIDTH,), norm2=(WIDTH,))
    weights = {
        name: (random.standard_normal(shape) / 8).astype(np.float32)
        for name, shape in shapes.items()
    }
    return random.standard_normal((TOKENS, WIDTH)).astype(np.float32), weights


def part(name, weight):
    """What this rank has of a weight: columns, or rows of those that sums follow."""
    if name.startswith("norm"):
        return weight
    return np.split(weight, RANKS, axis=0 if name in ("o", "down") else 1)[RANK]


def exact(x, w):
    """The block in double precision."""
    x, w = x.astype(np.float64), {name: weight.astype(np.float64) for name, weight in w.items()}
    normed = lambda x, weight: x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6) * weight
    h = normed(x, w["norm1"])
    q, k, v = (
        (h @ w[name]).reshape(TOKENS, HEADS, DEPTH).swapaxes(0, 1) for name in ("q", "k", "v")
    )
    scores = q @ k.swapaxes(1, 2) * DEPTH**-0.5
    scores = np.where(np.tri(TOKENS, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    heads = (weights / weights.sum(axis=2, keepdims=True)) @ v
    x = x + heads.swapaxes(0, 1).reshape(TOKENS, -1) @ w["o"]
    h = normed(x, w["norm2"])
    gate = h @ w["gate"]
    return x + (gate / (1 + np.exp(-gate)) * (h @ w["up"])) @ w["down"]


def main():
    if ON_GPU:
        torch.cuda.set_device(DEVICE)
    distributed.init_process_group("nccl" if ON_GPU else "gloo")
    x, weights = draw()
    own = {
        name: torch.tensor(np.ascontiguousarray(part(name, w)), device=DEVICE)
        for name, w in weights.items()
    }
    result = block(torch.tensor(x, device=DEVICE), own)
    expected = exact(x, weights)
    all_results = [torch.empty_like(result) for _ in range(RANKS)]
    distributed.all_gather(all_results, result)
    report = {
        "error": float(np.abs(result.cpu().numpy() - expected).max() / np.abs(expected).max()),
        "same": all(bool(torch.equal(result, other)) for other in all_results),
        "choice": str(matmul_kernel.best_config),
    }
    Path(sys.argv[2], f"{RANK}.json").write_text(json.dumps(report), encoding="utf-8")
    distributed.barrier()
    distributed.destroy_process_group()


main()
