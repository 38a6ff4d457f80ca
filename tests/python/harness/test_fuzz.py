"""A few generated programs; `python -m tests.fuzz` runs as many as wanted."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.fuzz.generator import draw_any_extents, draw_program  # noqa: E402
from tests.fuzz.reducing import reduce_program  # noqa: E402
from tests.fuzz.running import check_program  # noqa: E402

SEED = "tests"


@pytest.mark.parametrize("draw", [draw_program, draw_any_extents])
@pytest.mark.parametrize("number", range(40))
def test_program_agrees_with_the_model(device, number, draw, tmp_path):
    program = draw(f"{SEED}.{number}")
    # Compiling for GPUs takes most of the time: one in four, as that needs no GPU.
    failure = check_program(program, tmp_path, f"p{number}", [device], 4, number)
    assert failure is None, f"{failure}\n{program.text()}"


def test_program_of_a_seed_is_always_the_same():
    assert draw_program("1.5").text() == draw_program("1.5").text()


def test_reduction_keeps_what_fails():
    program = draw_program("1.3")
    needle = next(name for name, (dtype, _) in program.outputs.items() if dtype != "i1")

    def fails(candidate):
        return f"{needle} +" in candidate.text()

    small = reduce_program(program, fails, budget=300)
    assert fails(small)
    small.evaluate()
    assert len(small.text().splitlines()) < len(program.text().splitlines())
