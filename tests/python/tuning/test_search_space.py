"""Spaces of configurations: what they contain, what a model keeps of them, what is compiled."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random
from pantile import _pantile

TILES = {"BLOCK_M": [16, 32, 48, 64], "BLOCK_N": range(16, 65, 16), "BLOCK_K": [16, 32]}


def make(space, **options):
    """The tuned GEMM of any size."""

    @triton.jit
    def matmul(
        A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
    ):
        rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start in range(0, K, BLOCK_K):
            depth = start + tl.arange(0, BLOCK_K)
            a_mask = (rows[:, None] < M) & (depth[None, :] < K)
            a = tl.load(A + rows[:, None] * K + depth[None, :], mask=a_mask, other=0.0)
            b_mask = (depth[:, None] < K) & (columns[None, :] < N)
            b = tl.load(B + depth[:, None] * N + columns[None, :], mask=b_mask, other=0.0)
            total = tl.dot(a, b, total)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(C + rows[:, None] * N + columns[None, :], total, mask=mask)

    return triton.autotune(configs=space, key=["M", "N", "K"], **options)(matmul)


def grid_of(m, n):
    return lambda meta: (triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]))


class Matmul:
    """Operands on a device, and the result in float64."""

    def __init__(self, device, m=70, n=90, k=50):
        self.shape, self.device = (m, n, k), device
        a, b = random((m, k), "fp16", 1), random((k, n), "fp16", 2)
        self.wanted = a.astype(np.float64) @ b.astype(np.float64)
        self.a, self.b = device.to(a), device.to(b)

    def launch(self, tuned):
        m, n, _ = self.shape
        result = self.device.to(np.full((m, n), np.nan, np.float32))
        tuned[grid_of(m, n)](self.a, self.b, result, *self.shape)
        self.check(result)

    def check(self, result):
        np.testing.assert_allclose(self.device.numpy(result), self.wanted, atol=1e-2, rtol=1e-3)


def counting_bench():
    """Count the configurations that are measured; the last is the fastest."""
    calls = []

    def bench(call, quantiles):
        call()
        calls.append(call)
        return [1.0 / len(calls)] * len(quantiles)

    bench.calls = calls
    return bench


@pytest.fixture
def tune_cpu(monkeypatch):
    monkeypatch.setenv("PANTILE_TUNE_CPU", "1")


def test_all_combinations_in_order():
    space = triton.search_space(
        BLOCK=range(64, 97, 16), num_warps=[4, 8], num_stages=2, MODE="fast", keep=4
    )
    assert isinstance(space, triton.SearchSpace) and space.keep == 4
    found = [(c.kwargs, c.num_warps, c.num_stages) for c in space]
    assert found == [
        ({"BLOCK": block, "MODE": "fast"}, warps, 2) for block in (64, 80, 96) for warps in (4, 8)
    ]
    assert len(set(space)) == 6


def test_every_option_of_a_configuration_may_be_an_axis():
    hook = lambda args: None
    space = triton.search_space(
        BLOCK=64, enabled_passes=[None, "nv-stream-k"], maxnreg=[None, 128], pre_hook=hook
    )
    assert [(c.enabled_passes, c.maxnreg) for c in space] == [
        (None, None),
        (None, 128),
        ("nv-stream-k", None),
        ("nv-stream-k", 128),
    ]
    assert all(c.pre_hook is hook and c.kwargs == {"BLOCK": 64} for c in space)


@pytest.mark.parametrize(
    ("axes", "error", "text"),
    [
        ({"BLOCK": range(64, 64)}, ValueError, "`BLOCK` of a search space has no values"),
        ({"BLOCK": [64], "num_warps": []}, ValueError, "`num_warps`"),
        ({"BLOCK": [64], "keep": 0}, ValueError, "`keep` is 0"),
        ({"BLOCK": [64], "keep": 2.5}, TypeError, "not a float"),
        ({"BLOCK": [64], "keep": True}, TypeError, "not a bool"),
    ],
)
def test_spaces_that_are_none(axes, error, text):
    with pytest.raises(error, match=text):
        triton.search_space(**axes)


def test_axes_that_are_no_parameters():
    with pytest.raises(ValueError, match=r"axis `BLOCK_Q`, but `matmul` has no such parameter"):
        make(triton.search_space(BLOCK_Q=[16], BLOCK_M=16, BLOCK_N=16, BLOCK_K=16))


def test_the_cpu_takes_the_first_and_says_so(capfd):
    from device_arrays import Device

    tuned = make(triton.search_space(**TILES, keep=3))
    matmul = Matmul(Device("cpu"))
    matmul.launch(tuned)
    matmul.launch(tuned)
    assert tuned.best_config == tuned.configs[0]
    said = capfd.readouterr().err
    assert said.count("are not ranked: the kernel runs on the CPU; the first 3") == 1
    assert "taking the first of 3" in said


def test_measuring_on_the_cpu_is_bounded(tune_cpu):
    from device_arrays import Device

    bench = counting_bench()
    tuned = make(triton.search_space(**TILES, keep=3), do_bench=bench)
    Matmul(Device("cpu")).launch(tuned)
    assert len(bench.calls) == 3 and tuned.best_config == tuned.configs[2]


def test_small_spaces_are_not_pruned(tune_cpu):
    from device_arrays import Device

    bench = counting_bench()
    tuned = make(triton.search_space(BLOCK_M=[16, 48], BLOCK_N=16, BLOCK_K=16), do_bench=bench)
    Matmul(Device("cpu")).launch(tuned)
    assert len(bench.calls) == 2


def on_gpu(device):
    """Whether there is something to predict for."""
    return _pantile.device_of([device.to(np.zeros(1, np.float32))]) >= 0


SMALL = {**TILES, "num_warps": [1, 2]}
LARGE = {
    **{"BLOCK_M": range(64, 193, 16), "BLOCK_N": range(64, 193, 16), "BLOCK_K": [32, 64]},
    **{"num_warps": [4, 8], "num_stages": [2, 3]},
}


@pytest.mark.parametrize(("axes", "keep", "sizes"), [(SMALL, 5, {}), (LARGE, 2, {"m": 200})])
def test_few_are_compiled_and_all_are_right(device, axes, keep, sizes):
    """Each configuration that is kept runs, and gives the right result."""
    if not on_gpu(device):
        pytest.skip("the CPU measures nothing here")
    matmul, bench = Matmul(device, **sizes), counting_bench()
    tuned = make(triton.search_space(**axes, keep=keep), do_bench=bench)
    before = triton.runtime.stats()["compiles"] + triton.runtime.stats()["loads"]
    matmul.launch(tuned)
    assert triton.runtime.stats()["compiles"] + triton.runtime.stats()["loads"] - before == keep
    assert len(bench.calls) == len(tuned.configs_timings) == keep
    for config in tuned.configs_timings:
        result = device.to(np.full(matmul.shape[:2], np.nan, np.float32))
        options = config.all_kwargs()
        tuned.fn[grid_of(*matmul.shape[:2])(options)](
            matmul.a, matmul.b, result, *matmul.shape, **options
        )
        matmul.check(result)


def test_the_same_are_kept_each_time(device):
    if not on_gpu(device):
        pytest.skip("nothing is predicted for the CPU")
    kept = []
    for _ in range(3):
        matmul, bench = Matmul(device), counting_bench()
        tuned = make(triton.search_space(**TILES, num_warps=[2, 4], keep=4), do_bench=bench)
        matmul.launch(tuned)
        kept.append(list(tuned.configs_timings))
    assert kept[0] == kept[1] == kept[2] != tuned.configs[:4]


def test_pruning_of_the_users_own(device, tune_cpu):
    """What the user forbids leaves room for others; his model sees what ours kept."""
    seen, estimated, bench = [], [], counting_bench()

    def no_small_ones(configs, named_args, **kwargs):
        seen.append(len(configs))
        return [c for c in configs if c.kwargs["BLOCK_M"] >= 48]

    def estimate(BLOCK_M, BLOCK_N, **rest):
        estimated.append((BLOCK_M, BLOCK_N))
        return -BLOCK_N

    prune = {"early_config_prune": no_small_ones, "perf_model": estimate, "top_k": 2}
    space = triton.search_space(**TILES, keep=6)
    tuned = make(space, prune_configs_by=prune, do_bench=bench)
    Matmul(device).launch(tuned)
    assert seen == [len(space)] == [32]
    assert len(estimated) == 6 and all(m >= 48 for m, _ in estimated)
    assert len(bench.calls) == 2


def test_pruning_may_leave_nothing(device, tune_cpu):
    tuned = make(
        triton.search_space(**TILES),
        prune_configs_by={"early_config_prune": lambda configs, named_args, **kwargs: []},
    )
    with pytest.raises(triton.AutotunerError, match="no configuration of `matmul` is left"):
        Matmul(device).launch(tuned)


def test_configurations_that_cannot_run_are_left_out(device):
    if not on_gpu(device):
        pytest.skip("on the CPU each of them runs")

    @triton.jit
    def double(X, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK % 32 == 0, "an odd one")
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(X + at, 2 * tl.load(X + at, mask=at < n), mask=at < n)

    bench = counting_bench()
    space = triton.search_space(BLOCK=range(16, 129, 16), keep=3)
    tuned = triton.autotune(configs=space, key=["n"], do_bench=bench)(double)
    x = random(1000, "fp32", 3)
    held = device.to(x)
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](held, 1000)
    np.testing.assert_array_equal(device.numpy(held), x * 2.0 ** (len(bench.calls) + 1))
    assert len(bench.calls) == 3
    assert all(c.kwargs["BLOCK"] % 32 == 0 for c in tuned.configs_timings)


def test_a_mistake_of_all_configurations_is_the_callers(device):
    if not on_gpu(device):
        pytest.skip("on the CPU the first configuration has it")

    @triton.jit
    def wrong(X, BLOCK: tl.constexpr):
        tl.store(X + tl.arange(0, BLOCK), not_there)  # noqa: F821

    space = triton.search_space(BLOCK=range(16, 129, 16), keep=3)
    tuned = triton.autotune(configs=space, key=[])(wrong)
    with pytest.raises(triton.CompilationError, match="not_there"):
        tuned[(1,)](device.to(np.zeros(128, np.float32)))


def test_what_memory_decides_is_kept_in_order(device, capfd):
    """Rows end where memory says: nothing is predicted, and the numbers are right."""

    @triton.jit
    def row_sums(X, ENDS, OUT, stride, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        end = tl.load(ENDS + row)
        total = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, end, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(X + row * stride + at, mask=at < end, other=0.0)
        tl.store(OUT + row, tl.sum(total))

    if not on_gpu(device):
        pytest.skip("nothing is predicted for the CPU")
    bench = counting_bench()
    space = triton.search_space(BLOCK=range(16, 129, 16), keep=3)
    tuned = triton.autotune(configs=space, key=["stride"], do_bench=bench)(row_sums)
    x, ends = random((5, 200), "fp32", 4), np.array([0, 1, 77, 128, 200], np.int32)
    out = device.to(np.full(5, np.nan, np.float32))
    tuned[(5,)](device.to(x), device.to(ends), out, 200)
    wanted = [x[row, :end].astype(np.float64).sum() for row, end in enumerate(ends)]
    np.testing.assert_allclose(device.numpy(out), wanted, atol=1e-4)
    assert list(tuned.configs_timings) == tuned.configs[:3]
    said = capfd.readouterr().err
    assert "how often a loop runs does not follow from the arguments; the first 3" in said


def test_heuristics_and_hooks(device):
    """Values of `heuristics` count, below the tuner; hooks run before what they prepare."""

    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton.jit
    def add(X, n, addend, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(X + at, tl.load(X + at) + addend)
        else:
            tl.store(X + at, tl.load(X + at, mask=at < n) + addend, mask=at < n)

    if not on_gpu(device):
        pytest.skip("nothing is predicted for the CPU")
    hooked, bench = [], counting_bench()
    hook = lambda args: hooked.append(args["BLOCK"])
    space = triton.search_space(BLOCK=range(16, 257, 16), pre_hook=hook, keep=3)
    tuned = triton.autotune(configs=space, key=["n"], do_bench=bench)(add)
    x = random(320, "fp32", 5)
    held = device.to(x)
    tuned[lambda meta: (triton.cdiv(320, meta["BLOCK"]),)](held, 320, 2.0)
    np.testing.assert_allclose(device.numpy(held), x + 2.0 * (len(bench.calls) + 1), rtol=1e-6)
    assert hooked[:16] == list(range(16, 257, 16)) and len(bench.calls) == 3


def test_warmup_compiles_what_is_kept(device):
    if not on_gpu(device):
        pytest.skip("nothing is predicted for the CPU")
    tuned = make(triton.search_space(**TILES, keep=2))
    kernels = tuned.warmup(tl.float16, tl.float16, tl.float32, 64, 64, 64, grid=grid_of(64, 64))
    assert len(kernels) == 2 and all(kernel.asm["cubin"] for kernel in kernels)


def test_what_was_kept_is_stored_for_the_space(device, monkeypatch, tmp_path):
    """Another process predicts nothing; another space, number or grid is another question."""
    from pantile.runtime import plan_ranking

    if not on_gpu(device):
        pytest.skip("nothing is predicted for the CPU")
    ranked, rank = [], plan_ranking.rank
    monkeypatch.setattr(plan_ranking, "rank", lambda *args: ranked.append(args) or rank(*args))
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))

    def kept(space, **sizes):
        tuned = make(space, do_bench=counting_bench(), cache_results=True)
        Matmul(device, **sizes).launch(tuned)
        return list(tuned.configs_timings)

    first = kept(triton.search_space(**TILES, keep=3))
    assert len(ranked) == 1
    assert kept(triton.search_space(**TILES, keep=3)) == first and len(ranked) == 1
    assert len(kept(triton.search_space(**TILES, keep=2))) == 2 and len(ranked) == 2
    kept(triton.search_space(**TILES, num_warps=2, keep=3))
    assert len(ranked) == 3
    kept(triton.search_space(**TILES, keep=3), k=60)
    assert len(ranked) == 4
    kept(triton.search_space(**TILES, keep=3))
    assert len(ranked) == 4


def test_a_fraction_is_of_what_is_kept(tune_cpu):
    from device_arrays import Device

    bench = counting_bench()
    prune = {"perf_model": lambda BLOCK_M, **rest: BLOCK_M, "top_k": 0.5}
    space = triton.search_space(**TILES, keep=6)
    tuned = make(space, prune_configs_by=prune, do_bench=bench)
    Matmul(Device("cpu")).launch(tuned)
    assert len(bench.calls) == 3


def test_a_mistake_of_the_compilers_leaves_the_others(device, monkeypatch):
    """It is said, and the tuner goes on without that configuration."""
    if not on_gpu(device):
        pytest.skip("nothing is predicted for the CPU")
    predict = _pantile.predict

    def fail_once(program, specialization, options, *rest):
        if options.num_warps == 2:
            raise triton.InternalError("a pass failed")
        return predict(program, specialization, options, *rest)

    monkeypatch.setattr(_pantile, "predict", fail_once)
    bench = counting_bench()
    tuned = make(triton.search_space(**TILES, num_warps=[1, 2], keep=4), do_bench=bench)
    with pytest.warns(RuntimeWarning, match="num_warps: 2.* is left out: a pass failed"):
        Matmul(device).launch(tuned)
    assert len(bench.calls) == 4 and {c.num_warps for c in tuned.configs_timings} == {1}
