"""The kernels of tutorial 09 at the sizes of Llama-3 8B and 70B, against NCCL and our own kernel.

    torchrun --nproc-per-node=2 tests/gpu/bench/exchanges.py --json exchanges.json

Both sides take the fastest of the same few tiles and leave their inputs as they were. Then they are
timed interleaved; a time is that of the slowest rank, medians of 11 are reported. Every element of every
kernel is compared with float64 before it is timed.
For each size the script says what limits the kernel: its GEMM alone, or the bytes that must cross
the link, by the bandwidth of a plain copy from a peer, which it measures; neither where it takes
more than twice as long as both.

Started alone, or with ranks that share a GPU, it checks and times nothing. Without a GPU sizes are
small.
"""

import argparse
import json
import statistics
from dataclasses import dataclass

import numpy as np
import pantile as triton
import pantile.language as tl
from rank_group import exchange, join, leave, load_tutorial

tutorial = load_tutorial()
ON_GPU, RANKS, RANK = tutorial.ON_GPU, tutorial.RANKS, tutorial.RANK
places, gemm_tile = tutorial.places, tutorial.gemm_tile

# Width, width between the two GEMMs of a feed-forward layer, widths of queries, keys and values.
MODELS = {"8B": (4096, 14336, 6144), "70B": (8192, 28672, 10240)}
TOKENS = [2**i for i in range(6, 14)]
SMALL = {"small": (128, 256, 192)}
TILES = [
    dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=4),
    dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=64, num_warps=4, num_stages=4),
    dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=4),
    dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=3),
]
if not ON_GPU:
    MODELS, TOKENS, TILES = SMALL, [32, 64], TILES[:1]


