"""
Several GPUs
============

A layer that is split over several GPUs alternates between GEMMs, of which each GPU computes a part,
and collectives. Run one after the other, the tensor cores are idle during the collective, and the
links between the GPUs during the GEMM. Here both are one kernel, which reads and writes the memory
of the other GPUs by plain loads and stores. You will see

* memory that all ranks reach, and how a program signals to another rank and waits for it;
* why two alternating buffers need no barrier;
* all-gather + GEMM, GEMM + reduce-scatter, and all-reduce + RMS norm, each in one kernel.

Start it with a process per GPU:

    torchrun --nproc-per-node=2 09-several-gpus.py

Started alone, it is one rank: on a GPU, or without one on the CPU, on NumPy arrays.
"""

import os

import numpy as np
import pantile as triton
import pantile.language as tl

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False

RANKS = int(os.environ.get("WORLD_SIZE", 1)) if ON_GPU else 1
RANK = int(os.environ.get("RANK", 0)) if ON_GPU else 0

# %%
# Signalling and waiting
# ----------------------
# Each rank has a *signal pad* in its memory: flags, in groups (*slots*) of RANKS words, one per rank.
# A rank signals another one by storing to its word in the other's pad; so a rank polls its own
# memory. `pads_ptr` is a table of the addresses of all pads: integers, which the kernel converts to
# pointers. A flag's value is the number of the *epoch*, which grows with each launch.
#
# The store has the order *release*: a program that reads the flag, reads everything that was
# written before it. The wait has the order *acquire*: nothing that comes after it is read earlier.
# The two are of different GPUs, so the scope is `"sys"`; with `"gpu"` the flag might come first.


@triton.jit
def tell(pads_ptr, slot, rank, peers, epoch, RANKS: tl.constexpr):
    """Tell `peers`, a rank or a tile of ranks, that this one has come to epoch `epoch`."""
    pads = tl.load(pads_ptr + peers).to(tl.pointer_type(tl.int32))
    tl.atomic_store(pads + slot * RANKS + rank, epoch, sem="release", scope="sys")


@triton.jit
def wait_for(pad, slot, peers, epoch, RANKS: tl.constexpr):
    """Wait until `peers` have told the rank whose pad it is that they have come to epoch `epoch`."""
    tl.atomic_poll(pad + slot * RANKS + peers, epoch, sem="acquire", scope="sys")


@triton.jit
def pad_of(pads_ptr, rank):
    return tl.load(pads_ptr + rank).to(tl.pointer_type(tl.int32))


# A program may only wait for programs that have started, or all might wait for one that finds no
# place on the GPU. Nothing says in which order programs start; so they count, and what a program
# does depends on its turn.


@triton.jit
def take_turn(turns_ptr, of, sem: tl.constexpr = "relaxed"):
    """How many of `of` programs have been here before; the last one sets the counter back."""
    turn = tl.atomic_add(turns_ptr, 1, sem=sem).to(tl.int32)
    if turn == of - 1:
        tl.atomic_xchg(turns_ptr, 0, sem="relaxed")
    return turn


# %%
# Two alternating buffers
# -----------------------
# A rank may overwrite what it has shared when all others have read it. It need not wait for that if
# odd and even epochs have buffers and slots of their own, and if each kernel, before it ends, has
# waited for a flag of every other rank: a rank that sets the flag of epoch t + 1 has ended its
# kernel of epoch t, a kernel of epoch t + 1 ends after it has seen all these flags, and the writing
# for epoch t + 2 comes after it.
#
# `data` is this rank's memory, of which each epoch has a half; `addresses` are those of all ranks,
# and likewise for the pads. `table` puts integers where the kernel can read them.


