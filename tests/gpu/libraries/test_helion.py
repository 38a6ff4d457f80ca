"""Helion 1.5 as a front end: its generated kernels against torch."""

import pytest
import torch

helion = pytest.importorskip("helion")
hl = pytest.importorskip("helion.language")


@helion.kernel(autotune_effort="none")
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(out.size()):
        out[tile] = x[tile] + y[tile]
    return out


@helion.kernel(autotune_effort="none")
def softmax(x: torch.Tensor) -> torch.Tensor:
    rows, _ = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        out[tile, :] = torch.nn.functional.softmax(x[tile, :], dim=1)
    return out


@helion.kernel(autotune_effort="none")
def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])
        out[tile_m, tile_n] = acc
    return out


@helion.kernel(autotune_effort="none")
def row_sums(x: torch.Tensor) -> torch.Tensor:
    rows, _ = x.size()
    out = torch.empty([rows], dtype=x.dtype, device=x.device)
    for tile in hl.tile(rows):
        out[tile] = x[tile, :].sum(-1)
    return out


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


@pytest.mark.parametrize("shape", [(128, 64), (33, 1001)])
def test_add(shape):
    """The generated sum of two arrays is torch's."""
    x, y = random(*shape), random(*shape)
    torch.testing.assert_close(add(x, y), x + y)


@pytest.mark.parametrize("shape", [(64, 256), (100, 777)])
def test_softmax(shape):
    """The generated softmax of rows is torch's."""
    x = random(*shape)
    torch.testing.assert_close(softmax(x), torch.softmax(x, 1))


@pytest.mark.parametrize("m,n,k", [(128, 128, 128), (200, 72, 1000)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_generated_gemm(m, n, k, dtype):
    """The generated GEMM agrees with torch's."""
    x, y = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
    torch.testing.assert_close(matmul(x, y), x @ y, rtol=2e-2, atol=2e-1)


@pytest.mark.parametrize("shape", [(64, 256), (100, 777)])
def test_row_sums(shape):
    x = random(*shape)
    torch.testing.assert_close(row_sums(x), x.sum(1), rtol=1e-4, atol=1e-3)
