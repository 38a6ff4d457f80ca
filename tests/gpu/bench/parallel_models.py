"""Models that ranks share under torch.compile: DDP, FSDP2, and a block cut by tensor parallelism.

    torchrun --nproc-per-node=2 -m pantile.compat tests/gpu/bench/parallel_models.py

Each way trains a transformer for some steps and compares every parameter with the same training of
the whole model in double precision, on one rank and without a compiler: the ranks must give what
one rank does. The script says how many kernels each way has compiled. On the CPU, with gloo,
Inductor writes C++, so that only the distribution is tested there.
"""

import argparse
import json
import os
import time

import torch
import torch.nn.functional as functional
from rank_group import exchange, join, leave
from torch import nn
from torch._inductor import metrics
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

RANK, RANKS = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
WIDTH, HEADS, BETWEEN, TOKENS, BATCH, LAYERS = (
    (1024, 16, 4096, 512, 4, 2) if ON_GPU else (64, 4, 160, 24, 4, 2)
)
STEPS, RATE = 3, 0.3 * WIDTH  # a step changes parameters of any width by far more than they round


class Block(nn.Module):
    """Attention and a gated feed-forward layer, with norms before both."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=1e-6), nn.RMSNorm(WIDTH, eps=1e-6)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, BETWEEN, bias=False) for _ in range(2))
        self.down = nn.Linear(BETWEEN, WIDTH, bias=False)

    def forward(self, x):
        h = self.norm1(x)
        heads = [
            part(h).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        ]
        attended = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).flatten(-2))
        h = self.norm2(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


def make_model():
    """The same on all ranks."""
    torch.manual_seed(3)
    return nn.Sequential(*(Block() for _ in range(LAYERS))).to(DEVICE)


def draw():
    """The batch of each step, for all ranks together, and what the model should make of it."""
    random = torch.Generator().manual_seed(5)
    shape = (STEPS, 2, BATCH, TOKENS, WIDTH)
    return torch.randn(shape, generator=random).to(DEVICE)


def train(model, steps, mine):
    """Steps of gradient descent on a rank's part `mine` of each batch.

    One parameter after the other: operations on a list refuse whole and distributed ones mixed.
    """
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE, foreach=False)
    for x, wanted in steps:
        optimiser.zero_grad()
        functional.mse_loss(model(x[mine]), wanted[mine]).backward()
        optimiser.step()


def whole(parameter):
    """The parameter of all ranks, of which this one may have a part.

    `full_tensor` would do this, too, but gloo's gathering of it reads the GPU's memory on the host.
    """
    if not isinstance(parameter, DTensor):
        return parameter
    (placement,), mine = parameter.placements, parameter.to_local().detach()
    if not placement.is_shard():
        return mine
    parts = mine.new_empty(RANKS * mine.shape[0], *mine.shape[1:])
    exchange("all_gather_into_tensor", parts, mine.contiguous())
    return torch.cat(parts.chunk(RANKS), placement.dim)


def plain(name):
    """A parameter's name without what DDP and compilers put before it."""
    return ".".join(part for part in name.split(".") if part not in ("module", "_orig_mod"))


def error(model, exact):
    """The largest difference of a parameter, relative to the largest change that training made."""
    start = {name: value.detach() for name, value in make_model().named_parameters()}
    found = {plain(name): whole(value).detach() for name, value in model.named_parameters()}
    assert found.keys() == exact.keys()
    worst = 0.0
    for name, wanted in exact.items():
        change = (wanted - start[name].double()).abs().max()
        difference = (found[name].double() - wanted).abs().max()
        worst = max(worst, (difference / change).item())
    return worst


def ddp(model, steps):
    from torch.nn.parallel import DistributedDataParallel

    parts = BATCH // RANKS
    made = torch.compile(DistributedDataParallel(model))
    train(made, steps, slice(RANK * parts, (RANK + 1) * parts))
    return made


def fsdp(model, steps):
    parts, mesh = BATCH // RANKS, init_device_mesh(DEVICE, (RANKS,))
    for block in model:
        block.compile()
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, steps, slice(RANK * parts, (RANK + 1) * parts))
    return model


PLAN = {name: ColwiseParallel() for name in ("q", "k", "v", "gate", "up")}
PLAN |= {name: RowwiseParallel() for name in ("o", "down")}


def tensor_parallel(model, steps):
    mesh = init_device_mesh(DEVICE, (RANKS,))
    for block in model:
        parallelize_module(block, mesh, PLAN)
        block.compile()
    train(model, steps, slice(None))
    return model


WAYS = {"DDP": ddp, "FSDP2": fsdp, "tensor parallel": tensor_parallel}


def compiler():
    """What compiles kernels: Pantile where the script was started through `pantile.compat`."""
    if not ON_GPU:
        return "Inductor in C++"
    import triton

    return triton.__name__


def exact_training(steps):
    model = make_model().double()
    train(model, steps.double(), slice(None))
    return {name: value.detach() for name, value in model.named_parameters()}


def main():
    """Train in each way, compare, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--json")
    options = parser.parse_args()
    join(ON_GPU)
    assert BATCH % RANKS == 0 and HEADS % RANKS == 0, (
        "the ranks must divide the batch and the heads"
    )
    torch.set_float32_matmul_precision("highest")
    steps, rows = draw(), []
    exact = exact_training(steps)
    for way in options.ways:
        torch.compiler.reset()
        metrics.reset()
        start = time.perf_counter()
        worst = error(WAYS[way](make_model(), steps), exact)
        row = {"way": way, "error": worst, "kernels": metrics.generated_kernel_count}
        rows.append({**row, "seconds": time.perf_counter() - start})
        if RANK == 0:
            print(
                f"{way}: off by {worst:.1e}; {row['kernels']} kernels by {compiler()}", flush=True
            )
        assert worst < 1e-4, f"{way} differs from one rank by {worst:.1e} of what training changed"
    if RANK == 0 and options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"ranks": RANKS, "device": DEVICE, "rows": rows}, file, indent=1)
    leave()


if __name__ == "__main__":
    main()
