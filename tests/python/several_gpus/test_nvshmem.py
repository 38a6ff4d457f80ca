"""Kernels that call NVSHMEM as torch's do: bitcode by `extern_libs`, and the hook that gives the loaded code its state."""

import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import nvshmem_library as nvshmem
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from matmul_kernels import product_of_rows
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource
from pantile.language import core
from pantile.tools.tensor_descriptor import TensorDescriptor

HOPPER = GPUTarget("cuda", 90, 32)


@triton.jit
def exchange_kernel(dest, source, signals, out, count, TURN: tl.constexpr, BLOCK: tl.constexpr):
    """Each rank sends its numbers to the next one, waits for those of the one before, and stores twice of them."""
    peer = (nvshmem.my_pe() + 1) % nvshmem.n_pes()
    nvshmem.put(dest, source, count, peer)
    nvshmem.fence()
    nvshmem.set_signal(signals.to(tl.int64), tl.full((), TURN, tl.int64), 0, peer)
    nvshmem.wait_for_signal(signals.to(tl.int64), 0, tl.full((), TURN, tl.uint64))
    at = tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(dest + at, at < count), at < count)


class Job:
    """One process, as rank `number` of two; the memory of both lies on one GPU."""

    def __init__(self, device, number, count):
        self.number, self.device = number, device
        bytes_of_rank = 8 + 4 * count
        self.memory = [device.to(np.zeros(bytes_of_rank, np.uint8)) for _ in range(2)]
        self.signals = [memory[:8].view(np.uint64) for memory in self.memory]
        self.data = [memory[8:].view(np.float32) for memory in self.memory]
        addresses = [memory.data_ptr() for memory in self.memory]
        self.table = device.to(np.array(addresses, np.int64))
        self.told = []

    def state(self):
        return np.array([self.number, 2, self.table.data_ptr()], np.int64)

    def hook(self, **told):
        """What `nvshmemx_cumodule_init` does to the loaded code."""
        self.told.append(told)
        write(nvshmem.compiled_kernel_of(told).module, self.state())


def write(module, values):
    """Give the library's variable in the code `module` these values."""
    driver = ctypes.CDLL(os.environ["PANTILE_LIBCUDA_PATH"])
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    assert not driver.cuModuleGetGlobal_v2(
        ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module), nvshmem.STATE
    )
    assert size.value == values.nbytes
    assert not driver.cuMemcpyHtoD_v2(address, values.ctypes.data_as(ctypes.c_void_p), size)


@pytest.fixture
def library(tmp_path):
    nvshmem.build(tmp_path / "libnvshmem_device.bc")
    return {"libnvshmem_device": str(tmp_path / "libnvshmem_device.bc")}


@pytest.fixture
def emulated(device):
    if device.name != "emulated":
        pytest.skip("the library is one for the emulated GPU")
    return device


def run_exchange(device, library, number, turn, count=100):
    """Rank `number` sends, and what the other one sends is there already; returns the job, and what was sent."""
    job = Job(device, number, count)
    sent, received = random(count, seed=2 * turn), random(count, seed=2 * turn + 1)
    job.data[number].copy_(device.to(received))
    job.signals[number].copy_(device.to(np.array([turn], np.uint64)))
    out = device.output(count, "fp32")
    kernel = nvshmem.LaunchedWith(triton.jit(exchange_kernel.fn), library)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_post_compile_hook = job.hook
        for _ in range(2):
            kernel[(1,)](
                job.data[number], device.to(sent), job.signals[number], out.array, count,
                TURN=turn, BLOCK=128,
            )  # fmt: skip
    np.testing.assert_array_equal(out.numpy(), 2 * received)
    np.testing.assert_array_equal(device.numpy(job.data[1 - number]), sent)
    assert device.numpy(job.signals[1 - number])[0] == turn
    return job


@pytest.mark.parametrize("number", [0, 1])
def test_a_rank_of_a_job(emulated, library, number):
    """Launches run the code whose variables the hook has written."""
    job = run_exchange(emulated, library, number, turn=5 + number)
    assert len(job.told) == 1, "once for each kernel that is compiled"