@triton.jit
def gemm_kernel(
    c_ptr, a_ptr, b_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The tutorial's tile of A·B, without other ranks."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    m, n = tl.program_id(0) % tiles_m, tl.program_id(0) // tiles_m
    tile = gemm_tile(a_ptr, b_ptr, m * BLOCK_M, n, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
    start, at, mask = places(m, n, M, N, BLOCK_M, BLOCK_N)
    tl.store(c_ptr + start + at, tile.to(c_ptr.dtype.element_ty), mask)


@triton.jit
def norm_kernel(y_ptr, x_ptr, weight_ptr, n, eps, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    at, mask = tl.program_id(0).to(tl.int64) * n + column, column < n
    row = tl.load(x_ptr + at, mask, 0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(row * row) / n + eps)
    y = row * scale * tl.load(weight_ptr + column, mask)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask)


def gemm(a, b, c, tile):
    (M, K), N = a.shape, b.shape[1]
    grid = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    gemm_kernel[(grid,)](c, a, b, M, N, K, **tile)


def norm(x, weight, y):
    rows, n = x.shape
    norm_kernel[(rows,)](y, x, weight, n, 1e-6, BLOCK=triton.next_power_of_2(n), num_warps=8)


@dataclass
class Case:
    """One kernel at one size, as this rank sees it."""

    out: object  # what both sides write
    exact: object  # () -> what they have to write, in float64
    ours: object  # tile -> launches the kernel
    library: object  # tile -> launches what it is compared with
    alone: object  # tile -> launches the kernel without an exchange
    bytes: int  # that have to reach this rank, at least
    tiles: list


def double(x):
    return x.double() if ON_GPU else x.astype(np.float64)


def summed(x):
    """The sum over the ranks, in place."""
    exchange("all_reduce", x)
    return x


def gathered(rows):
    if RANKS == 1:
        return rows
    whole = rows.new_empty(RANKS * rows.shape[0], rows.shape[1])
    exchange("all_gather_into_tensor", whole, rows)
    return whole


def all_gather_gemm(tokens, K, N):
    rows = tokens // RANKS
    a, b = tutorial.random_matrix(rows, K), tutorial.random_matrix(K, N)
    c, whole = tutorial.empty(tokens, N), gathered(a)
    memory = [tutorial.all_gather_memory(RANKS, rows, K, tile) for tile in TILES]
    peers = tutorial.make_peers(*map(max, zip(*memory, strict=True)))

    def library(tile):
        exchange("all_gather_into_tensor", whole, a)
        gemm(whole, b, c, tile)

    return Case(
        c,
        lambda: double(whole) @ double(b),
        lambda tile: tutorial.all_gather_gemm(peers, a, b, c, tile),
        library,
        lambda tile: gemm(whole, b, c, tile),
        2 * (tokens - rows) * K,
        TILES,
    )


def gemm_reduce_scatter(tokens, K, N):
    rows = tokens // RANKS
    a, b = tutorial.random_matrix(tokens, K), tutorial.random_matrix(K, N)
    c, part = tutorial.empty(rows, N), tutorial.empty(tokens, N)
    slots = max(tutorial.reduce_scatter_slots(tokens, N, tile) for tile in TILES)
    peers = tutorial.make_peers(tokens * N, slots)

    def library(tile):
        gemm(a, b, part if RANKS > 1 else c, tile)
        exchange("reduce_scatter_tensor", c, part)

    return Case(
        c,
        lambda: summed(double(a) @ double(b))[RANK * rows : (RANK + 1) * rows],
        lambda tile: tutorial.gemm_reduce_scatter(peers, a, b, c, tile),
        library,
        lambda tile: gemm(a, b, part, tile),
        2 * (tokens - rows) * N,
        TILES,
    )


def all_reduce_norm(tokens, n, _):
    x, weight, y = (
        tutorial.random_matrix(tokens, n),
        tutorial.draw(7, n)[0],
        tutorial.empty(tokens, n),
    )
    weight, peers = tutorial.on_device(weight), tutorial.make_peers(tokens * n, 1)
    total = tutorial.empty(tokens, n)

    def library(_):
        total[:] = x
        norm(summed(total), weight, y)

    def exact():
        total = summed(double(x))
        return total / ((total**2).mean(1)[:, None] + 1e-6) ** 0.5 * double(weight)

    return Case(
        y, exact, lambda _: tutorial.all_reduce_rms_norm(peers, x, weight, y), library,
        lambda _: norm(x, weight, y), 2 * (RANKS - 1) * tokens * n, [{}],
    )  # fmt: skip


def cases(width, between, heads):
    """Name and maker of each kernel of a layer whose rows or columns the ranks share."""
    return {
        "all-gather + GEMM, gate and up": (all_gather_gemm, width, 2 * between // RANKS),
        "all-gather + GEMM, q, k and v": (all_gather_gemm, width, heads // RANKS),
        "GEMM + reduce-scatter, down": (gemm_reduce_scatter, between // RANKS, width),
        "GEMM + reduce-scatter, o": (gemm_reduce_scatter, width // RANKS, width),
        "all-reduce + RMS norm": (all_reduce_norm, width, width),
    }


def error(case, run, exact):
    """The largest difference from `exact` by its largest element; infinite if not a number."""
    case.out[:] = float("nan")
    run()
    found = float(abs(double(case.out) - exact).max() / abs(exact).max())
    exchange("barrier")  # another tile has other flags, which no rank may set yet
    return found if found == found else float("inf")


def check(case):
    """Every element of both sides with every tile; all ranks have ended when this returns."""
    exact = case.exact()
    worst = {
        name: max(error(case, lambda run=run, tile=tile: run(tile), exact) for tile in case.tiles)
        for name, run in (("ours", case.ours), ("library", case.library))
    }
    assert max(worst.values()) < 2e-3, f"off by {worst} of the largest"
    return worst


def launches(ms):
    """How many launches of about `ms` a time is of: as many as fit into 20 ms, 3 to 20.

    GPUs at their limit of power get slower while they run.
    """
    return max(3, min(20, int(20 / ms)))


def in_turns(runs, rounds):
    """Milliseconds of each of `runs`, of the slowest rank: a row for a round, every other one backwards.

    All ranks have ended one run's launches before the next one's, so that these may use its flags.
    """
    first = [tutorial.measure(run, 3) for run in runs]
    times = np.zeros((rounds, len(runs)))
    for number in range(rounds):
        for i in range(len(runs)) if number % 2 == 0 else reversed(range(len(runs))):
            times[number, i] = tutorial.measure(runs[i], launches(first[i]))
    return times


def fastest(tiles, *sides):
    """Pairs of a side's number and its fastest tile, the same on all ranks.

    Those within 15 % of a side's fastest are measured again, next to those of the other sides: at the
    same power, and the same clock.
    """
    runs = [(side, tile) for side in range(len(sides)) for tile in tiles]
    start = lambda side, tile: lambda: sides[side](tile)

    def near(runs, times, limit):
        best = {side: min(t for (s, _), t in zip(runs, times) if s == side) for side, _ in runs}
        return [run for run, t in zip(runs, times) if t <= limit * best[run[0]]]

    runs = near(runs, np.median(in_turns([start(*run) for run in runs], 1), axis=0), 1.15)
    return near(runs, np.median(in_turns([start(*run) for run in runs], 5), axis=0), 1.0)


ROUNDS = 11


def measure(case, link):
    """A row of the table; `link` is in GB/s."""
    sides = (case.ours, case.library, case.alone)
    tiles = dict(fastest(case.tiles, *sides))
    times = in_turns([lambda i=i: sides[i](tiles[i]) for i in range(3)], ROUNDS)
    ours, library, alone = np.median(times, axis=0).tolist()
    crossing = case.bytes / link / 1e6
    limit = "the link" if crossing > alone else "the GEMM or norm"
    return {
        "tile": tiles[0], "library_tile": tiles[1], "ours_ms": ours, "library_ms": library,
        "ratio": float(np.median(times[:, 1] / times[:, 0])), "alone_ms": alone,
        "link_gb_s": case.bytes / ours / 1e6, "of_link": crossing / ours,
        "limit": limit if ours < 2 * max(alone, crossing) else "neither",
    }  # fmt: skip


def link_bandwidth(size=1 << 28):
    """GB/s of a copy of a peer's memory to this rank, all ranks at the same time."""
    import torch
    from torch.distributed import _symmetric_memory as symmetric

    memory = symmetric.empty(size, dtype=torch.uint8, device=f"cuda:{torch.cuda.current_device()}")
    handle = symmetric.rendezvous(memory, torch.distributed.group.WORLD)
    peer = handle.get_buffer((RANK + 1) % RANKS, (size,), torch.uint8)
    own = torch.empty_like(memory)
    found = size / tutorial.measure(lambda: own.copy_(peer)) / 1e6
    torch.distributed.barrier()
    return found


def summary(rows, link):
    """The lines that the log ends with."""
    ratios = [row["ratio"] for row in rows]
    lines = [f"=== table: {RANKS} ranks, link {link:.0f} GB/s"]
    lines += [
        f"{row['model']:>4} {row['tokens']:>5} {row['kernel']:<32} {row['ours_ms']:8.3f} ms"
        f" {row['ratio']:5.2f} x, {row['of_link']:4.0%} of the link; limit: {row['limit']}"
        for row in rows
    ]
    mean = statistics.geometric_mean(ratios)
    return [
        *lines,
        f"geometric mean {mean:.3f} (1.15 wanted), worst {min(ratios):.3f} (0.98 wanted)",
    ]


def write(path, link, rows):
    """Keep the rows that there are: a run that is ended keeps those before."""
    if RANK == 0 and path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"ranks": RANKS, "link_gb_s": link, "rows": rows}, file, indent=1)


def main():
    """Check all; then measure where each rank has a GPU of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--tokens", nargs="*", type=int)
    parser.add_argument("--json")
    options = parser.parse_args()
    is_timed = join(ON_GPU) and RANKS > 1
    link = link_bandwidth() if is_timed else 0.0
    # Ranks that share a GPU exchange by the host, which is slow: 512 tokens are enough to check.
    all_tokens = options.tokens or (TOKENS if is_timed else TOKENS[:4])
    rows = []
    for model in options.models:
        for tokens in all_tokens:
            for name, (make, *sizes) in cases(*MODELS[model]).items():
                case = make(tokens, *sizes)
                row = {"model": model, "tokens": tokens, "kernel": name, "errors": check(case)}
                rows.append({**row, **(measure(case, link) if is_timed else {})})
                write(options.json, link, rows)
                exchange("barrier")  # no rank frees what another one may still read
    if RANK == 0:
        print(f"{len(rows)} sizes are right on {RANKS} ranks")
        if is_timed:
            print("\n".join(summary(rows, link)))
    leave()


if __name__ == "__main__":
    main()
