"""GEMMs as people write them: each kernel has the right numbers, and on Hopper the techniques that its form allows.

Their kernels are in gemm_style_kernels.py.
"""

import numpy as np
import pytest
from conftest import check_gemm, random
from gemm_style_kernels import (
    advancing,
    bounded_below,
    by_block_pointers,
    by_descriptors,
    chooses_rows,
    clamps,
    computed_left,
    computed_right,
    counts_programs,
    gated,
    gathered,
    goes_on_while,
    grouped,
    is_left,
    leaves_early,
    leaves_in_between,
    loops_in_order,
    loops_over_tiles,
    peels,
    residual,
    split,
    synchronises_after,
    triangular,
    turned,
    twice,
)

SHAPE = (144, 112, 80)  # multiples of 16, but not of the tiles
RAISED, PERSISTENT = "load is converted to TMA", "persistent kernel: a CTA runs several programs"


ORDER = np.random.default_rng(31).permutation(SHAPE[0]).astype(np.int32)
BIAS, REST = random((SHAPE[1],), "fp16", 32), random(SHAPE[:2], "fp16", 33)
GATE = random((SHAPE[2], SHAPE[1]), "fp16", 34)


def _leaky(x):
    return np.where(x > 0, x, 0.25 * x)


def _plain(a, b):
    return a @ b


BOTH = (RAISED, PERSISTENT)
# The kernel, its further arguments, what it computes, and its remarks on Hopper (none: the plan decides about a producer).
STYLES = {
    "advancing": (advancing, (), _plain, BOTH),
    "bounded_below": (bounded_below, (), _plain, BOTH),
    "by_block_pointers": (by_block_pointers, (), _plain, BOTH),
    "by_descriptors": (by_descriptors, (), _plain, BOTH),
    "turned": (turned, (), _plain, BOTH),
    "grouped": (grouped, (), _plain, BOTH),
    "split": (split, (), _plain, (RAISED, "programs synchronise, or are observed while they run")),
    "loops_over_tiles": (loops_over_tiles, (), _plain, (RAISED, "its own loop is over programs")),
    "loops_in_order": (loops_in_order, (), _plain, ("memory that it loads may have been written before",)),
    "chooses_rows": (chooses_rows, (), _plain, (RAISED, "its own loop is over programs")),
    "clamps": (clamps, (), _plain, BOTH),
    "residual": (residual, (BIAS, REST), lambda a, b: _leaky(a @ b + BIAS.astype(float) + REST), BOTH),
    "computed_left": (computed_left, (), lambda a, b: np.where(a > 0, a, 0.5 * a) @ b, ()),
    "computed_right": (computed_right, (), lambda a, b: a @ (2 * b), ()),
    "gated": (gated, (GATE,), lambda a, b: np.where(a @ GATE.astype(float) > 0, a @ b, 0), BOTH),
    "twice": (twice, (), lambda a, b: 1.5 * (a @ b), BOTH),
    "leaves_early": (leaves_early, (), _plain, BOTH),
    "leaves_in_between": (leaves_in_between, (), _plain, BOTH),
    "counts_programs": (counts_programs, (), lambda a, b: a @ b + 431, BOTH),
    "synchronises_after": (synchronises_after, (), lambda a, b: 2 * (a @ b), (RAISED, "programs synchronise, or are observed while they run")),
    "peels": (peels, (), _plain, BOTH),
    "goes_on_while": (goes_on_while, (), _plain, BOTH),
    "is_left": (is_left, (), _plain, (RAISED, "a producer warp loads", "programs differ in length")),
    "triangular": (triangular, (), lambda a, b: np.tril(a[:, :]) @ b, ("its mask bounds something else", "programs differ in length")),
    "gathered": (gathered, (ORDER,), lambda a, b: a[ORDER] @ b, ("not affine in the indices", "prefetched 2 iterations ahead")),
}  # fmt: skip


def run(device, name, orders, block=(64, 64, 32), **options):
    """The kernel, the result and the reference in float64; A and B in row (`r`) or column order (`c`)."""
    kernel, further, reference, _ = STYLES[name]
    M, N, K = SHAPE
    a, b = random((M, K), "fp16", 35), random((K, N), "fp16", 36)
    da, db = (
        device.to(x) if order == "r" else device.to(np.ascontiguousarray(x.T)).T
        for x, order in zip((a, b), orders, strict=True)
    )
    out = device.output((M, N), "fp32" if name == "split" else "fp16")
    if name == "split":
        out.array.zero_() if device.name != "cpu" else out.array.fill(0)
    # One row and one column of programs more than there are tiles.
    grid = (-(-M // block[0]) + 1, -(-N // block[1]) + 1, 2 if name == "split" else 1)
    if name == "grouped":
        grid = (-(-M // block[0]), -(-N // block[1]), 1)
    strides = [*device.strides(da), *device.strides(db), *device.strides(out.array)]
    compiled = kernel[grid](
        da, db, out.array, *map(device.to, further), M, N, K, *strides, *block, **options
    )
    return compiled, out.numpy(), reference(a.astype(np.float64), b.astype(np.float64))


def check(result, expected):
    allowed = 2e-3 * np.abs(expected) + 2e-3 * np.sqrt(SHAPE[2])
    np.testing.assert_array_less(np.abs(result.astype(np.float64) - expected), allowed)


@pytest.mark.parametrize("name", STYLES)
def test_styles(device, name):
    """Each style has the right numbers, and the remarks of its techniques."""
    kernel, result, expected = run(device, name, "rr")
    check(result, expected)
    if device.arch == 90:
        messages = [remark.message for remark in kernel.remarks]
        for wanted in STYLES[name][3]:
            assert any(wanted in message for message in messages), messages


@pytest.mark.parametrize(
    "name", ["advancing", "by_block_pointers", "turned", "split", "leaves_early"]
)
@pytest.mark.parametrize("orders", ["rc", "cr", "cc"])
def test_styles_in_column_order(device, name, orders):
    kernel, result, expected = run(device, name, orders)
    check(result, expected)
    if device.arch == 90:
        assert any(RAISED in remark.message for remark in kernel.remarks)


@pytest.mark.parametrize(
    "name", ["advancing", "leaves_early", "leaves_in_between", "gated", "chooses_rows", "peels"]
)
@pytest.mark.parametrize("passes", ["nv-make-persistent", "nv-specialise-warps", "wgmma"])
def test_styles_without_a_technique(device, name, passes):
    _, result, expected = run(device, name, "rr", disabled_passes=passes)
    check(result, expected)


@pytest.mark.parametrize("warps, stages", [(1, 2), (4, 1), (8, 5), (16, 3), (32, 2)])
@pytest.mark.parametrize("name", ["advancing", "leaves_early", "computed_left"])
def test_styles_with_other_options(device, name, warps, stages):
    block = (128, 128, 32) if warps > 8 else (64, 64, 32)
    _, result, expected = run(device, name, "rr", block, num_warps=warps, num_stages=stages)
    check(result, expected)


def test_orders_of_one_gemm_agree(device):
    """Row and column order give the same GEMM."""
    results = [run(device, "turned", orders)[1] for orders in ("rr", "rc", "cr", "cc")]
    a, b = random((SHAPE[0], SHAPE[2]), "fp16", 35), random((SHAPE[2], SHAPE[1]), "fp16", 36)
    for result in results:
        check_gemm(result, a, b)
