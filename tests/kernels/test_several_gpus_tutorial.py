"""The kernels of tutorial 09 between GPUs of one process, which is as many ranks, against float64.

Four iterations are launched on all ranks before the host waits for any: two alternating buffers have to be enough.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from conftest import random
from test_symmetric_memory import make_ranks  # noqa: F401 (a fixture)
from test_symmetric_memory_races import RACE

FILE = Path(__file__).resolve().parents[2] / "tutorials/09-several-gpus.py"
BLOCKS = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=3)
EPOCHS = 4


def load(file):
    spec = importlib.util.spec_from_file_location("several_gpus", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def replaced(folder, text, other):
    """The tutorial with `other` in place of `text`."""
    source = FILE.read_text()
    assert source.count(text) == 1
    changed = folder / "several_gpus_changed.py"
    changed.write_text(source.replace(text, other))
    return load(changed)


@pytest.fixture(scope="module")
def tutorial():
    return load(FILE)


class Exchange:
    """What all ranks need for one of the tutorial's exchanges."""

    def __init__(self, tutorial, ranks, elements, slots):
        count = len(ranks)
        data = ranks.zeros(2 * elements, np.float16)
        pads = ranks.zeros(2 * slots * count, np.int32)
        addresses = [[array.data_ptr() for array in arrays] for arrays in (data, pads)]
        self.peers = [
            tutorial.Peers(
                rank, data[rank], addresses[0], pads[rank], addresses[1],
                lambda values, gpu=gpu: gpu.to(np.array(values, np.int64)),
            )
            for rank, gpu in enumerate(ranks.gpus)
        ]  # fmt: skip
        self.ranks, self.memory, self.results = ranks, (data, pads), []

    def launch(self, function, inputs, shape):
        """One iteration: `function(peers, *inputs, out)` on each rank."""
        outs = [gpu.output(shape, "fp16") for gpu in self.ranks.gpus]
        arrays = [[gpu.to(x) for x in given] for gpu, given in zip(self.ranks.gpus, inputs)]
        for peers, given, out in zip(self.peers, arrays, outs):
            function(peers, *given, out.array)
        self.results.append((outs, arrays))

    def of_epoch(self, epoch):
        return [out.numpy() for out in self.results[epoch][0]]


def draw(count, seed, *shape):
    return [random(shape, "fp16", 100 * seed + rank) for rank in range(count)]


def wide(arrays):
    return np.array(arrays, np.float64)


def check(ours, exact):
    np.testing.assert_allclose(ours, exact, rtol=2e-3, atol=2e-3 * np.abs(exact).max())


def run_all_gather(tutorial, ranks, rows, N, K, change=None, others=None):
    count = len(ranks)
    exchange = Exchange(tutorial, ranks, *tutorial.all_gather_memory(count, rows, K, BLOCKS))
    if change:
        change(exchange)
    a = [draw(count, epoch, rows, K) for epoch in range(EPOCHS)]
    b = draw(count, 9, K, N)
    multiply = lambda peers, a, b, c: tutorial.all_gather_gemm(peers, a, b, c, BLOCKS, others)
    for epoch in range(EPOCHS):
        exchange.launch(multiply, list(zip(a[epoch], b)), (count * rows, N))
    ranks.wait()
    for epoch in range(EPOCHS):
        for rank, c in enumerate(exchange.of_epoch(epoch)):
            check(c, wide(a[epoch]).reshape(-1, K) @ wide(b[rank]))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("rows, N, K", [(64, 64, 64), (72, 136, 192), (16, 64, 64), (24, 136, 64)])
def test_all_gather_and_gemm(make_ranks, tutorial, count, rows, N, K):  # noqa: F811
    run_all_gather(tutorial, make_ranks(count), rows, N, K)


@pytest.mark.parametrize("copiers, others", [(1, 2), (2, 1)])
@pytest.mark.parametrize(
    "count, rows, N, K", [(2, 72, 520, 128), (2, 520, 136, 64), (4, 24, 1030, 64)]
)
def test_programs_of_several_tiles(make_ranks, tmp_path, count, rows, N, K, copiers, others):  # noqa: F811
    """Programs that copy come some tiles later; the emulated GPU has room for three at once."""
    few = replaced(tmp_path, "PIECE = tl.constexpr(32)", f"PIECE = tl.constexpr({copiers})")
    run_all_gather(few, make_ranks(count), rows, N, K, others=others)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("rows, N, K", [(64, 64, 64), (72, 136, 192), (16, 64, 64), (24, 136, 64)])
