"""Many processes tune the same kernel: one works, all take its configuration, none hangs.

Each rank is a process that runs `rank_program.py`, on an emulated GPU or on the CPU, with times by
which each would choose another configuration.
"""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import emulated_device
import pytest
from command_line import pantilec

CONFIGS = 4
PROGRAM = Path(__file__).with_name("rank_program.py")
NUMBERED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "PANTILE_RUN_ID", "PANTILE_EMULATE")

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


class Ranks:
    """Processes with a common kernel cache, and their reports."""

    def __init__(self, folder):
        self.folder, self.cache, self.running = folder, folder / "cache", []
        self.common = {"folder": str(folder), "device": "emulated", "sizes": [300, 200]}

    def start(self, rank=None, count=8, env=None, program=PROGRAM, **job):
        """Start rank `rank` of `count`, or, with None, a process without a number."""
        if {**self.common, **job}["device"] == "emulated" and not emulated_device.library_path():
            pytest.skip("the emulated driver is not built")
        numbers = {"RANK": rank, "WORLD_SIZE": count, "LOCAL_RANK": rank}
        variables = self.environment()
        if rank is not None:
            variables.update({name: str(number) for name, number in numbers.items()})
        return self.run([program, json.dumps({**self.common, **job})], {**variables, **(env or {})})

    def environment(self):
        variables = {name: text for name, text in os.environ.items() if name not in NUMBERED}
        variables.update({"PANTILE_CACHE_DIR": str(self.cache), "PANTILE_TUNE_CPU": "1"})
        path = os.pathsep.join([str(PROGRAM.parent), *sys.path])
        return {**variables, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def run(self, arguments, environment):
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def start_all(self, count, **job):
        return [self.start(rank, count, **job) for rank in range(count)]

    def report(self, process, seconds=120):
        """What a process printed, in a time in which none that hangs would end."""
        out, err = process.communicate(timeout=seconds)
        assert process.returncode == 0, err
        return json.loads(out.splitlines()[-1])

    def reports(self, processes):
        return [self.report(process) for process in processes]


@pytest.fixture
def ranks(tmp_path):
    made = Ranks(tmp_path)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def check_same(reports, measured=2 * CONFIGS, warnings=()):
    """All made one choice, with the same times, and one measurement per configuration."""
    assert all(report["choices"] == reports[0]["choices"] for report in reports), reports
    assert sum(report["measured"] for report in reports) == measured, reports
    assert [text for report in reports for text in report["warnings"]] == list(warnings)


def stored(ranks, kind):
    return len(pantilec("cache", "--dir", ranks.cache, "ls", "--kind", kind).splitlines())


def test_8_ranks_compile_and_measure_once(ranks):
    reports = ranks.reports(ranks.start_all(8, slow=0.05))
    check_same(reports)
    assert sum(report["compiled"] for report in reports) == CONFIGS == stored(ranks, "kernel")
    assert not list(ranks.cache.rglob("*.lock")) and not list(ranks.cache.rglob("*.tmp"))
    assert stored(ranks, "tuning") == 0, "times of a `do_bench` are for this run"


def test_processes_without_a_launcher_measure_once(ranks):
    """By our own clock, whose times are kept: one measures, the others find what it has stored."""
    reports = ranks.reports([ranks.start(own_clock=True, sizes=[300]) for _ in range(6)])
    check_same(reports, measured=CONFIGS)
    assert sum(report["compiled"] for report in reports) == CONFIGS
    assert stored(ranks, "tuning") == CONFIGS
    later = ranks.report(ranks.start(0, 2, own_clock=True, sizes=[300]))
    assert later["choices"] == reports[0]["choices"] and later["measured"] == 0


def test_a_later_run_measures_again(ranks):
    """What a `do_bench` says is not kept beyond a run; each run has its own choice."""
    first, second = (
        ranks.reports(ranks.start_all(2, env={"PANTILE_RUN_ID": name})) for name in ("a", "b")
    )
    check_same(first)
    check_same(second)


def test_one_rank_alone(ranks):
    """The others run something else."""
    report = ranks.report(ranks.start(5, 8), seconds=60)
    assert report["measured"] == 2 * CONFIGS and not report["warnings"]


def test_ranks_with_other_shapes_in_another_order(ranks):
    """As in pipelines: each rank launches its own kernels, when it gets to them."""
    orders = [[300, 200, 100], [100, 300, 200], [200, 500], [500, 100, 300]]
    running = [ranks.start(rank, 4, sizes=sizes, slow=0.05) for rank, sizes in enumerate(orders)]
    reports = ranks.reports(running)
    choices = {}
    for sizes, report in zip(orders, reports):
        for size, choice in zip(sizes, report["choices"]):
            assert choices.setdefault(size, choice) == choice
    assert sum(report["measured"] for report in reports) == 4 * CONFIGS
    assert not any(report["warnings"] for report in reports)


def test_ranks_that_are_killed_hold_up_none(ranks):
    """The first rank dies while it measures, and so does the one that takes over."""
    killed = [ranks.start(0, tell="first", die_at=3, slow=0.3)]
    time.sleep(0)
    killed.append(ranks.start(1, first="first", tell="second", die_at=2, slow=0.3))
    others = [ranks.start(rank, first="second") for rank in range(2, 8)]
    reports = ranks.reports(others)
    assert [process.wait(60) for process in killed] == [-signal.SIGKILL] * 2
    check_same(reports)
    assert max(report["seconds"] for report in reports) < 60


def test_a_killed_process_without_a_number_holds_up_none(ranks):
    """The kernel frees the lock of a process that dies while it measures."""
    killed = ranks.start(keep=True, tell="first", die_at=3, slow=0.2)
    others = [ranks.start(keep=True, first="first") for _ in range(3)]
    reports = ranks.reports(others)
    assert killed.wait(60) == -signal.SIGKILL
    check_same(reports)


def test_each_kind_of_gpu_has_its_choice(ranks):
    kinds = ["sm_90a", "sm_80", "sm_90a", "sm_80"]
    running = [
        ranks.start(rank, 4, env={"PANTILE_EMULATED_TARGET": kind})
        for rank, kind in enumerate(kinds)
    ]
    reports = ranks.reports(running)
    check_same(reports[::2])
    check_same(reports[1::2])
    assert sum(report["compiled"] for report in reports) == 2 * CONFIGS


def test_a_cache_that_cannot_be_written(ranks):
    """Every rank compiles what it measures or launches, and all take the same configuration."""
    (ranks.folder / "file").write_text("no folder")
    ranks.cache = ranks.folder / "file" / "cache"
    temporary = {"TMPDIR": str(ranks.folder)}
    check_same(ranks.reports(ranks.start_all(4, env=temporary)))
    assert list(ranks.folder.glob("pantile-ranks-*/*/0/*.1"))


def test_each_rank_for_itself(ranks):
    reports = ranks.reports(ranks.start_all(3, env={"PANTILE_TUNE_ACROSS_RANKS": "0"}))
    assert [report["measured"] for report in reports] == [2 * CONFIGS] * 3
    assert len({json.dumps(report["choices"]) for report in reports}) == 3


def test_nothing_is_measured_where_that_is_forbidden(ranks):
    reports = ranks.reports(ranks.start_all(3, env={"PANTILE_DETERMINISTIC_TUNING": "1"}))
    assert all(report["measured"] == 0 for report in reports)
    assert len({json.dumps(report["choices"]) for report in reports}) == 1


def free_port():
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


@pytest.fixture(params=["file", "tcp"])
def group(request, tmp_path):
    """The address of a process group."""
    if request.param == "file":
        return f"file://{tmp_path}/group"
    return f"tcp://127.0.0.1:{free_port()}"


@needs_torch
def test_a_process_group(ranks, group):
    """Caches of their own stand for hosts without a common folder."""
    running = [
        ranks.start(
            rank, 4, device="cpu", group=group, env={"PANTILE_CACHE_DIR": f"{ranks.cache}{rank}"}
        )
        for rank in range(4)
    ]
    check_same(ranks.reports(running))


@needs_torch
def test_a_process_group_without_measurements(ranks, group):
    """The stored times of one rank decide, though others have stored others."""
    own = [{"PANTILE_CACHE_DIR": f"{ranks.cache}{rank}"} for rank in range(3)]
    alone = [ranks.start(rank, 1, device="cpu", keep=True, env=own[rank]) for rank in range(3)]
    before = [report["choices"] for report in ranks.reports(alone)]
    assert len(set(map(json.dumps, before))) == 3
    env = [{**one, "PANTILE_DETERMINISTIC_TUNING": "1"} for one in own]
    running = [
        ranks.start(rank, 3, device="cpu", keep=True, group=group, env=env[rank])
        for rank in range(3)
    ]
    reports = ranks.reports(running)
    check_same(reports, measured=0)
    for size in range(2):
        assert reports[0]["choices"][size] in [choices[size] for choices in before]


@needs_torch
def test_one_rank_of_a_process_group_alone(ranks, group):
    """A collective operation would wait for the others, which tune nothing."""
    first = ranks.start(2, 3, device="cpu", group=group, tell="unused")
    others = [ranks.start(rank, 3, device="cpu", group=group, sizes=[]) for rank in range(2)]
    reports = ranks.reports([first, *others])
    assert [report["measured"] for report in reports] == [2 * CONFIGS, 0, 0]


@needs_torch
def test_a_killed_rank_of_a_process_group(ranks, group):
    job = {"device": "cpu", "group": group, "meet": False}
    killed = ranks.start(1, 4, tell="first", die_at=3, slow=0.2, **job)
    others = [ranks.start(rank, 4, first="first", **job) for rank in (0, 2, 3)]
    reports = ranks.reports(others)
    assert killed.wait(60) == -signal.SIGKILL
    check_same(reports)


@needs_torch
def test_the_rank_that_serves_the_store_is_killed(ranks):
    """Then the others cannot agree; each tunes for itself, and says so."""
    job = {"device": "cpu", "group": f"tcp://127.0.0.1:{free_port()}", "meet": False}
    killed = ranks.start(0, 3, tell="first", die_at=2, slow=0.5, **job)
    others = [ranks.start(rank, 3, first="first", **job) for rank in (1, 2)]
    reports = ranks.reports(others)
    assert killed.wait(60) == -signal.SIGKILL
    for report in reports:
        assert report["measured"] == 2 * CONFIGS
        assert len(report["warnings"]) == 2
        assert all("is tuned by each rank for itself" in text for text in report["warnings"])


@needs_torch
def test_torchrun(ranks):
    """Ranks of a launcher of torch's, without a process group."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
    job = json.dumps({**ranks.common, "device": "cpu", "file": True})
    process = ranks.run([*launcher, PROGRAM, job], ranks.environment())
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    reports = [json.loads((ranks.folder / f"{rank}.json").read_text()) for rank in range(4)]
    assert [report["rank"] for report in reports] == [0, 1, 2, 3]
    check_same(reports)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def kind(request):
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    return request.param


def test_a_rank_that_waits_for_what_another_sends(ranks, kind):
    """On GPUs by NCCL: the same configuration, times and bits, and no rank waits in vain."""
    pair = PROGRAM.with_name("rank_pair_program.py")
    numbers = [{"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)} for rank in range(2)]
    address = f"tcp://127.0.0.1:{free_port()}"
    running = [ranks.run([pair, kind, address], {**ranks.environment(), **one}) for one in numbers]
    reports = [ranks.report(process, seconds=300) for process in running]
    assert reports[0]["choice"] == reports[1]["choice"]
    assert reports[0]["times"] == reports[1]["times"]
    assert all(report["same"] for report in reports)
    assert [report["measured"] for report in reports] == [True, False]
    assert max(report["seconds"] for report in reports) < 200
