"""The tuner: keys, pruning, hooks, what it restores."""

import copy

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import random

CONFIGS = [
    triton.Config({"BLOCK": size}, num_warps=warps) for size, warps in [(16, 1), (32, 2), (64, 4)]
]


def make(configs=CONFIGS, key=("n",), **options):
    """A tuned kernel that counts its runs in the second array."""

    @triton.jit
    def add_one(x_ptr, runs_ptr, n, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        offsets = pid * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(x_ptr + offsets, x + 1, mask=offsets < n)
        if pid == 0:
            tl.store(runs_ptr, tl.load(runs_ptr) + 1)

    return triton.autotune(configs=configs, key=list(key), **options)(add_one)


def launch(tuned, x, runs):
    tuned[lambda meta: (triton.cdiv(len(x), meta["BLOCK"]),)](x, runs, len(x))


def arrays(size=100):
    return np.zeros(size, np.float32), np.zeros(1, np.int32)


def fake_bench(times):
    """Run each configuration once and pretend that it took the next of `times`."""
    remaining = iter(times)

    def bench(call, quantiles):
        call()
        return [next(remaining)] * len(quantiles)

    return bench


def scaled(configs):
    """A tuned kernel with a parameter that is known at run time only, and has a default."""

    @triton.jit
    def scale(x_ptr, n, factor=2, BLOCK: tl.constexpr = 64):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(x_ptr + offsets, x * factor, mask=offsets < n)

    return triton.autotune(configs=configs, key=["n"])(scale)


def test_configurations_of_run_time_parameters(device):
    """Each launch passes the configuration's value, not the default."""
    for factor in (4, 16):
        tuned = scaled([triton.Config({"factor": factor})])
        x = device.to(np.ones(50, np.float32))
        for _ in range(4):
            tuned[(1,)](x, 50)
        assert (device.numpy(x) == factor**4).all()


def test_copies_have_configurations_of_their_own(device):
    tuned = scaled([triton.Config({"BLOCK": 64})])
    x = device.to(np.ones(50, np.float32))
    tuned[(1,)](x, 50)
    other = copy.copy(tuned)
    other.configs, other.cache = [triton.Config({"BLOCK": 32})], {}
    other[(1,)](x, 50)
    assert (device.numpy(x) == [4] * 32 + [2] * 18).all()


def test_cpu_takes_the_first_and_says_so_once(capfd):
    tuned = make()
    x, runs = arrays()
    launch(tuned, x, runs)
    launch(tuned, x, runs)
    assert (x == 2).all() and runs[0] == 2
    assert tuned.best_config is CONFIGS[0]
    assert capfd.readouterr().err.count("not tuned on the CPU") == 1


@pytest.fixture
def tune_cpu(monkeypatch):
    monkeypatch.setenv("PANTILE_TUNE_CPU", "1")


def test_the_fastest_is_kept_for_its_key(tune_cpu):
    tuned = make(do_bench=fake_bench([3, 1, 2, 5, 6, 4]))
    x, runs = arrays(100)
    launch(tuned, x, runs)
    assert tuned.best_config is CONFIGS[1]
    assert [tuned.configs_timings[config][0] for config in CONFIGS] == [3, 1, 2]
    launch(tuned, x, runs)
    assert runs[0] == 5, "three measured runs, then one for each launch"
    launch(tuned, *arrays(200))
    assert tuned.best_config is CONFIGS[2], "another value of the key is measured again"
    launch(tuned, x, runs)
    assert tuned.best_config is CONFIGS[1]
    assert len(tuned.cache) == 2


def test_dtypes_are_part_of_the_key(tune_cpu):
    tuned = make(do_bench=fake_bench([1, 2, 3, 3, 2, 1]))
    launch(tuned, *arrays())
    launch(tuned, np.zeros(100, np.float64), np.zeros(1, np.int32))
    assert tuned.best_config is CONFIGS[2]


def test_measured_for_real(tune_cpu):
    tuned = make(warmup=1, rep=2)
    x, runs = arrays()
    launch(tuned, x, runs)
    assert tuned.best_config in CONFIGS
    assert all(len(times) == 3 and times[0] > 0 for times in tuned.configs_timings.values())


def test_restore_value(tune_cpu):
    tuned = make(do_bench=fake_bench([1, 2, 3]), restore_value=["x_ptr"])
    x, runs = arrays()
    launch(tuned, x, runs)
    assert (x == 1).all()


def test_reset_to_zero(tune_cpu):
    tuned = make(do_bench=fake_bench([1, 2, 3]), reset_to_zero=["x_ptr"])
    x, runs = arrays()
    launch(tuned, x, runs)
    assert (x == 1).all()


def test_hooks(tune_cpu):
    """Hooks of configurations and of the tuner run in their order."""
    seen = []
    configs = [
        triton.Config({"BLOCK": size}, pre_hook=lambda args: seen.append(args["BLOCK"]))
        for size in (16, 32)
    ]
    post = lambda args, exception: seen.append(("after", exception))
    tuned = make(
        configs,
        do_bench=fake_bench([2, 1]),
        pre_hook=lambda args, reset_only=False: seen.append("reset" if reset_only else "before"),
        post_hook=post,
    )
    launch(tuned, *arrays())
    assert seen == [16, "before", ("after", None), 32, "before", ("after", None), "reset", 32]


def test_pruning(tune_cpu):
    """Early pruning and a model leave the configurations that they say."""
    early = lambda configs, args, **kwargs: [c for c in configs if c.kwargs["BLOCK"] < args["n"]]
    tuned = make(do_bench=fake_bench([2, 1]), prune_configs_by={"early_config_prune": early})
    launch(tuned, *arrays(50))
    assert tuned.best_config is CONFIGS[1] and len(tuned.configs_timings) == 2
    model = lambda BLOCK, **_: -BLOCK
    tuned = make(prune_configs_by={"perf_model": model, "top_k": 1})
    launch(tuned, *arrays())
    assert tuned.best_config is CONFIGS[2]


def test_failing_configurations_lose(tune_cpu):
    @triton.jit
    def picky(x_ptr, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK >= 32)
        tl.store(x_ptr, BLOCK)

    x = np.zeros(1, np.int32)
    triton.autotune(CONFIGS, key=[], do_bench=fake_bench([2, 1]))(picky)[(1,)](x)
    assert x[0] == 64
    with pytest.raises(triton.AutotunerError, match="none of the 2 configurations"):
        triton.autotune([triton.Config({"BLOCK": size}) for size in (8, 16)], key=[])(picky)[(1,)](
            x
        )


def test_the_race_finds_the_fastest(tune_cpu):
    """By our own clock, among configurations that do the work up to 300 times."""

    @triton.jit
    def add_one(x_ptr, runs_ptr, n, TIMES: tl.constexpr):
        offsets = tl.program_id(0) * 1024 + tl.arange(0, 1024)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        total = x
        for i in range(TIMES):
            total = tl.sqrt(total * total + i)
        x = tl.where(total < 0, x, x + 1)
        tl.store(x_ptr + offsets, x, mask=offsets < n)
        if tl.program_id(0) == 0:
            tl.store(runs_ptr, tl.load(runs_ptr) + 1)

    configs = [triton.Config({"TIMES": times}) for times in (200, 1, 300)]
    tuned = triton.autotune(configs, key=["n"])(add_one)
    x, runs = arrays(20000)
    tuned[(20,)](x, runs, 20000)
    assert tuned.best_config is configs[1], (tuned.configs_timings, tuned.configs_errors)
    assert all(0 < times[1] <= times[0] <= times[2] for times in tuned.configs_timings.values())
    launches = runs[0]
    tuned[(20,)](x, runs, 20000)
    assert runs[0] == launches + 1 and (x == runs[0]).all(), "a second launch measures nothing"


class BusySpell:
    """A clock of our own: the second of two configurations is the fastest, but a busy machine holds up some of its runs.

    Runs are counted from the first one that counts: the one before it loads.
    """

    def __init__(self, spells):
        self.spells, self.runs = spells, {}

    def synchronize(self):
        pass

    def times(self, launch, count, prepare):
        launch()
        config = launch.__self__.config
        first = self.runs.get(config, -1)
        self.runs[config] = first + count
        if config.kwargs["BLOCK"] == 64:
            return [1.0] * count
        return [9.0 if run in self.spells else 0.1 for run in range(first, first + count)]


@pytest.mark.parametrize(
    "spells",
    [range(1), range(3), range(1, 18), range(4, 100), range(5, 150)],
    ids=lambda spells: f"{spells.start}-{spells.stop}",
)
def test_the_race_waits_for_a_busy_spell_to_end(tune_cpu, monkeypatch, spells):
    monkeypatch.setattr("pantile.testing.bench.timer_of", lambda on_host, device: clock)
    clock = BusySpell(spells)

    @triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
    @triton.jit
    def copy(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

    x = np.random.default_rng(9).standard_normal(300).astype(np.float32)
    out = np.zeros_like(x)
    copy[(1,)](out, x, 300)
    np.testing.assert_array_equal(out, x)
    assert copy.best_config.kwargs == {"BLOCK": 128}


def test_the_race_restores_and_resets(tune_cpu):
    seen = []
    tuned = make(
        restore_value=["x_ptr"],
        reset_to_zero=["runs_ptr"],
        pre_hook=lambda args, reset_only=False: seen.append("reset" if reset_only else "before"),
        post_hook=lambda args, exception: seen.append(exception),
    )
    x, runs = arrays()
    x += 5
    launch(tuned, x, runs)
    assert (x == 6).all() and runs[0] == 1
    assert seen.pop() == "reset"
    assert seen[::2] == ["before"] * (len(seen) // 2) and set(seen[1::2]) == {None}


def tuned_sum(keep):
    """A kernel that adds to its output, so that every measured run would show in it."""

    @triton.jit
    def add_to(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        total = tl.load(out_ptr + offsets, mask=offsets < n)
        total += tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(out_ptr + offsets, total, mask=offsets < n)

    configs = [triton.Config({"BLOCK": size}, num_warps=4) for size in (128, 256, 1024)]
    return triton.autotune(configs, key=["n"], restore_value=["out_ptr"], cache_results=keep)(
        add_to
    )


def test_a_second_process_would_not_measure(device, tune_cpu, monkeypatch, tmp_path):
    """On both devices: arrays are restored, and what was measured is found again by another tuner."""
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))
    n = 5000
    x, start = random(n), random(n)
    for is_first in (True, False):
        tuned = tuned_sum(keep=device.name == "cpu")
        out = device.to(start.copy())
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, device.to(x), n)
        np.testing.assert_array_equal(device.numpy(out), start + x)
        assert (tuned.bench_time is not None) == is_first
    assert not list(tmp_path.rglob("*.tmp")) and list(tmp_path.glob("??/*"))


def test_what_does_not_fit_the_gpu_is_left_out(gpu):
    """256 x 256 tiles of fp32 in four stages need more shared memory than there is."""

    @triton.jit
    def matmul(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
        rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
        total = tl.zeros((BLOCK, BLOCK), tl.float32)
        for k in range(0, K, BLOCK):
            a = tl.load(a_ptr + rows * K + k + columns)
            b = tl.load(b_ptr + (k + rows) * BLOCK + columns, mask=columns < 256)
            total = tl.dot(a, b, total)
        tl.store(c_ptr + rows * BLOCK + columns, total)

    configs = [triton.Config({"BLOCK": size}, num_stages=4) for size in (256, 64)]
    tuned = triton.autotune(configs, key=["K"])(matmul)
    a, b = random((256, 256)), random((256, 256))
    out = gpu.output((256, 256), "fp32")
    tuned[(1,)](gpu.to(a), gpu.to(b), out.array, 256)
    assert tuned.best_config is configs[1] and list(tuned.configs_errors) == configs[:1]
    assert "shared memory" in tuned.configs_errors[configs[0]]
    assert all(times[0] > 0 for times in tuned.configs_timings.values())


def test_warmup_compiles_all():
    tuned = tuned_sum(keep=False)
    kernels = tuned.warmup(tl.float32, tl.float32, 100, grid=(1,))
    assert len(kernels) == 3 and {k.name for k in kernels} == {"add_to"}


def test_configurations_compile_side_by_side():
    """Failures come back with their configurations; what compiled is launched without a compilation."""
    import threading

    from pantile.runtime import tuning

    @triton.jit
    def picky(x_ptr, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK >= 32)
        tl.store(x_ptr, BLOCK)

    configs = [triton.Config({"BLOCK": size}) for size in (8, 32, 64, 128)]
    tuned = triton.autotune(configs, key=[])(picky)
    x = np.zeros(1, np.int32)
    tuned.nargs = {"x_ptr": x}
    threads = set()
    listener = lambda **_: threads.add(threading.get_ident())
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.listener = listener
        errors = tuning.compile_all(tuned, configs, (x,), {"grid": (1,), "warmup": False})
        assert list(errors) == configs[:1] and threading.get_ident() not in threads
        assert x[0] == 0, "nothing was launched"
        threads.clear()
        picky[(1,)](x, **configs[2].all_kwargs())
        assert not threads and x[0] == 64


def test_a_bar_on_a_terminal(monkeypatch):
    import io

    from pantile.runtime.tuning import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, shown in [(Terminal(), True), (io.StringIO(), False)]:
        monkeypatch.setattr("sys.stderr", stream)
        bar = Progress("compiling k", 4)
        bar.step()
        bar.close()
        text = stream.getvalue()
        assert ("compiling k [######..................] 1/4" in text) == shown
        assert bool(text) == shown


def test_deterministic(tune_cpu, monkeypatch, tmp_path):
    """What is stored decides; without it the first configuration that fits."""
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PANTILE_DETERMINISTIC_TUNING", "1")
    tuned = make(cache_results=True, do_bench=fake_bench([]))
    launch(tuned, *arrays())
    assert tuned.best_config is CONFIGS[0]
    monkeypatch.delenv("PANTILE_DETERMINISTIC_TUNING")
    launch(make(cache_results=True, do_bench=fake_bench([3, 1, 2])), *arrays())
    monkeypatch.setenv("PANTILE_DETERMINISTIC_TUNING", "1")
    tuned = make(cache_results=True, do_bench=fake_bench([]))
    launch(tuned, *arrays())
    assert tuned.best_config is CONFIGS[1]


def test_a_longer_list_measures_only_what_is_new(tune_cpu, monkeypatch, tmp_path):
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))
    launch(make(CONFIGS[:2], cache_results=True, do_bench=fake_bench([3, 2])), *arrays())
    tuned = make(CONFIGS, cache_results=True, do_bench=fake_bench([1]))
    launch(tuned, *arrays())
    assert tuned.best_config is CONFIGS[2]
    assert [tuned.configs_timings[config][0] for config in CONFIGS] == [3, 2, 1]