def test_gemm_and_reduce_scatter(make_ranks, tutorial, count, rows, N, K):  # noqa: F811
    ranks = make_ranks(count)
    slots = tutorial.reduce_scatter_slots(count * rows, N, BLOCKS)
    exchange = Exchange(tutorial, ranks, count * rows * N, slots)
    a = [draw(count, epoch, count * rows, K) for epoch in range(EPOCHS)]
    b = draw(count, 9, K, N)
    multiply = lambda peers, a, b, c: tutorial.gemm_reduce_scatter(peers, a, b, c, BLOCKS)
    for epoch in range(EPOCHS):
        exchange.launch(multiply, list(zip(a[epoch], b)), (rows, N))
    ranks.wait()
    for epoch in range(EPOCHS):
        total = (wide(a[epoch]) @ wide(b)).sum(axis=0)
        for rank, c in enumerate(exchange.of_epoch(epoch)):
            check(c, total[rank * rows : (rank + 1) * rows])


def test_other_tiles_after_all_have_ended(make_ranks, tutorial):  # noqa: F811
    """One memory serves launches with other tiles and flags if the host waits between."""
    ranks, rows, N, K = make_ranks(2), 72, 136, 192
    tiles = [BLOCKS, {**BLOCKS, "BLOCK_M": 32}, {**BLOCKS, "BLOCK_N": 128}, BLOCKS]
    slots = max(tutorial.reduce_scatter_slots(2 * rows, N, tile) for tile in tiles)
    exchange = Exchange(tutorial, ranks, 2 * rows * N, slots)
    b = draw(2, 9, K, N)
    for epoch, tile in enumerate(tiles):
        a = draw(2, epoch, 2 * rows, K)
        multiply = lambda peers, a, b, c, tile=tile: tutorial.gemm_reduce_scatter(
            peers, a, b, c, tile
        )
        exchange.launch(multiply, list(zip(a, b)), (rows, N))
        ranks.wait()
        total = (wide(a) @ wide(b)).sum(axis=0)
        for rank, c in enumerate(exchange.of_epoch(epoch)):
            check(c, total[rank * rows : (rank + 1) * rows])


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("rows, n", [(1, 256), (7, 1000)])
def test_all_reduce_and_norm(make_ranks, tutorial, count, rows, n):  # noqa: F811
    ranks = make_ranks(count)
    exchange = Exchange(tutorial, ranks, rows * n, 1)
    x = [draw(count, epoch, rows, n) for epoch in range(EPOCHS)]
    weight = random(n, "fp16", 8)
    for epoch in range(EPOCHS):
        given = [(x[epoch][rank], weight) for rank in range(count)]
        exchange.launch(tutorial.all_reduce_rms_norm, given, (rows, n))
    ranks.wait()
    for epoch in range(EPOCHS):
        exact = tutorial.normalised(wide(x[epoch]).sum(axis=0), wide(weight))
        for y in exchange.of_epoch(epoch):
            check(y, exact)


def one_buffer(exchange):
    for peers in exchange.peers:
        peers.halves, peers.tables = [peers.halves[0]] * 2, [peers.tables[0]] * 2


def test_one_buffer_is_not_enough(make_ranks, tutorial):  # noqa: F811
    """The emulator sees a rank overwrite what another one may still read."""
    ranks = make_ranks(2)
    if ranks.gpus[0].name != "emulated":
        pytest.skip("hardware does not tell")
    with pytest.raises(RuntimeError, match=RACE):
        run_all_gather(tutorial, ranks, 64, 64, 64, change=one_buffer)


@pytest.mark.parametrize(
    "text, mistake",
    [
        ('COPIERS, "acq_rel")', 'COPIERS, "relaxed")'),
        ('sem="acquire", scope="sys"', 'sem="relaxed", scope="sys"'),
        ('sem="release", scope="sys"', 'sem="release", scope="gpu"'),
    ],
)
def test_parts_that_nothing_orders_are_found(make_ranks, tmp_path, text, mistake):  # noqa: F811
    """The last copier of a block announces what the others have stored."""
    ranks = make_ranks(2)
    if ranks.gpus[0].name != "emulated":
        pytest.skip("hardware does not tell")
    with pytest.raises(RuntimeError, match=RACE):
        run_all_gather(replaced(tmp_path, text, mistake), ranks, 24, 64, 64)
