"""flash-linear-attention 0.6: layers of linear attention against their plain forms in torch."""

import importlib

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

pytest.importorskip("fla")

B, T, H, D = 2, 192, 4, 64
TIMES = (T, 1, 63, 129)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def heads(t, dtype, count=3):
    return tuple(normal(B, t, H, D, dtype=dtype) for _ in range(count))


def decay(*shape):
    return F.logsigmoid(normal(*shape))


def gla(t, dtype):
    q, k, v = heads(t, dtype)
    return dict(q=q, k=k, v=v, g=decay(B, t, H, D).to(dtype))


def simple_gla(t, dtype):
    q, k, v = heads(t, dtype)
    return dict(q=q, k=k, v=v, g=decay(B, t, H))


def delta_rule(t, dtype):
    q, k, v = heads(t, dtype)
    return dict(q=q, k=F.normalize(k, dim=-1), v=v, beta=normal(B, t, H).sigmoid().to(dtype))


def gated_delta_rule(t, dtype):
    return delta_rule(t, dtype) | {"g": decay(B, t, H)}


def kda(t, dtype):
    return delta_rule(t, dtype) | {"g": decay(B, t, H, D)}


def linear(t, dtype):
    q, k, v = heads(t, dtype)
    return dict(q=q, k=k, v=v)


def hgrn(t, dtype):
    return dict(x=normal(B, t, 256, dtype=dtype), g=decay(B, t, 256).to(dtype))


def forgetting(t, dtype):
    return linear(t, dtype) | {"g": decay(B, t, H)}


def gsa(t, dtype):
    q, k, v = heads(t, dtype)
    slots, g = normal(B, t, H, 32, dtype=dtype), decay(B, t, H, 32).to(dtype)
    return dict(q=q, k=k, v=v, s=slots, g=g)


def renamed(arguments, **names):
    return {names.get(key, key): value for key, value in arguments.items()}


def head_first(arguments):
    return {
        key: value.transpose(1, 2) if value.dim() > 2 else value for key, value in arguments.items()
    }


# Function, what it is compared with, its arguments, and how those of the comparison differ.
OPS = {
    "chunk_gla": ("fla.ops.gla", "fla.ops.gla.naive:naive_recurrent_gla", gla, dict(g="gk")),
    "fused_recurrent_gla": (
        "fla.ops.gla",
        "fla.ops.gla.naive:naive_recurrent_gla",
        gla,
        dict(g="gk"),
    ),
    "chunk_simple_gla": (
        "fla.ops.simple_gla",
        "fla.ops.simple_gla.naive:naive_recurrent_simple_gla",
        simple_gla,
        {},
    ),
    "fused_recurrent_simple_gla": (
        "fla.ops.simple_gla",
        "fla.ops.simple_gla.naive:naive_recurrent_simple_gla",
        simple_gla,
        {},
    ),
    "parallel_simple_gla": (
        "fla.ops.simple_gla",
        "fla.ops.simple_gla.naive:naive_recurrent_simple_gla",
        simple_gla,
        {},
    ),
    "chunk_delta_rule": (
        "fla.ops.delta_rule",
        "fla.ops.delta_rule.naive:delta_rule_recurrence",
        delta_rule,
        head_first,
    ),
    "fused_recurrent_delta_rule": (
        "fla.ops.delta_rule",
        "fla.ops.delta_rule.naive:delta_rule_recurrence",
        delta_rule,
        head_first,
    ),
    "chunk_gated_delta_rule": (
        "fla.ops.gated_delta_rule",
        "fla.ops.gated_delta_rule.naive:naive_recurrent_gated_delta_rule",
        gated_delta_rule,
        {},
    ),
    "fused_recurrent_gated_delta_rule": (
        "fla.ops.gated_delta_rule",
        "fla.ops.gated_delta_rule.naive:naive_recurrent_gated_delta_rule",
        gated_delta_rule,
        {},
    ),
    "chunk_kda": ("fla.ops.kda", "fla.ops.kda.naive:naive_recurrent_kda", kda, {}),
    "fused_recurrent_kda": ("fla.ops.kda", "fla.ops.kda.naive:naive_recurrent_kda", kda, {}),
    "chunk_linear_attn": (
        "fla.ops.linear_attn",
        "fla.ops.linear_attn.naive:naive_recurrent_linear_attn",
        linear,
        {},
    ),
    "fused_recurrent_linear_attn": (
        "fla.ops.linear_attn",
        "fla.ops.linear_attn.naive:naive_recurrent_linear_attn",
        linear,
        {},
    ),
    "chunk_retention": (
        "fla.ops.retention",
        "fla.ops.retention.naive:naive_retention",
        linear,
        head_first,
    ),
    "parallel_retention": (
        "fla.ops.retention",
        "fla.ops.retention.naive:naive_retention",
        linear,
        head_first,
    ),
    "fused_recurrent_hgrn": ("fla.ops.hgrn", "fla.ops.hgrn.naive:naive_recurrent_hgrn", hgrn, {}),
    "chunk_hgrn": ("fla.ops.hgrn.chunk", "fla.ops.hgrn.naive:naive_recurrent_hgrn", hgrn, {}),
    "parallel_attn": ("fla.ops.attn", "fla.ops.attn.naive:naive_parallel_attn", linear, {}),
    "parallel_forgetting_attn": (
        "fla.ops.forgetting_attn",
        "fla.ops.forgetting_attn.naive:naive_forgetting_attn",
        forgetting,
        {},
    ),
    "chunk_gsa": ("fla.ops.gsa", "fla.ops.gsa.naive:naive_recurrent_gsa", gsa, {}),
    "parallel_stickbreaking_attn": (
        "fla.ops.stickbreaking_attn",
        "fla.ops.stickbreaking_attn.naive:naive_stickbreaking_attn",
        linear,
        {},
    ),
}


