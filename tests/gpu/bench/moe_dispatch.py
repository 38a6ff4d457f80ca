"""Dispatch to the experts of several GPUs: an all-to-all of rows by one kernel over symmetric memory.

    torchrun --nproc-per-node=2 tests/gpu/bench/moe_dispatch.py

Rank r has tokens and wants each of them at the ranks that own its experts. How many rows go where
is known to the kernel alone, from the routing: no rank's host waits for it. The ranks first tell
each other their counts; then every row is stored where it stays, at the rank that wants it, in the
order of the ranks that sent them. That is the result of `torch.distributed.all_to_all_single` with
sizes of the parts, for which the rows have to be sorted and the sizes exchanged before. As no rank
stores a row before all have come to the epoch, one buffer would do; the tutorial's memory has two.

The script checks each element, and prints the bandwidth of both: bytes that leave a rank for
another, by the time of the slowest rank. Started alone, it is one rank; that and ranks that share a
GPU are checked and not timed.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl

FILE = Path(__file__).resolve()
sys.path.insert(0, str(FILE.parent))

from rank_group import exchange, join, leave, load_tutorial  # noqa: E402

tutorial = load_tutorial(FILE.parents[3])
tell, wait_for, pad_of = tutorial.tell, tutorial.wait_for, tutorial.pad_of

PROGRAMS = 64  # per destination
BLOCKS = dict(BLOCK_M=8, BLOCK_N=1024, num_warps=8)

# The pad of a rank has, for odd and for even epochs, slots of RANKS words each: one for the flags of
# the counts, one for the flags of each program of a destination, and RANKS for the counts: a row per
# rank that sends, a column per destination.


def dispatch_slots(ranks, programs=PROGRAMS):
    """The slots of an epoch."""
    return 1 + programs + ranks


@triton.jit
def exchange_counts(starts_ptr, pads_ptr, slot, counts, rank, epoch, RANKS: tl.constexpr):
    """Program 0 tells all ranks how many rows this one sends to each; all programs wait for all ranks."""
    peers = tl.arange(0, RANKS)
    if tl.program_id(0) == 0:
        sent = tl.load(starts_ptr + 1 + peers) - tl.load(starts_ptr + peers)
        for peer in range(RANKS):
            pad = tl.load(pads_ptr + peer).to(tl.pointer_type(tl.int32))
            tl.store(pad + (counts + rank) * RANKS + peers, sent)
        tell(pads_ptr, slot, rank, peers, epoch, RANKS)
    wait_for(pad_of(pads_ptr, rank), slot, peers, epoch, RANKS)


@triton.jit(do_not_specialize=["rank", "epoch"])
def dispatch_kernel(
    received_ptr, x_ptr, order_ptr, starts_ptr, outs_ptr, pads_ptr, rank, epoch, capacity, N,
    RANKS: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Of the rows for one destination, every PROGRAMS-th tile.

    A rank begins with the rows for the next rank and ends with its own, for which its last programs
    wait. So what a program waits for is done by other ranks, or by programs that started before it.
    """
    peers = tl.arange(0, RANKS)
    slot = epoch % 2 * (1 + PROGRAMS + RANKS)
    counts = slot + 1 + PROGRAMS
    exchange_counts(starts_ptr, pads_ptr, slot, counts, rank, epoch, RANKS)
    pad = tl.load(pads_ptr + rank).to(tl.pointer_type(tl.int32))
    column_of_counts = pad + (counts + peers) * RANKS

    program = tl.program_id(0) % PROGRAMS
    destination = (rank + 1 + tl.program_id(0) // PROGRAMS) % RANKS
    # Rows of the ranks before this one lie before its own.
    before = tl.sum(tl.where(peers < rank, tl.load(column_of_counts + destination), 0))
    begin, end = tl.load(starts_ptr + destination), tl.load(starts_ptr + destination + 1)
    out_ptr = tl.load(outs_ptr + destination).to(tl.pointer_type(x_ptr.dtype.element_ty))
    out_ptr = tl.multiple_of(out_ptr, 16)
    for first in range(begin + program * BLOCK_M, end, PROGRAMS * BLOCK_M):
        i = first + tl.arange(0, BLOCK_M)
        place = before + i - begin
        fits = (i < end) & (place < capacity)
        row = tl.load(order_ptr + i, fits, 0).to(tl.int64)
        for column in range(0, N, BLOCK_N):
            columns = column + tl.arange(0, BLOCK_N)
            mask = fits[:, None] & (columns < N)[None, :]
            x = tl.load(x_ptr + row[:, None] * N + columns[None, :], mask)
            tl.store(out_ptr + place.to(tl.int64)[:, None] * N + columns[None, :], x, mask)

    tell(pads_ptr, slot + 1 + program, rank, destination, epoch, RANKS)
    if destination == rank:
        wait_for(pad_of(pads_ptr, rank), slot + 1 + program, peers, epoch, RANKS)
        if program == 0:
            tl.store(received_ptr + peers, tl.load(column_of_counts + rank))


def dispatch(peers, x, order, starts, received, programs=PROGRAMS, blocks=BLOCKS):
    """Send rows of x to the ranks that want them, and return the rows that this rank got.

    Parameters
    ----------
    peers : Peers
        The tutorial's, with memory for as many rows as a rank may get, of any other rank, and
        `dispatch_slots` slots.
    x : array of (tokens, N)
        This rank's rows.
    order : array of int32
        Which rows of x are sent: those for rank 0, then those for rank 1, ... A row may be sent to
        several ranks, and several times to one.
    starts : array of int32 (ranks + 1)
        Where in `order` the rows of each rank begin, and where the last one's end.
    received : array of int32 (ranks)
        Is given how many rows came from each rank. Where the sum is more than there is memory for,
        the last rows are not there.

    Returns
    -------
    array
        This rank's half of the memory for this epoch, flat: the rows of rank 0, then those of rank
        1, ... It is overwritten by the call after the next.
    """
    N = x.shape[1]
    out, outs = peers.next_epoch()
    dispatch_kernel[(peers.count * programs,)](
        received, x, order, starts, outs, peers.pads, peers.rank, peers.epoch, len(out) // N, N,
        RANKS=peers.count, PROGRAMS=programs, **blocks,
    )  # fmt: skip
    return out


def route(seed, ranks, tokens, top_k, experts):
    """A random routing: `order` and `starts` of a rank whose tokens take `top_k` of all experts."""
    rng = np.random.default_rng(seed)
    chosen = np.argsort(rng.random((tokens, experts)), axis=1)[:, :top_k].reshape(-1)
    by_expert = np.argsort(chosen, kind="stable")
    owner = np.sort(chosen) // (experts // ranks)
    starts = np.searchsorted(owner, np.arange(ranks + 1))
    return (by_expert // top_k).astype(np.int32), starts.astype(np.int32)


def rows_of(rank, xs, routings):
    """What `rank` has to get: the rows of all ranks for it, and how many of each."""
    parts = [x[order[s[rank] : s[rank + 1]]] for x, (order, s) in zip(xs, routings)]
    return np.concatenate(parts), np.array([len(part) for part in parts])


def check(tokens, N, top_k, experts, epochs=4):
    """Each element of four epochs, which use each buffer twice."""
    ranks, rank, put = tutorial.RANKS, tutorial.RANK, tutorial.on_device
    peers = tutorial.make_peers(ranks * tokens * top_k * N, dispatch_slots(ranks))
    for epoch in range(epochs):
        xs = tutorial.draw(epoch, tokens, N)
        routings = [route(100 * epoch + r, ranks, tokens, top_k, experts) for r in range(ranks)]
        received = put(np.zeros(ranks, np.int32))
        out = dispatch(peers, put(xs[rank]), *map(put, routings[rank]), received)
        wanted, counts = rows_of(rank, xs, routings)
        host = (lambda array: array.cpu().numpy()) if tutorial.ON_GPU else np.asarray
        np.testing.assert_array_equal(host(received), counts)
        np.testing.assert_array_equal(host(out)[: wanted.size].reshape(wanted.shape), wanted)
    exchange("barrier")  # no rank frees memory that another one may still write to


def measure(tokens, N, top_k, experts):
    """GB/s that leave a rank: of the kernel, of NCCL's exchange alone, and of all that NCCL needs."""
    import torch

    ranks, rank = tutorial.RANKS, tutorial.RANK
    order, starts = route(rank, ranks, tokens, top_k, experts)
    order, starts = torch.from_numpy(order).cuda(), torch.from_numpy(starts).cuda()
    x, received = tutorial.random_matrix(tokens, N), torch.zeros(ranks, dtype=torch.int32).cuda()
    peers = tutorial.make_peers(ranks * tokens * top_k * N, dispatch_slots(ranks))
    out = torch.empty(ranks * tokens * top_k, N, device="cuda", dtype=torch.float16)
    counts = starts.diff()
    sorted_rows, sent = x[order.long()], counts.tolist()
    all_counts = torch.empty_like(counts)
    exchange("all_to_all_single", all_counts, counts)
    got = (all_counts if ranks > 1 else counts).tolist()

    def nccl(rows, got, sent):
        exchange("all_to_all_single", out[: sum(got)], rows, got, sent)

    def whole():
        exchange("all_to_all_single", all_counts, counts)
        nccl(x[order.long()], (all_counts if ranks > 1 else counts).tolist(), counts.tolist())

    ways = (
        lambda: dispatch(peers, x, order, starts, received),
        lambda: nccl(sorted_rows, got, sent),
        whole,
    )
    moved = 2 * N * (sum(sent) - sent[rank])
    return [moved / tutorial.measure(way) / 1e6 for way in ways]


def summary(rows):
    """The lines that the log ends with."""
    lines = [
        f"{row['tokens']:>6} tokens: {row['ours_gb_s']:7.1f} GB/s, all_to_all_single "
        f"{row['nccl_gb_s']:7.1f} ({row['ratio']:.2f} x), sorted and with the counts {row['whole_gb_s']:7.1f}"
        for row in rows
    ]
    ratios = [row["ratio"] for row in rows]
    mean = statistics.geometric_mean(ratios)
    return ["=== table", *lines, f"geometric mean {mean:.3f}, worst {min(ratios):.3f} (0.9 wanted)"]


def measured_row(tokens, options):
    ours, nccl, whole = measure(tokens, options.hidden, options.top_k, options.experts)
    rates = {"ours_gb_s": ours, "nccl_gb_s": nccl, "whole_gb_s": whole}
    return {"tokens": tokens, **rates, "ratio": ours / nccl}


def main():
    """Check, then measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=7168)
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--experts", type=int, default=64)
    parser.add_argument("--json")
    options = parser.parse_args()
    is_timed = join(tutorial.ON_GPU) and tutorial.RANKS > 1
    check(72, 200, 2, 8)
    rows = [measured_row(2**i, options) for i in range(6, 14)] if is_timed else []
    if tutorial.RANK == 0:
        print(f"the rows are right on {tutorial.RANKS} ranks")
        print("\n".join(summary(rows) if rows else []))
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    leave()


if __name__ == "__main__":
    main()
