"""One of two ranks of `test_ranks.py`: passes a matrix on, and tunes a GEMM of it.

On two GPUs with NCCL, or on the CPU with gloo.

Arguments: "cuda" or "cpu", and the address of the process group. Rank 1 queues the receiving of the
matrix and then launches the GEMM, which it has to tune; rank 0 tunes the same GEMM before it
sends. Were rank 1 to claim the tuning, it would wait for rank 0 in its first measurement, and rank
0 for its choice.
"""

import json
import os
import sys
import time

import numpy as np
import pantile as triton
import pantile.language as tl
import torch
import torch.distributed as distributed

RANK = int(os.environ["RANK"])
KIND, ADDRESS = sys.argv[1:]
ON_GPU = KIND == "cuda"
DEVICE = torch.device("cuda", RANK) if ON_GPU else torch.device("cpu")
SIZE = 1024 if ON_GPU else 64
BLOCKS = [(128, 128), (128, 64), (64, 128), (64, 64)] if ON_GPU else [(32, 32), (16, 32), (32, 16)]


@triton.autotune([triton.Config({"BM": m, "BN": n}) for m, n in BLOCKS], key=["N"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, N, 32):
        ks = start + tl.arange(0, 32)
        a = tl.load(a_ptr + rows[:, None] * N + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


def matmul(a, b):
    c = torch.full((SIZE, SIZE), float("nan"), device=DEVICE)
    grid = lambda meta: (triton.cdiv(SIZE, meta["BM"]), triton.cdiv(SIZE, meta["BN"]))
    matmul_kernel[grid](a, b, c, SIZE)
    return c


def main():
    if ON_GPU:
        torch.cuda.set_device(DEVICE)
    backend = "nccl" if ON_GPU else "gloo"
    distributed.init_process_group(backend, init_method=ADDRESS, rank=RANK, world_size=2)
    random = np.random.default_rng(11)
    first, b = random.standard_normal((2, SIZE, SIZE)).astype(np.float16)
    received = torch.zeros(1, device=DEVICE)
    distributed.all_reduce(received)
    # Ranks connect at the first message: from now on NCCL only queues the receiving.
    distributed.send(received, 1) if RANK == 0 else distributed.recv(received, 0)
    start = time.monotonic()
    weights = torch.tensor(b, device=DEVICE)
    if RANK == 0:
        time.sleep(1)  # rank 1 is as far as it gets by itself
        a = torch.tensor(first, device=DEVICE)
        c = matmul(a, weights)
        distributed.send(a, 1)
    else:
        a = torch.full((SIZE, SIZE), float("nan"), dtype=torch.float16, device=DEVICE)
        distributed.recv(a, 0)
        c = matmul(a, weights)
    seconds = time.monotonic() - start
    expected = first.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.cpu().numpy(), expected, rtol=1e-4, atol=1e-2)
    both = [torch.empty_like(c) for _ in range(2)]
    distributed.all_gather(both, c)
    times = [matmul_kernel.configs_timings[config] for config in matmul_kernel.configs]
    report = {
        "rank": RANK,
        "choice": matmul_kernel.configs.index(matmul_kernel.best_config),
        "times": times,
        "measured": matmul_kernel.bench_time is not None,
        "same": bool(torch.equal(*both)),
        "seconds": seconds,
    }
    print(json.dumps(report), flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


main()
