"""What a tuner does with another rank's choice, and with another process's lock."""

import json
import warnings

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile import _pantile
from pantile.runtime import choosing, ranks, tuning_cache
from pantile.runtime.agreement import LogError

CONFIGS = [triton.Config({"BLOCK": size}, num_warps=1) for size in (8, 32, 64, 128)]


@pytest.fixture(autouse=True)
def rank(monkeypatch, tmp_path):
    """Each test is a rank of a run of its own."""
    for name, value in {
        "RANK": "1",
        "WORLD_SIZE": "4",
        "PANTILE_RUN_ID": str(tmp_path),
        "PANTILE_CACHE_DIR": str(tmp_path),
        "PANTILE_TUNE_CPU": "1",
    }.items():
        monkeypatch.setenv(name, value)


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


def test_another_ranks_choice_is_taken_with_all_that_is_known(capsys, monkeypatch):
    first = launch(tuner(Times(3.5, 1.25, 2.0)))
    monkeypatch.setenv("PANTILE_PRINT_AUTOTUNING", "1")
    second = launch(tuner(Times()))
    assert second.best_config is CONFIGS[2] and second.bench_time is None
    assert second.configs_timings == first.configs_timings
    assert (
        second.configs_errors == first.configs_errors and list(second.configs_errors) == CONFIGS[:1]
    )
    assert "best config selected: BLOCK: 64" in capsys.readouterr().out


def test_what_fails_for_one_rank_fails_for_all():
    errors = []
    for bench in (Times(), Times()):
        with pytest.raises(triton.AutotunerError, match="none of the 4 configurations") as caught:
            launch(tuner(bench), least=1000)
        errors.append(str(caught.value))
    assert errors[0] == errors[1] and "BLOCK: 128" in errors[0]


def test_an_error_of_one_rank_is_its_own():
    def broken(call, quantiles):
        raise MemoryError("no room for the copies")

    with pytest.raises(MemoryError, match="no room"):
        launch(tuner(broken))
    bench = Times(2.0, 3.0, 1.0)
    assert launch(tuner(bench)).best_config is CONFIGS[3] and bench.count == 3
    assert launch(tuner(broken)).best_config is CONFIGS[3]


def test_other_lists_keys_and_kernels_are_other_questions():
    launch(tuner(Times(2.0, 3.0, 1.0)))
    for tuned, n, least in (
        (tuner(Times(1.0, 2.0), CONFIGS[1:3]), 150, 16),
        (tuner(Times(1.0, 2.0, 3.0)), 151, 16),
        (tuner(Times(1.0, 2.0, 3.0)), 150, 17),
        (tuner(Times(1.0, 2.0, 3.0), CONFIGS[1:] + CONFIGS[:1]), 150, 16),
    ):
        assert launch(tuned, n, least).best_config is CONFIGS[1]
        assert tuned.bench_time is not None


def test_hooks_around_measurements_run_where_it_is_measured():
    seen = []
    hook = lambda args, reset_only=False: seen.append("reset" if reset_only else "before")
    launch(tuner(Times(2.0, 3.0, 1.0), pre_hook=hook))
    assert seen[-1] == "reset" and seen.count("before") >= 3
    seen.clear()
    launch(tuner(Times(), pre_hook=hook))
    assert seen == []


def test_a_ranks_own_hooks_run():
    """A configuration of this rank's own list is launched, not a copy of the other's."""
    seen = []
    make = lambda name: [
        triton.Config({"BLOCK": size}, pre_hook=lambda args: seen.append(name)) for size in (32, 64)
    ]
    for name, bench in (("first", Times(2.0, 1.0)), ("second", Times())):
        seen.clear()
        configs = make(name)
        assert launch(tuner(bench, configs)).best_config is configs[1]
        assert set(seen) == {name}


def test_a_choice_that_cannot_be_read_is_not_taken(monkeypatch):
    for number, wrong in enumerate(
        (
            {"times": [[1.0] * 3], "failures": [None], "best": 0},
            {"times": [None] * 4, "failures": [None] * 4, "best": 9},
            {"times": [None] * 4, "best": 1},
            ["best", 1],
        )
    ):
        log = ranks.log_of(f"{number:064}")
        log.append(0, json.dumps(["decision", wrong]))
        monkeypatch.setattr(choosing, "log_of", lambda question: log)
        with pytest.warns(RuntimeWarning, match="`scale_kernel` is tuned by each rank for itself"):
            assert launch(tuner(Times(2.0, 3.0, 1.0))).best_config is CONFIGS[3]


def test_a_folder_that_cannot_be_read_is_not_used(tmp_path):
    launch(tuner(Times(2.0, 3.0, 1.0)))
    (run,) = tmp_path.glob("ranks/*/run.0")
    run.write_text("no JSON")
    ranks._folder.cache_clear()
    with pytest.warns(RuntimeWarning, match="`scale_kernel` is tuned by each rank for itself"):
        assert launch(tuner(Times(2.0, 3.0, 1.0))).best_config is CONFIGS[3]


def test_no_folder_at_all(monkeypatch):
    monkeypatch.setattr(ranks, "_folder", lambda identity, cache: None)
    with pytest.warns(RuntimeWarning, match="each rank for itself: neither the kernel cache nor"):
        assert launch(tuner(Times(2.0, 3.0, 1.0))).best_config is CONFIGS[3]


def test_a_choice_survives_its_way():
    timings = {CONFIGS[1]: [1.5, float("inf"), 0.1], CONFIGS[3]: [0.1 + 0.2, 1e-9, 3]}
    choice = choosing.Choice.of_times(timings, {CONFIGS[0]: ValueError("too small")})
    found = choosing.Choice.from_json(json.loads(json.dumps(choice.as_json(CONFIGS))), CONFIGS)
    assert found.timings == timings and found.failures == {CONFIGS[0]: "too small"}
    assert found.best is CONFIGS[3] and found.seconds is None
    with pytest.raises(LogError, match="cannot be read"):
        choosing.Choice.from_json(choice.as_json(CONFIGS), CONFIGS[:3])


def test_negative_places_are_refused():
    known = {"times": [[1.0] * 3] * 4, "failures": [None] * 4}
    for best in (-1, True, "1", 1.0):
        with pytest.raises(LogError, match="cannot be read"):
            choosing.Choice.from_json({**known, "best": best}, CONFIGS)


def test_a_process_waits_for_another_ones_lock_so_long(monkeypatch):
    """And measures by itself then; a lock that is free costs nothing."""
    monkeypatch.delenv("RANK")
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
    monkeypatch.delenv("RANK")
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


def test_launchers_that_number_ranks(monkeypatch):
    monkeypatch.delenv("PANTILE_RUN_ID")
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name)
    assert ranks.run_identity() is None and ranks.log_of("0" * 64) is None
    for rank, size in ranks._NUMBERS:
        monkeypatch.setenv(rank, "0")
        assert ranks.run_identity() is None, "how many there are is not known"
        monkeypatch.setenv(size, "1")
        assert ranks.run_identity() is None
        monkeypatch.setenv(size, "2")
        assert ranks.run_identity()["ranks"] == "2"
        monkeypatch.setenv("MASTER_PORT", "29500")
        assert ranks.run_identity()["MASTER_PORT"] == "29500"
        for name in (rank, size, "MASTER_PORT"):
            monkeypatch.delenv(name)
