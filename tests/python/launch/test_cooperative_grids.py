"""Cooperative launches: programs that wait for one another all run at once, or the launch is an error."""

import ctypes

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from matmul_kernels import product_of_rows


@triton.jit
def poll_for_all(arrived, programs, turn):
    """A barrier of the grid with a counter for each iteration."""
    tl.atomic_add(arrived + turn, 1, sem="release", scope="gpu")
    tl.atomic_poll(arrived + turn, programs, sem="acquire", scope="gpu")


@triton.jit
def spin_for_all(arrived, programs, turn):
    """The same with one counter, as kernels of Triton 3.6 do it."""
    tl.atomic_add(arrived, 1, sem="acq_rel", scope="gpu")
    while tl.atomic_add(arrived, 0, sem="acquire", scope="gpu") < programs * (turn + 1):
        pass


@triton.jit
def smooth_kernel(
    even, odd, arrived, n, turns, BARRIER: tl.constexpr, BLOCK: tl.constexpr, TAG: tl.constexpr
):
    """`turns` times each element becomes the mean of itself and its neighbours, with periodic borders."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for turn in range(turns):
        source = even if turn % 2 == 0 else odd
        target = odd if turn % 2 == 0 else even
        left = tl.load(source + (at + n - 1) % n, at < n)
        right = tl.load(source + (at + 1) % n, at < n)
        tl.store(target + at, (left + tl.load(source + at, at < n) + right) / 3, at < n)
        BARRIER(arrived, tl.num_programs(0), turn)


def smoothed(x, turns):
    wide = x.astype(np.float64)
    for _ in range(turns):
        wide = (np.roll(wide, 1) + wide + np.roll(wide, -1)) / 3
    return wide


def launch_smooth(device, x, turns, barrier, block, tag=0, **options):
    """The result. `tag` makes other programs, for which the runtime queries the occupancy again."""
    even, odd = device.to(x.copy()), device.output(len(x), "fp32")
    arrived = device.to(np.zeros(turns, np.int32))
    smooth_kernel[(triton.cdiv(len(x), block),)](
        even, odd.array, arrived, len(x), turns, barrier, BLOCK=block, TAG=tag, **options
    )
    return odd.numpy() if turns % 2 else device.numpy(even)


@pytest.mark.parametrize("barrier", [poll_for_all, spin_for_all])
@pytest.mark.parametrize("turns", [1, 2, 5])
@pytest.mark.parametrize("n, block", [(100, 16), (1000, 128)])
def test_a_barrier_of_the_grid(device, monkeypatch, n, block, turns, barrier):
    """Programs of a Python launch see what all others wrote before the barrier."""
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "8")
    x = random(n, seed=turns)
    result = launch_smooth(device, x, turns, barrier, block, launch_cooperative_grid=True)
    np.testing.assert_allclose(result, smoothed(x, turns), rtol=1e-5, atol=1e-6)


@pytest.fixture
def emulated(device, monkeypatch):
    if device.name != "emulated":
        pytest.skip("how many CTAs run at once is known of the emulated GPU")
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "5")
    return device


def test_a_grid_that_just_fits(emulated):
    x = random(80, seed=1)
    result = launch_smooth(emulated, x, 3, poll_for_all, 16, 1, launch_cooperative_grid=True)
    np.testing.assert_allclose(result, smoothed(x, 3), rtol=1e-5, atol=1e-6)


def test_a_grid_that_cannot_be_resident(emulated):
    """The error has both numbers; nothing was launched, and the next launch is right."""
    x = random(96, seed=2)
    message = "grid of 6x1x1: all of its 6 CTAs have to run at once, and GPU 0 runs 5 .5 SMs with 1"
    with pytest.raises(triton.runtime.OutOfResources, match=message):
        launch_smooth(emulated, x, 3, poll_for_all, 16, 2, launch_cooperative_grid=True)
    result = launch_smooth(emulated, x[:80], 3, poll_for_all, 16, 2, launch_cooperative_grid=True)
    np.testing.assert_allclose(result, smoothed(x[:80], 3), rtol=1e-5, atol=1e-6)


def test_all_axes_of_the_grid_count(emulated):
    out = emulated.output(6, "i32")
    with pytest.raises(triton.runtime.OutOfResources, match="grid of 1x2x3: all of its 6 CTAs"):
        number_kernel[(1, 2, 3)](out.array, launch_cooperative_grid=True)


@triton.jit
def number_kernel(out):
    at = tl.program_id(0) + tl.num_programs(0) * (
        tl.program_id(1) + tl.num_programs(1) * tl.program_id(2)
    )
    tl.store(out + at, at * 7)


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}) for block in (16, 32)],
    key=["n"],
    reset_to_zero=["arrived"],
)
@triton.jit
def tuned_kernel(out, x, arrived, n, BLOCK: tl.constexpr):
    """Each element times the number of programs that came."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    poll_for_all(arrived, tl.num_programs(0), 0)
    tl.store(out + at, tl.load(x + at, at < n) * tl.load(arrived), at < n)


