"""Kernels of every kind, assembled for every family of GPUs, on the best path that each one has.

Ampere (8.0, 8.6) and Ada (8.9): cp.async, ldmatrix, mma.sync; fp8 dots from 8.9 on. Hopper
(9.0a): wgmma and tensor maps. Blackwell (10.0a, 12.0a) takes Ada's path. What can run here or on
the GPU at hand is run by other tests.
"""

import functools
import re

import pantile as triton
import pantile.language as tl
import pytest
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource
from pantile.compiler.kernel import prepare
from pantile.runtime.snapshot import Snapshot

TARGETS = [80, 86, 89, 90, 100, 120]


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] + columns[None, :] * K
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=depth[None, :] < K - k, other=0)
        b = tl.load(b_ptrs, mask=depth[:, None] < K - k, other=0)
        acc = tl.dot(a, b, acc, out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@triton.jit
def descriptor_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    at_m, at_n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([at_m, k]), b.load([at_n, k]).T, acc)
    c.store([at_m, at_n], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    rows, inner = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + inner[None, :])
    best = tl.full((M,), float("-inf"), tl.float32)
    total, acc = tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for start in range(0, n, N):
        columns = start + tl.arange(0, N)
        k = tl.load(k_ptr + columns[None, :] * D + inner[:, None])
        s = tl.dot(q, k) * scale
        s = tl.where(rows[:, None] >= columns[None, :], s, float("-inf"))
        now = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp(s - now[:, None]), tl.exp(best - now)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + columns[:, None] * D + inner[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        best = now
    out = (acc / total[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + rows[:, None] * D + inner[None, :], out)


@triton.jit
def scaled_kernel(a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, N: tl.constexpr, K: tl.constexpr):
    at, depth, groups = tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    a = tl.load(a_ptr + at[:, None] * K + depth[None, :])
    b = tl.load(b_ptr + depth[:, None] * N + at[None, :])
    sa = tl.load(sa_ptr + at[:, None] * (K // 32) + groups[None, :])
    sb = tl.load(sb_ptr + at[:, None] * (K // 32) + groups[None, :])
    c = tl.dot_scaled(a, sa, "e4m3", b, sb, "e5m2")
    tl.store(c_ptr + at[:, None] * N + at[None, :], c)


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + row * n + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / n
    centred = tl.where(inside, x - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, 0) / n + eps)
    y = centred * inverse * tl.load(w_ptr + at, mask=inside) + tl.load(b_ptr + at, mask=inside)
    tl.store(y_ptr + row * n + at, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def softmax_kernel(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=float("-inf"))
        e = tl.exp(x - tl.max(x, 0))
        tl.store(y_ptr + row * n + at, e / tl.sum(e, 0), mask=at < n)


@triton.jit
def atomics_kernel(half_ptr, brain_ptr, float_ptr, int_ptr, lock_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(half_ptr + at % 16, (at * 0.5).to(tl.float16), mask=at < n)
    tl.atomic_add(brain_ptr + at % 16, (at * 0.5).to(tl.bfloat16), mask=at < n)
    old = tl.atomic_add(float_ptr + at % 16, at * 0.25, mask=at < n, sem="acq_rel", scope="gpu")
    tl.atomic_max(float_ptr + 16 + at % 16, old, mask=at < n)
    tl.atomic_xor(int_ptr + at % 16, at, mask=at < n, sem="relaxed", scope="sys")
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(int_ptr + 32, tl.load(int_ptr + 32) + 1)
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def sort_kernel(x_ptr, y_ptr, h_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.sort(x, descending=True))
    tl.store(y_ptr + BLOCK + tl.arange(0, 16), tl.topk(x, 16))
    bins = tl.histogram((x * 4).to(tl.int32) & 31, 32)
    tl.store(h_ptr + tl.arange(0, 32), bins)
    tl.store(y_ptr + at, tl.gather(tl.flip(x), (at * 7) % BLOCK, 0))


@triton.jit
def convert_kernel(x_ptr, y_ptr, z_ptr, b_ptr, w_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x.to(tl.float8e5))
    tl.store(z_ptr + at, x.to(tl.float8e4nv))
    back = tl.load(z_ptr + at).to(tl.float16) + tl.load(y_ptr + at).to(tl.float16)
    brain = back.to(tl.bfloat16) * tl.load(b_ptr + at)
    tl.store(b_ptr + at, tl.maximum(brain, 0.0) + x.to(tl.bfloat16, fp_downcast_rounding="rtne"))
    tl.store(w_ptr + at, brain.to(tl.float64) + tl.load(w_ptr + at))


@triton.jit
def scan_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + at)
    down = tl.cumsum(x, 0) + tl.cumprod(x, 1, reverse=True)
    tl.store(y_ptr + at, down + tl.argmax(x, 1)[:, None] + tl.trans(tl.trans(x) + 1.0))


def _matmul(a, c, acc, block=(64, 64, 64)):
    return matmul_kernel, [f"*{a}", f"*{a}", f"*{c}", "i32", "i32", "i32"], [*block, acc]


KERNELS = {
    "fp16": _matmul("fp16", "fp16", tl.float32),
    "fp16 in fp16": _matmul("fp16", "fp16", tl.float16),
    "bf16": _matmul("bf16", "bf16", tl.float32),
    "tf32": _matmul("fp32", "fp32", tl.float32, (64, 64, 32)),
    "fp64": _matmul("fp64", "fp64", tl.float64, (32, 32, 16)),
    "i8": _matmul("i8", "i32", tl.int32),
    "fp8e4nv": _matmul("fp8e4nv", "fp32", tl.float32),
    "fp8e5": _matmul("fp8e5", "fp32", tl.float32),
    "descriptors": (descriptor_kernel, ["*fp16"] * 3 + ["i32"] * 3, [64, 64, 32]),
    "scaled": (scaled_kernel, ["*fp8e4nv", "*fp8e5", "*u8", "*u8", "*fp32"], [64, 64]),
    "attention": (attention_kernel, ["*fp16"] * 4 + ["i32", "fp32"], [64, 64, 64]),
    "layer norm": (layer_norm_kernel, ["*bf16"] * 4 + ["i32", "fp32"], [1024]),
    "softmax": (softmax_kernel, ["*fp32", "*fp32", "i32", "i32"], [1024]),
    "atomics": (atomics_kernel, ["*fp16", "*bf16", "*fp32", "*i32", "*i32", "i32"], [256]),
    "sort": (sort_kernel, ["*fp32", "*fp32", "*i32"], [256]),
    "conversion": (convert_kernel, ["*fp32", "*fp8e5", "*fp8e4nv", "*bf16", "*fp64"], [512]),
    "scan": (scan_kernel, ["*fp32", "*fp32"], [32, 64]),
}
ON_TENSOR_CORES = {"fp16", "fp16 in fp16", "bf16", "tf32", "i8", "fp8e4nv", "fp8e5", "attention"}


def _compile(kernel, signature, constants, target, **options):
    """Compile as a launch does, with tensor maps where they help."""
    names = kernel.arg_names
    types = dict(zip(names, [*signature, *["constexpr"] * len(constants)], strict=True))
    values = {(len(signature) + i,): value for i, value in enumerate(constants)}
    aligned = [i for i, kind in enumerate(signature) if kind[0] == "*" or kind == "i32"]
    attrs = {(i,): [["tt.divisibility", 16]] for i in aligned}
    source = ASTSource(kernel, types, values, attrs)
    snapshot = Snapshot(kernel)
    specialization = source.specialization(snapshot.constant)
    name = GPUTarget("cuda", target, 32).name
    try:
        return prepare(snapshot.program(), specialization, name, options, source)()
    except Exception as error:
        if re.search(
            r"not defined for option 'gpu-name'|Unsupported .*version|no usable", str(error)
        ):
            pytest.skip(f"the assembler does not know sm_{target}")
        raise


@functools.cache
def _compiled(name, target):
    return _compile(*KERNELS[name], target)


def _is_serialised(kernel):
    """Whether ptxas said so, if only before the kernel was compiled again with less overlap."""
    said = [kernel.warnings]
    if "wgmma" in kernel.asm["ptx"]:
        said += [remark.message for remark in kernel.remarks]
    return any(re.search("assembler serialise|Performance Loss", text) for text in said)


def _mma_instructions(name, target):
    """The kinds of MMA instructions in the PTX, and whether operands come by ldmatrix."""
    ptx = _compiled(name, target).asm["ptx"]
    return set(re.findall(r"\b(?:wgmma\.mma_async|mma)\.sync\.aligned\S*", ptx)), ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_assembles(name, target):
    """A kernel is assembled for a target without serialised wgmma or large spills."""
    kernel = _compiled(name, target)
    assert kernel.asm["cubin"][:4] == b"\x7fELF"
    assert f".target sm_{target}" in kernel.asm["ptx"]
    assert not _is_serialised(kernel), kernel.warnings
    assert kernel.n_spills <= 64


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(ON_TENSOR_CORES))
def test_dots_run_on_tensor_cores(name, target):
    instructions, ptx = _mma_instructions(name, target)
    assert instructions, "no tensor cores"
    on_wgmma = target == 90
    assert all(("wgmma" in i) == on_wgmma for i in instructions), instructions
    is_widened = name.startswith("fp8") and target < 89  # in registers, on the way
    if not on_wgmma and not is_widened:
        assert "ldmatrix.sync" in ptx
        assert "cp.async.cg.shared.global" in ptx or "cp.async.ca.shared.global" in ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name, kind", [("fp8e4nv", "e4m3.e4m3"), ("fp8e5", "e5m2.e5m2")])
def test_fp8_dots_are_native_where_they_can_be(name, kind, target):
    instructions, _ = _mma_instructions(name, target)
    wanted = kind if target >= 89 else "f16.f16"
    assert all(wanted in instruction for instruction in instructions), instructions


@pytest.mark.parametrize("block, warps, stages", [
    ((128, 256, 64), 8, 3), ((64, 256, 32), 4, 4), ((128, 128, 64), 4, 4), ((128, 128, 32), 8, 3),
    ((256, 128, 64), 8, 3), ((64, 32, 128), 4, 1),
])  # fmt: skip
@pytest.mark.parametrize("name", ["fp16", "i8"])
def test_mmas_are_not_serialised(name, block, warps, stages):
    """ptxas would say so (C7510, C7514), and serialise them, where it cannot see a wait."""
    kernel, signature, (*_, acc) = KERNELS[name]
    compiled = _compile(kernel, signature, [*block, acc], 90, num_warps=warps, num_stages=stages)
    assert "wgmma" in compiled.asm["ptx"]
    assert not _is_serialised(compiled) and compiled.n_spills <= 64


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("rows, columns, warps", [(128, 128, 8), (64, 64, 4)])
def test_attention_is_not_serialised(rows, columns, warps, depth):
    kernel, signature, _ = KERNELS["attention"]
    constants = [rows, columns, depth]
    compiled = _compile(kernel, signature, constants, 90, num_warps=warps, num_stages=2)
    assert "wgmma" in compiled.asm["ptx"]
    assert not _is_serialised(compiled) and compiled.n_spills <= 64


@triton.jit
def label_kernel(x_ptr, label_ptr, lse_ptr, n, BLOCK: tl.constexpr):
    """The gradient of a cross entropy in place: every column is compared with a label of 64 bits."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    lse = tl.load(lse_ptr + row)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < n
        x = tl.load(x_ptr + row * n + columns, mask=inside, other=float("-inf")).to(tl.float32)
        p = tl.exp(x - lse)
        p = tl.where(columns != label, p, p - 1.0)
        tl.store(x_ptr + row * n + columns, p / n, mask=inside)


def test_threads_with_few_registers_do_not_spill():
    """What a loop compares with stays out of the registers of 1024 threads."""
    signature = ["*bf16", "*i64", "*fp32", "i32"]
    compiled = _compile(label_kernel, signature, [32768], 90, num_warps=32)
    assert compiled.n_regs <= 64 and compiled.n_spills == 0
