"""vLLM 0.33: its Triton kernels for quantisation, sampling, LoRA, Mamba and experts.

`vllm_parts` says which modules of vLLM have stand-ins; none has Triton kernels.
"""

import importlib
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from serving import align, delta_rule, groups, ints, normal, selective_scan, starts

pytest.importorskip("vllm")
import vllm_parts  # noqa: F401, E402

LAYERS = "vllm.model_executor.layers"
QUANTIZATION = f"{LAYERS}.quantization"
MAMBA = f"{LAYERS}.mamba.ops"


def function(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("shape", [(5, 256), (33, 1000)])
def test_int8_of_tokens(shape):
    x = normal(*shape)
    found, scales = function(f"{QUANTIZATION}.utils.int8_utils.per_token_quant_int8")(x)
    torch.testing.assert_close(scales, x.float().abs().amax(-1, keepdim=True) / 127)
    assert (found.float() - x.float() / scales).abs().max() <= 0.502


@pytest.mark.parametrize("kind", ["int8", "fp8"])
def test_groups_of_tokens(kind, agrees, monkeypatch):
    module = importlib.import_module(f"{QUANTIZATION}.utils.{kind}_utils")
    # On CUDA vLLM prefers its compiled extension, which is not here.
    other = SimpleNamespace(is_cuda_alike=lambda: False, is_xpu=lambda: False)
    x = normal(33, 512)
    more = {} if kind == "int8" else dict(dtype=torch.float8_e4m3fn, use_ue8m0=False)
    with monkeypatch.context() as patch:
        patch.setattr(module, "current_platform", other)
        found, scales = getattr(module, f"per_token_group_quant_{kind}")(x, 128, **more)
    agrees(scales, groups(x, 128) / (127 if kind == "int8" else 448))
    wide = found.float() * scales.repeat_interleave(128, 1)
    step = x.abs().max() / (127 if kind == "int8" else 28)
    assert (wide - x.float()).abs().max() <= 1.01 * step


def awq(rows, columns):
    """Weights of 4 bits in AWQ's order, and their words."""
    values = torch.randint(0, 16, (rows, columns), device="cuda", dtype=torch.int32)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7], device="cuda")
    shifted = values.view(rows, -1, 8)[..., order] << (4 * torch.arange(8, device="cuda"))
    return values, shifted.sum(-1).to(torch.int32)


@pytest.mark.parametrize("m", [3, 40])
def test_awq(m, agrees):
    """Weights in AWQ's packing are dequantised, and multiplied, as in torch."""
    (w, words), (z, zeros) = awq(256, 128), awq(2, 128)
    scales = torch.rand(2, 128, device="cuda", dtype=torch.float16) / 8
    expected = (w - z.repeat_interleave(128, 0)) * scales.repeat_interleave(128, 0)
    found = function(f"{QUANTIZATION}.awq_triton.awq_dequantize_triton")(words, scales, zeros)
    agrees(found, expected, torch.float16)
    x = normal(m, 256)
    found = function(f"{QUANTIZATION}.awq_triton.awq_gemm_triton")(x, words, scales, zeros, 8)
    agrees(found.float(), x.float() @ expected.float(), torch.float16)


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e4m3fn])
@pytest.mark.parametrize("m,n,k", [(16, 64, 128), (70, 200, 300)])
def test_scaled_mm(m, n, k, kind, agrees):
    """vLLM's GEMM with scales of rows and columns."""
    a, b = (20 * normal(r, k) for r in (m, n))
    a, b = a.to(kind), b.to(kind).t()
    p, q = torch.rand(m, 1, device="cuda"), torch.rand(n, 1, device="cuda")
    mm = function(f"{QUANTIZATION}.compressed_tensors.triton_scaled_mm.triton_scaled_mm")
    found = mm(a, b, p, q, torch.bfloat16)
    agrees(found.float(), p * (a.float() @ b.float()) * q.t(), torch.bfloat16)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("k,p", [(20, None), (None, 0.7), (50, 0.9)])
def test_top_k_top_p(k, p, count):
    """vLLM's kernel masks the logits that torch masks."""
    logits = normal(count, 1000, dtype=torch.float32)
    ks = None if k is None else ints([k] * count)
    ps = None if p is None else torch.full((count,), p, device="cuda")
    expected = logits.clone()
    if k is not None:
        least = expected.topk(k, -1).values[:, -1:]
        expected = expected.masked_fill(expected < least, float("-inf"))
    if p is not None:
        ordered, order = expected.sort(-1)
        drop = ordered.softmax(-1).cumsum(-1) <= 1 - p
        drop[:, -1] = False
        expected = ordered.masked_fill(drop, float("-inf")).gather(-1, order.argsort(-1))
    found = function("vllm.v1.sample.ops.topk_topp_triton.apply_top_k_top_p_triton")(logits, ks, ps)
    # Where a sum is next to the limit, rounding decides about one value.
    assert ((found.isinf() != expected.isinf()).sum(-1) <= 1).all()
    kept = found.isfinite() & expected.isfinite()
    assert torch.equal(found[kept], expected[kept])