def test_a_tuner_leaves_out_what_cannot_be_resident(emulated):
    """Of two sizes of tiles one makes six programs, and five run at once."""
    x, out = random(96, seed=5), emulated.output(96, "fp32")
    arrived = emulated.to(np.zeros(1, np.int32))
    grid = lambda meta: (triton.cdiv(96, meta["BLOCK"]),)
    tuned_kernel[grid](out.array, emulated.to(x), arrived, 96, launch_cooperative_grid=True)
    np.testing.assert_array_equal(out.numpy(), 3 * x)
    assert tuned_kernel.best_config.kwargs["BLOCK"] == 32


def test_a_compiled_kernel_keeps_its_options(emulated):
    """Launches of what `warmup` compiled are cooperative, too."""
    out = emulated.output(6, "i32")
    kernel = number_kernel.warmup(out.array, grid=(1,), launch_cooperative_grid=True)
    kernel[(5, 1, 1)](out.array)
    np.testing.assert_array_equal(emulated.numpy(out.array)[:5], np.arange(5) * 7)
    with pytest.raises(triton.runtime.OutOfResources, match="all of its 6 CTAs"):
        kernel[(6, 1, 1)](out.array)
    number_kernel[(6,)](out.array)
    np.testing.assert_array_equal(out.numpy(), np.arange(6) * 7)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = product_of_rows(a, b, rm, rn, M, N, K, BK)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask)


@pytest.mark.parametrize("asked", ["", "nv-make-persistent", "nv-make-persistent,nv-stream-k"])
def test_gemms_that_could_persist(emulated, asked):
    """Persistence and stream-K change the number of CTAs: not of a cooperative launch."""
    M, N, K = 128, 160, 320
    a, b = random((M, K), "fp16", 3), random((K, N), "fp16", 4)
    out = emulated.output((M, N), "fp16")
    args = (emulated.to(a), emulated.to(b), out.array, M, N, K)
    options = {"launch_cooperative_grid": True, "enabled_passes": asked or None}
    with pytest.raises(triton.runtime.OutOfResources, match="all of its 6 CTAs .* GPU 0 runs 5"):
        matmul_kernel[(2, 3)](*args, BM=64, BN=64, BK=64, **options)
    kernel = matmul_kernel[(1, 3)](*args, BM=128, BN=64, BK=64, **options)
    assert not kernel.metadata.persistent
    check_gemm(out.numpy(), a, b)


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int * 16)]


class Config(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")],
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    ]


TEXT = """.version 7.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
"""


@pytest.mark.parametrize("blocks, cooperative, refused", [(5, 1, 0), (6, 1, 1), (6, 0, 0)])
def test_the_emulated_driver_checks_it_too(emulated, blocks, cooperative, refused):
    from emulated_driver import Driver

    driver, module, function = Driver(), ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuModuleLoadData(ctypes.byref(module), TEXT.encode())
    driver.cuModuleGetFunction(ctypes.byref(function), module, b"nothing")
    attribute = Attribute(2)
    attribute.value[0] = cooperative
    config = Config(blocks, 1, 1, 32, 1, 1, 0, None, ctypes.pointer(attribute), 1)
    launch = lambda: driver.cuLaunchKernelEx(ctypes.byref(config), function, None, None)
    if not refused:
        launch()
        return
    with pytest.raises(RuntimeError, match="a cooperative grid of 6 CTAs, of which 5 run at once"):
        launch()
