"""vLLM 0.33: its Triton kernels for attention and its cache.

`vllm_parts` says which modules of vLLM have stand-ins; none has Triton kernels.
"""

import pytest
import torch
from serving import PagedCache, attention, ints, normal, starts

pytest.importorskip("vllm")
import vllm_parts  # noqa: F401, E402

SCALE = 0.125


def test_triton_is_found():
    from vllm.triton_utils import HAS_TRITON

    assert HAS_TRITON


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("queries", [(1, 1, 1), (5, 40, 17)])
def test_unified_attention(queries, dtype, agrees):
    from vllm.v1.attention.ops.triton_unified_attention import unified_attention

    cache = PagedCache((37, 64, 90), 2, 64, dtype=dtype)
    q = normal(sum(queries), 8, 64, dtype=dtype)
    out = torch.empty_like(q)
    one = torch.ones(3, 2, device="cuda")
    unified_attention(
        q, cache.keys, cache.values, out, starts(queries), max(queries), ints(cache.lengths), 90,
        SCALE, True, (-1, -1), ints(cache.table), 0.0, None, one, one,
    )  # fmt: skip
    rows = zip(q.split(queries), map(cache.sequence, range(3)), strict=True)
    agrees(out, torch.cat([attention(x, *kv, SCALE) for x, kv in rows]).to(dtype), dtype)


@pytest.mark.parametrize("heads", [2, 8])
def test_decode_attention(heads, agrees):
    """vLLM's kernels of decoding give torch's attention."""
    from vllm.v1.attention.ops.triton_decode_attention import decode_attention_fwd

    cache = PagedCache((37, 64, 90), 2, 64)
    q, splits = normal(3, heads, 64), 4
    out, lse = torch.empty_like(q), torch.empty(3, heads, device="cuda")
    parts = torch.empty(3, heads, splits, 65, device="cuda")
    decode_attention_fwd(
        q, cache.keys, cache.values, out, lse, ints(cache.table), ints(cache.lengths), parts,
        splits, SCALE, 16,
    )  # fmt: skip
    expected = [attention(q[i : i + 1], *cache.sequence(i), SCALE) for i in range(3)]
    agrees(out, torch.cat(expected).half(), torch.float16)


def test_prefill_attention(agrees):
    """vLLM's kernel of prefilling gives torch's attention."""
    from vllm.v1.attention.ops.triton_prefill_attention import context_attention_fwd

    lengths = (5, 70, 33)
    q, k, v = normal(108, 8, 64), normal(108, 2, 64), normal(108, 2, 64)
    out = torch.empty_like(q)
    context_attention_fwd(q, k, v, out, starts(lengths)[:3], ints(lengths), 70, True, SCALE)
    rows = zip(q.split(lengths), k.split(lengths), v.split(lengths), strict=True)
    expected = [attention(*row, SCALE) for row in rows]
    agrees(out, torch.cat(expected).half(), torch.float16)


def test_prefix_prefill(agrees):
    from vllm.v1.attention.ops.prefix_prefill import context_attention_fwd

    queries, lengths = (5, 40, 17), (37, 64, 90)
    cache = PagedCache(lengths, 2, 64)
    q, k, v = normal(62, 8, 64), normal(62, 2, 64), normal(62, 2, 64)
    out, one = torch.empty_like(q), torch.ones(1, device="cuda")
    # Keys [page, head, d / 8, slot, 8], values [page, head, d, slot].
    keys = cache.keys.view(-1, 16, 2, 8, 8).permute(0, 2, 3, 1, 4).contiguous()
    values = cache.values.permute(0, 2, 3, 1).contiguous()
    context_attention_fwd(
        q, k, v, out, "auto", keys, values, ints(cache.table), starts(queries), ints(lengths),
        max(lengths), max(queries), one, one, sm_scale=SCALE,
    )  # fmt: skip
    rows = []
    parts = zip(q.split(queries), k.split(queries), v.split(queries), strict=True)
    for i, (x, own_k, own_v) in enumerate(parts):
        before = lengths[i] - queries[i]
        old_k, old_v = (old[:before] for old in cache.sequence(i))
        rows.append(attention(x, torch.cat([old_k, own_k]), torch.cat([old_v, own_v]), SCALE))
    agrees(out, torch.cat(rows).half(), torch.float16)


def test_merge_states(agrees):
    """vLLM's kernel merges two parts of attention."""
    from vllm.v1.attention.ops.triton_merge_attn_states import merge_attn_states

    a, b, out = normal(33, 4, 64), normal(33, 4, 64), normal(33, 4, 64)
    p, s = normal(4, 33, dtype=torch.float32), normal(4, 33, dtype=torch.float32)
    lse = torch.empty_like(p)
    merge_attn_states(out, a, p, b, s, lse)
    agrees(lse, torch.logaddexp(p, s))
    weights = torch.softmax(torch.stack([p, s]), 0).transpose(1, 2)[..., None]
    agrees(out, (a * weights[0] + b * weights[1]).half(), torch.float16)


def test_reshape_and_cache():
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import triton_reshape_and_cache_flash

    cache = PagedCache((64, 64), 2, 64)
    k, v = normal(20, 2, 64), normal(20, 2, 64)
    slots = torch.randperm(128, device="cuda")[:20]
    one = torch.ones(1, device="cuda")
    expected = cache.keys.clone(), cache.values.clone()
    for old, new in zip(expected, (k, v), strict=True):
        old.view(-1, 2, 64)[slots] = new
    triton_reshape_and_cache_flash(k, v, cache.keys, cache.values, slots, "auto", one, one)
    assert torch.equal(cache.keys, expected[0])
    assert torch.equal(cache.values, expected[1])
