"""What the compiler says about speed, and passes that are left out: by launches, tuners and knobs."""

import re
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from pantile import knobs
from pantile.backends.compiler import GPUTarget
from pantile.compiler.remarks import list_passes

HOPPER, AMPERE = GPUTarget("cuda", 90, 32), GPUTarget("cuda", 80, 32)
TECHNIQUES = {
    "tensor cores", "tensor maps", "warp specialisation", "pipelining", "persistence", "registers",
    "shared memory", "global memory", "other",
}  # fmt: skip


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & (depth[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(depth[:, None] < K - k) & (columns < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def strided_kernel(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at * stride))


def _source(kernel, signature, constants):
    types = dict(zip(kernel.arg_names, [*signature, *["constexpr"] * len(constants)], strict=True))
    names = kernel.arg_names[len(signature) :]
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))}
    values = dict(zip(((kernel.arg_names.index(n),) for n in names), constants, strict=True))
    return triton.compiler.ASTSource(kernel, types, values, attrs)


def _gemm(target, block=(128, 128, 64), **options):
    signature = ["*fp16"] * 3 + ["i32"] * 3
    return triton.compile(_source(matmul_kernel, signature, block), target, options)


def _line(text):
    """The line of this file that holds `text`."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def test_remarks_of_a_kernel():
    remarks = _gemm(AMPERE).remarks
    assert {r.technique for r in remarks} <= TECHNIQUES
    assert [r.line for r in remarks] == sorted(r.line for r in remarks)
    dot = next(r for r in remarks if r.technique == "tensor cores")
    assert dot.kind == "applied" and "mma.sync" in dot.message
    assert dot.file == __file__ and dot.line == _line("acc = tl.dot(a, b, acc)")
    assert str(dot).startswith(f"{__file__}:{dot.line}:{dot.column}: remark: this dot runs on")
    loads = [r for r in remarks if r.technique == "pipelining"]
    assert [r.line for r in loads] == [_line("a = tl.load(a_ptrs"), _line("b = tl.load(b_ptrs")]
    assert all("prefetched 2 iterations ahead" in r.message for r in loads)


def test_registers_are_those_of_the_kernel():
    kernel = _gemm(HOPPER)
    figure = next(r for r in kernel.remarks if r.kind == "figure")
    numbers = [int(n) for n in re.findall(r"\d+", figure.message)]
    assert numbers == [kernel.n_regs, kernel.metadata.shared]


def test_a_strided_load_has_a_remark():
    source = _source(strided_kernel, ["*fp32", "*fp32", "i32"], [1024])
    (told,) = (r for r in triton.compile(source, HOPPER).remarks if "coalesced" in r.message)
    assert told.kind == "missed" and told.technique == "global memory"
    assert told.line == _line("tl.load(x_ptr + at * stride)")


def test_no_remarks_on_the_cpu():
    source = _source(strided_kernel, ["*fp32", "*fp32", "i32"], [64])
    assert triton.compile(source, GPUTarget("cpu", "cpu", 1)).remarks == []


def test_knob_prints_them(monkeypatch, capfd):
    _gemm(AMPERE)
    assert "remark" not in capfd.readouterr().err
    monkeypatch.setenv("PANTILE_REMARKS", "1")
    _gemm(AMPERE)  # of the cache by now: compiled again all the same
    told = capfd.readouterr().err
    assert f"{__file__}:{_line('acc = tl.dot')}:" in told and "mma.sync" in told


def test_a_knob_that_is_assigned_prints_them(capfd):
    with knobs.compilation.scope():
        knobs.compilation.remarks = True
        _gemm(AMPERE, block=(64, 64, 32))
    assert "remark: this dot runs on" in capfd.readouterr().err


@pytest.mark.parametrize("passes", ["nv-schedule-loops", ("nv-schedule-loops", "cse")])
def test_a_pass_is_left_out(passes):
    assert "cp.async" in _gemm(AMPERE).asm["ptx"]
    kernel = _gemm(AMPERE, disabled_passes=passes)
    assert "cp.async" not in kernel.asm["ptx"]
    assert not any(r.technique == "pipelining" for r in kernel.remarks)


def test_a_limit_of_registers_keeps_warps_alike():
    told = [r.message for r in _gemm(HOPPER, maxnreg=168).remarks]
    assert any("`maxnreg` would bind" in text for text in told)
    assert not any("`maxnreg`" in r.message for r in _gemm(HOPPER).remarks)


def test_dots_without_wgmma():
    assert "wgmma.mma_async" in _gemm(HOPPER).asm["ptx"]
    kernel = _gemm(HOPPER, disabled_passes="wgmma")
    assert "wgmma" not in kernel.asm["ptx"] and "mma.sync.aligned.m16n8k16" in kernel.asm["ptx"]
    (told,) = (r for r in kernel.remarks if r.technique == "tensor cores")
    assert told.message.endswith("not on wgmma: it is switched off")


def test_each_optional_pass_can_be_left_out():
    """Without any one of them the kernel still compiles."""
    for step in list_passes():
        if step.is_optional:
            assert _gemm(HOPPER, block=(64, 64, 32), disabled_passes=step.name).asm["cubin"]


@pytest.mark.parametrize("name, message", [
    ("nv-make-coffee", "there is no pass `nv-make-coffee`"),
    ("tile-assign-layouts", "`tile-assign-layouts` cannot be left out"),
])  # fmt: skip
def test_what_cannot_be_left_out(name, message):
    with pytest.raises(Exception, match=re.escape(message)):
        _gemm(AMPERE, disabled_passes=name)


@pytest.mark.parametrize("form", ["parameter", "keyword"])
def test_a_configuration_names_passes(device, form):
    left_out = ("nv-schedule-loops", "nv-specialise-warps")
    blocks = {"BM": 64, "BN": 64, "BK": 32}
    named = (
        triton.Config(blocks, disabled_passes=left_out)
        if form == "parameter"
        else triton.Config({**blocks, "disabled_passes": ",".join(left_out)})
    )
    tuned = triton.autotune([triton.Config(blocks), named], key=["M"])(matmul_kernel)
    a, b = random((64, 96), "fp16", 3), random((96, 64), "fp16", 4)
    out = device.output((64, 64), "fp16")
    arrays = device.to(a), device.to(b), out.array
    tuned[(1, 1)](*arrays, 64, 64, 96)
    check_gemm(out.numpy(), a, b)
    alone = triton.autotune([named], key=["M"])(matmul_kernel)
    kernel = alone[(1, 1)](*arrays, 64, 64, 96)
    check_gemm(out.numpy(), a, b)
    assert set(kernel.metadata.disabled_passes.split(",")) == set(left_out)


def test_configurations_with_other_passes_differ():
    plain, other = triton.Config({"B": 1}), triton.Config({"B": 1}, disabled_passes=["cse"])
    assert plain != other and hash(plain) != hash(other)
    assert other == triton.Config({"B": 1}, disabled_passes="cse")
    assert "disabled_passes: cse" in str(other) and "disabled" not in str(plain)


def test_configurations_with_further_passes_differ():
    plain, other = triton.Config({"B": 1}), triton.Config({"B": 1}, enabled_passes=["cse", "wgmma"])
    assert plain != other and hash(plain) != hash(other)
    assert other == triton.Config({"B": 1}, enabled_passes="cse,wgmma")
    assert "enabled_passes: cse,wgmma" in str(other) and "enabled" not in str(plain)


def test_a_pass_that_is_on_may_be_switched_on():
    assert _gemm(AMPERE, enabled_passes="cse").asm["ptx"] == _gemm(AMPERE).asm["ptx"]
    with pytest.raises(Exception, match="there is no pass `nv-make-tea` to switch on"):
        _gemm(AMPERE, enabled_passes=("cse", "nv-make-tea"))


def test_a_pass_is_switched_on_and_off():
    passes = {"enabled_passes": "nv-schedule-loops", "disabled_passes": "nv-schedule-loops"}
    assert "cp.async" not in _gemm(AMPERE, **passes).asm["ptx"]


@pytest.mark.parametrize("name", [p.name for p in list_passes() if not p.is_default])
def test_results_with_a_further_pass(device, name):
    """Loads by a producer, by cp.async into wgmma and into mma.sync, with masks that end within a tile."""
    a, b = random((136, 72), "fp16", 5), random((72, 200), "fp16", 6)
    for warps, left_out in [(4, ""), (4, "nv-specialise-warps"), (2, "")]:
        out = device.output((136, 200), "fp16")
        options = {"num_warps": warps, "disabled_passes": left_out, "enabled_passes": name}
        matmul_kernel[(3, 4)](
            device.to(a), device.to(b), out.array, 136, 200, 72, 64, 64, 32, **options
        )
        check_gemm(out.numpy(), a, b)


@triton.jit
def divisions_kernel(out, a_ptr, b_ptr, n, by):
    for i in range(n):
        a, b = tl.load(a_ptr + i), tl.load(b_ptr + i)
        tl.store(out + 4 * i, a % b)
        tl.store(out + 4 * i + 1, a // b)
        if a > by:
            tl.store(out + 4 * i + 2, (a + 1) // by)
        tl.store(out + 4 * i + 3, (n - a) % by + tl.program_id(0) // by)


def test_quotients_of_scalars(device):
    """Of numbers of both signs, smaller and larger than what divides them, and of extremes."""
    a, b = np.random.default_rng(7).integers(-99, 99, (2, 200)).astype(np.int32)
    b[b == 0] = 3
    a[:4], b[:4] = [2**31 - 1, -(2**31), 5, 0], [-1, 2, 2**31 - 1, -7]
    out, n, by = device.output((200, 4), "i32"), 200, 13
    divisions_kernel[(1,)](out.array, device.to(a), device.to(b), n, by)

    def cut(x, y):
        return np.trunc(x / y)

    a, b = a.astype(np.float64), b.astype(np.float64)
    left = (n - a + 2**31) % 2**32 - 2**31
    quotients = np.where(a > by, cut((a + 1 + 2**31) % 2**32 - 2**31, by), 0)
    wanted = np.stack([a - cut(a, b) * b, cut(a, b), quotients, left - cut(left, by) * by], axis=1)
    seen = out.numpy().astype(np.float64)
    seen[a <= by, 2] = 0
    np.testing.assert_array_equal(seen, wanted)


@pytest.mark.parametrize("target", [HOPPER, AMPERE])
def test_all_further_passes_together(target):
    """They are passed to the compiler, which makes machine code with all of them."""
    names = {p.name for p in list_passes() if not p.is_default}
    for warps in (2, 4):
        further = _gemm(target, num_warps=warps, enabled_passes=",".join(names))
        assert further.asm["cubin"]
        assert set(filter(None, further.metadata.enabled_passes.split(","))) == names


def test_every_pass_is_documented():
    page = (Path(__file__).parents[3] / "docs" / "passes.md").read_text()
    sections = dict(re.findall(r"^### (\S+)\n\n(.*)\n", page, re.M))
    for step in list_passes():
        assert step.name in sections, f"docs/passes.md lacks `{step.name}`"
        summary = sections[step.name].lower()
        assert ("needed:" in summary) == (not step.is_optional), step.name
        assert ("off by default" in summary) == (not step.is_default), step.name
