"""NVSHMEM's own library in kernels, by torch's wrappers: each rank puts to the next and signals.

    torchrun --nproc-per-node=2 -m pantile.compat tests/gpu/bench/nvshmem_job.py

A rank alone puts them to itself. Needs GPUs, torch with NVSHMEM, and the wheel of its bitcode.
"""

import torch
import torch.distributed as distributed
import torch.distributed._symmetric_memory as symmetric
import torch.distributed._symmetric_memory._nvshmem_triton as nvshmem
import triton
import triton.language as tl
from rank_group import join, leave
from torch.distributed._symmetric_memory._nvshmem_triton import requires_nvshmem

COUNT, EPOCHS = 10_000, 4


@requires_nvshmem
@triton.jit(do_not_specialize=["epoch", "peer"])
def put_kernel(dest, source, n, signal, epoch, peer):
    nvshmem.putmem_signal_block(dest, source, n * 4, signal, epoch, 9, peer)


@requires_nvshmem
@triton.jit(do_not_specialize=["epoch"])
def wait_kernel(out, dest, n, signal, epoch, BLOCK: tl.constexpr):
    """Twice what has come, when its signal has."""
    nvshmem.signal_wait_until(signal, 0, epoch)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(dest + at, at < n), at < n)


def allocate(shape, dtype, device):
    memory = symmetric.empty(shape, dtype=dtype, device=device)
    memory.zero_()
    symmetric.rendezvous(memory, group=distributed.group.WORLD)
    return memory


def main():
    """Several epochs, each with other numbers, every element compared."""
    symmetric.set_backend("NVSHMEM")
    assert join(), "NVSHMEM's ranks have a GPU each"
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    device = torch.device("cuda", torch.cuda.current_device())
    dest, signal = allocate(COUNT, torch.float32, device), allocate(1, torch.int64, device)
    torch.cuda.synchronize()
    distributed.barrier()
    for epoch in range(1, EPOCHS + 1):
        sent = [
            torch.randn(COUNT, generator=torch.Generator().manual_seed(10 * epoch + i))
            for i in range(ranks)
        ]
        put_kernel[(1,)](dest, sent[rank].to(device), COUNT, signal, epoch, (rank + 1) % ranks)
        out = torch.full((COUNT,), float("nan"), device=device)
        wait_kernel[(triton.cdiv(COUNT, 1024),)](out, dest, COUNT, signal, epoch, BLOCK=1024)
        torch.testing.assert_close(out.cpu(), 2 * sent[rank - 1], rtol=0, atol=0)
        distributed.barrier()
    if rank == 0:
        print(f"{EPOCHS} epochs are right on {ranks} ranks, by {triton.__name__}")
    leave()


if __name__ == "__main__":
    main()
