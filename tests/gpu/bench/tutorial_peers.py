"""What Triton's tutorials do, on Triton: the peers of our tutorials.

Softmax by programs that walk over rows, dropout, layer norm in three walks over a row, its gradients
under a lock for each row, attention over descriptors and its gradients in one kernel. The kernels
are those of `streams.py` and `attention_kernels.py`, launched with the blocks, warps and grids that
Triton 3.6's tutorials use; the gradients of layer norm are below.
"""

from pathlib import Path

import attention_kernels
import kernels
import torch
import triton
import triton.language as tl

streams = kernels.load("triton", Path(__file__).with_name("streams.py"))


@triton.jit
def norm_gradients_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, n,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """dx of one row, and its part of dw and db added to a group's buffer under the group's lock."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    group = row % GROUPS
    lock_ptr += group
    used_ptr = lock_ptr + GROUPS
    dw_ptrs = dw_ptr + group * n + cols
    db_ptrs = db_ptr + group * n + cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(normal * wdy, axis=0) / n
    c2 = tl.sum(wdy, axis=0) / n
    tl.store(dx_ptr + row * stride + cols, (wdy - (normal * c1 + c2)) * rstd, mask=mask)
    dw = (dy * normal).to(w.dtype)
    db = dy.to(w.dtype)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(used_ptr) == 0:
        tl.atomic_xchg(used_ptr, 1)
    else:
        dw += tl.load(dw_ptrs, mask=mask)
        db += tl.load(db_ptrs, mask=mask)
    tl.store(dw_ptrs, dw, mask=mask)
    tl.store(db_ptrs, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def sum_groups_kernel(
    dw_ptr, db_ptr, dw_out_ptr, db_out_ptr, groups, n, ROWS: tl.constexpr, COLS: tl.constexpr
):
    """Sums over the groups' buffers."""
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    dw = tl.zeros((ROWS, COLS), dtype=tl.float32)
    db = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for first in range(0, groups, ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows[:, None] < groups) & (cols[None, :] < n)
        at = rows[:, None] * n + cols[None, :]
        dw += tl.load(dw_ptr + at, mask=mask, other=0.0)
        db += tl.load(db_ptr + at, mask=mask, other=0.0)
    tl.store(dw_out_ptr + cols, tl.sum(dw, axis=0), mask=cols < n)
    tl.store(db_out_ptr + cols, tl.sum(db, axis=0), mask=cols < n)


def add(x, y):
    """x + y."""
    out = torch.empty_like(x)
    streams.add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out


def dropout(x, p, seed):
    """Seeded dropout."""
    out = torch.empty_like(x)
    n = x.numel()
    streams.dropout_kernel[(triton.cdiv(n, 1024),)](x, out, n, p, seed, BLOCK=1024)
    return out


GRIDS = {}


def softmax_grid(block, arguments, constants):
    """As many programs as fit the GPU at once, by the registers that the kernel needs."""
    if block not in GRIDS:
        compiled = streams.softmax_walk_kernel.warmup(*arguments, **constants, grid=(1,))
        compiled._init_handles()
        facts = torch.cuda.get_device_properties(0)
        fit = 65536 // (max(compiled.n_regs, 1) * 32 * constants["num_warps"])
        if compiled.metadata.shared:
            fit = min(fit, 232448 // compiled.metadata.shared)
        GRIDS[block] = facts.multi_processor_count * max(fit, 1)
    return GRIDS[block]


def softmax(x):
    """Softmax of each row, 8 warps and 4 stages."""
    rows, cols = x.shape
    out, block = torch.empty_like(x), triton.next_power_of_2(cols)
    arguments = (out, x, out.stride(0), x.stride(0), rows, cols)
    constants = {"BLOCK": block, "STAGES": 4, "num_warps": 8}
    grid = min(rows, softmax_grid(block, arguments, constants))
    streams.softmax_walk_kernel[(grid,)](*arguments, **constants)
    return out


def norm_warps(n):
    """Warps for rows of n elements."""
    return min(max(triton.next_power_of_2(n) // 256, 1), 8)


def norm(x, w, b, eps=1e-5):
    """Layer norm: y, mean, rstd."""
    rows, n = x.shape
    y = torch.empty_like(x)
    mean, rstd = (torch.empty(rows, dtype=torch.float32, device="cuda") for _ in range(2))
    block = min(65536 // x.element_size(), triton.next_power_of_2(n))
    streams.layer_norm_walks_kernel[(rows,)](
        x, y, w, b, mean, rstd, x.stride(0), n, eps, BLOCK=block, num_warps=norm_warps(n)
    )
    return y, mean, rstd


def norm_gradients(dy, x, w, mean, rstd):
    """dx, dw, db."""
    rows, n = x.shape
    groups = 256 if n <= 1024 else 128 if n <= 4096 else 96 if n <= 8192 else 64
    locks = torch.zeros(2 * groups, dtype=torch.int32, device="cuda")
    parts = [torch.zeros((groups, n), dtype=x.dtype, device="cuda") for _ in range(2)]
    dx, dw, db = torch.empty_like(dy), torch.empty_like(w), torch.empty_like(w)
    norm_gradients_kernel[(rows,)](
        dx, dy, *parts, x, w, mean, rstd, locks, x.stride(0), n,
        GROUPS=groups, BLOCK=triton.next_power_of_2(n), num_warps=norm_warps(n),
    )  # fmt: skip
    sum_groups_kernel[(triton.cdiv(n, 128),)](
        *parts, dw, db, min(groups, rows), n, ROWS=32, COLS=128
    )
    return dx, dw, db


attention_module = attention_kernels.load("triton")


def attention(q, k, v, causal, scale, config):
    """O and log2 of the sums; `config` is (tile of queries, tile of keys, stages, warps)."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, stages, warps = config
    heads, length, depth = q.shape
    o, lse = torch.empty_like(q), torch.empty((heads, length), device="cuda")
    views = [
        TensorDescriptor(x, [heads * length, depth], [depth, 1], [block, depth])
        for x, block in ((q, m), (k, n), (v, n), (o, m))
    ]
    attention_module.descriptor_kernel[(length // m, heads)](
        *views, lse, scale, length, HEAD=depth, BLOCK_M=m, BLOCK_N=n, CAUSAL=causal,
        num_stages=stages, num_warps=warps,
    )  # fmt: skip
    return o, lse


def attention_gradients(do, q, k, v, o, lse, causal, scale, stages=5):
    """dQ, dK, dV by blocks of 32 × 128, 4 warps and 5 stages; fewer where those do not fit."""
    heads, length, depth = q.shape
    delta = torch.empty_like(lse)
    dq, dk, dv = (torch.empty_like(q) for _ in range(3))
    scaled = k * (scale * 1.4426950408889634)
    attention_module.delta_kernel[(heads * length // 128,)](o, do, delta, BLOCK=128, HEAD=depth)
    attention_module.backward_kernel[(length // 128, heads)](
        q, scaled, v, scale, do, dq, dk, dv, lse, delta, length * depth, depth, length,
        BLOCK_M1=32, BLOCK_N1=128, BLOCK_M2=128, BLOCK_N2=32, SLICES=2, HEAD=depth, CAUSAL=causal,
        num_stages=stages, num_warps=4,
    )  # fmt: skip
    return dq, dk, dv
