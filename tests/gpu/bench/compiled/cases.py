"""The cases that torch.compile is tried on, in the order of their importance to a short run.

Gives: CASES, by name; a case makes a callable and its arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from . import programs
from .zoo import LANGUAGE, VISION, language, t5, vision, whisper


@dataclass
class Case:
    """`make` gives a callable and its arguments; `compile` are options of torch.compile."""

    make: Callable
    trains: bool = False
    compile: dict = field(default_factory=dict)
    other_sizes: Callable = None  # further arguments, for dynamic shapes
    warm: bool = False  # measured in a second process, which finds the caches of the first


def longer_batch(args):
    return tuple(torch.cat([a, a[:1]]) if a.dim() else a for a in args)


MODELS = {name: lambda name=name: vision(name) for name in VISION}
MODELS |= {name: lambda name=name: language(name) for name in LANGUAGE}
MODELS |= {"t5": t5, "whisper": whisper}
TEMPLATES = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
CPP = {"options": {"cpp_wrapper": True}}
GRAPHS = {"mode": "reduce-overhead"}
DYNAMIC = {"compile": {"dynamic": True}, "other_sizes": longer_batch}

FIRST = ("mamba", "swin_t", "densenet121", "efficientnet_b0")
PROGRAMS = {
    "aot pointwise": Case(programs.pointwise, compile={"aot": True}),
    "aot resnet18": Case(MODELS["resnet18"], compile={"aot": True}),
    "aot gpt2": Case(lambda: programs.logits("gpt2"), compile={"aot": True}),
    "cpp_wrapper pointwise": Case(programs.pointwise, compile=CPP),
    "cpp_wrapper gpt2": Case(MODELS["gpt2"], compile=CPP),
    "cpp_wrapper resnet18": Case(MODELS["resnet18"], compile=CPP),
    "warm gpt2": Case(MODELS["gpt2"], warm=True),
    "warm resnet18": Case(MODELS["resnet18"], warm=True),
    "warm bert training": Case(MODELS["bert"], trains=True, warm=True),
    "max-autotune": Case(
        programs.gemm_and_epilogue, compile={"mode": "max-autotune-no-cudagraphs"}
    ),
    "max-autotune templates": Case(programs.gemm_and_epilogue, compile={"options": TEMPLATES}),
    "max-autotune bmm templates": Case(programs.batched_gemm, compile={"options": TEMPLATES}),
    "max-autotune mlp training": Case(
        programs.perceptron, trains=True, compile={"options": TEMPLATES}
    ),
    "flex_attention": Case(programs.flex),
    "flex_attention training": Case(programs.flex, trains=True),
    "flex_attention window training": Case(programs.flex_window, trains=True),
    "flex_attention documents": Case(programs.flex_documents),
    "flex_attention groups": Case(programs.flex_groups),
    "user kernel": Case(programs.user_kernel),
    "pointwise": Case(programs.pointwise),
    "dynamic llama": Case(MODELS["llama"], **DYNAMIC),
    "dynamic resnet18": Case(MODELS["resnet18"], **DYNAMIC),
    "dynamic bert training": Case(MODELS["bert"], trains=True, **DYNAMIC),
    "cudagraphs gpt2": Case(MODELS["gpt2"], compile=GRAPHS),
    "cudagraphs resnet18": Case(MODELS["resnet18"], compile=GRAPHS),
    "cudagraphs gpt2 training": Case(MODELS["gpt2"], trains=True, compile=GRAPHS),
}
CASES = {name: Case(MODELS[name]) for name in FIRST}
CASES |= PROGRAMS
CASES |= {name: Case(make) for name, make in MODELS.items() if name not in FIRST}
# Language models come first: they compile fast, and a short run reaches more of them.
TRAINED = [*LANGUAGE, "t5", "whisper", *VISION]
CASES |= {f"{name} training": Case(MODELS[name], trains=True) for name in TRAINED}
