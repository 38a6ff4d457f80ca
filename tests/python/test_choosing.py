"""What a tuner does with another process's lock."""

import warnings

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile import _pantile
from pantile.runtime import choosing, tuning_cache

CONFIGS = [triton.Config({"BLOCK": size}, num_warps=1) for size in (8, 32, 64, 128)]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PANTILE_TUNE_CPU", "1")


class Times:
    """Pretends that runs take the next of `times`, and counts them."""

    def __init__(self, *times):
        self.times, self.count = times, 0

    def __call__(self, call, quantiles):
        call()
        self.count += 1
        return [self.times[self.count - 1]] * len(quantiles)


@triton.jit
def scale_kernel(x_ptr, n, LEAST: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= LEAST)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, 2 * x, mask=offsets < n)


def tuner(bench, configs=CONFIGS, **options):
    options = {"restore_value": ["x_ptr"], "key": ["n", "LEAST"], **options}
    return triton.autotune(configs, do_bench=bench, **options)(scale_kernel)


def launch(tuned, n=150, least=16):
    start = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    x = start.copy()
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, n, least)
    np.testing.assert_array_equal(x, 2 * start)
    return tuned


def test_a_process_waits_for_another_ones_lock_so_long(monkeypatch):
    """And measures by itself then; a lock that is free costs nothing."""
    monkeypatch.setenv("PANTILE_TUNE_WAIT_SECONDS", "0.3")
    bench = Times(2.0, 3.0, 1.0)
    tuned = tuner(bench, cache_results=True)
    names = []
    name_of = tuning_cache.TuningStore.lock_name
    monkeypatch.setattr(
        tuning_cache.TuningStore,
        "lock_name",
        lambda store: names.append(name_of(store)) or names[-1],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(tuned, 151)
    lock = _pantile.cache_try_lock(names[0])
    assert lock.is_held and lock.is_possible, "it was given back"
    assert not _pantile.cache_try_lock(names[0]).is_held
    launch(tuner(Times(), cache_results=True), 151)  # what is stored needs no lock
    monkeypatch.setattr(tuning_cache.TuningStore, "lock_name", lambda store: names[0])
    with pytest.warns(
        RuntimeWarning, match=r"waited 0.3 s for another process that tunes `scale_kernel`"
    ):
        assert launch(tuner(Times(2.0, 3.0, 1.0), cache_results=True), 152).bench_time is not None
    lock.release()
    assert _pantile.cache_try_lock(names[0]).is_held


def test_what_another_process_stored_meanwhile_is_not_measured(monkeypatch):
    """The times are looked up again once the lock is had."""
    other = tuner(Times(2.0, 1.0, 3.0), cache_results=True)
    wait = choosing.Question._lock

    def lock(question, name):
        if question.tuner is not other:
            launch(other)
        return wait(question, name)

    monkeypatch.setattr(choosing.Question, "_lock", lock)
    tuned = launch(tuner(Times(), cache_results=True))
    assert tuned.best_config is CONFIGS[2] and tuned.bench_time is None
    assert tuned.configs_timings == other.configs_timings
