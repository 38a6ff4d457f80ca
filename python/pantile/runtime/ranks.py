"""Which processes are ranks of one run, and their common logs.

Ranks are those of torch.distributed's process group, or, before there is one, those that a launcher
numbered in the environment: torchrun, Open MPI, MPICH, Slurm, or a script that sets RANK and
WORLD_SIZE.
"""

import functools
import os
import sys

from .. import knobs
from .agreement import LogError
from .rank_logs import FileLog, KeyValueLog, folder_of_run, log_errors

_PREFIX = "pantile/tuning"

# Where launchers write a rank's number, and how many there are.
_NUMBERS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)

# What is the same for all ranks of a run, and differs between runs, as far as the launcher says.
_RUN = (
    "TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT MASTER_ADDR MASTER_PORT "
    "PMIX_NAMESPACE PBS_JOBID LSB_JOBID SLURM_JOB_ID SLURM_STEP_ID SLURM_RESTART_COUNT"
).split()


def log_of(question):
    """Return the common log of the ranks for `question`, a digest; None if there are no other ranks.

    LogError where there are others, but nothing can be shared with them.
    """
    if not knobs.autotuning.across_ranks:
        return None
    with log_errors():
        store = _store_of_group()
    if store is not None:
        return KeyValueLog(store, question)
    identity = run_identity()
    if identity is None:
        return None
    from .. import _pantile

    knobs.export()  # where the kernel cache is
    folder = _folder(tuple(identity.items()), _pantile.cache_directory())
    if folder is None:
        raise LogError("neither the kernel cache nor the folder for temporary files takes files")
    return FileLog(folder, question)


def _store_of_group():
    """The store of torch's default process group, if that has several ranks."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    if distributed.get_world_size() < 2 or distributed.get_backend() == "fake":
        return None
    from torch.distributed.distributed_c10d import PrefixStore, _get_default_store

    store = _get_default_store()
    return None if store is None else PrefixStore(_PREFIX, store)


@functools.lru_cache(maxsize=8)
def _folder(identity, cache):
    return folder_of_run(dict(identity), cache)


def run_identity():
    """Return what the launcher says of this run, {name: text}; None for a process without a number.

    It is the same for all ranks, and may be that of an earlier run.
    """
    for rank, size in _NUMBERS:
        count = os.environ.get(size, "")
        if rank in os.environ and count.isdecimal() and int(count) > 1:
            break
    else:
        return None
    if knobs.autotuning.run_id:
        return {"run": knobs.autotuning.run_id}
    return {"ranks": count, **{name: os.environ[name] for name in _RUN if name in os.environ}}
