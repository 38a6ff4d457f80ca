"""Eight processes tune tutorial 03's GEMM from an empty cache; two may be killed meanwhile."""

import signal

import pytest
from device_arrays import torch_with_gpu
from test_ranks import PROGRAM, ranks, stored  # noqa: F401 (a fixture)

CONFIGS, COUNT = 10, 8
GEMM = PROGRAM.with_name("gemm_rank_program.py")


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def kind(request):
    if request.param == "cuda" and torch_with_gpu() is None:
        pytest.skip("needs a GPU")
    return request.param


def start(ranks, kind, rank, **job):  # noqa: F811
    return ranks.start(rank, COUNT, program=GEMM, device=kind, **job)


def lines(ranks, name):  # noqa: F811
    return (ranks.folder / name).read_text().splitlines()


def check_choices(ranks, reports):  # noqa: F811
    """All made one choice, by the same times, and no kernel was compiled twice."""
    assert all(report == reports[0] for report in reports), reports
    compiled = lines(ranks, "compiled")
    assert len(compiled) == len(set(compiled)) == CONFIGS == stored(ranks, "kernel")


def test_each_kernel_is_compiled_and_measured_once(ranks, kind):  # noqa: F811
    reports = ranks.reports([start(ranks, kind, rank) for rank in range(COUNT)])
    check_choices(ranks, reports)
    assert len(lines(ranks, "measured")) == CONFIGS


def test_none_is_lost_when_two_are_killed(ranks, kind):  # noqa: F811
    """Whichever ranks they are, and however many of the others wait for them."""
    killed = [start(ranks, kind, rank, die_at=at) for rank, at in ((2, 3), (6, 5))]
    others = [start(ranks, kind, rank) for rank in range(COUNT) if rank not in (2, 6)]
    reports = ranks.reports(others)
    check_choices(ranks, reports)
    # A killed rank that another one was faster than has measured nothing, and lives.
    died = [process.wait(60) == -signal.SIGKILL for process in killed]
    before = sum(at - 1 for at, dead in zip((3, 5), died, strict=True) if dead)
    assert len(lines(ranks, "measured")) == CONFIGS + before
    alive = [process for process, dead in zip(killed, died, strict=True) if not dead]
    assert all(report == reports[0] for report in ranks.reports(alive))


def test_the_first_two_that_measure_are_killed(ranks, kind):  # noqa: F811
    """One after the other, so that both do die; a third takes over."""
    first = start(ranks, kind, 0, die_at=3)
    assert first.wait(120) == -signal.SIGKILL
    second = start(ranks, kind, 1, die_at=5)
    assert second.wait(120) == -signal.SIGKILL
    others = [start(ranks, kind, rank) for rank in range(2, COUNT)]
    check_choices(ranks, ranks.reports(others))
    assert len(lines(ranks, "measured")) == CONFIGS + 2 + 4