def test_the_hook_is_called_for_kernels_from_the_cache(emulated, library):
    for _ in range(2):
        (told,) = run_exchange(emulated, library, 0, turn=9).told
    assert nvshmem.compiled_kernel_of(told).from_cache


def test_arguments_of_the_hook(emulated, library):
    """The arguments of Triton 3.6."""
    (told,) = run_exchange(emulated, library, 0, turn=11).told
    assert set(told) == {"key", "repr", "fn", "compile", "is_manual_warmup", "already_compiled"}
    assert told["fn"].name == "exchange_kernel" and told["fn"].module == __name__
    assert told["fn"].jit_function.fn.__name__ == "exchange_kernel"
    assert "launch_cooperative_grid=False" in told["repr"]
    compiled = told["compile"]
    assert {
        "key", "signature", "device", "constants", "num_warps", "num_ctas", "num_stages",
        "enable_fp_fusion", "launch_cooperative_grid", "extern_libs", "configs",
        "specialization_data", "is_warmup",
    } <= set(compiled)  # fmt: skip
    assert compiled["key"] == told["key"] and compiled["device"] == 0
    assert dict(compiled["extern_libs"]) == library
    assert told["is_manual_warmup"] is False and told["already_compiled"] is False


def test_a_kernel_that_is_launched_later_sees_other_values(emulated, library):
    """The variable is one for all launches of a kernel, also after the first."""
    job = run_exchange(emulated, library, 0, turn=13)
    kernel, count = nvshmem.compiled_kernel_of(job.told[0]), 100
    other = Job(emulated, 1, count)
    write(kernel.module, other.state())
    x = random(count, seed=14)
    other.signals[1].copy_(emulated.to(np.array([13], np.uint64)))
    out = emulated.output(count, "fp32")
    kernel[(1, 1, 1)](other.data[1], emulated.to(x), other.signals[1], out.array, count)
    np.testing.assert_array_equal(emulated.numpy(other.data[0]), x)
    np.testing.assert_array_equal(out.numpy(), np.zeros(count))


def test_handles_outlive_the_kernel(emulated, library):
    """Triton never unloads code, so that programs keep its handles."""
    job = run_exchange(emulated, library, 1, turn=15)
    module = nvshmem.compiled_kernel_of(job.told[0]).module
    values = job.state()
    job.told.clear()
    gc.collect()
    write(module, values)


