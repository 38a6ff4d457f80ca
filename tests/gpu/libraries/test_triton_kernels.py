"""triton_kernels, as vLLM 0.33 carries it: routing and grouped GEMMs of mixtures of experts."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
from serving import normal

vllm = importlib.util.find_spec("vllm")
if vllm is None:
    pytest.skip("vLLM's files are not there", allow_module_level=True)
sys.path.append(str(Path(vllm.origin).parent / "third_party"))
matmul = pytest.importorskip("triton_kernels.matmul_ogs")
routing = pytest.importorskip("triton_kernels.routing")
topk = pytest.importorskip("triton_kernels.topk")
swiglu = pytest.importorskip("triton_kernels.swiglu")
mxfp = pytest.importorskip("triton_kernels.numerics_details.mxfp")

EXPERTS, CHOSEN = 8, 2


def routed(tokens):
    """Random routing, as the kernels give it, with the experts and weights of each token."""
    logits = normal(tokens, EXPERTS)
    data, gather, scatter = routing.routing(logits, CHOSEN)
    values, experts = logits.float().topk(CHOSEN, -1)
    return data, gather, scatter, experts, values.softmax(-1)


@pytest.mark.parametrize("tokens,experts,k", [(33, 8, 2), (200, 128, 4)])
def test_topk(tokens, experts, k, agrees):
    """The k largest of a row, their indices and their softmax are torch's."""
    # Distinct values, so that the choice is one.
    x = torch.stack([torch.randperm(experts) for _ in range(tokens)]).cuda().half() / 16
    values, indices, _ = topk.topk(x, k)
    expected, where = x.float().topk(k, -1)
    order, found = where.argsort(-1), indices.long().argsort(-1)
    assert torch.equal(indices.long().gather(-1, found), where.gather(-1, order))
    weights = expected.softmax(-1).gather(-1, order)
    agrees(values.float().gather(-1, found), weights, torch.float16)


@pytest.mark.parametrize("tokens", [5, 200])
def test_routing(tokens):
    """Tokens are gathered by expert, and scattered to where they were."""
    data, gather, scatter, experts, _ = routed(tokens)
    counts = torch.bincount(experts.flatten(), minlength=EXPERTS)
    assert torch.equal(data.expt_hist.long(), counts)
    source, place = gather.src_indx.long(), scatter.dst_indx.long()
    assert torch.equal(source.sort().values, torch.arange(tokens * CHOSEN, device="cuda"))
    bounds = data.expt_data.token_offs_raw.tolist()
    for e in range(EXPERTS):
        rows = source[bounds[e] : bounds[e + 1]] // CHOSEN
        assert torch.equal(rows.sort().values, (experts == e).any(-1).nonzero()[:, 0])
    assert torch.equal(source, place)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("m,n,k", [(64, 128, 128), (100, 200, 320)])
def test_dense(m, n, k, dtype, agrees):
    """A GEMM with a bias agrees with torch's."""
    x, w = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    bias = normal(n, dtype=torch.float32)
    found = matmul.matmul_ogs(x, w, bias)
    agrees(found.float(), x.float() @ w.float() + bias, dtype)


@pytest.mark.parametrize("tokens", [5, 200])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_experts(tokens, dtype, agrees):
    """Both GEMMs of a layer of experts, with what is between them, agree with torch's."""
    n, k = 128, 192
    data, gather, scatter, experts, weights = routed(tokens)
    x, bias = normal(tokens, k, dtype=dtype), normal(EXPERTS, 2 * n, dtype=torch.float32)
    up, down = normal(EXPERTS, k, 2 * n, dtype=dtype) / 8, normal(EXPERTS, n, k, dtype=dtype) / 8
    wide = matmul.matmul_ogs(x, up, bias, data, gather_indx=gather)
    limits = swiglu.PrecisionConfig(limit=1.5)
    active = swiglu.swiglu(wide, 1.7, limits, data)
    found = matmul.matmul_ogs(active, down, None, data, scatter_indx=scatter, gammas=data.gate_scal)
    hidden = torch.einsum("tk,tekn->ten", x.float(), up.float()[experts]) + bias[experts]
    hidden = swiglu.swiglu_torch(hidden, 1.7, limits)
    each = torch.einsum("ten,tenk->tek", hidden, down.float()[experts])
    agrees(found.float(), (each * weights[..., None]).sum(1), torch.bfloat16)


@pytest.mark.parametrize("kind", [torch.uint8, torch.float8_e4m3fn])
def test_mxfp(kind, agrees):
    """Quantising to MXFP and back gives the codes of the plain form in torch."""
    x = normal(64, 256, dtype=torch.bfloat16)
    packed, scales = mxfp.downcast_to_mxfp(x, kind, axis=1)
    theirs = mxfp.downcast_to_mxfp_torch(x, kind, axis=1)
    assert torch.equal(scales, theirs[1])
    assert torch.equal(packed.view(torch.uint8), theirs[0].view(torch.uint8))
    found = mxfp.upcast_from_mxfp(packed, scales, torch.bfloat16, axis=1)
    assert torch.equal(found, mxfp.upcast_from_mxfp_torch(packed, scales, torch.bfloat16, axis=1))


@pytest.mark.parametrize("m", [16, 100])
def test_mxfp4_weights(m, agrees):
    tensor = pytest.importorskip("triton_kernels.tensor")
    n, k = 128, 256
    x, w = normal(m, k, dtype=torch.bfloat16), normal(k, n, dtype=torch.bfloat16)
    packed, scales = mxfp.downcast_to_mxfp(w, torch.uint8, axis=0)
    wide = mxfp.upcast_from_mxfp_torch(packed, scales, torch.bfloat16, axis=0)
    config = matmul.PrecisionConfig(weight_scale=tensor.wrap_torch_tensor(scales))
    found = matmul.matmul_ogs(
        x, tensor.wrap_torch_tensor(packed, dtype=tensor.FP4), None, precision_config=config
    )
    agrees(found.float(), x.float() @ wide.float(), torch.bfloat16)
