"""Mistakes between ranks of symmetric memory are found: a barrier without its order or its scope, a read too early.

Only the emulated GPU reports them: `PANTILE_EMULATE=1`.
"""

import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from test_symmetric_memory import (  # noqa: F401 (a fixture)
    make_ranks,
    run_all_gather,
    swap_and_wait,
    tell_and_wait,
    tell_and_wait_by,
)


@triton.jit
def relaxed_wait(pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr):
    """As `tell_and_wait`, but without the acquire."""
    tell_and_wait_by(pads, rank, epoch, SLOTS, RANKS, "release", "relaxed", "sys")


@triton.jit
def relaxed_tell(pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr):
    """As `tell_and_wait`, but without the release."""
    tell_and_wait_by(pads, rank, epoch, SLOTS, RANKS, "relaxed", "acquire", "sys")


@triton.jit
def tell_and_wait_on_gpu(pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr):
    """As `tell_and_wait`, with the scope of one GPU."""
    tell_and_wait_by(pads, rank, epoch, SLOTS, RANKS, "release", "acquire", "gpu")


@triton.jit
def no_barrier(pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr):
    pass


MISTAKES = [relaxed_wait, relaxed_tell, tell_and_wait_on_gpu, no_barrier]
RACE = "a race: .* on GPU .* nothing orders the two"


@pytest.fixture
def emulated_ranks(make_ranks):  # noqa: F811
    ranks = make_ranks(2)
    if ranks.gpus[0].name != "emulated":
        pytest.skip("hardware does not tell")
    return ranks


def inputs_of_mistakes():
    return [random(1000, seed=rank) for rank in range(2)]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(emulated_ranks, mistake):
    """The emulator names the two accesses, whatever their order in the run."""
    with pytest.raises(RuntimeError, match=RACE):
        run_all_gather(emulated_ranks, inputs_of_mistakes(), "fp32", mistake)


@pytest.mark.parametrize("barrier", [tell_and_wait, swap_and_wait])
def test_an_early_read_of_a_peer_is_found(emulated_ranks, barrier):
    with pytest.raises(RuntimeError, match=RACE):
        run_all_gather(emulated_ranks, inputs_of_mistakes(), "fp32", barrier, early=True)


# What a compiler could do wrong: the mutant, and a number of elements that no other test takes.
PLANTED = {
    "no acquire": ("~ld\\.acquire\\.sys~ld.relaxed.sys~", 128),
    "no release": ("~st\\.release\\.sys~st.relaxed.sys~", 64),
    "a narrow scope": ("~\\.sys~.gpu~", 512),
    "no barrier of the threads": ("~bar\\.sync.*~~", 1024),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_errors_are_found(emulated_ranks, monkeypatch, planted):
    """An all-gather whose PTX lost an order, a scope or a barrier is a race."""
    mutant, block = PLANTED[planted]
    monkeypatch.setenv("PANTILE_EMULATION_MUTANT", mutant)
    with pytest.raises(RuntimeError, match="a race"):
        run_all_gather(emulated_ranks, inputs_of_mistakes(), "fp32", tell_and_wait, block=block)
