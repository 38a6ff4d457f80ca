"""What a launch does with its arguments: binding, specialisation, the choice of the target, options."""

import ctypes
import subprocess
import sys

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

BLOCK = tl.constexpr(8)
PLAIN = 8


@triton.jit
def scale_kernel(out_ptr, x_ptr, factor, n, N: tl.constexpr = 16):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=0.0) * factor)


def host(size, dtype=np.float32):
    return np.zeros(size, dtype), np.arange(size).astype(dtype)


def test_keywords_defaults_and_result():
    out, x = host(16)
    kernel = scale_kernel[(1,)](out, x, n=16, factor=2.0)
    np.testing.assert_array_equal(out, x * 2)
    assert isinstance(kernel, triton.CompiledKernel)
    assert kernel.name == "scale_kernel"
    assert kernel.metadata.num_warps >= 1
    assert "func.func" in kernel.asm["tile"] and "func.func" in kernel.asm["ttir"]


@pytest.mark.parametrize(
    "grid",
    [1, (1,), [1], (1, 1), (1, 1, 1), lambda meta: (meta["N"] // 16,)],
    ids=["int", "tuple", "list", "two", "three", "function"],
)
def test_forms_of_the_grid(grid):
    out, x = host(16)
    scale_kernel[grid](out, x, 3.0, 16)
    np.testing.assert_array_equal(out, x * 3)


def test_a_kernel_is_compiled_once_for_a_key():
    out, x = host(16)
    first = scale_kernel[(1,)](out, x, 2.0, 16)
    assert scale_kernel[(1,)](out, x, 5.0, 32) is first
    assert scale_kernel[(1,)](out, x, 2.0, 15) is not first, "divisibility is part of the key"
    assert scale_kernel[(1,)](out, x, 2.0, 1) is not first, "1 is compiled in"
    assert scale_kernel[(1,)](out, x, 2.0, 2**40) is not first, "so is the width"
    assert scale_kernel[(1,)](out, x, 2.0, 16, num_warps=8) is not first
    np.testing.assert_array_equal(out, x * 2)


@triton.jit(do_not_specialize=["n"])
def unspecialized_kernel(out_ptr, n):
    tl.store(out_ptr, n)


def test_do_not_specialize():
    """Launches with 1, 15, 16 and a negative number run one kernel."""
    out = np.zeros(1, np.int64)
    kernels = set()
    for n in (1, 15, 16, -7):
        kernels.add(id(unspecialized_kernel[(1,)](out, n)))
        assert out[0] == n
    assert len(kernels) == 1


@triton.jit
def annotated_kernel(out_ptr, n: tl.int64):
    tl.static_assert(n.dtype == tl.int64)
    tl.store(out_ptr, n * 2147483647)


def test_annotation_fixes_the_type():
    out = np.zeros(1, np.int64)
    annotated_kernel[(1,)](out, 4)
    assert out[0] == 4 * 2147483647


class Array:
    """What an annotation may name without meaning anything to the compiler."""


@triton.jit
def annotations_kernel(
    out_ptr: Array,
    n: int,
    eps: float,
    flag: bool,
    x: "tl.int64",
    BLOCK: "tl.constexpr",  # noqa: F821
) -> None:
    tl.static_assert(x.dtype == tl.int64)
    if flag:
        tl.store(out_ptr + tl.arange(0, BLOCK), n + eps + x)


def test_annotations_of_all_kinds():
    out = np.zeros(4, np.float32)
    annotations_kernel[(1,)](out, 3, 0.5, True, 10, 4)
    assert (out == 13.5).all()


@triton.jit
def types_kernel(out_ptr, a, b, c, d, e):
    tl.static_assert(a.dtype == tl.int32)
    tl.static_assert(b.dtype == tl.int64)
    tl.static_assert(c.dtype == tl.uint64)
    tl.static_assert(d.dtype == tl.float32)
    tl.static_assert(e.dtype == tl.int1)
    tl.store(out_ptr, 1)


def test_types_of_scalars():
    out = np.zeros(1, np.int32)
    types_kernel[(1,)](out, 5, 2**40, 2**63 + 2, 0.5, True)
    assert out[0] == 1
    types_kernel[(1,)](
        out, np.int32(6), np.int64(2**41), np.uint64(2**63 + 4), np.float32(1.5), np.bool_(False)
    )


def test_wrong_arguments():
    """On the CPU: each mistake of binding and of types names the argument."""
    out, x = host(16)
    with pytest.raises(TypeError, match="missing a value for `n`"):
        scale_kernel[(1,)](out, x, 1.0)
    with pytest.raises(TypeError, match="takes 5 arguments, but got 6"):
        scale_kernel[(1,)](out, x, 1.0, 1, 2, 3)
    with pytest.raises(TypeError, match="multiple values for argument `x_ptr`"):
        scale_kernel[(1,)](out, x, 1.0, 1, x_ptr=x)
    with pytest.raises(KeyError, match="Keyword argument blocks was specified but unrecognised"):
        scale_kernel[(1,)](out, x, 1.0, 1, blocks=3)
    with pytest.raises(TypeError, match="argument `x_ptr`.*`complex128`"):
        scale_kernel[(1,)](out, x.astype(np.complex128), 1.0, 1)
    with pytest.raises(TypeError, match="argument `x_ptr`.*`object`"):
        scale_kernel[(1,)](out, object(), 1.0, 1)
    with pytest.raises(OverflowError, match="fits neither"):
        scale_kernel[(1,)](out, x, 1.0, 2**70)
    with pytest.raises(ValueError, match="1 to 3 extents, not 4"):
        scale_kernel[1, 1, 1, 1](out, x, 1.0, 1)
    with pytest.raises(ValueError, match="num_warps must be from 1 to 32"):
        scale_kernel[(1,)](out, x, 1.0, 1, num_warps=33)
    with pytest.raises(RuntimeError, match=r"`scale_kernel\[grid\]\(...\)` launches it"):
        scale_kernel(out, x, 1.0, 1)


def test_negative_grid():
    out, x = host(16)
    with pytest.raises(triton.TritonError, match="grid"):
        scale_kernel[(-1,)](out, x, 1.0, 1)


class HostArray:
    """An array that has NumPy's protocol only."""

    def __init__(self, array):
        self.keep = array

    @property
    def __array_interface__(self):
        return self.keep.__array_interface__


class DLPackArray:
    """An array that has DLPack only."""

    def __init__(self, array):
        self.keep = array

    def __dlpack__(self, **options):
        return self.keep.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.keep.__dlpack_device__()


class TorchLike:
    """An array with torch's names."""

    def __init__(self, array):
        self.keep, self.dtype, self.device = array, f"torch.{array.dtype}", "cpu"

    def data_ptr(self):
        return self.keep.ctypes.data


@pytest.mark.parametrize("wrap", [HostArray, DLPackArray, TorchLike])
def test_protocols(wrap):
    """Arrays of each protocol are written in place."""
    out, x = host(16)
    scale_kernel[(1,)](wrap(out), wrap(x), 2.0, 16)
    np.testing.assert_array_equal(out, x * 2)


def test_memory_of_a_library_without_names():
    buffer = (ctypes.c_float * 16)(*range(16))
    out = np.zeros(16, np.float32)
    scale_kernel[(1,)](out, np.frombuffer(buffer, np.float32), 2.0, 16)
    np.testing.assert_array_equal(out, np.arange(16) * 2)


def test_negative_strides():
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    reverse_kernel[(1,)](out, x[::-1], -1, 16)
    np.testing.assert_array_equal(out, x[::-1])


@triton.jit
def reverse_kernel(out_ptr, x_ptr, stride, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets * stride))


@pytest.mark.gpu
def test_host_and_device_arrays_do_not_mix(gpu):
    out, x = host(16)
    with pytest.raises(ValueError, match=r"host array `out_ptr` .*device array `x_ptr`"):
        scale_kernel[(1,)](out, gpu.to(x), 1.0, 16)


@pytest.mark.gpu
def test_pinned_memory_goes_with_the_gpu(gpu):
    x = gpu.torch.arange(16, dtype=gpu.torch.float32).pin_memory()
    out = gpu.torch.empty(16, device="cuda")
    scale_kernel[(1,)](out, x, 2.0, 16)
    assert bool((out.cpu() == x * 2).all())


@pytest.mark.gpu
def test_current_stream(gpu):
    torch = gpu.torch
    stream = torch.cuda.Stream()
    x, out = torch.ones(16, device="cuda"), torch.zeros(16, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.add_(1)
        scale_kernel[(1,)](out, x, 2.0, 16)
    stream.synchronize()
    assert bool((out == 4).all())


@triton.jit
def constant_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, BLOCK), CHANGING)


