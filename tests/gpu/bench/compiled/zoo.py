"""The models and programs that torch.compile is tried on, with random weights.

Gives: CASES, by name; a case makes a callable and its arguments on the GPU.
How:   models are small (two layers, short sequences), since what is compared is what Inductor
       makes of each kind of layer. Nothing is random when it runs: dropout and the like are off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

VISION = (
    "resnet18 resnet50 vgg11 mobilenet_v2 mobilenet_v3_small efficientnet_b0 densenet121"
    " convnext_tiny regnet_y_400mf shufflenet_v2_x1_0 squeezenet1_1 mnasnet0_5 swin_t vit_b_32"
).split()
SMALL = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000}
LLAMA = {**SMALL, "intermediate_size": 512, "num_key_value_heads": 2}
# Name of the model: the classes of its configuration and of itself, and what is not the default.
LANGUAGE = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 256, "n_layer": 2, "n_head": 4}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", LLAMA),
    "mistral": ("MistralConfig", "MistralForCausalLM", LLAMA),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", LLAMA),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**LLAMA, "head_dim": 64}),
    "phi": ("PhiConfig", "PhiForCausalLM", {**SMALL, "intermediate_size": 512, "pad_token_id": 0}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**LLAMA, "num_local_experts": 4}),
    "opt": ("OPTConfig", "OPTForCausalLM", {**SMALL, "ffn_dim": 512, "word_embed_proj_dim": 256}),
    "bloom": ("BloomConfig", "BloomForCausalLM", {"hidden_size": 256, "n_layer": 2, "n_head": 4}),
    "bert": ("BertConfig", "BertForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {"dim": 256, "n_layers": 2, "n_heads": 4},
    ),
    "mamba": (
        "MambaConfig",
        "MambaForCausalLM",
        {"hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 1000},
    ),
}


@dataclass
class Case:
    """`make` gives a module or function and its arguments; `compile` is what torch.compile is told."""

    make: Callable
    trains: bool = False
    compile: dict = field(default_factory=dict)
    other_sizes: Callable = None  # further arguments, for dynamic shapes


class Called(torch.nn.Module):
    """A model whose arguments have these names."""

    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        return self.model(**dict(zip(self.names, values)))


def quiet(model):
    """Switch off what is random."""
    for module in model.modules():
        for name in ("p", "prob", "dropout", "drop_prob"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def vision(name):
    import torchvision

    model = quiet(getattr(torchvision.models, name)(weights=None, num_classes=100).cuda())
    return model, (torch.randn(8, 3, 224, 224, device="cuda"),)


def transformer(config, model, changes):
    import transformers

    made = getattr(transformers, config)(**changes)
    for name in [n for n in vars(made) if "drop" in n]:
        setattr(made, name, 0.0)
    if hasattr(made, "use_cache"):
        made.use_cache = False
    return quiet(getattr(transformers, model)(made).cuda())


def language(name):
    model = transformer(*LANGUAGE[name])
    return model, (torch.randint(0, 1000, (4, 128), device="cuda"),)


def t5():
    changes = {"d_model": 256, "d_ff": 512, "num_layers": 2, "num_heads": 4, "vocab_size": 1000}
    model = transformer("T5Config", "T5ForConditionalGeneration", {**changes, "d_kv": 64})
    words = torch.randint(0, 1000, (4, 128), device="cuda")
    return Called(model, "input_ids", "decoder_input_ids"), (words, words)


def whisper():
    changes = {"d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 1000}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "pad_token_id": 0}
    edges = {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    model = transformer("WhisperConfig", "WhisperModel", {**changes, **heads, **edges})
    sound = torch.randn(2, 80, 3000, device="cuda")
    words = torch.randint(0, 1000, (2, 64), device="cuda")
    return Called(model, "input_features", "decoder_input_ids"), (sound, words)


def pointwise():
    def chain(x, y, n):
        z = torch.nn.functional.gelu(x) * torch.sigmoid(y) + x.cumsum(1) / n
        return torch.softmax(z, -1), z.argmax(-1), z.sort(-1).values.sum(0), z.var(0)

    return chain, (torch.randn(256, 1000, device="cuda"), torch.randn(256, 1000, device="cuda"), 7)


def gemm_and_epilogue():
    def product(a, b, bias):
        return torch.relu(a @ b + bias), (a.t() @ a).float().sum(0)

    a, b = (torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return product, (a, b, torch.randn(1024, device="cuda", dtype=torch.bfloat16))


def flex():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(batch, head, q, k):
        return q >= k

    mask = create_block_mask(causal, None, None, 512, 512, device="cuda")

    def attend(q, k, v):
        return flex_attention(
            q, k, v, score_mod=lambda s, b, h, i, j: s + 0.01 * (i - j), block_mask=mask
        )

    return attend, tuple(
        torch.randn(2, 4, 512, 64, device="cuda", requires_grad=True) for _ in range(3)
    )


def user_kernel():
    from .user_kernel import add_rows

    def program(x, y):
        return add_rows(torch.sin(x), y * 2) + 1

    return program, (torch.randn(300, 257, device="cuda"), torch.randn(300, 257, device="cuda"))


def longer_batch(args):
    return tuple(torch.cat([a, a[:1]]) if a.dim() else a for a in args)


CASES = {name: Case(lambda name=name: vision(name)) for name in VISION}
CASES |= {name: Case(lambda name=name: language(name)) for name in LANGUAGE}
CASES |= {"t5": Case(t5), "whisper": Case(whisper), "pointwise": Case(pointwise)}
TRAINED = [n for n in CASES if n not in ("pointwise", "mamba")]
CASES |= {f"{name} training": Case(CASES[name].make, trains=True) for name in TRAINED}
CASES |= {
    "flex_attention": Case(flex),
    "flex_attention training": Case(flex, trains=True),
    "user kernel": Case(user_kernel),
    "dynamic llama": Case(CASES["llama"].make, compile={"dynamic": True}, other_sizes=longer_batch),
    "dynamic resnet18": Case(
        CASES["resnet18"].make, compile={"dynamic": True}, other_sizes=longer_batch
    ),
    "max-autotune": Case(gemm_and_epilogue, compile={"mode": "max-autotune-no-cudagraphs"}),
    "cudagraphs gpt2": Case(CASES["gpt2"].make, compile={"mode": "reduce-overhead"}),
    "cpp_wrapper gpt2": Case(CASES["gpt2"].make, compile={"options": {"cpp_wrapper": True}}),
    "cpp_wrapper resnet18": Case(
        CASES["resnet18"].make, compile={"options": {"cpp_wrapper": True}}
    ),
    "aot pointwise": Case(pointwise, compile={"aot": True}),
    "aot resnet18": Case(CASES["resnet18"].make, compile={"aot": True}),
}