def first(result):
    return result[0] if isinstance(result, tuple) else result


def leaves(arguments):
    return {key: value.clone().requires_grad_() for key, value in arguments.items()}


def reference_of(name, inputs):
    where, change = OPS[name][1], OPS[name][3]
    module, _, function = where.partition(":")
    call = getattr(importlib.import_module(module), function)
    inputs = {key: value.float() for key, value in inputs.items()}
    if change is head_first:
        return first(call(**head_first(inputs))).transpose(1, 2)
    return first(call(**renamed(inputs, **change)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("name", OPS)
def test_layer(name, t, dtype, agrees):
    """Results and gradients of each layer agree with its plain form in torch."""
    module, _, make, change = OPS[name]
    inputs = leaves(make(t, dtype))
    plain = leaves({key: value.detach() for key, value in inputs.items()})
    call = getattr(importlib.import_module(module), name)
    names = {"g": "gk"} if name == "fused_recurrent_gla" else {}
    more = {"normalize": False} if "linear_attn" in name else {}
    found = first(call(**renamed(inputs, **names), **more))
    expected = reference_of(name, plain)
    agrees(found, expected.to(found.dtype), dtype)
    weight = torch.randn_like(expected, dtype=torch.float32)
    if (
        "recurrent_delta" not in name
        and "recurrent_gated" not in name
        and "recurrent_kda" not in name
    ):
        try:
            (found.float() * weight).sum().backward()
        except RuntimeError as refusal:
            # The library refuses some gradients on Hopper for the version of Triton, with both.
            assert "produces incorrect results" in str(refusal)
            return
        (expected.float() * weight).sum().backward()
        for key in inputs:
            if plain[key].grad is not None and inputs[key].grad is not None:
                agrees(inputs[key].grad, plain[key].grad.to(inputs[key].dtype), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(5, 64), (3, 33, 300), (257, 1024)])
def test_norms(shape, dtype, agrees):
    """LayerNorm and RMSNorm agree with torch's."""
    from fla.modules import LayerNorm, RMSNorm

    x = normal(*shape, dtype=dtype)
    for ours, theirs in ((LayerNorm, torch.nn.LayerNorm), (RMSNorm, torch.nn.RMSNorm)):
        a = ours(shape[-1], eps=1e-5).cuda().to(dtype)
        b = theirs(shape[-1], eps=1e-5).cuda().to(dtype)
        with torch.no_grad():
            a.weight.copy_(torch.randn_like(a.weight))
            b.weight.copy_(a.weight)
        p, q = x.clone().requires_grad_(), x.clone().requires_grad_()
        found, expected = a(p), b(q)
        agrees(found, expected, dtype)
        found.square().sum().backward(), expected.square().sum().backward()
        agrees(p.grad, q.grad, dtype)
        agrees(a.weight.grad, b.weight.grad, dtype)


@pytest.mark.parametrize("rows,words", [(17, 1000), (128, 32001)])
def test_cross_entropy(rows, words, agrees):
    from fla.modules import FusedCrossEntropyLoss

    x = normal(rows, words)
    target = torch.randint(0, words, (rows,), device="cuda")
    target[::5] = -100
    p, q = x.clone().requires_grad_(), x.clone().requires_grad_()
    found = FusedCrossEntropyLoss()(p, target)
    expected = F.cross_entropy(q, target)
    found.backward(), expected.backward()
    agrees(found, expected)
    agrees(p.grad, q.grad)


@pytest.mark.parametrize("activation", [None, "silu"])
@pytest.mark.parametrize("t", [5, 200])
def test_short_convolution(t, activation, agrees):
    from fla.modules import ShortConvolution

    x = normal(2, t, 96)
    layer = ShortConvolution(96, 4, activation=activation).cuda()
    found = first(layer(x))
    expected = F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), layer.weight, layer.bias, groups=96)
    expected = expected.transpose(1, 2)
    agrees(found, F.silu(expected) if activation else expected)
