"""Three warp groups and other numbers that are no power of two on wgmma, with TMA and a producer: every element
against NumPy, and what they reach."""

import numpy as np
import pantile as triton
import pytest
from conftest import random
from test_any_extent_wgmma import reaches, run, run_tf32
from test_attention import attention, attention_kernel, whole_blocks_kernel

# Tiles with warps and stages, the instruction, and the warps along M and N.
SHARED_OUT = [
    ((192, 128, 64, 12, 3), "m64n128k16", "12 x 1"),
    ((192, 192, 64, 12, 3), "m64n192k16", "12 x 1"),
    ((192, 96, 64, 12, 3), "m64n96k16", "12 x 1"),
    ((192, 256, 64, 12, 3), "m64n128k16", "12 x 1"),  # next to a producer, n256 has no registers
    ((384, 64, 32, 12, 3), "m64n64k16", "12 x 1"),
    ((128, 192, 64, 12, 3), "m64n64k16", "4 x 3"),
    ((64, 384, 32, 12, 3), "m64n128k16", "4 x 3"),
    ((320, 64, 32, 20, 3), "m64n64k16", "20 x 1"),
    ((384, 64, 32, 24, 3), "m64n64k16", "24 x 1"),
    ((192, 128, 32, 24, 3), "m64n64k16", "12 x 2"),
]
# No part of these is a power of two: warp groups repeat what others do.
REPEATED = [
    ((128, 128, 64, 12, 3), "m64n128k16", "8 x 1"),
    ((256, 64, 32, 12, 3), "m64n64k16", "8 x 1"),
    ((128, 176, 64, 12, 3), "m64n176k16", "8 x 1"),
    ((192, 64, 32, 20, 3), "m64n16k16", "4 x 4"),
]


def messages(compiled):
    return "\n".join(remark.message for remark in compiled.remarks)


@pytest.mark.parametrize("orders", ["rr", "rc", "cr"])
@pytest.mark.parametrize("blocks, instruction, warps", SHARED_OUT)
def test_gemm(device, blocks, instruction, warps, orders):
    """A GEMM by three warp groups agrees with NumPy, and uses wgmma, TMA and a producer."""
    compiled = run(device, "fp16", "fp16", blocks, orders)
    reaches(device, compiled, f"wgmma {instruction}", "via tma", "producer: ")
    reaches(device, compiled, f"consumers: {blocks[3]} warps")
    if device.arch == 90:
        assert f"{instruction}, {warps} warps" in messages(compiled)
        assert "repeat" not in messages(compiled)


@pytest.mark.parametrize("blocks, instruction, warps", REPEATED)
def test_warp_groups_that_have_no_part(device, blocks, instruction, warps):
    compiled = run(device, "fp16", "fp16", blocks)
    if device.arch == 90:
        assert f"{instruction}, {warps} warps" in messages(compiled)
        assert f"of {blocks[3]} warps repeat the work of others" in messages(compiled)


@pytest.mark.parametrize(
    "blocks", [(192, 64, 64, 12, 3), (128, 192, 64, 12, 3), (80, 192, 32, 12, 2)]
)
@pytest.mark.parametrize("dtype", ["i8", "fp8e4nv", "bf16"])
def test_other_types(device, blocks, dtype):
    """int8, fp8 and bf16 GEMMs of three warp groups are right."""
    run(device, dtype, "i32" if dtype == "i8" else "fp32", blocks, "rc")


@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize(
    "blocks", [(192, 64, 32, 12, 3), (64, 192, 32, 12, 3), (128, 64, 32, 12, 2)]
)
def test_tf32(device, blocks, orders):
    """Dots of tf32 by three warp groups agree with NumPy, and use wgmma."""
    compiled = run_tf32(device, blocks, orders)
    if orders == "rc":
        reaches(device, compiled, "wgmma")


@pytest.mark.parametrize("blocks", [(192, 128, 64, 12, 3), (128, 128, 64, 12, 3)])
def test_stream_k(device, blocks):
    """The pass splits GEMMs of three warp groups, with a producer."""
    compiled = run(device, "fp16", "fp16", blocks, enabled_passes="nv-stream-k")
    reaches(device, compiled, "programs: stream-K", "producer: ")


@pytest.mark.parametrize(
    "blocks", [(192, 128, 64, 12, 3), (128, 192, 64, 12, 3), (80, 64, 32, 5, 3)]
)
def test_tma_store(device, blocks):
    compiled = run(device, "fp16", "fp16", blocks, enabled_passes="nv-tma-stores")
    if device.arch == 90:
        assert "store is converted to TMA" in messages(compiled)


@pytest.mark.parametrize("num_warps", [3, 5, 6, 7])
def test_warps_that_are_no_warp_groups(device, num_warps):
    """They run on mma.sync, without the passes that need a producer, and remarks say so."""
    options = {"enabled_passes": "nv-stream-k,nv-tma-stores"}
    compiled = run(device, "fp16", "fp16", (128, 64, 32, num_warps, 3), **options)
    if device.arch == 90:
        for words in ("wgmma needs warp groups of 4 warps", "stream-K does not apply"):
            assert words in messages(compiled)


@pytest.mark.parametrize(
    "left_out",
    ["nv-specialise-warps", "nv-make-persistent", "nv-expand-pipeline", "in-warp-stores", "wgmma"],
)
@pytest.mark.parametrize(
    "blocks", [(192, 128, 64, 12, 3), (128, 128, 64, 12, 3), (96, 64, 32, 6, 3)]
)
def test_without_a_pass(device, blocks, left_out):
    run(device, "fp16", "fp16", blocks, disabled_passes=left_out)


ATTENTION = [
    (64, (192, 128), 12, "consumers: 12 warps, 160 registers"),
    (128, (192, 64), 12, "consumers: 12 warps, 160 registers"),
    (64, (128, 64), 12, "consumers: 12 warps"),
    (64, (96, 64), 6, "mma.sync"),
    (64, (48, 32), 3, "mma.sync"),
    (64, (64, 64), 5, "mma.sync"),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head, blocks, num_warps, reached", ATTENTION)
def test_attention_of_three_warp_groups(device, head, blocks, num_warps, reached, causal):
    """Attention by three warp groups agrees with NumPy, and uses wgmma."""
    length = 384
    q, k, v = (random((2, length, head), "fp16", seed) for seed in range(3))
    out = device.output(q.shape, "fp32")
    compiled = whole_blocks_kernel[(length // blocks[0], 2)](
        *(device.to(x) for x in (q, k, v)), out.array, head**-0.5, length, head, *blocks, causal,
        num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, causal), atol=2e-3, rtol=2e-3)
    if not causal:
        reaches(device, compiled, reached)


@pytest.mark.parametrize("num_warps", [3, 6, 12, 20])
def test_attention_of_other_lengths(device, num_warps):
    length, head, blocks = 200, 64, (192, 64)
    q, k, v = (random((2, length, head), "bf16", seed) for seed in range(3))
    out = device.output(q.shape, "fp32")
    attention_kernel[(triton.cdiv(length, blocks[0]), 2)](
        *(device.to(x) for x in (q, k, v)), out.array, head**-0.5, length, head, *blocks, True,
        num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, True), atol=2e-2, rtol=2e-2)
