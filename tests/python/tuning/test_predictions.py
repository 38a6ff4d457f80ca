"""What launches are expected to take, against what was measured on an H200."""

import itertools
import json

import pantile.language as tl
import pytest
from predictions import ROOT, kernels, predict, predict_gemm

TABLES = json.loads((ROOT / "docs/measurements/peers-2026-11-22.json").read_text(encoding="utf-8"))[
    "tables"
]
CONFIGS = [*kernels.tutorial_configs(), *kernels.larger_configs()]
CHOSEN = TABLES["gemm fp16, chosen configurations"]["rows"]
WHOLE = {"disabled_passes": "nv-stream-k"}  # as it was measured, before launches chose
LEFT_OUT = {"2560", "2688"}  # 64x128x64 in seven stages comes sixteenth, 12 % slower


def described(config):
    shape = "x".join(str(config.kwargs[f"BLOCK_SIZE_{axis}"]) for axis in "MNK")
    return f"{shape}, {config.num_stages}, {config.num_warps}"


def order(size, **options):
    """The configurations from the best on, and their predictions."""
    found = {described(c): predict_gemm((size,) * 3, c, **WHOLE, **options) for c in CONFIGS}
    assert not any(prediction.unknown for prediction in found.values())
    return sorted(found, key=lambda name: (found[name].spills, found[name].cycles)), found


@pytest.mark.parametrize("of_tiles", [False, True])
@pytest.mark.parametrize("row", CHOSEN[::3] + [r for r in CHOSEN if r["name"] in LEFT_OUT])
def test_the_fastest_that_was_measured_is_among_ten(row, of_tiles):
    best, found = order(int(row["name"]), of_tiles=of_tiles)
    place = best.index(row["tile, stages, warps"])
    assert place < (16 if row["name"] in LEFT_OUT else 10)
    assert found[row["tile, stages, warps"]].cycles <= 1.25 * found[best[0]].cycles


def measured_at_one_size():
    """Lists of (speed, predicted cycles) of the same GEMM by several tiles."""
    columns = {
        "gemm fp16, tile by tile": "persistent",
        "gemm fp16, step by step": "raster order",
    }
    for table, column in columns.items():
        rows = TABLES[table]["rows"]
        for size in sorted({row["size"] for row in rows}):
            known = []
            for row in (row for row in rows if row["size"] == size):
                tile, stages, warps = row["name"].split(", ")
                config = kernels.config(*map(int, tile.split("x")), int(stages), int(warps))
                cycles = predict_gemm((size,) * 3, config, **WHOLE).cycles
                known.append((row["relative to cuBLAS"][column], cycles))
            yield known


def test_pairs_are_in_the_order_of_their_times():
    """Of configurations more than a twentieth apart, four pairs of five."""
    right = [
        faster[1] < slower[1]
        for known in measured_at_one_size()
        for faster, slower in itertools.permutations(known, 2)
        if faster[0] > 1.05 * slower[0]
    ]
    assert len(right) > 60 and sum(right) >= 0.8 * len(right)


def test_pairs_whose_launches_choose_stream_k():
    """As above, of GEMMs of any shape, of which launches split the tiles of some."""
    path = ROOT / "docs/measurements/stream-k-choice-2026-11-29.json"
    right, splits = [], 0
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    for shape, group in itertools.groupby(rows, key=lambda row: row["m_n_k"]):
        extents, known = tuple(map(int, shape.split("x"))), []
        if any(extent % 16 for extent in extents):  # which predictions take for granted
            continue
        for row in group:
            config = kernels.config(*map(int, row["tile"].split("x")), row["stages"], row["warps"])
            chosen, whole = (predict_gemm(extents, config, **o).cycles for o in ({}, WHOLE))
            assert (chosen < whole) == (row["chosen"] == "split"), row
            splits += chosen < whole
            known.append((row["speedup_as_chosen"] / row["whole_us"], chosen))
        right += [
            faster[1] < slower[1]
            for faster, slower in itertools.permutations(known, 2)
            if faster[0] > 1.05 * slower[0]
        ]
    assert splits > 50 and sum(right) >= 0.8 * len(right), (splits, sum(right), len(right))


@pytest.mark.parametrize("size", [1536, 2048, 4096, 8192])
def test_times_are_near_those_measured(size):
    """The best configuration's rate, in cycles of the clock that the model has."""
    rates = json.loads((ROOT / "docs/measurements/matmul.json").read_text(encoding="utf-8"))
    measured = next(row["tflops"]["pantile"] for row in rates if row["size"] == size)
    best, found = order(size)
    predicted = 2 * size**3 / (found[best[0]].cycles / 1.83e9) / 1e12
    assert 0.8 < predicted / measured < 1.25


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120"])
def test_more_programs_never_take_less(target):
    config = kernels.config(128, 128, 32, 3, 8)
    found = [
        predict_gemm((2048, 2048, 1024), config, target=target, sms=sms, of_tiles=of_tiles)
        for of_tiles in (True, False)
        for sms in (512, 256, 255, 128, 100, 64, 1)
    ]
    for some in (found[:7], found[7:]):
        cycles = [prediction.cycles for prediction in some]
        assert cycles == sorted(cycles) and cycles[1] < cycles[2] and cycles[0] == cycles[1]


def test_attention_under_a_causal_mask_takes_half():
    """Programs of a causal kernel do not run the loop equally often."""
    import attention_kernels

    length, head = 4096, 64
    sizes = {"HEAD": head, "BLOCK_M": 128, "BLOCK_N": 64}
    arguments = {
        **dict.fromkeys("QKVO", tl.float16),
        **{"LSE": tl.float32, "scale": 0.125},
        **{"stride_head": length * head, "stride_row": head, "N": length},
    }
    import pantile as triton

    cycles = []
    for causal in (0, 1):
        config = triton.Config({**sizes, "CAUSAL": causal}, num_warps=4)
        grid = (length // 128, 64)
        prediction = predict(attention_kernels.pointer_kernel, arguments, config, grid)
        assert not prediction.unknown and not prediction.spills
        cycles.append(prediction.cycles)
    assert 0.4 < cycles[1] / cycles[0] < 0.75


def test_what_does_not_fit_is_refused():
    import pantile as triton

    with pytest.raises(triton.OutOfResources, match="shared memory"):
        predict_gemm((4096,) * 3, kernels.config(256, 256, 128, 4, 8))
