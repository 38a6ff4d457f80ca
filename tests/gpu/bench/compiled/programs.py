"""Programs that torch.compile is tried on and that are no models: functions and their arguments."""

import torch

from .zoo import DEVICE, language


class Logits(torch.nn.Module):
    """A language model that gives a tensor, as an exported program had better do."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, words):
        return self.model(input_ids=words).logits


def logits(name):
    model, arguments = language(name)
    return Logits(model), arguments


def random(*shape, dtype=torch.float32, grad=False):
    return torch.randn(*shape, device=DEVICE, dtype=dtype, requires_grad=grad)


def pointwise():
    def chain(x, y, n):
        z = torch.nn.functional.gelu(x) * torch.sigmoid(y) + x.cumsum(1) / n
        return torch.softmax(z, -1), z.argmax(-1), z.sort(-1).values.sum(0), z.var(0)

    return chain, (random(256, 1000), random(256, 1000), 7)


def gemm_and_epilogue():
    def product(a, b, bias):
        return torch.relu(a @ b + bias), (a.t() @ a).float().sum(0)

    a, b = (random(1024, 1024, dtype=torch.bfloat16) for _ in range(2))
    return product, (a, b, random(1024, dtype=torch.bfloat16))


def batched_gemm():
    def product(a, b, scale):
        return torch.nn.functional.silu(torch.bmm(a, b)) * scale

    a, b = (random(16, 512, 512, dtype=torch.float16) for _ in range(2))
    return product, (a, b, random(512, dtype=torch.float16))


def perceptron():
    layers = [torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)]
    model = torch.nn.Sequential(*layers, torch.nn.LayerNorm(512)).to(DEVICE, torch.bfloat16)
    return model, (random(2048, 512, dtype=torch.bfloat16),)


# ===-- flex_attention ----------------------------------------------------------------------===


def _attention(mask, score=None, heads=(4, 4), length=512):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    block_mask = create_block_mask(mask, None, None, length, length, device=DEVICE)
    groups = {"enable_gqa": True} if heads[0] != heads[1] else {}

    def attend(q, k, v):
        return flex_attention(q, k, v, score_mod=score, block_mask=block_mask, **groups)

    shapes = [(2, h, length, 64) for h in (heads[0], heads[1], heads[1])]
    grad = DEVICE == "cuda"  # the CPU has no backward
    return attend, tuple(random(*shape, grad=grad) for shape in shapes)


def causal(batch, head, q, k):
    return q >= k


def flex():
    return _attention(causal, lambda s, b, h, i, j: s + 0.01 * (i - j))


def flex_window():
    def window(batch, head, q, k):
        return (q >= k) & (q - k < 100)

    return _attention(window, lambda s, b, h, i, j: 30 * torch.tanh(s / 30))


def flex_documents():
    document = (torch.arange(512, device=DEVICE) // 200).to(torch.int32)

    def same_document(batch, head, q, k):
        return (document[q] == document[k]) & (q >= k)

    return _attention(same_document)


def flex_groups():
    return _attention(causal, heads=(8, 2))


# ===-- kernels of the user's ---------------------------------------------------------------===


def user_kernel():
    from .user_kernel import add_rows

    def program(x, y):
        return add_rows(torch.sin(x), y * 2) + 1

    return program, (random(300, 257), random(300, 257))
