"""SGLang 0.5: its Triton kernels for attention, experts, quantisation, LoRA and sampling.

`sglang_parts` says which modules of SGLang have stand-ins; none has Triton kernels.
"""

import importlib
import importlib.util

import pytest
import torch
from serving import PagedCache, align, attention, groups, ints, normal, starts

if importlib.util.find_spec("sglang") is None:
    pytest.skip("SGLang's files are not there", allow_module_level=True)
import sglang_parts  # noqa: F401, E402

OPS = "sglang.kernels.ops"
SCALE = 0.125


def function(path):
    module, _, name = f"{OPS}.{path}".rpartition(".")
    return getattr(importlib.import_module(module), name)


def flat(cache):
    """Keys, values, and where each sequence's tokens are: their starts and their slots."""
    slots = [slot for i in range(len(cache.lengths)) for slot in cache.slots(i)]
    where = torch.tensor(slots, device="cuda")
    return cache.keys.flatten(0, 1), cache.values.flatten(0, 1), starts(cache.lengths), where


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("heads", [2, 8])
def test_decode_attention(heads, dtype, agrees):
    """SGLang's kernels of decoding give torch's attention."""
    cache = PagedCache((37, 64, 90), 2, 64, dtype=dtype)
    q = normal(3, heads, 64, dtype=dtype)
    out, parts = torch.empty_like(q), torch.empty(3, heads, 8, 64, device="cuda")
    function("attention.decode_attention.decode_attention_fwd")(
        q, cache.keys.flatten(0, 1), cache.values.flatten(0, 1), out, *flat(cache)[2:], parts,
        torch.empty(3, heads, 8, device="cuda"), ints([4, 4, 4]), 8, SCALE, 1.0, 1.0,
    )  # fmt: skip
    expected = [attention(q[i : i + 1], *cache.sequence(i), SCALE) for i in range(3)]
    agrees(out, torch.cat(expected).to(dtype), dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_extend_attention(dtype, agrees):
    new = (5, 40, 17)
    cache = PagedCache((37, 64, 90), 2, 64, dtype=dtype)
    q, k, v = (normal(62, heads, 64, dtype=dtype) for heads in (8, 2, 2))
    out = torch.empty_like(q)
    function("attention.extend_attention.extend_attention_fwd")(
        q, k, v, out, cache.keys.flatten(0, 1), cache.values.flatten(0, 1), starts(new),
        *flat(cache)[2:], None, True, None, 40, 1.0, 1.0, sm_scale=SCALE,
    )  # fmt: skip
    rows = []
    for i, (x, own_k, own_v) in enumerate(zip(*(t.split(new) for t in (q, k, v)), strict=True)):
        old_k, old_v = cache.sequence(i)
        rows.append(attention(x, torch.cat([old_k, own_k]), torch.cat([old_v, own_v]), SCALE))
    agrees(out, torch.cat(rows).to(dtype), dtype)


@pytest.mark.parametrize("causal", [True, False])
def test_prefill_attention(causal, agrees):
    """SGLang's kernel of prefilling gives torch's attention."""
    lengths = (5, 70, 33)
    q, k, v = normal(108, 8, 64), normal(108, 2, 64), normal(108, 2, 64)
    out = torch.empty_like(q)
    function("attention.prefill_attention.context_attention_fwd")(
        q, k, v, out, starts(lengths)[:3], ints(lengths), 70, causal, SCALE
    )
    parts = zip(*(t.split(lengths) for t in (q, k, v)), strict=True)
    expected = torch.cat([attention(*row, SCALE, causal) for row in parts])
    agrees(out, expected.half(), torch.float16)


@pytest.mark.parametrize("m", [3, 70])
def test_int8(m, agrees):
    """Rows and groups are quantised to int8 within half a step."""
    x, w = normal(m, 256), normal(128, 256)
    tokens = function("quantization.int8_kernel.per_token_quant_int8")
    found, scales = tokens(x)
    torch.testing.assert_close(scales, x.float().abs().amax(-1, keepdim=True) / 127)
    assert (found.float() - x.float() / scales).abs().max() <= 0.502
    by_group = function("quantization.int8_kernel.per_token_group_quant_int8")
    a, a_scales = by_group(x, 128)
    agrees(a_scales, groups(x, 128) / 127)
    b = torch.randint(-127, 128, w.shape, device="cuda", dtype=torch.int8)
    b_scales = torch.rand(1, 2, device="cuda")
    call = function("gemm.int8_kernel.w8a8_block_int8_matmul")
    wide = a.float() * a_scales.repeat_interleave(128, 1)
    weights = b.float() * b_scales.repeat_interleave(128, 0).repeat_interleave(128, 1)
    product = call(a, b, a_scales, b_scales, [128, 128], torch.float16)
    agrees(product.float(), wide @ weights.t(), torch.float16)


@pytest.mark.parametrize("m", [3, 70])
def test_block_fp8(m, agrees):
    a, b = normal(m, 256).to(torch.float8_e4m3fn), normal(200, 256).to(torch.float8_e4m3fn)
    p, q = torch.rand(m, 2, device="cuda"), torch.rand(2, 2, device="cuda")
    call = function("gemm.fp8_kernel.w8a8_block_fp8_matmul_triton")
    wide = a.float() * p.repeat_interleave(128, 1)
    weights = b.float() * q.repeat_interleave(128, 0)[:200].repeat_interleave(128, 1)
    found = call(a, b, p, q, [128, 128], torch.bfloat16)
    agrees(found.float(), wide @ weights.t(), torch.bfloat16)


@pytest.mark.parametrize("kind", [torch.int8, torch.float8_e4m3fn])
def test_scaled_mm(kind, agrees):
    """SGLang's GEMM with scales of rows and columns, and a bias."""
    a, b = (20 * normal(70, 300)).to(kind), (20 * normal(200, 300)).to(kind).t()
    p, q = torch.rand(70, 1, device="cuda"), torch.rand(200, 1, device="cuda")
    bias = normal(200, dtype=torch.bfloat16)
    found = function("gemm.fp8_kernel.triton_scaled_mm")(a, b, p, q, torch.bfloat16, bias)
    expected = p * (a.float() @ b.float()) * q.t() + bias.float()
    agrees(found.float(), expected, torch.bfloat16)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp8"])
def test_experts(kind, weighted, agrees):
    """The grouped GEMM of experts agrees with a GEMM for each token."""
    call = function("moe.fused_moe_triton_kernels.invoke_fused_moe_kernel")
    tl = importlib.import_module("triton.language")
    dtype = torch.float16 if kind == "fp16" else torch.bfloat16
    tokens, n, k, count = 50, 192, 256, 6
    x, w = normal(tokens, k, dtype=dtype), normal(count, n, k, dtype=dtype)
    weights, chosen = torch.rand(tokens, count, device="cuda").topk(2)
    p = q = None
    if kind == "fp8":
        x, w = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
        p, q = torch.rand(tokens, 2, device="cuda"), torch.rand(count, 2, 2, device="cuda")
    out = torch.empty(tokens, 2, n, device="cuda", dtype=dtype)
    blocks = dict(BLOCK_SIZE_M=16, BLOCK_SIZE_N=64, BLOCK_SIZE_K=64, GROUP_SIZE_M=4)
    module = importlib.import_module(f"{OPS}.moe.fused_moe_triton_kernels")
    if kind == "fp8":
        # The activations are quantised by a kernel of the compiled extension.
        module.sglang_per_token_group_quant_fp8 = lambda x, size, **_: (x, p)
    call(
        x, w, None, out, p, q, None, weights, chosen, *align(chosen, count, 16), weighted, 2,
        blocks | dict(num_warps=4, num_stages=3),
        tl.float16 if kind == "fp16" else tl.bfloat16, kind == "fp8", False, False, False, False,
        [128, 128] if kind == "fp8" else None,
    )  # fmt: skip
    rows, columns = x.float(), w.float()
    if kind == "fp8":
        rows = rows * p.repeat_interleave(128, 1)
        columns = columns * q.repeat_interleave(128, 1)[:, :n].repeat_interleave(128, 2)
    expected = torch.einsum("tk,tenk->ten", rows, columns[chosen])
    agrees(out, (expected * weights[..., None] if weighted else expected).to(dtype), dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_lora(dtype, agrees):
    """Adapters of several ranks add their scaled products to the rows that name them."""
    info = importlib.import_module("sglang.srt.lora.utils").LoRABatchInfo
    lengths, who = (7, 20, 18), ints([1, 0, 2])
    batch = info(
        use_cuda_graph=False, bs=3, num_segments=3, seg_indptr=starts(lengths), weight_indices=who,
        lora_ranks=ints([16, 16, 16]), scalings=torch.tensor([0.5, 1.0, 2.0], device="cuda"),
        max_len=20, seg_lens=ints(lengths),
    )  # fmt: skip
    x, base = normal(45, 256, dtype=dtype), normal(45, 192, dtype=dtype)
    a, b = normal(3, 16, 256, dtype=dtype) / 16, normal(3, 192, 16, dtype=dtype) / 4
    rows = who.long().repeat_interleave(torch.tensor(lengths, device="cuda"))
    low = function("lora.dense.sgemm_lora_a.sgemm_lora_a_fwd")(x, a, batch)
    agrees(low.float(), torch.einsum("th,trh->tr", x.float(), a[rows].float()), dtype)
    wide = torch.einsum("tr,tor->to", low.float(), b[rows].float())
    expected = base.float() + wide * batch.scalings[rows][:, None]
    found = function("lora.dense.sgemm_lora_b.sgemm_lora_b_fwd")(low, b, batch, base.clone())
    agrees(found.float(), expected, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_token_bitmask(dtype):
    logits = normal(3, 5000, dtype=dtype)
    words = torch.randint(-(2**31), 2**31, (3, 157), device="cuda").to(torch.int32)
    bits = (words[..., None] >> torch.arange(32, device="cuda")) & 1
    allowed = bits.flatten(1)[:, :5000].bool()
    expected = logits.masked_fill(~allowed, float("-inf"))
    function("grammar.bitmask_ops.apply_token_bitmask_inplace_triton")(logits, words)
    assert torch.equal(logits, expected)


def test_merge_states(agrees):
    """SGLang's kernel merges two parts of attention."""
    a, b = normal(33, 4, 64), normal(33, 4, 64)
    p, s = normal(33, 4, dtype=torch.float32), normal(33, 4, dtype=torch.float32)
    found, lse = function("attention.merge_state.merge_state_triton")(a, p, b, s)
    agrees(lse, torch.logaddexp(p, s))
    weights = torch.softmax(torch.stack([p, s]), 0)[..., None]
    agrees(found, (a * weights[0] + b * weights[1]).half(), torch.float16)
