"""`compile` of a file: tile IR is compiled and launched; the rest is refused with Triton's errors."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource
from static_launcher import parameters_of, threads_of

SM_90 = GPUTarget("cuda", 90, 32)
BLOCK = 128


@triton.jit
def saxpy(out, x, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * factor + tl.load(out + i, mask=i < n), mask=i < n)


@triton.jit
def matmul(out, a, b, K, B: tl.constexpr):
    i, j, k = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :], tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        left = tl.load(a + i * K + (start + k)[None, :])
        acc = tl.dot(left, tl.load(b + (start + k)[:, None] * B + j), acc)
    tl.store(out + i * B + j, acc)


def text_of(kernel, types, constants, aligned=()):
    names = kernel.arg_names
    signature = dict(zip(names, types.split()), **dict.fromkeys(constants, "constexpr"))
    attrs = {(i,): [["tt.divisibility", 16]] for i in aligned}
    values = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, signature, values, attrs)
    return triton.compile(source, target=SM_90).asm["ttir"]


def target_of(device):
    if device.name == "cpu":
        return GPUTarget("cpu", "cpu", 1)
    return GPUTarget("cuda", getattr(device, "arch", 90), 32)


@pytest.fixture
def saxpy_file(tmp_path):
    path = tmp_path / "saxpy.ttir"
    path.write_text(text_of(saxpy, "*fp32 *fp32 i32 fp32", {"BLOCK": BLOCK}, aligned=(0,)))
    return path


@pytest.mark.parametrize("num_warps", [1, 4])
def test_a_file_is_compiled_and_launched(device, saxpy_file, num_warps):
    options = {"num_warps": num_warps}
    kernel = triton.compile(str(saxpy_file), target=target_of(device), options=options)
    assert (kernel.name, kernel.src.ext) == ("saxpy", "ttir")
    assert kernel.src.signature == {0: "*f32", 1: "*f32", 2: "i32", 3: "f32"}
    n = 1000
    x, y = random((n,), "fp32", 1), random((n,), "fp32", 2)
    out = device.to(y.copy())
    kernel[(triton.cdiv(n, BLOCK),)](out, device.to(x), n, 1.5)
    np.testing.assert_allclose(device.numpy(out), x * np.float32(1.5) + y, rtol=1e-6, atol=1e-6)
    if device.name != "cpu":
        assert threads_of(kernel.asm["ptx"]) == 32 * num_warps == 32 * kernel.metadata.num_warps


def test_a_product(device, tmp_path):
    K, B = 96, 32
    path = tmp_path / "matmul.mlir"
    path.write_text(text_of(matmul, "*fp32 *fp16 *fp16 i32", {"B": B}))
    a, b = random((B, K), "fp16", 3), random((K, B), "fp16", 4)
    out = device.output((B, B), "fp32")
    kernel = triton.compile(path, target=target_of(device))
    kernel[(1,)](out.array, device.to(a), device.to(b), K)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-3)


def test_the_signature_is_part_of_the_key(saxpy_file):
    """The promises of a signature are checked at the launch, and another signature is another kernel."""
    kernel = triton.compile(str(saxpy_file), target=SM_90)
    assert kernel.src.divisors == {0: 16} and kernel.metadata.launch_abi == "triton"
    assert parameters_of(kernel.asm["ptx"], "saxpy")[:3] == [".u64", ".u64", ".u32"]
    saxpy_file.write_text(saxpy_file.read_text().replace("arith.mulf", "arith.addf"))
    assert triton.compile(str(saxpy_file), target=SM_90).hash != kernel.hash
    on_cpu = triton.compile(str(saxpy_file), target=GPUTarget("cpu", "cpu", 1))
    aligned = np.zeros(2 * BLOCK + 64, np.float32)
    start = (-aligned.ctypes.data % 64) // 4
    out, x = aligned[start : start + BLOCK], random((BLOCK,), "fp32", 5)
    on_cpu[(1,)](out, x, BLOCK, 2.0)
    np.testing.assert_allclose(out, x + 2, rtol=1e-6)
    with pytest.raises(triton.LaunchError, match="no multiple of 16"):
        on_cpu[(1,)](aligned[start + 1 : start + 1 + BLOCK], x, BLOCK, 2.0)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("k.ttgir", "module {}", RuntimeError, "Parse MLIR file failed. .* of the stage `ttgir`"),
        ("k.ptx", ".visible .entry k()", RuntimeError, "of the stage `ptx`"),
        ("k.llir", "define void @k()", RuntimeError, "of the stage `llir`"),
        ("k.source", "def k(): pass", ValueError, "'source' is not in list"),
        ("k.ttir", "junk", RuntimeError, "Parse MLIR file failed. .* no function of tile IR"),
        (
            "k.ttir",
            "module { tt.func public @k(%p: !tt.ptr<f32>) { tt.return } }",
            RuntimeError,
            "Triton's own dialects are not read",
        ),
        (
            "k.ttir",
            "func.func @k() { wrong }",
            RuntimeError,
            "Parse MLIR file failed. cannot compile the tile IR of `.*k.ttir`",
        ),
        ("k.ttir", "func.func @k() { return }", RuntimeError, "attribute `tile.kernel`"),
    ],
)
def test_other_files(tmp_path, name, text, error, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(error, match=message):
        triton.compile(str(path), target=SM_90)


def test_laid_out_tile_ir(tmp_path, saxpy_file):
    laid_out = triton.compile(str(saxpy_file), target=SM_90).asm["ttgir"]
    (tmp_path / "k.mlir").write_text(laid_out)
    with pytest.raises(RuntimeError, match="passes for a GPU have already run on it"):
        triton.compile(str(tmp_path / "k.mlir"), target=SM_90)


@pytest.mark.parametrize("wrong", [3, None])
def test_what_is_no_file(wrong):
    with pytest.raises(AssertionError, match="source must be either AST or a filepath"):
        triton.compile(wrong, target=SM_90)


@pytest.mark.parametrize("name", ["none.ttir", "none.ptx"])
def test_no_such_file(tmp_path, name):
    with pytest.raises(FileNotFoundError):
        triton.compile(str(tmp_path / name), target=SM_90)