@triton.jit
def plain_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, PLAIN), 1)


CHANGING = tl.constexpr(5)


def test_a_changed_global_is_an_error():
    global CHANGING
    out = np.zeros(8, np.int32)
    constant_kernel[(1,)](out)
    assert (out == 5).all()
    CHANGING = tl.constexpr(6)
    try:
        with pytest.raises(RuntimeError, match="Global variable CHANGING has value"):
            constant_kernel[(1,)](out)
    finally:
        CHANGING = tl.constexpr(5)
    constant_kernel[(1,)](out)


def test_a_plain_global_is_an_error(monkeypatch):
    out = np.zeros(8, np.int32)
    with pytest.raises(triton.CompilationError, match="PLAIN"):
        plain_kernel[(1,)](out)
    monkeypatch.setenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "1")
    plain_kernel[(1,)](out)
    assert (out == 1).all()


def test_warmup_compiles_without_a_launch():
    out, x = host(16)
    kernel = scale_kernel.warmup(out, x, 2.0, 16, grid=(1,))
    assert (out == 0).all()
    assert scale_kernel[(1,)](out, x, 2.0, 16) is kernel
    by_dtype = scale_kernel.warmup(tl.float32, tl.float32, 2.0, 16, grid=(1,))
    assert isinstance(by_dtype, triton.CompiledKernel)