def test_failures_are_stored_and_reported(tune_cpu, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PANTILE_PRINT_AUTOTUNING", "1")

    @triton.jit
    def picky(x_ptr, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK >= 32)
        tl.store(x_ptr, BLOCK)

    x = np.zeros(1, np.int32)
    for times in ([2, 1], []):
        tuned = triton.autotune(CONFIGS, key=[], do_bench=fake_bench(times), cache_results=True)(
            picky
        )
        tuned[(1,)](x)
        assert x[0] == 64 and list(tuned.configs_errors) == CONFIGS[:1]
        assert "left out: BLOCK: 16" in capsys.readouterr().out


def test_printing(tune_cpu, monkeypatch, capsys):
    """The environment makes the tuner print what it chose."""
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    launch(make(do_bench=fake_bench([2, 1, 3])), *arrays())
    printed = capsys.readouterr().out
    assert "Triton autotuning for function add_one" in printed
    assert "best config selected: BLOCK: 32, num_warps: 2" in printed


def test_a_name_set_twice(tune_cpu):
    tuned = make()
    with pytest.raises(ValueError, match="`BLOCK` is set by the configurations"):
        tuned[(1,)](*arrays(), 100, BLOCK=16)


def test_a_name_set_twice_without_measuring():
    """The CPU takes the first configuration, and refuses the same launches."""
    for tuned in (make(), make(CONFIGS[:1])):
        for name in ("BLOCK", "num_warps"):
            for _ in range(2):
                with pytest.raises(ValueError, match=f"`{name}` is set by the configurations"):
                    tuned[(1,)](*arrays(), 100, **{name: 16})
                tuned[(7,)](*arrays(), 100)


def test_what_cannot_be_tuned():
    with pytest.raises(TypeError, match="a list of `Config`, got a dict"):
        make([{"BLOCK": 32}])
    for decorate in (triton.autotune([triton.Config({})], key=[]), triton.heuristics({})):
        with pytest.raises(TypeError, match="`plain` is no kernel yet: put .* above `jit`"):

            @decorate
            def plain(out_ptr):
                pass


def test_heuristics_under_autotune():
    @triton.autotune([triton.Config({"BLOCK": 32})], key=["n"])
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton.jit
    def kernel(out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        tl.store(out_ptr, 1 if EVEN else 0)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 64)
    assert out[0] == 1
    kernel[(1,)](out, 65)
    assert out[0] == 0


def test_config():
    """A configuration prints and compares by its options."""
    config = triton.Config({"BLOCK": 16}, num_warps=8, num_stages=2, maxnreg=128)
    assert config.all_kwargs() == {
        "BLOCK": 16,
        "num_warps": 8,
        "num_ctas": 1,
        "num_stages": 2,
        "maxnreg": 128,
    }
    assert str(config) == "BLOCK: 16, num_warps: 8, num_ctas: 1, num_stages: 2, maxnreg: 128"
    same = triton.Config({"BLOCK": 16}, num_warps=8, num_stages=2, maxnreg=128)
    assert config == same and hash(config) == hash(same)
    assert config != triton.Config({"BLOCK": 16})
