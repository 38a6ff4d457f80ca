"""The process group of a measurement's ranks, and tutorial 09, whose kernels they run."""

import importlib.util
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def load_tutorial(root=ROOT):
    """Tutorial 09 of the checkout in `root`, as a module."""
    file = root / "tutorials/09-several-gpus.py"
    spec = importlib.util.spec_from_file_location("several_gpus", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def join(on_gpu=True):
    """Join the other ranks of a launcher; return whether each rank has a GPU of its own.

    By NCCL where each rank has a GPU. Ranks that share a GPU, for which NCCL is not made, and ranks
    on the CPU join by gloo: what they compute can be checked, and no time of theirs means anything.
    """
    if "WORLD_SIZE" not in os.environ:
        return True
    import torch

    gpus = torch.cuda.device_count() if on_gpu else 0
    if gpus:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % gpus)
    own = gpus >= int(os.environ["LOCAL_WORLD_SIZE"])
    if gpus and not own:
        os.environ["TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES"] = "1"
    torch.distributed.init_process_group("nccl" if own else "gloo")
    return own


def exchange(collective, *arguments):
    """A collective operation where there are several ranks; by the host's memory under gloo."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        return
    import torch

    distributed = torch.distributed
    if distributed.get_backend() != "gloo":
        getattr(distributed, collective)(*arguments)
        return
    is_array = [torch.is_tensor(argument) for argument in arguments]
    on_host = [a.cpu() if array else a for a, array in zip(arguments, is_array, strict=True)]
    getattr(distributed, collective)(*on_host)
    for argument, array, copy in zip(arguments, is_array, on_host, strict=True):
        if array:
            argument.copy_(copy)


def leave():
    """Leave when all have come as far: no rank frees memory that another one may still read."""
    if "WORLD_SIZE" in os.environ:
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
