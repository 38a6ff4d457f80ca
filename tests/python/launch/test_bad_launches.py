"""Launches that cannot work: each is an error that says who must act, and the process goes on."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random


@triton.jit
def copy_kernel(out_ptr, x_ptr, n, N: tl.constexpr = 16):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=0.0))


class Launches:
    """Arrays of the device, and a check that the process still launches."""

    def __init__(self, device):
        self.device, self.x = device, random(16, "fp32", seed=3)
        self.out = device.to(np.zeros(16, np.float32))
        self.given = device.to(self.x)

    def assert_alive(self):
        copy_kernel[(1,)](self.out, self.given, 16)
        np.testing.assert_array_equal(self.device.numpy(self.out), self.x)


@pytest.fixture
def launches(device):
    made = Launches(device)
    made.assert_alive()
    yield made
    made.assert_alive()


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((-1,), "grid axis 0 is -1, below 0"),
        ((1, -2), "grid axis 1 is -2"),
        ((2**31,), "grid axis 0 is 2147483648, above the limit of 2147483647"),
        ((1, 65536), "grid axis 1 is 65536, above the limit of 65535"),
        ((1, 1, 2**70), "grid axis 2 is .* above the limit"),
    ],
)
def test_grids_out_of_range(launches, grid, message):
    for form in (grid, lambda meta: grid):
        with pytest.raises(triton.LaunchError, match=message):
            copy_kernel[form](launches.out, launches.given, 16)


def test_an_empty_grid_launches_nothing(launches):
    before = launches.device.numpy(launches.out).copy()
    for grid in [(0,), (3, 0), (1, 1, 0)]:
        copy_kernel[grid](launches.out, launches.device.to(launches.x + 1), 16)
    np.testing.assert_array_equal(launches.device.numpy(launches.out), before)


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        (None, TypeError, "has no grid"),
        ((), ValueError, "1 to 3 extents, not 0"),
        ((1, 1, 1, 1), ValueError, "1 to 3 extents, not 4"),
        ((1.5,), TypeError, "a grid holds integers, not a `float`; `triton.cdiv`"),
        (("a",), TypeError, "a grid holds integers, not a `str`"),
        (lambda meta: None, TypeError, "NoneType"),
        (lambda meta: meta["M"], KeyError, "M"),
    ],
)
def test_what_is_no_grid(launches, grid, error, message):
    for _ in range(2):
        with pytest.raises(error, match=message):
            copy_kernel[grid](launches.out, launches.given, 16)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, "missing a value for `n`"),
        ((16, 16, 5), {}, TypeError, "takes 4 arguments, but got 5"),
        ((16,), {"x_ptr": None}, TypeError, "multiple values for argument `x_ptr`"),
        ((16,), {"block": 3}, KeyError, "block was specified but unrecognised"),
        ((2**70,), {}, OverflowError, "fits neither"),
        ((16,), {"num_warps": 33}, ValueError, "num_warps must be from 1 to 32"),
        ((16,), {"num_warp": 4}, KeyError, "did you mean `num_warps`"),
        ((16,), {"N": object()}, TypeError, "no compile-time constant"),
        (
            (16,),
            {"N": np.ones(16)},
            TypeError,
            "argument `N`: .*`numpy.ndarray` is no compile-time",
        ),
        ((16,), {"N": np.int64}, TypeError, "argument `N`: .*is no compile-time constant"),
        (("16",), {}, triton.CompilationError, "str"),
    ],
)
def test_wrong_arguments(launches, args, kwargs, error, message):
    """On a GPU, by the kernel's own launch path: each mistake names the argument."""
    for _ in range(2):
        with pytest.raises(error, match=message):
            copy_kernel[(1,)](launches.out, launches.given, *args, **kwargs)


def test_wrong_dtypes(launches):
    with pytest.raises(TypeError, match="argument `x_ptr`.*`complex128`"):
        copy_kernel[(1,)](launches.out, launches.x.astype(np.complex128), 16)
    with pytest.raises(TypeError, match="argument `x_ptr`.*`str32`"):
        copy_kernel[(1,)](launches.out, np.array(["a"]), 16)
    with pytest.raises(triton.CompilationError):
        copy_kernel[(1,)](launches.out, 2.5, 16)


class Freed:
    """An array whose memory is gone, as JAX shows one that was donated."""

    dtype = "float32"

    def data_ptr(self):
        raise RuntimeError("array has been deleted")


def test_freed_arrays(launches):
    for _ in range(2):
        with pytest.raises(RuntimeError, match="has been deleted"):
            copy_kernel[(1,)](launches.out, Freed(), 16)


class DeviceArray:
    """An array of some GPU, which need not exist: nothing reads at the address."""

    def __init__(self, device):
        self.device = type("Device", (), {"id": device})()

    @property
    def __cuda_array_interface__(self):
        address = 0x7F0000000000
        return {"data": (address, False), "typestr": "<f4", "shape": (16,), "version": 3}