class Peers:
    """The memory of all ranks, as rank `rank` sees it."""

    def __init__(self, rank, data, addresses, pads, pad_addresses, table):
        self.rank, self.count = rank, len(addresses)
        self.halves, self.own_pads = (data[: len(data) // 2], data[len(data) // 2 :]), pads
        half = data.nbytes // 2
        self.tables = [table([address + half * i for address in addresses]) for i in range(2)]
        self.pads, self.turns = table(pad_addresses), table([0] * (1 + len(pads)))
        self.epoch = 0

    def next_epoch(self):
        """The half of this rank's memory for the next epoch, and the table of all ranks' halves."""
        self.epoch += 1
        return self.halves[self.epoch % 2], self.tables[self.epoch % 2]


def make_peers(elements, slots, dtype="float16"):
    """Memory for `elements` numbers and `slots` slots for each of two epochs."""
    assert RANKS & (RANKS - 1) == 0, "the kernels have tiles of ranks: a power of 2"
    if RANKS > 1:
        return make_symmetric(elements, slots, getattr(torch, dtype))
    data, pads = on_device(np.zeros(2 * elements, dtype)), on_device(np.zeros(2 * slots, np.int32))
    address_of = lambda array: array.data_ptr() if ON_GPU else array.ctypes.data
    return Peers(0, data, [address_of(data)], pads, [address_of(pads)], address_table)


def on_device(array):
    return torch.from_numpy(array).cuda() if ON_GPU else array


def address_table(addresses):
    return on_device(np.array(addresses, np.int64))


# With several ranks it is torch's symmetric memory: `rendezvous` gives the addresses of the others'
# allocations. A tensor starts at the same distance from the start of its allocation on every rank.


def make_symmetric(elements, slots, dtype):
    from torch.distributed import _symmetric_memory as symmetric

    group = torch.distributed.group.WORLD
    data = symmetric.empty(2 * elements, dtype=dtype, device=f"cuda:{torch.cuda.current_device()}")
    pads = symmetric.empty(2 * slots * RANKS, dtype=torch.int32, device=data.device)
    pads.zero_()
    handles = [symmetric.rendezvous(memory, group) for memory in (data, pads)]
    starts = [memory.data_ptr() - of.buffer_ptrs[RANK] for memory, of in zip((data, pads), handles)]
    addresses = [[p + start for p in of.buffer_ptrs] for start, of in zip(starts, handles)]
    peers = Peers(RANK, data, addresses[0], pads, addresses[1], address_table)
    peers.handles = handles  # the memory is the others' as long as they live
    handles[1].barrier()  # no rank signals before all pads are zero
    return peers


# %%
# A tile of a GEMM
# ----------------
# The loop of tutorial 03, for matrices whose rows lie one after the other.


@triton.jit
def gemm_tile(
    a_ptr, b_ptr, row, n, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The rows of A·B from `row` on, the n-th columns; A is M×K, B is K×N."""
    rows = row + tl.arange(0, BLOCK_M)
    columns = n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * N + columns[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, rows[:, None] < M, 0.0)
        b = tl.load(b_ptrs, columns[None, :] < N, 0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    return accumulator


@triton.jit
def places(m, n, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Where the rows of tile (m, n) of a matrix of M×N begin, offsets from there, and a mask."""
    row, column = tl.arange(0, BLOCK_M), n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (m * BLOCK_M + row < M)[:, None] & (column < N)[None, :]
    return tl.cast(m * BLOCK_M, tl.int64) * N, row[:, None] * N + column[None, :], mask


# Programs take the tiles by groups of blocks of rows, as in tutorial 03, beginning with block `first`.
# Blocks are of the rows of all ranks: where these are few, a block has the rows of several ranks,
# its *owners*.

GROUP_SIZE_M = tl.constexpr(8)


@triton.jit
def tile_of(index, first, blocks, N, BLOCK_N: tl.constexpr):
    """Row and column of a tile, in blocks; there are `blocks` blocks of rows."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    first_of_group = index // (GROUP_SIZE_M * tiles_n) * GROUP_SIZE_M
    size = tl.minimum(blocks - first_of_group, GROUP_SIZE_M)
    index %= GROUP_SIZE_M * tiles_n
    return (first + first_of_group + index % size) % blocks, index // size


@triton.jit
def owners_of(m, rows, RANKS: tl.constexpr, BLOCK_M: tl.constexpr):
    """The first and the last rank that owns rows of block m; each rank owns `rows` rows."""
    end = tl.minimum((m + 1) * BLOCK_M, RANKS * rows)
    return m * BLOCK_M // rows, (end - 1) // rows


# %%
# All-gather + GEMM
# -----------------
# Rank r has the rows A_r of A and the columns B_r of B, and wants A·B_r: for that it needs the rows
# of all ranks. A tile could read them where they are, but every column of tiles would read them over
# the link, as the L2 cache does not keep another GPU's memory. So the programs that start first, the
# *copiers*, store this rank's rows to the halves of all ranks, each a part of every block of rows;
# the program that is last in a block sets its flag there. Other programs compute tiles, when the flags of
# their blocks are set: of the rank's own rows first, while the others' are on their way.
#
# A tile of 128×256 needs a whole SM. Then there is one program per SM, which goes on to its next tile
# while it stores one: `flatten=True` promises that storing C changes nothing that is loaded later.
# On Hopper, a warp of its own loads for the tensor cores; it also waits for the flags, so that it is
# tiles ahead. Copiers compute tiles, too, but come some steps later: by the rates of the link and of
# the tensor cores, a copier's part of a row takes as long to send to one rank as 16 of a tile's sums.
# Then copiers wait for one another, so all programs must run at once, as they do in a *cooperative*
# launch.
#
# An address that was loaded could be any number; `multiple_of` promises that rows start at
# multiples of 16 bytes. `do_not_specialize` has one kernel for all ranks and epochs, rather than
# another one where the number happens to be 1 or a multiple of 16.

COPIERS, PIECE = tl.constexpr(32), tl.constexpr(16384)  # programs; numbers at a time


@triton.jit
def copy_rows(
    part, a_ptr, halves_ptr, pads_ptr, counts_ptr, rank, epoch, rows, K,
    RANKS: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    """Copy a part of each block of this rank's rows to all ranks; the last one sets its flag."""
    first, end, blocks = rank * rows, (rank + 1) * rows, tl.cdiv(RANKS * rows, BLOCK_M)
    for m in range(first // BLOCK_M, tl.cdiv(end, BLOCK_M)):
        top = tl.maximum(m * BLOCK_M, first) - first
        bottom = tl.minimum((m + 1) * BLOCK_M, end) - first
        share = tl.cdiv((bottom - top) * K // 16, COPIERS) * 16
        begin, stop = top * K + part * share, tl.minimum(top * K + (part + 1) * share, bottom * K)
        for start in range(begin, stop, PIECE):
            at = start + tl.arange(0, PIECE)
            piece = tl.load(a_ptr + at, at < stop)
            for i in range(RANKS):
                half = tl.load(halves_ptr + (rank + i) % RANKS)
                theirs = tl.multiple_of(half.to(tl.pointer_type(a_ptr.dtype.element_ty)), 16)
                tl.store(theirs + tl.cast(first, tl.int64) * K + at, piece, at < stop)
        if take_turn(counts_ptr + m, COPIERS, "acq_rel") == COPIERS - 1:
            tell(pads_ptr, epoch % 2 * blocks + m, rank, tl.arange(0, RANKS), epoch, RANKS)


@triton.jit(do_not_specialize=["rank", "epoch", "head_start"])
def all_gather_gemm_kernel(
    c_ptr, a_ptr, whole_ptr, b_ptr, halves_ptr, pads_ptr, turns_ptr, rank, epoch, rows, N, K,
    head_start, RANKS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Copy rows, and compute tiles of C = A·B; each rank has `rows` rows of A."""
    turn, M = take_turn(turns_ptr, tl.num_programs(0)), RANKS * rows
    pad = pad_of(pads_ptr, rank)
    if turn < COPIERS:
        counts_ptr = turns_ptr + 1
        copy_rows(
            turn, a_ptr, halves_ptr, pads_ptr, counts_ptr, rank, epoch, rows, K, RANKS, BLOCK_M
        )
    blocks, first_block = tl.cdiv(M, BLOCK_M), rank * rows // BLOCK_M
    tiles, others = blocks * tl.cdiv(N, BLOCK_N), tl.num_programs(0) - COPIERS
    early = tl.minimum(head_start * others, tiles)  # tiles that copiers have no part in
    steps = tl.cdiv(early, others) + tl.cdiv(tiles - early, tl.num_programs(0))
    for step in tl.range(tl.where(turn < COPIERS, head_start, 0), steps, flatten=True):
        index = step * others + turn - COPIERS
        if step >= head_start:
            index = early + (step - head_start) * tl.num_programs(0) + turn
        if index < tiles:
            m, n = tile_of(tl.maximum(index, 0), first_block, blocks, N, BLOCK_N)
            first, last = owners_of(m, rows, RANKS, BLOCK_M)
            for owner in range(first, last + 1):
                wait_for(pad, epoch % 2 * blocks + m, owner, epoch, RANKS)
            tile = gemm_tile(whole_ptr, b_ptr, m * BLOCK_M, n, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
            start, at, mask = places(m, n, M, N, BLOCK_M, BLOCK_N)
            tl.store(c_ptr + start + at, tile.to(c_ptr.dtype.element_ty), mask)


BLOCKS = dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3)


def processors():
    """How many SMs there are."""
    return torch.cuda.get_device_properties().multi_processor_count if ON_GPU else 40


def all_gather_memory(count, rows, K, blocks=BLOCKS):
    """Numbers and slots for `count` ranks' rows."""
    return count * rows * K, triton.cdiv(count * rows, blocks["BLOCK_M"])


def all_gather_gemm(peers, a, b, c, blocks=BLOCKS, others=None):
    """C = A·B, where `a` are this rank's rows of A; by `others` programs that do not copy."""
    (rows, K), N = a.shape, b.shape[1]
    assert K % blocks["BLOCK_K"] == 0, "BLOCK_K must divide K"
    whole, halves = peers.next_epoch()
    tiles = triton.cdiv(peers.count * rows, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"])
    size = blocks["BLOCK_M"] * blocks["BLOCK_N"]
    others = others or (max(processors() - COPIERS.value, 1) if size > 128 * 128 else tiles)
    programs = COPIERS.value + min(tiles, others)
    all_gather_gemm_kernel[(programs,)](
        c, a, whole, b, halves, peers.pads, peers.turns, peers.rank, peers.epoch, rows, N, K,
        triton.cdiv(16 * rows * max(peers.count - 1, 1), size), peers.count,
        launch_cooperative_grid=programs < COPIERS.value + tiles, **blocks,
    )  # fmt: skip
    return c


# %%
# GEMM + reduce-scatter
# ---------------------
# The other way round: rank r has some columns A_r of A and the same rows B_r of B. Every rank
# computes a GEMM A_r·B_r of full size; the sum of all is C, of which each rank wants some rows.
#
# A program stores the rows of its tile to the memory of their owners, where each rank has a place,
# and signals them. If its own rank is an owner, it waits for the tiles of all ranks and adds its
# rows up, always in the same order: each run has the same result to the last bit. A rank begins with
# the first block without rows of its own, and ends with its own blocks, in the order that they have
# on all ranks: so no rank waits for tiles that come after some for which another one waits.


@triton.jit(do_not_specialize=["rank", "epoch"])
def gemm_reduce_scatter_kernel(
    c_ptr, a_ptr, b_ptr, parts_ptr, pads_ptr, turns_ptr, rank, epoch, rows, N, K,
    RANKS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """A tile of this rank's partial C, and its part of the `rows` rows of the sum of all."""
    M = RANKS * rows
    blocks, begin = tl.cdiv(M, BLOCK_M), tl.cdiv((rank + 1) * rows, BLOCK_M)
    turn = take_turn(turns_ptr, tl.num_programs(0))
    m, n = tile_of(tl.maximum(turn, 0), begin, blocks, N, BLOCK_N)
    tile = gemm_tile(a_ptr, b_ptr, m * BLOCK_M, n, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)

    start, at, mask = places(m, n, M, N, BLOCK_M, BLOCK_N)
    tile = tile.to(c_ptr.dtype.element_ty)
    owner = (m * BLOCK_M + tl.arange(0, BLOCK_M)) // rows  # of each row
    part = tl.cast(rows, tl.int64) * N
    slot = (epoch % 2 * tl.cdiv(N, BLOCK_N) + n) * blocks + m
    first, last = owners_of(m, rows, RANKS, BLOCK_M)
    for peer in range(first, last + 1):
        part_ptr = tl.load(parts_ptr + peer).to(tl.pointer_type(c_ptr.dtype.element_ty))
        part_ptr = tl.multiple_of(part_ptr, 16) + (rank - peer) * part + start
        tl.store(part_ptr + at, tile, mask & (owner == peer)[:, None])
        tell(pads_ptr, slot, rank, peer, epoch, RANKS)

    if (first <= rank) & (rank <= last):
        wait_for(pad_of(pads_ptr, rank), slot, tl.arange(0, RANKS), epoch, RANKS)
        own_ptr = tl.load(parts_ptr + rank).to(tl.pointer_type(c_ptr.dtype.element_ty))
        own_ptr, own = tl.multiple_of(own_ptr, 16) + start, mask & (owner == rank)[:, None]
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for peer in range(RANKS):
            total += tl.load(own_ptr + (peer - rank) * part + at, own, 0.0)
        tl.store(c_ptr + (start - rank * part) + at, total.to(c_ptr.dtype.element_ty), own)


def reduce_scatter_slots(M, N, blocks=BLOCKS):
    """Slots for the M rows of all ranks."""
    return triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"])


def gemm_reduce_scatter(peers, a, b, c, blocks=BLOCKS):
    """This rank's rows of the sum of all ranks' A·B."""
    (M, K), (rows, N) = a.shape, c.shape
    assert K % blocks["BLOCK_K"] == 0, "BLOCK_K must divide K"
    _, parts = peers.next_epoch()
    gemm_reduce_scatter_kernel[(reduce_scatter_slots(M, N, blocks),)](
        c, a, b, parts, peers.pads, peers.turns, peers.rank, peers.epoch, rows, N, K,
        peers.count, **blocks,
    )  # fmt: skip
    return c


# %%
# All-reduce + RMS norm
# ---------------------
# The sum of a row of all ranks, divided by the root of its mean square. Each rank reads all rows of
# the others and adds them up itself: for the few rows of a step of decoding the fastest way.


@triton.jit(do_not_specialize=["rank", "epoch"])
def all_reduce_rms_norm_kernel(
    y_ptr, weight_ptr, rows_ptr, pads_ptr, rank, epoch, n, eps, RANKS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """A row: the norm of the sum of all ranks' rows."""
    peers = tl.arange(0, RANKS)
    tell(pads_ptr, epoch % 2, rank, peers, epoch, RANKS)
    column = tl.arange(0, BLOCK)
    at, mask = tl.program_id(0).to(tl.int64) * n + column, column < n
    weight = tl.load(weight_ptr + column, mask)

    wait_for(pad_of(pads_ptr, rank), epoch % 2, peers, epoch, RANKS)
    total = tl.zeros((BLOCK,), tl.float32)
    for peer in range(RANKS):
        row_ptr = tl.load(rows_ptr + peer).to(tl.pointer_type(y_ptr.dtype.element_ty))
        total += tl.load(tl.multiple_of(row_ptr, 16) + at, mask, 0.0)
    scale = tl.rsqrt(tl.sum(total * total) / n + eps)
    tl.store(y_ptr + at, (total * scale * weight).to(y_ptr.dtype.element_ty), mask)


@triton.jit
def copy_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, at < n), at < n)


def share(peers, x, n):
    """Copy n numbers of x to this rank's next half; return the table of all halves."""
    half, halves = peers.next_epoch()
    copy_kernel[(triton.cdiv(n, 1024),)](half, x, n, BLOCK=1024)
    return halves


def all_reduce_rms_norm(peers, x, weight, y, eps=1e-6):
    """The norm of the sum of all ranks' x."""
    rows, n = x.shape
    halves = share(peers, x, rows * n)
    all_reduce_rms_norm_kernel[(rows,)](
        y, weight, halves, peers.pads, peers.rank, peers.epoch, n, eps,
        RANKS=peers.count, BLOCK=triton.next_power_of_2(n), num_warps=8,
    )  # fmt: skip
    return y


# %%
# Unit test
# ---------
# All ranks draw the numbers of all ranks, so that each can compute what it must get, in float64.


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal((RANKS, *shape)).astype(np.float16)


def empty(*shape):
    return on_device(np.empty(shape, np.float16))


def normalised(x, weight, eps=1e-6):
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * weight


def check(ours, exact):
    host = (ours.cpu().numpy() if ON_GPU else ours).astype(np.float64)
    worst = np.abs(host - exact).max() / np.abs(exact).max()
    assert worst < 2e-3, f"off by {worst:.1e} of the largest"


def test():
    rows, N, K = 72, 136, 192
    blocks = BLOCKS if ON_GPU else dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
    gathered = make_peers(*all_gather_memory(RANKS, rows, K, blocks))
    normed = make_peers(rows * K, 1)
    reduced = make_peers(RANKS * rows * N, reduce_scatter_slots(RANKS * rows, N, blocks))
    for epoch in range(4):
        shards, b = draw(epoch, rows, K), draw(10 + epoch, K, N)[RANK]
        given = [on_device(x) for x in (shards[RANK], b)]
        c = all_gather_gemm(gathered, *given, empty(RANKS * rows, N), blocks)
        wide = shards.astype(np.float64)
        check(c, wide.reshape(-1, K) @ b.astype(np.float64))

        a, b = draw(20 + epoch, RANKS * rows, K), draw(30 + epoch, K, N)
        given = on_device(a[RANK]), on_device(b[RANK])
        c = gemm_reduce_scatter(reduced, *given, empty(rows, N), blocks)
        total = sum(a[i].astype(np.float64) @ b[i] for i in range(RANKS))
        check(c, total[RANK * rows : (RANK + 1) * rows])

        weight = draw(40 + epoch, K)[0]
        y = all_reduce_rms_norm(normed, *map(on_device, (shards[RANK], weight)), empty(rows, K))
        check(y, normalised(wide.sum(axis=0), weight))
    if RANKS > 1:
        torch.cuda.synchronize()
        torch.distributed.barrier()  # no rank frees memory that another one may still read
    if RANK == 0:
        print(f"ours and the library agree on {RANKS} rank{'s' * (RANKS > 1)}")


# %%
# Benchmark
# ---------
# The layers of Llama-3 8B for so many tokens, against NCCL and torch's GEMM, one after the other.
# All ranks launch the same number of times: with `do_bench`, which measures until it is sure, a rank
# would wait for one that has stopped. Nor are kernels that wait tuned one rank at a time.

HIDDEN, BETWEEN = (4096, 14336) if ON_GPU else (128, 256)


def exchange(collective, *arguments):
    """A collective operation of torch's, where there are several ranks."""
    if RANKS > 1:
        getattr(torch.distributed, collective)(*arguments)


def measure(run, repeats=20):
    """Milliseconds of a call; of the slowest rank."""
    if not ON_GPU:
        return triton.testing.do_bench(run)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for i in range(3 + repeats):
        if i == 3:  # the first ones warm up
            start.record()
        run()
    end.record()
    torch.cuda.synchronize()
    ms = torch.tensor(start.elapsed_time(end) / repeats, device="cuda")
    exchange("all_reduce", ms, torch.distributed.ReduceOp.MAX)
    return ms.item()


def random_matrix(*shape):
    return torch.randn(shape, device="cuda").half() if ON_GPU else draw(1, *shape)[RANK]


def multiply(a, b):
    return a @ b if ON_GPU else a.astype(np.float32) @ b.astype(np.float32)


def all_gather_gate_up(tokens):
    rows, N = tokens // RANKS, 2 * BETWEEN // RANKS
    a, b = random_matrix(rows, HIDDEN), random_matrix(HIDDEN, N)
    whole, c = empty(tokens, HIDDEN), empty(tokens, N)
    peers = make_peers(*all_gather_memory(RANKS, rows, HIDDEN))

    def library():
        exchange("all_gather_into_tensor", whole, a)
        return multiply(whole if RANKS > 1 else a, b)

    return lambda: all_gather_gemm(peers, a, b, c), library


def down_reduce_scatter(tokens):
    rows, K = tokens // RANKS, BETWEEN // RANKS
    a, b, c = random_matrix(tokens, K), random_matrix(K, HIDDEN), empty(rows, HIDDEN)
    peers = make_peers(tokens * HIDDEN, reduce_scatter_slots(tokens, HIDDEN))
    library = lambda: exchange("reduce_scatter_tensor", c, multiply(a, b))
    return lambda: gemm_reduce_scatter(peers, a, b, c), library


def all_reduce_norm(tokens):
    x, weight, y = random_matrix(tokens, HIDDEN), random_matrix(HIDDEN), empty(tokens, HIDDEN)
    peers = make_peers(tokens * HIDDEN, 1)

    def library():
        if not ON_GPU:
            return normalised(x.astype(np.float32), weight)
        total = x.clone()
        exchange("all_reduce", total)
        return torch.nn.functional.rms_norm(total, (HIDDEN,), weight, 1e-6)

    return lambda: all_reduce_rms_norm(peers, x, weight, y), library


@triton.testing.perf_report(
    [
        triton.testing.Benchmark(
            x_names=["tokens"],
            x_vals=[2**i for i in range(6, 14)] if ON_GPU else [128, 256],
            x_log=True,
            line_arg="provider",
            line_vals=["ours", "library"],
            line_names=["Pantile", "torch and NCCL" if ON_GPU else "NumPy"],
            ylabel="ms",
            plot_name=f"{case.__name__.replace('_', '-')}-ranks-{RANKS}",
            args={"case": case},
        )
        for case in (all_gather_gate_up, down_reduce_scatter, all_reduce_norm)
    ]
)
def benchmark(tokens, provider, case):
    ours, library = case(tokens)
    return measure(ours if provider == "ours" else library)


# %%
# What to try next
# ----------------
# * Write `sem="relaxed"` in `wait_for`, or another scope in `tell`, and run the kernels on emulated
#   GPUs (`PANTILE_EMULATE=1 pytest tests/kernels/test_several_gpus_tutorial.py`): the error names
#   the two accesses that nothing orders.
# * Let each rank reduce some of the rows and gather the norms, for steps of many rows.


def main():
    if RANKS > 1:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group("nccl")
    test()
    benchmark.run(print_data=RANK == 0, save_path=".out" if RANK == 0 else "")
    exchange("destroy_process_group")


if __name__ == "__main__":
    main()
