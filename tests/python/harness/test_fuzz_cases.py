"""Whole kernels that are drawn: some of each kind on the device, and what their model refuses."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.fuzz import kinds  # noqa: E402
from tests.fuzz.case import Case, run_model  # noqa: E402
from tests.fuzz.checking import check_case, run_case  # noqa: E402
from tests.fuzz.reducing_text import reduce_case  # noqa: E402
from tests.fuzz.values import Undefined  # noqa: E402

WHOLE = [kind for kind in kinds.WEIGHTS if kind not in ("statements", "any-extents")]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("kind", WHOLE)
def test_kernel_agrees_with_numpy(device, kind, number, tmp_path):
    case = kinds.draw(kind, f"tests.{number}")
    report = check_case(case, tmp_path, f"{kind}{number}", [device], False)
    assert report.failure is None, f"{report.failure}\n{case.text()}"


def results(case):
    """The arrays of a case, but for the largest."""
    arrays = run_model(case).arrays
    return {name: data.tobytes() for name, data in arrays.items() if data.size < 1e8}


def draw_with_results(kind):
    """The first of a few cases that has a result, and its seed: some are drawn in vain."""
    for seed in (f"1.{number}" for number in range(2, 9)):
        case = kinds.draw(kind, seed)
        try:
            return seed, case, results(case)
        except Undefined:
            pass
    raise AssertionError(f"no case of `{kind}` has a result")


@pytest.mark.parametrize("kind", WHOLE)
def test_a_module_contains_its_case(kind, tmp_path):
    seed, case, expected = draw_with_results(kind)
    path = tmp_path / "case.py"
    path.write_text(case.text())
    again = Case.of_file(path)
    assert again.text() == case.text() == kinds.draw(kind, seed).text()
    assert results(again) == expected


HEAD = """import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(x, y, z):
    pid = tl.program_id(0)
    i = tl.arange(0, 64)
"""


def small_case(*lines, grid=2):
    """A kernel of arrays x and y, of which z is x once more."""
    seed = random.getrandbits(30)
    arrays = {"x": ("i32", 256, seed, -99, 99, 1), "y": ("i32", 256, seed + 1, -99, 99, 1)}
    views = {"x": ("x", 0), "y": ("y", 0), "z": ("x", 0)}
    source = HEAD + "".join(f"    {line}\n" for line in lines)
    return Case("small", "1", source, arrays, views, grid=(grid,), options={"num_warps": 4})


ORDERED = {
    "other programs": ["tl.store(x + i, i)"],
    "another argument": ["tl.store(x + pid * 64 + i, i)", "v = tl.load(z + pid * 64 + i)"],
    "other pointers": ["tl.store(x + pid * 64 + i, i)", "v = tl.load(x + pid * 64 + 63 - i)"],
    "a load of elsewhere": ["v = tl.load(z + pid * 64 + 63 - i)", "tl.store(x + pid * 64 + i, v)"],
    "a load of no use": ["v = tl.load(z + pid * 64 + i)", "tl.store(x + pid * 64 + i, i)"],
    "one load of two": ["v = tl.load(z + pid * 64 + i)", "w = tl.load(x + pid * 64 + i)"]
    + ["tl.store(x + pid * 64 + i, w + 1)"],
    "a late use": ["v = tl.load(z + pid * 64 + i)", "tl.store(x + pid * 64 + i, v + 1)"]
    + ["tl.store(y + pid * 64 + i, v)"],
    "a load of what was stored": ["v = tl.load(z + pid * 64 + i)"]
    + ["tl.store(x + pid * 64 + i, v + 1)", "w = tl.load(z + pid * 64 + i)"],
    "a step of 0": ["for k in range(0, 4, tl.load(y) * 0):", "    tl.store(x + pid * 64 + i, k)"],
    "a step that may count down": ["for k in range(4, 0, -tl.load(y) * 0 - 1):", "    i += k"],
    "one place": ["tl.store(x + pid * 64 + i // 2, i)"],
    "atomics and loads": ["tl.atomic_add(x + i, 1)", "v = tl.load(x + i)"],
    "beyond the end": ["v = tl.load(x + pid * 256 + i)"],
}


@pytest.mark.parametrize("name", ORDERED)
def test_what_nothing_orders_has_no_result(name):
    with pytest.raises(Undefined):
        run_model(small_case(*ORDERED[name]))


RIGHT = [
    ["at = x + pid * 64 + i", "tl.store(at, i * 3)", "tl.store(y + pid * 64 + i, tl.load(at) + 1)"],
    ["tl.store(x + pid * 64 + i, i)", "tl.debug_barrier()"]
    + ["tl.store(y + pid * 64 + i, tl.load(z + pid * 64 + (63 - i)))"],
    ["v = tl.load(z + pid * 64 + i)", "tl.store(x + pid * 64 + i, v * 2 - tl.max(v, 0))"],
    ["v = tl.load(z + pid * 64 + i) + tl.load(x + pid * 64 + i)"]
    + ["tl.store(z + pid * 64 + i, tl.where(v > 3, v, 9))"],
    ["for k in range(3, -1, -2):", "    tl.store(y + pid * 128 + (k // 2) * 64 + i, i * k)"],
    ["tl.store(y + pid * 64 + i, (i - 32) // 5 * 100 + (i - 32) % 5)"],
    ["x = tl.where(i > 3, i * 1.0, float('nan'))"]
    + ["tl.store(y + pid * 64 + i, tl.maximum(x, -5.0).to(tl.int32) + tl.max(x, 0).to(tl.int32))"],
    ["old = tl.atomic_max(x + pid * 64 + i, i - 32)", "tl.store(y + pid * 64 + i, old)"],
]


@pytest.mark.parametrize("lines", RIGHT)
def test_what_is_ordered_agrees(device, lines, tmp_path):
    report = check_case(small_case(*lines), tmp_path, "ordered", [device], False)
    assert report.failure is None


def test_a_wrong_element_is_found(device, tmp_path):
    """The comparison sees one element of a launch that differs from the model's."""
    case = small_case("tl.store(y + pid * 64 + i, i)")
    wrong = Case(**{**vars(case), "source": case.source.replace("+ i, i)", "+ i, i + (i == 63))")})
    from tests.fuzz.checking import differences, load_module

    arrays, _ = run_case(wrong, load_module(wrong, tmp_path, "wrong"), device)
    assert differences(case, run_model(case), arrays).startswith("y: 2 of 256")


def test_a_reduced_case_keeps_what_fails():
    case = kinds.draw("gradients", "1.7")

    def fails(candidate):
        try:
            run_model(candidate)
        except Undefined:
            return False
        return "tl.dot" in candidate.source

    small = reduce_case(case, fails, budget=150)
    assert fails(small)
    assert len(small.source.splitlines()) < len(case.source.splitlines()) * 0.7