def test_arrays_of_two_devices():
    with pytest.raises(ValueError, match="two devices: `out_ptr` on device 0, `x_ptr` on device 1"):
        copy_kernel[(1,)](DeviceArray(0), DeviceArray(1), 16)


def test_host_and_device_arrays():
    with pytest.raises(ValueError, match="host array `out_ptr` .* device array `x_ptr`"):
        copy_kernel[(1,)](np.zeros(16, np.float32), DeviceArray(0), 16)


def run_alone(text, **variables):
    """Run a program that may lose its GPU in a process of its own; return what it printed."""
    head = """
    import numpy as np, os, sys, torch
    import pantile as triton, pantile.language as tl
    """
    path = os.path.join(os.environ.get("PYTEST_TMP", "/tmp"), f"bad_launch_{os.getpid()}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(head) + textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env={**os.environ, **variables}
    )
    os.unlink(path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


ILLEGAL = """
@triton.jit
def innocent_kernel(x_ptr):
    tl.store(x_ptr, 1.0)

@triton.jit
def stray_kernel(x_ptr, far):
    tl.store(x_ptr + far, 1.0)

x = torch.zeros(16, device="cuda")
innocent_kernel[(1,)](x)
stray_kernel[(1,)](x, 2**44)
try:
    for _ in range(1000):
        innocent_kernel[(1,)](x)
        triton._pantile.synchronize(0)
    print("no error")
except triton.DriverError as error:
    print("caught:", error)
try:
    innocent_kernel[(1,)](x)
except triton.DriverError as error:
    print("again:", error)
y = np.zeros(1, np.float32)
innocent_kernel[(1,)](y)
print("alive", y[0])
"""


@pytest.mark.gpu
def test_an_illegal_address_names_the_kernel(gpu):
    said = run_alone(ILLEGAL)
    assert "caught:" in said and "CUDA_ERROR_ILLEGAL_ADDRESS" in said
    assert "the context is lost" in said and "`stray_kernel`" in said
    assert "again:" in said and "alive 1.0" in said


@pytest.mark.gpu
def test_a_blocking_launch_fails_itself(gpu):
    text = ILLEGAL.replace(
        "stray_kernel[(1,)](x, 2**44)\ntry:", "try:\n    stray_kernel[(1,)](x, 2**44)"
    )
    said = run_alone(text, CUDA_LAUNCH_BLOCKING="1")
    assert "caught:" in said and "launching kernel `stray_kernel`" in said


@pytest.mark.gpu
def test_a_device_assertion_names_kernel_and_line(gpu):
    said = run_alone(
        """
        @triton.jit(debug=True)
        def asserting_kernel(x_ptr, n):
            tl.device_assert(n > 5, "n is too small")
            tl.store(x_ptr, 1.0)

        x = torch.zeros(16, device="cuda")
        asserting_kernel[(1,)](x, 3)
        try:
            triton._pantile.synchronize(0)
        except triton.DriverError as error:
            print("caught:", error)
        """
    )
    assert "caught:" in said and "`asserting_kernel`" in said and "n is too small" in said
    assert "bad_launch" in said and "asserting_kernel: block" in said


@pytest.mark.gpu
def test_a_forked_process_says_so(gpu):
    said = run_alone(
        """
        @triton.jit
        def kernel(x_ptr):
            tl.store(x_ptr, 7.0)

        x = torch.zeros(16, device="cuda")
        kernel[(1,)](x)
        if os.fork() == 0:
            try:
                kernel[(1,)](x)
            except triton.DriverError as error:
                print("caught:", error, flush=True)
            y = np.zeros(1, np.float32)
            kernel[(1,)](y)
            print("child's CPU", y[0], flush=True)
            os._exit(0)
        os.wait()
        kernel[(1,)](x)
        print("parent", x[0].item())
        """
    )
    assert "caught:" in said and "forked" in said
    assert "child's CPU 7.0" in said and "parent 7.0" in said


@pytest.mark.gpu
def test_too_much_shared_memory(gpu):
    """On a GPU a launch that needs more than there is says how much of each."""

    @triton.jit
    def wide_kernel(a_ptr, out_ptr, steps, N: tl.constexpr):
        offsets = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
        total = tl.zeros((N, N), tl.float32)
        for step in tl.range(0, steps, num_stages=8):
            a = tl.load(a_ptr + step * N * N + offsets)
            total = tl.dot(a, tl.load(a_ptr + (step + 1) * N * N + offsets), total)
        tl.store(out_ptr + offsets, total)

    a = gpu.torch.randn(3 * 256 * 256, device="cuda", dtype=gpu.torch.float16)
    out = gpu.torch.empty(256, 256, device="cuda")
    with pytest.raises(triton.OutOfResources, match="shared memory") as caught:
        wide_kernel[(1,)](a, out, 2, N=256, num_warps=8)
    assert caught.value.required > caught.value.limit > 0
