"""torchao 0.18: its Triton kernels for low precision."""

import pytest
import torch

pytest.importorskip("torchao")


def blocks_of(x, rows, columns):
    """Largest magnitudes of blocks, of the shape of the blocks."""
    m, n = x.shape
    tiles = x.float().view(m // rows, rows, n // columns, columns)
    return tiles.abs().amax(dim=(1, 3))


@pytest.mark.parametrize("shape", [(4, 256), (130, 1024)])
def test_blocks_of_activations(shape, agrees):
    from torchao.kernel.blockwise_quantization import fp8_blockwise_act_quant

    x = torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    y, scale = fp8_blockwise_act_quant(x)
    agrees(scale, blocks_of(x, 1, 128) / 448)
    restored = y.float() * scale.repeat_interleave(128, 1)
    assert (restored - x.float()).abs().max() <= x.abs().max() / 14


@pytest.mark.parametrize("shape", [(256, 384), (128, 128)])
def test_blocks_of_weights(shape, agrees):
    from torchao.kernel.blockwise_quantization import (
        fp8_blockwise_weight_dequant,
        fp8_blockwise_weight_quant,
    )

    x = torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    y, scale = fp8_blockwise_weight_quant(x)
    agrees(scale, blocks_of(x, 128, 128) / 448)
    whole = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
    agrees(fp8_blockwise_weight_dequant(y, scale).float(), y.float() * whole, torch.bfloat16)


@pytest.mark.parametrize("m,n,k", [(64, 256, 256), (200, 384, 512)])
def test_blockwise_fp8_gemm(m, n, k, agrees):
    from torchao.kernel.blockwise_quantization import (
        blockwise_fp8_gemm,
        fp8_blockwise_act_quant,
        fp8_blockwise_weight_quant,
    )

    a, b = (torch.randn(r, k, device="cuda", dtype=torch.bfloat16) for r in (m, n))
    x, x_scale = fp8_blockwise_act_quant(a)
    y, y_scale = fp8_blockwise_weight_quant(b)
    found = blockwise_fp8_gemm(x, x_scale, y, y_scale)
    wide = x.float() * x_scale.repeat_interleave(128, 1)
    weights = y.float() * y_scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
    agrees(found.float(), wide @ weights.t(), torch.bfloat16)


@pytest.mark.parametrize("m,n,k", [(64, 128, 256), (333, 260, 1000)])
def test_scaled_int8_mm(m, n, k, agrees):
    from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm

    a = torch.randint(-128, 128, (m, k), device="cuda", dtype=torch.int8)
    b = torch.randint(-128, 128, (n, k), device="cuda", dtype=torch.int8).t()
    rows, columns = torch.rand(m, device="cuda"), torch.rand(n, device="cuda")
    expected = (a.double() @ b.double()) * rows[:, None] * columns
    agrees(scaled_int8_mm(a, b, rows, columns).double(), expected, torch.float32)


@pytest.mark.parametrize("m,n,k", [(64, 128, 256), (256, 64, 512)])
def test_int8_matmul(m, n, k):
    from torchao.kernel.intmm_triton import int_matmul_cuda

    a = torch.randint(-128, 128, (m, k), device="cuda", dtype=torch.int8)
    b = torch.randint(-128, 128, (k, n), device="cuda", dtype=torch.int8)
    assert torch.equal(int_matmul_cuda(a, b).long(), (a.double() @ b.double()).long())