def test_launch_of_a_compiled_kernel():
    out, x = host(16)
    kernel = scale_kernel.warmup(out, x, 2.0, 16, grid=(1,))
    kernel[(1,)](out, x, 4.0, 16)
    np.testing.assert_array_equal(out, x * 4)


def test_compile_for_a_gpu_that_is_not_there():
    from pantile.backends.compiler import GPUTarget
    from pantile.compiler import ASTSource

    signature = {"out_ptr": "*fp32", "x_ptr": "*fp32", "factor": "fp32", "n": "i32"}
    source = ASTSource(scale_kernel, signature, {"N": 16}, {(0,): [["tt.divisibility", 16]]})
    try:
        kernel = triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 1})
    except triton.PTXASError as error:
        pytest.skip(f"no assembler here: {error.message}")
    assert ".target sm_90a" in kernel.asm["ptx"]
    assert kernel.asm["cubin"][:4] == b"\x7fELF"


def test_hooks():
    """Hooks before a run and at its launch are called, until they are removed."""
    seen = []
    scale_kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append(len(args)))
    triton.knobs.runtime.launch_enter_hook.add(
        enter := lambda metadata: seen.append(metadata["name"])
    )
    try:
        out, x = host(16)
        scale_kernel[(1,)](out, x, 2.0, 16)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
        scale_kernel.pre_run_hooks.clear()
    assert seen == [4, "scale_kernel"]


def test_many_threads_launch_one_kernel():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        x = random(64, "fp32", seed)
        out = np.zeros(64, np.float32)
        scale_kernel[(1,)](out, x, float(seed), 64, N=64)
        return bool(np.allclose(out, x * np.float32(seed)))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))


def test_import_is_light():
    code = (
        "import sys, pantile, pantile.language\n"
        "heavy = {'numpy', 'torch', 'matplotlib', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'pantile._pantile' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