def test_min_p_and_temperature():
    logits = normal(4, 3000, dtype=torch.float32)
    rows, at = ints([1, 0, 3, 2]), torch.tensor([0.0, 0.1, 0.3, 0.9], device="cuda")
    expected = logits.clone()
    limits = expected.amax(-1, keepdim=True) + at[rows.long()].log()[:, None]
    function("vllm.v1.worker.gpu.sample.min_p.apply_min_p")(logits, rows, at)
    torch.testing.assert_close(logits, expected.masked_fill(expected < limits, float("-inf")))
    warm, plain = normal(4, 9000, dtype=torch.float32), None
    plain = warm.clone()
    function("vllm.v1.worker.gpu.sample.gumbel.apply_temperature")(warm, rows, at)
    divisors = torch.where(at == 0, torch.ones_like(at), at)[rows.long()]
    torch.testing.assert_close(warm, plain / divisors[:, None])


def test_rejection():
    """Drafts are accepted up to the first that differs from the best token."""
    module = importlib.import_module("vllm.v1.sample.rejection_sampler")
    drafts, ends = [[3, 4, 5], [7, 8], [9]], ints([3, 5, 6])
    best, bonus = [[3, 4, 6], [7, 8], [1]], [20, 21, 22]
    out = torch.full((3, 4), -1, dtype=torch.int32, device="cuda")
    module.rejection_greedy_sample_kernel[(3,)](
        out, ends, ints(sum(drafts, [])), ints(sum(best, [])).long(), ints(bonus), None, 3,
        None, None, SYNTHETIC_MODE=False,
    )  # fmt: skip
    assert out.tolist() == [[3, 4, 6, -1], [7, 8, 21, -1], [1, -1, -1, -1]]
    spread = torch.empty(6, device="cuda", dtype=torch.int32)
    module.expand_kernel[(3,)](spread, ints([5, 0, 7]), ends, 0, 1, MAX_NUM_TOKENS=32)
    assert spread.tolist() == [5, 5, 5, 1, 1, 7]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_lora(dtype, agrees):
    """Each row gets the products with its own adapter, or nothing."""
    ops = importlib.import_module("vllm.lora.ops.triton_ops")
    rank, hidden, out, who = 16, 256, 192, ints([0, 1, 1, -1, 2, 0, 0, 2, 1] * 5)
    meta = ops.LoRAKernelMeta.make(3, 64, "cuda")
    meta.prepare_tensors(who)
    x = normal(45, hidden, dtype=dtype)
    a = normal(3, rank, hidden, dtype=dtype) / 16
    b = normal(3, out, rank, dtype=dtype) / 4
    low = torch.zeros(1, 45, rank, device="cuda")
    ops.lora_shrink(x, [a], low, *meta.meta_args(45, False), 0.5)
    chosen = torch.where(who[:, None] >= 0, 1.0, 0.0)
    expected = 0.5 * chosen * torch.einsum("th,trh->tr", x.float(), a[who.long()].float())
    agrees(low[0] * chosen, expected, dtype)
    y = normal(45, out, dtype=dtype)
    wide = torch.einsum("tr,tor->to", low[0] * chosen, b[who.long()].float()) + y.float()
    ops.lora_expand(low, [b], y, *meta.meta_args(45, False), 0, True)
    agrees(y.float(), wide, dtype)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp8"])
def test_experts(kind, weighted, agrees):
    """The grouped GEMM of experts agrees with a GEMM for each token."""
    call = function(f"{LAYERS}.fused_moe.fused_moe.invoke_fused_moe_triton_kernel")
    tl = importlib.import_module("triton.language")
    dtype = torch.float16 if kind == "fp16" else torch.bfloat16
    tokens, n, k, count = 50, 192, 256, 6
    x, w = normal(tokens, k, dtype=dtype), normal(count, n, k, dtype=dtype)
    weights, chosen = torch.rand(tokens, count, device="cuda").topk(2)
    scales = (None, None)
    if kind == "fp8":
        x, w = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
        scales = torch.rand(1, device="cuda"), torch.rand(count, device="cuda")
    out = torch.empty(tokens, 2, n, device="cuda", dtype=dtype)
    blocks = dict(BLOCK_SIZE_M=16, BLOCK_SIZE_N=64, BLOCK_SIZE_K=64, GROUP_SIZE_M=4)
    call(
        x, w, out, *scales, weights, *align(chosen, count, 16), weighted, 2,
        blocks | dict(num_warps=4, num_stages=3),
        tl.float16 if kind == "fp16" else tl.bfloat16, kind == "fp8", False, False, False, False,
    )  # fmt: skip
    expected = torch.einsum("tk,tenk->ten", x.float(), w.float()[chosen])
    if kind == "fp8":
        expected = expected * scales[0] * scales[1][chosen][..., None]
    agrees(out, (expected * weights[..., None] if weighted else expected).to(dtype), dtype)


