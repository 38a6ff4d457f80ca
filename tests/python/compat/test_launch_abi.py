"""Kernels of the launch ABI `triton`: their parameters, their threads, and their numbers when any launcher starts them."""

import functools
from types import SimpleNamespace

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from pantile import knobs
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource
from static_launcher import StaticLauncher, parameters_of, threads_of
from test_attention import attention, attention_kernel
from test_split_rows import softmax_kernel

ALIGNED = [["tt.divisibility", 16]]


@triton.jit
def one_tile(a, b, c, M, N, K, row, col, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols = row * BM + tl.arange(0, BM), col * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + deep[None, :], mask=(rows < M)[:, None], other=0.0)
        y = tl.load(b + deep[:, None] * N + cols[None, :], mask=(cols < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    inside = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    one_tile(a, b, c, M, N, K, tl.program_id(1), tl.program_id(0), BM, BN, BK)


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A CTA takes every so many tiles, as many as CTAs were launched."""
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        one_tile(a, b, c, M, N, K, tile // across, tile % across, BM, BN, BK)


@triton.jit
def described(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, col = tl.program_id(1) * BM, tl.program_id(0) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), acc)
    c_desc.store([row, col], acc)


@triton.jit
def scale(out, x, n, factor, negate, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n) * factor
    tl.store(out + i, tl.where(negate, -value, value), mask=i < n)


def compiled(kernel, types, constants, arch=90, aligned=True, compile=triton.compile, **options):
    names = kernel.arg_names
    signature = dict(zip(names, types.split()), **dict.fromkeys(constants, "constexpr"))
    attrs = {
        (i,): ALIGNED
        for i, name in enumerate(names)
        if aligned and (signature[name][0] == "*" or signature[name] == "i32")
    }
    source = ASTSource(
        kernel, signature, {(names.index(k),): v for k, v in constants.items()}, attrs
    )
    return compile(source, target=GPUTarget("cuda", arch, 32), options=options)


MATMUL = "*fp16 *fp16 *fp32 i32 i32 i32"
BLOCKS = {"BM": 64, "BN": 64, "BK": 64}


def on_gpu(device):
    if device.name == "cpu":
        pytest.skip("machine code is for GPUs")
    return getattr(device, "arch", 90)


def check_plain(kernel, arguments, num_warps):
    """The kernel takes its arguments and two pointers, and has the threads that were requested."""
    parameters = parameters_of(kernel.asm["ptx"], kernel.name)
    assert len(parameters) == arguments + 2 and parameters[-2:] == [".u64", ".u64"]
    assert threads_of(kernel.asm["ptx"]) == 32 * num_warps
    assert "cp.async.bulk.tensor" not in kernel.asm["ptx"]
    assert "cluster" not in kernel.asm["ptx"]
    metadata = kernel.metadata
    assert (metadata.launch_abi, metadata.num_warps) == ("triton", num_warps)
    assert (metadata.num_ctas, metadata.persistent) == (1, False)
    assert (metadata.global_scratch_size, metadata.profile_scratch_size) == (0, 0)
    assert kernel.packed_metadata == (num_warps, 1, metadata.shared)


@pytest.mark.parametrize(
    ("kernel", "grid", "options"),
    [
        (matmul, (3, 2, 1), {}),
        (matmul, (3, 2, 1), {"enabled_passes": "nv-stream-k,nv-tma-stores"}),
        (matmul, (3, 2, 1), {"num_warps": 8, "num_stages": 4}),
        (persistent, (2, 1, 1), {}),
        (described, (3, 2, 1), {}),
    ],
)
def test_launched_gemm(device, kernel, grid, options):
    """A launcher that is given only the parameters gets the right GEMM."""
    M, N, K = 128, 192, 256
    arch = on_gpu(device)
    made = compiled(kernel, MATMUL, BLOCKS, arch, launch_abi="triton", **options)
    check_plain(made, 6, options.get("num_warps", 4))
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    out = device.output((M, N), "fp32")
    StaticLauncher(made)(grid, device.to(a), device.to(b), out.array, M, N, K)
    check_gemm(out.numpy(), a, b)


@pytest.mark.parametrize("causal", [False, True])
def test_launched_attention(device, causal):
    """A launcher that is given only the parameters gets the right attention."""
    arch, (length, head) = on_gpu(device), (200, 64)
    constants = {"HEAD": head, "BLOCK_M": 64, "BLOCK_N": 64, "CAUSAL": causal}
    made = compiled(attention_kernel, "*fp16 *fp16 *fp16 *fp32 fp32 i32", constants, arch, False)
    check_plain(made, 6, 4)
    q, k, v = (random((2, length, head), "fp16", seed) for seed in range(3))
    out = device.output(q.shape, "fp32")
    arrays = [device.to(x) for x in (q, k, v)]
    grid = (triton.cdiv(length, 64), 2, 1)
    StaticLauncher(made)(grid, *arrays, out.array, head**-0.5, length)
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, causal), atol=2e-3, rtol=2e-3)


def test_a_row_that_a_cluster_would_have(device):
    cols = 70001
    made = compiled(
        softmax_kernel, "*fp32 *fp32 i32", {"BLOCK": 131072}, on_gpu(device), False, num_warps=32
    )
    check_plain(made, 3, 32)
    x = random((2, cols), "fp32", 3)
    out = device.output(x.shape, "fp32")
    StaticLauncher(made)((2, 1, 1), out.array, device.to(x), cols)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("negate", [0, 1])
def test_scalars_and_blocks_of_one_warp(device, num_warps, negate):
    constants, n = {"BLOCK": 128}, 1000
    types = "*fp32 *fp32 i32 fp32 i1"
    made = compiled(scale, types, constants, on_gpu(device), False, num_warps=num_warps)
    check_plain(made, 5, num_warps)
    x, out = random((n,), "fp32", 5), device.output((n,), "fp32")
    StaticLauncher(made)((8, 1, 1), out.array, device.to(x), n, 2.5, negate)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(-2.5 if negate else 2.5))


def test_launches_and_configurations_take_it(device):
    M, N, K = 128, 192, 256
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    config = triton.Config(BLOCKS, launch_abi="triton")
    tuned = triton.autotune(configs=[config], key=["M"])(matmul)
    assert "launch_abi: triton" in str(config) and config != triton.Config(BLOCKS)
    for kernel, keywords in ((matmul, {**BLOCKS, "launch_abi": "triton"}), (tuned, {})):
        out = device.output((M, N), "fp32")
        made = kernel[(3, 2)](device.to(a), device.to(b), out.array, M, N, K, **keywords)
        check_gemm(out.numpy(), a, b)
        if device.name != "cpu":
            check_plain(made, 6, 4)


# What follows compiles and launches nothing: no device is needed.


def test_default_launch_abi():
    plain = compiled(matmul, MATMUL, BLOCKS)
    check_plain(plain, 6, 4)
    full = compiled(matmul, MATMUL, BLOCKS, launch_abi="full")
    assert full.metadata.launch_abi == "full"
    assert "map" in parameters_of(full.asm["ptx"], "matmul")
    assert full.metadata.num_warps > 4 and full.hash != plain.hash
    auto = compiled(matmul, MATMUL, BLOCKS, launch_abi="auto")
    assert parameters_of(auto.asm["ptx"], "matmul") == parameters_of(full.asm["ptx"], "matmul")
    # The full ABI adds nothing here, so that any launcher may start the kernel.
    simple = compiled(scale, "*fp32 *fp32 i32 fp32 i1", {"BLOCK": 512}, launch_abi="auto")
    check_plain(simple, 5, 4)
    with pytest.raises(ValueError, match="`launch_abi` is 'plain'"):
        compiled(matmul, MATMUL, BLOCKS, launch_abi="plain")
    with knobs.runtime.scope():
        knobs.runtime.launch_abi = "full"
        assert compiled(matmul, MATMUL, BLOCKS).hash == full.hash
        assert compiled(matmul, MATMUL, BLOCKS, launch_abi="triton").hash == plain.hash
        knobs.runtime.launch_abi = "neither"
        with pytest.raises(ValueError, match="'neither', expected `triton`, `full` or `auto`"):
            compiled(matmul, MATMUL, BLOCKS)


def test_the_knob_counts_for_launches(device):
    M, N, K = 128, 192, 256
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    with knobs.runtime.scope():
        for name in ("triton", "auto"):
            knobs.runtime.launch_abi = name
            out = device.output((M, N), "fp32")
            made = matmul[(3, 2)](device.to(a), device.to(b), out.array, M, N, K, **BLOCKS)
            check_gemm(out.numpy(), a, b)
            if device.name != "cpu" and (on_gpu(device) == 90 or name == "triton"):
                assert made.metadata.launch_abi == ("triton" if name == "triton" else "full")


def as_inductor(inductor_meta, *arguments, **options):
    """Compile as Inductor's autotuner does, whose attributes say what the binary is for."""
    module = {"__name__": "torch._inductor.runtime.triton_heuristics", "triton": triton}
    text = "def _precompile_config(self, source, target, options):\n"
    exec(text + "    return triton.compile(source, target=target, options=options)\n", module)
    autotuner = SimpleNamespace(inductor_meta=inductor_meta)
    compile = functools.partial(module["_precompile_config"], autotuner)
    return compiled(*arguments, compile=compile, **options)


def test_inductor_gets_the_full_abi_unless_it_stores_the_code():
    launched = as_inductor({"store_cubin": False}, matmul, MATMUL, BLOCKS)
    assert launched.metadata.launch_abi == "full"
    for meta in ({"store_cubin": True}, {}):
        check_plain(as_inductor(meta, matmul, MATMUL, BLOCKS), 6, 4)
    with knobs.runtime.scope():
        knobs.runtime.launch_abi = "full"  # which would be wrong in a C++ launcher
        check_plain(as_inductor({"store_cubin": True}, matmul, MATMUL, BLOCKS), 6, 4)
        knobs.runtime.launch_abi = "triton"
        check_plain(as_inductor({"store_cubin": False}, matmul, MATMUL, BLOCKS), 6, 4)


@triton.jit
def doubled(out, x_desc, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i[:, None] * BLOCK + i[None, :], x_desc.load([0, 0]) * 2)


def test_descriptors_of_the_host_are_not_stored():
    types = "*fp16 tensordesc<fp16[64,64]>"
    made = as_inductor({"store_cubin": False}, doubled, types, {"BLOCK": 64}, aligned=False)
    assert made.metadata.tensordesc_meta == []
    plain = compiled(doubled, types, {"BLOCK": 64}, aligned=False, launch_abi="triton")
    assert plain.metadata.launch_abi == "full"  # as it takes the descriptor apart in its own order
    assert parameters_of(plain.asm["ptx"], "doubled")[1:6] == [".u64", *[".u32"] * 2, *[".u64"] * 2]
    with pytest.raises(NotImplementedError, match="parameter `x_desc` is a tensor descriptor"):
        as_inductor({"store_cubin": True}, doubled, types, {"BLOCK": 64}, aligned=False)
