"""Dispatch to experts as an all-to-all over symmetric memory: every row, every count, several epochs.

The kernel is that of tests/gpu/bench/moe_dispatch.py. All epochs are launched on all ranks before
the host waits for any, and a kernel on each rank reads what arrived, with nothing but its stream
between.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from test_several_gpus_tutorial import one_buffer
from test_symmetric_memory import make_ranks  # noqa: F401 (a fixture)
from test_symmetric_memory_races import RACE

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests/gpu/bench/moe_dispatch.py"
BLOCKS = dict(BLOCK_M=4, BLOCK_N=64, num_warps=2)
PROGRAMS, EPOCHS, EXPERTS, TOP_K = 2, 4, 8, 2


def load(file):
    spec = importlib.util.spec_from_file_location("moe_dispatch", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def bench():
    return load(FILE)


@triton.jit
def double_kernel(out_ptr, x_ptr, received_ptr, N, RANKS: tl.constexpr, BLOCK: tl.constexpr):
    """What an expert's GEMM would read: all rows that came, times two."""
    rows = tl.sum(tl.load(received_ptr + tl.arange(0, RANKS)))
    for first in range(0, rows * N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, at < rows * N) * 2, at < rows * N)


class Dispatch:
    """Memory of all ranks, and the epochs that were launched."""

    def __init__(self, bench, ranks, rows, N):
        """`rows` is what a rank may get."""
        self.bench, self.ranks, self.rows, self.N = bench, ranks, rows, N
        count = len(ranks)
        data = ranks.zeros(2 * rows * N, np.float16)
        pads = ranks.zeros(2 * bench.dispatch_slots(count, PROGRAMS) * count, np.int32)
        addresses = [[array.data_ptr() for array in arrays] for arrays in (data, pads)]
        self.peers = [
            bench.tutorial.Peers(
                rank, data[rank], addresses[0], pads[rank], addresses[1],
                lambda values, gpu=gpu: gpu.to(np.array(values, np.int64)),
            )
            for rank, gpu in enumerate(ranks.gpus)
        ]  # fmt: skip
        self.memory, self.results, self.inputs = (data, pads), [], []

    def launch(self, xs, routings):
        """An epoch on each rank, and a kernel that reads what came."""
        outs = [gpu.output(self.rows * self.N, "fp16") for gpu in self.ranks.gpus]
        counts = self.ranks.zeros(len(self.ranks), np.int32)
        given = [
            [gpu.to(array) for array in (x, *routing)]
            for gpu, x, routing in zip(self.ranks.gpus, xs, routings, strict=True)
        ]
        came = [
            self.bench.dispatch(peers, *arrays, received, PROGRAMS, BLOCKS)
            for peers, arrays, received in zip(self.peers, given, counts, strict=True)
        ]
        # Not before all ranks have launched: loading this kernel may wait for what runs on its GPU.
        for out, rows, received in zip(outs, came, counts, strict=True):
            double_kernel[(1,)](out.array, rows, received, self.N, len(self.ranks), BLOCK=256)
        self.results.append((outs, counts))
        self.inputs.append((xs, routings, given))

    def check(self):
        """Each element of each epoch on each rank."""
        self.ranks.wait()
        for (outs, counts), (xs, routings, _) in zip(self.results, self.inputs, strict=True):
            for rank, (out, received) in enumerate(zip(outs, self.ranks.numpy(counts))):
                wanted, sizes = self.bench.rows_of(rank, xs, routings)
                np.testing.assert_array_equal(received, sizes)
                np.testing.assert_array_equal(out.numpy()[: wanted.size], 2 * wanted.reshape(-1))


def draw(bench, count, epoch, tokens, N):
    """Rows and a random routing of each rank; ranks have different numbers of tokens."""
    tokens = [tokens + 3 * rank for rank in range(count)]
    xs = [random((n, N), "fp16", 100 * epoch + rank) for rank, n in enumerate(tokens)]
    routings = [
        bench.route(50 * epoch + rank, count, n, TOP_K, EXPERTS) for rank, n in enumerate(tokens)
    ]
    return xs, routings


def run(bench, ranks, tokens, N, change=None):
    made = Dispatch(bench, ranks, TOP_K * (tokens + 3 * len(ranks)) * len(ranks), N)
    if change:
        change(made)
    for epoch in range(EPOCHS):
        made.launch(*draw(bench, len(ranks), epoch, tokens, N))
    made.check()


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("tokens, N", [(1, 8), (16, 64), (29, 200)])
def test_rows_arrive(make_ranks, bench, count, tokens, N):  # noqa: F811
    run(bench, make_ranks(count), tokens, N)


def all_to(destination, count, tokens):
    """A routing in which one rank gets every token once."""
    starts = np.zeros(count + 1, np.int32)
    starts[destination + 1 :] = tokens
    return np.arange(tokens, dtype=np.int32)[::-1].copy(), starts


@pytest.mark.parametrize("count", [2, 4])
def test_one_rank_gets_everything(make_ranks, bench, count):  # noqa: F811
    """Each in turn; the others get nothing, and know it."""
    made = Dispatch(bench, make_ranks(count), 20 * count, 40)
    for epoch in range(EPOCHS):
        xs = [random((20, 40), "fp16", 10 * epoch + rank) for rank in range(count)]
        made.launch(xs, [all_to(epoch % count, count, 20)] * count)
    made.check()