@triton.jit
def product_for_kernel(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A GEMM, which each rank multiplies by its number and one."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = product_of_rows(a, b, rm, rn, M, N, K, BK)
    acc *= nvshmem.my_pe() + 1
    tl.store(c + rm[:, None] * N + rn[None, :], acc, (rm < M)[:, None] & (rn < N)[None, :])


def test_a_gemm_has_one_code_for_all_arguments(emulated, library):
    """Tensor maps would need a second kernel where they cannot be made, to which no hook gave a state."""
    job, kernel = (
        Job(emulated, 1, 8),
        nvshmem.LaunchedWith(triton.jit(product_for_kernel.fn), library),
    )
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_post_compile_hook = job.hook
        for K in (192, 200, 97):  # the last has rows that TMA cannot load
            a, b = random((130, K), "fp16", K), random((K, 72), "fp16", K + 1)
            out = emulated.output((130, 72), "fp32")
            made = kernel[(2, 1)](
                out.array, emulated.to(a), emulated.to(b), 130, 72, K, BM=128, BN=128, BK=64
            )
            assert made.metadata.launch_abi == "triton" and not made._kernel.tensor_maps
            check_gemm(out.numpy() / 2, a, b)


@triton.jit
def described_kernel(out, a, b, N: tl.constexpr):
    """A dot of what descriptors load, times this rank's number and one."""
    acc = tl.zeros((N, N), tl.float32)
    for k in range(0, N, 64):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    at = tl.arange(0, N)
    tl.store(out + at[:, None] * N + at[None, :], acc * (nvshmem.my_pe() + 1))


def test_descriptors_have_one_code(emulated, library):
    """Also for one that no tensor map can describe: its rows are too far apart."""
    job, n = Job(emulated, 1, 8), 128
    kernel = nvshmem.LaunchedWith(triton.jit(described_kernel.fn), library)
    a, b = random((n, n), "fp16", 4), random((n, n), "fp16", 5)
    on_a, on_b, out = emulated.to(a), emulated.to(b), emulated.output((n, n), "fp32")
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_post_compile_hook = job.hook
        for rows, stride in ((n, n), (1, 1 << 40)):
            left = TensorDescriptor(on_a, [rows, n], [stride, 1], [n, 64])
            right = TensorDescriptor(on_b, [n, n], [n, 1], [64, n])
            made = kernel[(1,)](out.array, left, right, n)
            check_gemm(out.numpy() / 2, np.where(np.arange(n)[:, None] < rows, a, 0), b)
    assert not made._kernel.tensor_maps


@triton.jit
def hand_over_kernel(
    out, shared, a, b, signals, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr
):
    """Program 0 writes columns of `a` to shared memory, step by step; program 1 multiplies them as they come."""
    row, column, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.zeros((M, N), tl.float32)
    for first in range(0, K, STEP):
        at = row[:, None] * K + first + depth[None, :]
        signal = (signals + first // STEP).to(tl.int64)
        if tl.program_id(0) == 0:
            tl.store(shared + at, tl.load(a + at))
            tl.debug_barrier()
            nvshmem.set_signal(signal, tl.full((), 1, tl.int64), 0, nvshmem.my_pe())
        else:
            nvshmem.wait_for_signal(signal, 0, tl.full((), 1, tl.uint64))
            right = tl.load(b + (first + depth)[:, None] * N + column[None, :])
            acc = tl.dot(tl.load(shared + at), right, acc)
    if tl.program_id(0) == 1:
        tl.store(out + row[:, None] * N + column[None, :], acc)


@pytest.mark.parametrize("num_stages", [1, 3])
def test_no_load_comes_before_the_wait(emulated, library, num_stages):
    """Nothing is prefetched past a call that is not pure: the emulator would name the race."""
    M, N, K = 64, 64, 320
    job = Job(emulated, 0, 8)
    kernel = nvshmem.LaunchedWith(triton.jit(hand_over_kernel.fn), library)
    a, b = random((M, K), "fp16", 7), random((K, N), "fp16", 8)
    shared, signals = emulated.to(np.zeros_like(a)), emulated.to(np.zeros(K // 64, np.uint64))
    out = emulated.output((M, N), "fp32")
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_post_compile_hook = job.hook
        kernel[(2,)](
            out.array, shared, emulated.to(a), emulated.to(b), signals, K,
            M=M, N=N, STEP=64, num_stages=num_stages,
        )  # fmt: skip
    check_gemm(out.numpy(), a, b)


@core.extern
def used_fence(_semantic=None):
    return core.extern_elementwise(
        "", "", [], {(): ("nvshmem_fence", core.dtype("int32"))}, is_pure=False, _semantic=_semantic
    )


@triton.jit
def using_kernel(out):
    tl.store(out, used_fence())


@triton.jit
def calling_kernel(out):
    tl.store(out, nvshmem.my_pe())


def compile_for_hopper(kernel, libraries):
    options = {"extern_libs": libraries} if libraries else {}
    return triton.compile(ASTSource(kernel, {"out": "*i32"}, {}), target=HOPPER, options=options)


def test_a_result_that_is_not_there(library):
    with pytest.raises(triton.CompilationError, match="`nvshmem_fence` is `void \\(\\)`"):
        compile_for_hopper(using_kernel, library)


def test_a_missing_library_says_what_to_install(tmp_path):
    install = "install the wheel `nvidia-nvshmem-cu12` or `nvidia-nvshmem-cu13`"
    with pytest.raises(triton.TritonError, match=f"`nvshmem_my_pe` needs NVSHMEM.*{install}"):
        compile_for_hopper(calling_kernel, {})
    missing = {"libnvshmem_device": str(tmp_path / "libnvshmem_device.bc")}
    with pytest.raises(triton.TritonError, match=f"Could not open input file.*{install}"):
        compile_for_hopper(calling_kernel, missing)


def test_functions_that_stay_calls(tmp_path):
    """Large functions are not inlined; variables keep their names, by which the host finds them."""
    text = nvshmem.TEXT.replace(
        "define i32 @nvshmem_my_pe() {", "define i32 @nvshmem_my_pe() noinline {"
    )
    nvshmem.build(tmp_path / "lib.bc", text)
    ptx = compile_for_hopper(calling_kernel, {"libnvshmem_device": str(tmp_path / "lib.bc")}).asm[
        "ptx"
    ]
    assert ".func" in ptx and "call.uni" in ptx
    assert f".visible .const .align 8 .b8 {nvshmem.STATE.decode()}[24]" in ptx


@pytest.fixture
def installed_library():
    """The bitcode of NVIDIA's wheel, which newer ones have once per architecture."""
    wheel = (
        importlib.util.find_spec("nvidia.nvshmem") if importlib.util.find_spec("nvidia") else None
    )
    folders = [Path(folder, "lib") for folder in wheel.submodule_search_locations] if wheel else []
    for folder in folders:
        for name in ("libnvshmem_device.bc", "libnvshmem_device_sm_90.bc"):
            if (folder / name).exists():
                return {"libnvshmem_device": str(folder / name)}
    pytest.skip("needs the wheel nvidia-nvshmem-cu13")


def test_nvidias_library_is_linked(installed_library):
    """What the kernel calls is in its code, to the machine code, and the host finds the library's variable."""
    kernel = triton.jit(exchange_kernel.fn)
    types = {"dest": "*fp32", "source": "*fp32", "signals": "*u64", "out": "*fp32", "count": "i32"}
    source = ASTSource(kernel, types, {"TURN": 1, "BLOCK": 128})
    made = triton.compile(source, target=HOPPER, options={"extern_libs": installed_library})
    ptx = made.asm["ptx"]
    assert ".visible .const .align 8 .b8 nvshmemi_device_state_d[" in ptx
    assert ".func nvshmem" not in ptx, "no function is left to be found elsewhere"
    assert made.asm["cubin"]


TORCH = """
    import os, pantile.compat
    pantile.compat.install()
    import torch, torch.utils._triton
    torch.utils._triton.has_triton = lambda: True
    import torch.distributed._symmetric_memory._nvshmem_triton as nvshmem
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @nvshmem.requires_nvshmem
    @triton.jit
    def kernel(dest, source, signal, n: tl.constexpr):
        peer = (nvshmem.my_pe() + 1) % nvshmem.n_pes()
        nvshmem.put(dest, source, n, peer)
        nvshmem.fence()
        nvshmem.signal_wait_until(signal, 0, tl.full((), 1, tl.uint64))

    assert triton.knobs.runtime.jit_post_compile_hook is nvshmem._nvshmem_init_hook
    source = ASTSource(
        kernel.jit_func, {"dest": "*fp32", "source": "*fp32", "signal": "*u64", "n": "constexpr"}, {"n": 16}
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"extern_libs": kernel.extern_libs})
    assert "nvshmemi_device_state_d" in made.asm["ptx"] and "bar.sync" in made.asm["ptx"]
    print("compiled")
"""


def test_torch_and_its_wrappers(library, tmp_path):
    """torch's own module, where torch is installed; importing it looks for a GPU, which is emulated here."""
    pytest.importorskip("torch")
    folder = os.path.dirname(library["libnvshmem_device"])
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(TORCH), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True, text=True, env={**os.environ, "NVSHMEM_LIB_DIR": folder},
    )  # fmt: skip
    assert done.stdout == "compiled\n", done.stderr