def test_causal_convolution(agrees):
    module = importlib.import_module(f"{MAMBA}.causal_conv1d")
    lengths, dim, width = (7, 65, 20), 96, 4
    x, w, bias = normal(dim, 92), normal(dim, width), normal(dim)
    state = normal(5, width - 1, dim).transpose(1, 2)
    slots, old = ints([3, 1, 4]), torch.tensor([True, False, True], device="cuda")
    rows, states = [], state.clone()
    for i, part in enumerate(x.split(lengths, 1)):
        before = states[slots[i]] if old[i] else torch.zeros_like(states[0])
        whole = torch.cat([before, part], 1)
        states[slots[i]] = whole[:, -(width - 1) :]
        rows.append(F.conv1d(whole[None].float(), w[:, None].float(), bias.float(), groups=dim)[0])
    found = module.causal_conv1d_fn(x, w, bias, state, starts(lengths), slots, old)
    agrees(found, F.silu(torch.cat(rows, 1)).half(), torch.float16)
    assert torch.equal(state[slots.long()], states[slots.long()])
    new = normal(3, dim)
    whole = torch.cat([state[slots.long()], new[..., None]], 2)
    expected = F.silu((whole.float() * w.float()).sum(-1) + bias.float())
    found = module.causal_conv1d_update(new.clone(), state, w, bias, "silu", slots)
    agrees(found, expected.half(), torch.float16)
    assert torch.equal(state[slots.long()], whole[..., 1:])


def test_chunk_scan(agrees):
    call = function(f"{MAMBA}.ssd_combined.mamba_chunk_scan_combined_varlen")
    lengths, heads, size, chunk = (64, 40), 4, 32, 32
    x, dt = normal(104, heads, size), torch.rand(104, heads, device="cuda") / 2
    a, d = -torch.rand(heads, device="cuda") - 0.1, torch.rand(heads, device="cuda")
    b, c = normal(104, 1, 64) / 8, normal(104, 1, 64)
    out = torch.empty_like(x)
    bounds = ints([0, 32, 64, 96, 104])
    call(x, dt, a, b, c, chunk, starts(lengths), bounds, ints([1, 3]), ints([0, 0, 1, 1]), out, D=d)
    parts = zip(*(value.split(lengths) for value in (x, dt, b, c)), strict=True)
    expected = [selective_scan(p, q, a, r, s, d) for p, q, r, s in parts]
    agrees(out, torch.cat(expected).half(), torch.float16)


def test_state_update(agrees):
    """vLLM's step of a selective state-space model."""
    call = function(f"{MAMBA}.mamba_ssm.selective_state_update")
    state, x = normal(3, 4, 64, 16, dtype=torch.float32), normal(3, 4, 64)
    dt, a = torch.rand(3, 4, 64, device="cuda"), -torch.rand(4, 64, 16, device="cuda")
    b, c, z = normal(3, 2, 16), normal(3, 2, 16), normal(3, 4, 64)
    d, bias = torch.rand(4, 64, device="cuda"), torch.rand(4, 64, device="cuda")
    step = F.softplus(dt + bias)
    bb, cc = (value.float().repeat_interleave(2, 1)[:, :, None] for value in (b, c))
    new = state * (step[..., None] * a).exp() + (step * x.float())[..., None] * bb
    expected = ((new * cc).sum(-1) + d * x.float()) * F.silu(z.float())
    out = torch.empty_like(x)
    call(state, x, dt, a, b, c, d, bias, z=z, dt_softplus=True, out=out)
    agrees(state, new)
    agrees(out, expected.half(), torch.float16)


def test_gated_norm(agrees):
    x, z, w = normal(37, 256), normal(37, 256), normal(256)
    found = function(f"{MAMBA}.layernorm_gated.rms_norm_gated")(x, w, None, z, group_size=64)
    rows = x.float().view(37, 4, 64)
    normed = rows * (rows.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    expected = normed.view(37, 256) * w.float() * F.silu(z.float())
    agrees(found, expected.half(), torch.float16)


@pytest.mark.parametrize("t", [64, 150])
def test_gated_delta_rule(t, agrees):
    call = function("vllm.third_party.flash_linear_attention.ops.chunk.chunk_gated_delta_rule")
    q, k, v = (normal(1, t, 2, 64, dtype=torch.bfloat16) for _ in range(3))
    k = F.normalize(k.float(), dim=-1).bfloat16()
    beta = torch.rand(1, t, 2, device="cuda").bfloat16()
    g = F.logsigmoid(normal(1, t, 2, dtype=torch.float32))
    empty = torch.zeros(1, 2, 64, 64, device="cuda")
    found = call(q, k, v, g, beta, 0.125, empty, True)[0]
    agrees(found.float(), delta_rule(q, k, v, g, beta, 0.125), torch.bfloat16)