def test_ranks_without_tokens(make_ranks, bench):  # noqa: F811
    made = Dispatch(bench, make_ranks(2), 40, 40)
    nothing = np.zeros(1, np.int32), np.zeros(3, np.int32)
    for epoch in range(EPOCHS):
        xs = [random((20, 40), "fp16", 10 * epoch + rank) for rank in range(2)]
        routings = [nothing, bench.route(epoch, 2, 20, TOP_K, EXPERTS)]
        made.launch(xs, routings[:: 1 if epoch % 2 else -1])
    made.check()


def test_rows_that_do_not_fit_are_left_out(make_ranks, bench):  # noqa: F811
    """Nothing is written beyond the memory, and the counts tell."""
    ranks = make_ranks(2)
    made = Dispatch(bench, ranks, 30, 40)
    xs = [random((20, 40), "fp16", rank) for rank in range(2)]
    given = [[gpu.to(a) for a in (x, *all_to(1, 2, 20))] for gpu, x in zip(ranks.gpus, xs)]
    counts = ranks.zeros(2, np.int32)
    for peers, arrays, received in zip(made.peers, given, counts):
        bench.dispatch(peers, *arrays, received, PROGRAMS, BLOCKS)
    ranks.wait()
    assert [received.tolist() for received in ranks.numpy(counts)] == [[0, 0], [20, 20]]
    data = ranks.numpy(made.memory[0])
    expected = np.concatenate([x[::-1] for x in xs])[:30].reshape(-1)
    np.testing.assert_array_equal(data[1][30 * 40 :], expected)
    assert not data[0].any() and not data[1][: 30 * 40].any()


@pytest.fixture
def emulated_ranks(make_ranks):  # noqa: F811
    ranks = make_ranks(2)
    if ranks.gpus[0].name != "emulated":
        pytest.skip("hardware does not tell")
    return ranks


@pytest.mark.parametrize("count", [2, 4])
def test_one_buffer_is_enough(make_ranks, bench, count):  # noqa: F811
    """No rank stores a row before all have come to the epoch: what they read before is read."""
    run(bench, make_ranks(count), 16, 64, change=one_buffer)


def test_one_rank(bench):
    """As the script started alone."""
    bench.check(20, 40, TOP_K, EXPERTS)


# Lines of the tutorial, what they become, and the mistake.
MISTAKES = {
    "no acquire": ('sem="acquire", scope="sys"', 'sem="relaxed", scope="sys"'),
    "no release": ('sem="release", scope="sys"', 'sem="relaxed", scope="sys"'),
    "a narrow acquire": ('sem="acquire", scope="sys"', 'sem="acquire", scope="gpu"'),
    "a narrow release": ('sem="release", scope="sys"', 'sem="release", scope="gpu"'),
}


def with_change(tmp_path, before, after):
    """The benchmark with another text of the tutorial's functions."""
    helper = FILE.with_name("rank_group.py")
    for path in (FILE, helper, ROOT / "tutorials/09-several-gpus.py"):
        text = path.read_text().replace(before, after)
        place = tmp_path / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return load(tmp_path / FILE.relative_to(ROOT))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(emulated_ranks, tmp_path, mistake):
    """A dispatch whose signal or wait lacks its order or its scope is a race."""
    changed = with_change(tmp_path, *MISTAKES[mistake])
    with pytest.raises(RuntimeError, match=RACE):
        run(changed, emulated_ranks, 16, 64)


# Lines of the kernel that are left out.
EARLY = {
    "counts": ("    wait_for(pad_of(pads_ptr, rank), slot, peers, epoch, RANKS)\n", ""),
    "rows": (
        "        wait_for(pad_of(pads_ptr, rank), slot + 1 + program, peers, epoch, RANKS)\n",
        "",
    ),
}


@pytest.mark.parametrize("early", EARLY)
def test_reading_without_waiting_is_found(emulated_ranks, tmp_path, early):
    changed = with_change(tmp_path, *EARLY[early])
    with pytest.raises(RuntimeError, match=RACE):
        run(changed, emulated_ranks, 16, 64)


# What a compiler could do wrong; each with a width that no other test takes.
PLANTED = {
    "no acquire": ("~ld\\.acquire\\.sys~ld.relaxed.sys~", 72),
    "no release": ("~st\\.release\\.sys~st.relaxed.sys~", 80),
    "a narrow scope": ("~\\.sys~.gpu~", 88),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_errors_are_found(emulated_ranks, tmp_path, monkeypatch, planted):
    """A dispatch whose PTX lost an order or a scope is a race."""
    mutant, N = PLANTED[planted]
    changed = with_change(tmp_path, "BLOCK_M=8, BLOCK_N=1024", f"BLOCK_M=8, BLOCK_N={N}")
    monkeypatch.setenv("PANTILE_EMULATION_MUTANT", mutant)
    with pytest.raises(RuntimeError, match="a race"):
        run(changed, emulated_ranks, 16, N)
