"""bitsandbytes 0.50: the Triton backend's quantisation and optimisers."""

import pytest
import torch

pytest.importorskip("bitsandbytes")
ops = pytest.importorskip("bitsandbytes.backends.triton.ops")


def code_of_8_bits():
    """256 sorted values in [-1, 1], denser at zero."""
    x = torch.linspace(-1, 1, 256, device="cuda")
    return (x.sign() * x.abs() ** 2).contiguous()


@pytest.mark.parametrize("blocksize", [256, 4096])
@pytest.mark.parametrize("count", [4096, 10000])
def test_8_bits(count, blocksize):
    x, code = torch.randn(count, device="cuda"), code_of_8_bits()
    found, absmax = ops.quantize_blockwise(x, code, blocksize)
    padded = torch.nn.functional.pad(x, (0, -count % blocksize)).view(-1, blocksize)
    largest = padded.abs().amax(1)
    torch.testing.assert_close(absmax.flatten(), largest)
    scaled = (padded / largest[:, None]).flatten()[:count]
    nearest = (scaled[:, None] - code).abs().amin(1)
    chosen = (scaled - code[found.flatten().long()]).abs()
    assert (chosen <= nearest + 1e-6).all()
    restored = ops.dequantize_blockwise(found, absmax, code, blocksize, torch.float32)
    expected = code[found.flatten().long()] * largest.repeat_interleave(blocksize)[:count]
    torch.testing.assert_close(restored.flatten(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["nf4", "fp4"])
@pytest.mark.parametrize("blocksize", [64, 256])
def test_4_bits(kind, blocksize, dtype):
    x = torch.randn(64, 512, device="cuda", dtype=dtype)
    packed, absmax = ops.quantize_4bit(x, blocksize, kind, torch.uint8)
    torch.testing.assert_close(
        absmax.flatten().float(), x.float().view(-1, blocksize).abs().amax(1), rtol=1e-2, atol=0
    )
    found = ops.dequantize_4bit(packed, absmax, blocksize, kind, x.shape, dtype)
    worst = absmax.float().flatten().repeat_interleave(blocksize).view(x.shape)
    assert ((found.float() - x.float()).abs() <= 0.19 * worst).all()
    assert torch.unique(found.float() / worst).numel() >= 15


@pytest.mark.parametrize("steps", [3])
def test_adam(steps):
    """Steps of Adam give what torch's optimiser gives."""
    p = torch.randn(1000, device="cuda")
    ours, m, v = p.clone(), torch.zeros_like(p), torch.zeros_like(p)
    theirs = p.clone().requires_grad_()
    optimizer = torch.optim.Adam([theirs], lr=1e-2, eps=1e-8)
    for step in range(1, steps + 1):
        g = torch.randn_like(p)
        ops.optimizer_update_32bit(
            "adam", g, ours, m, v, None, 0.0, 0.0, 0.9, 0.999, 0.0, 0.0, 1e-8, 0.0, step, 1e-2, 1.0
        )
        theirs.grad = g.clone()
        optimizer.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-4, atol=1e-5)
