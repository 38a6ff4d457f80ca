"""The models that torch.compile is tried on, with random weights.

Gives: by name, a module and its arguments on the GPU, or on MODELS_DEVICE.
How:   models are small (two layers, short sequences), since what is compared is what Inductor
       makes of each kind of layer. Nothing is random when it runs: dropout and the like are off.
"""

import os

import torch

DEVICE = os.environ.get("MODELS_DEVICE", "cuda")
WORDS = (8, 256)  # sequences and their lengths
# The first are those that compile fastest.
VISION = (
    "resnet18 vgg11 squeezenet1_1 vit_b_32 mobilenet_v3_small mnasnet0_5 resnet50 mobilenet_v2"
    " convnext_tiny shufflenet_v2_x1_0 regnet_y_400mf swin_t efficientnet_b0 densenet121"
).split()
SMALL = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000}
GPT2 = {"n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 1000}
LLAMA = {**SMALL, "intermediate_size": 512, "num_key_value_heads": 2}
# Name of the model: the classes of its configuration and of itself, and what is not the default.
LANGUAGE = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT2),
    "llama": ("LlamaConfig", "LlamaForCausalLM", LLAMA),
    "mistral": ("MistralConfig", "MistralForCausalLM", LLAMA),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", LLAMA),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**LLAMA, "head_dim": 64}),
    "phi": ("PhiConfig", "PhiForCausalLM", {**SMALL, "intermediate_size": 512, "pad_token_id": 0}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**LLAMA, "num_local_experts": 4}),
    "opt": ("OPTConfig", "OPTForCausalLM", {**SMALL, "ffn_dim": 512, "word_embed_proj_dim": 256}),
    "bloom": (
        "BloomConfig",
        "BloomForCausalLM",
        {"hidden_size": 256, "n_layer": 2, "n_head": 4, "vocab_size": 1000},
    ),
    "bert": ("BertConfig", "BertForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**SMALL, "intermediate_size": 512}),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        {"dim": 256, "hidden_dim": 512, "n_layers": 2, "n_heads": 4, "vocab_size": 1000},
    ),
    "mamba": (
        "MambaConfig",
        "MambaForCausalLM",
        {"hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 1000},
    ),
}


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

    model = quiet(getattr(torchvision.models, name)(weights=None, num_classes=100).to(DEVICE))
    return model, (torch.randn(8, 3, 224, 224, device=DEVICE),)


def transformer(config, model, changes):
    import transformers

    made = getattr(transformers, config)(**changes)
    for name in [n for n in vars(made) if "drop" in n]:
        setattr(made, name, 0.0)
    if hasattr(made, "use_cache"):
        made.use_cache = False
    return quiet(getattr(transformers, model)(made).to(DEVICE))


def language(name):
    model = transformer(*LANGUAGE[name])
    sequences, length = WORDS
    # The model's own steps of a sequence are a loop in Python, which is unrolled.
    shape = (sequences, 32 if name == "mamba" else length)
    return model, (torch.randint(0, 1000, shape, device=DEVICE),)


def t5():
    changes = {"d_model": 256, "d_ff": 512, "num_layers": 2, "num_heads": 4, "vocab_size": 1000}
    model = transformer("T5Config", "T5ForConditionalGeneration", {**changes, "d_kv": 64})
    words = torch.randint(0, 1000, WORDS, device=DEVICE)
    return Called(model, "input_ids", "decoder_input_ids"), (words, words)


def whisper():
    changes = {"d_model": 256, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 1000}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "pad_token_id": 0}
    edges = {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    model = transformer("WhisperConfig", "WhisperModel", {**changes, **heads, **edges})
    sound = torch.randn(2, 80, 3000, device=DEVICE)
    words = torch.randint(0, 1000, (2, 64), device=DEVICE)
    return Called(model, "input_features", "decoder_input_ids"), (sound, words)
