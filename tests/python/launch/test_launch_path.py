"""The short way of launches: what is found again, what goes the long way, and what is let go."""

import gc
import importlib.util
import threading
import weakref

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile import _pantile


@triton.jit
def scaled_kernel(out_ptr, x_ptr, factor, n, ADD: tl.constexpr = 0, N: tl.constexpr = 16):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * factor + ADD)


class Counted:
    """The launches within a `with` block, by their path."""

    def __enter__(self):
        self.before = triton.runtime.stats()
        return self

    def __exit__(self, *_):
        after = triton.runtime.stats()
        for name in ("hits", "shortcuts", "misses", "launches", "compiles"):
            setattr(self, name, after[name] - self.before[name])


def test_the_second_launch_runs_no_python(device):
    x = random(16, "fp32", seed=1)
    out = device.to(np.zeros(16, np.float32))
    kernel = scaled_kernel[(1,)](out, device.to(x), 2.0, 16)
    with Counted() as counted:
        for factor in (2.0, 3.5, -1.0):
            assert scaled_kernel[(1,)](out, device.to(x), factor, 16) is kernel
            np.testing.assert_array_equal(device.numpy(out), x * np.float32(factor))
    assert (counted.hits, counted.misses, counted.launches) == (3, 0, 3)


def test_keys_of_the_fast_path_distinguish_kernels():
    x = random(16, "fp32", seed=2)
    out = np.zeros(16, np.float32)
    calls = [
        ((2.0, 16), {}),
        ((2.0, 15), {}),  # no multiple of 16
        ((2.0, 1), {}),  # compiled in
        ((2.0, 2**40), {}),  # 64 bits
        ((2, 16), {}),  # an integer
        ((True, 16), {}),  # a bool
        ((2.0, 16), {"ADD": 3}),
        ((2.0, 16), {"ADD": 3.0}),
        ((2.0, 16), {"num_warps": 8}),
        ((2.0, 16), {"N": 8}),
    ]
    kernels = [scaled_kernel[(1,)](out, x, *args, **kwargs) for args, kwargs in calls]
    assert len({id(kernel) for kernel in kernels}) == len(calls)
    with Counted() as counted:
        for (args, kwargs), kernel in zip(calls, kernels):
            out[:] = np.nan
            assert scaled_kernel[(1,)](out, x, *args, **kwargs) is kernel
            size = kwargs.get("N", 16)
            expected = np.where(np.arange(16) < args[1], x, 0) * np.float32(args[0])
            expected = expected + np.float32(kwargs.get("ADD", 0))
            np.testing.assert_allclose(out[:size], expected[:size], rtol=1e-6)
    assert counted.misses == 0
    half = x.astype(np.float16)
    assert scaled_kernel[(1,)](out, half, 2.0, 16) not in kernels
    shifted = np.zeros(20, np.float32)[1:17]
    assert scaled_kernel[(1,)](out, shifted, 2.0, 16) not in kernels, "the address is no multiple"


def test_keywords_defaults_and_grids_go_the_short_way():
    x = random(16, "fp32", seed=3)
    out = np.zeros(16, np.float32)
    seen = []

    def grid(meta):
        seen.append(meta)
        return (meta["N"] // 16, 1)

    ways = [
        lambda: scaled_kernel[(1,)](n=16, factor=1.5, x_ptr=x, out_ptr=out),
        lambda: scaled_kernel[1](out, x, 1.5, n=16),
        lambda: scaled_kernel[[1]](out, x, 1.5, n=16),
        lambda: scaled_kernel[grid](out, x, 1.5, n=16, num_warps=4),
        lambda: scaled_kernel.run(out, x, 1.5, 16, grid=(1,), warmup=False),
    ]
    for way in ways:
        for _ in range(2):
            way()
        with Counted() as counted:
            out[:] = np.nan
            way()
            np.testing.assert_array_equal(out, x * np.float32(1.5))
        assert (counted.hits, counted.misses) == (1, 0)
    assert seen[-1]["num_warps"] == 4 and seen[-1]["ADD"] == 0 and seen[-1]["x_ptr"] is x


@triton.jit
def numbered_kernel(out_ptr, columns, depth):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(out_ptr + (x * columns + y) * depth + z, 1 + (x * columns + y) * depth + z)


def test_launchers_are_kept_by_grid():
    kernel = numbered_kernel
    assert (
        kernel[(3, 2)] is kernel[(3, 2)]
        and kernel[5] is kernel[5]
        and kernel[[3, 2]] is kernel[(3, 2)]
    )
    forms = [kernel[grid] for grid in (4, (4,), (4, 1), (4, 1, 1), (1, 4))]
    assert [launcher.grid for launcher in forms] == [4, (4,), (4, 1), (4, 1, 1), (1, 4)]
    assert kernel[(True,)].grid == (True,) and kernel[(np.int64(4),)].grid == (4,)
    # More grids than are kept, and each launches what it says.
    rng = np.random.default_rng(11)
    for extents in rng.integers(1, 7, (300, 3)).tolist():
        out = np.zeros(extents, np.int32)
        kernel[tuple(extents)](out, extents[1], extents[2])
        np.testing.assert_array_equal(out.ravel(), np.arange(1, out.size + 1))
        assert kernel[tuple(extents)].grid == tuple(extents)
    assert kernel.__copy__()[(3, 2)] is not kernel[(3, 2)]
    for wrong in [(None,), (kernel, None), (kernel, kernel.dispatcher, 3)]:
        with pytest.raises(TypeError):
            _pantile.Launchers(*wrong)
    with pytest.raises(TypeError, match="cannot create"):
        _pantile.Launcher(kernel, kernel.dispatcher, None, (1,))


def test_callable_grids_are_not_kept():
    class Grid:
        def __call__(self, meta):
            return (2,)

    grid = Grid()
    alive = weakref.ref(grid)
    out = np.zeros(2, np.int32)
    for _ in range(3):
        numbered_kernel[grid](out, 1, 1)
    np.testing.assert_array_equal(out, [1, 2])
    del grid
    assert alive() is None


def test_threads_use_the_same_launchers():
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for rows, columns in rng.integers(1, 9, (150, 2)).tolist():
            out = np.zeros((rows, columns), np.int32)
            numbered_kernel[(rows, columns)](out, columns, 1)
            if (out.ravel() != np.arange(1, out.size + 1)).any():
                failures.append((seed, rows, columns))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@triton.jit
def pair_kernel(out_ptr, pair, strings: tl.constexpr, dtype: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(pair[0] + offsets).to(dtype)
    if strings == "plus":
        x += pair[1]
    tl.store(out_ptr + offsets, x)


def test_tuples_strings_and_dtypes_take_the_fast_path():
    x = random(16, "fp32", seed=4)
    out = np.zeros(16, np.float32)
    for strings, dtype, add in [("plus", tl.float32, 2.5), ("minus", tl.float16, 7.0)]:
        for _ in range(3):
            with Counted() as counted:
                out[:] = np.nan
                pair_kernel[(1,)](out, (x, add), strings, dtype, 16)
        kept = x if dtype is tl.float32 else x.astype(np.float16).astype(np.float32)
        np.testing.assert_allclose(out, kept + (add if strings == "plus" else 0), rtol=1e-6)
        assert counted.misses == 0


def test_hooks_are_seen_as_soon_as_they_are_set():
    x = random(16, "fp32", seed=5)
    out = np.zeros(16, np.float32)
    seen = []
    launch = lambda: scaled_kernel[(1,)](out, x, 1.0, 16)  # noqa: E731
    launch()
    launch()
    hook = lambda metadata: seen.append(metadata["name"])  # noqa: E731
    triton.knobs.runtime.launch_exit_hook.add(hook)
    try:
        launch()
    finally:
        triton.knobs.runtime.launch_exit_hook.remove(hook)
    launch()
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.launch_enter_hook = hook
        launch()
    launch()
    before = lambda *args, **kwargs: seen.append(len(args))  # noqa: E731
    scaled_kernel.pre_run_hooks = [before]
    launch()
    scaled_kernel.pre_run_hooks.remove(before)
    launch()
    assert seen == ["scaled_kernel", "scaled_kernel", 4]


FACTOR = tl.constexpr(3)


@triton.jit
def global_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, 4), FACTOR)


def test_a_changed_constant_is_seen_on_the_short_way():
    global FACTOR
    out = np.zeros(4, np.int32)
    for _ in range(3):
        global_kernel[(1,)](out)
    kept = FACTOR
    FACTOR = tl.constexpr(4)
    try:
        with pytest.raises(RuntimeError, match="Global variable FACTOR has value"):
            global_kernel[(1,)](out)
    finally:
        FACTOR = kept
    with Counted() as counted:
        global_kernel[(1,)](out)
    assert counted.misses == 0 and (out == 3).all()


def tuned(configs, key=("n",)):
    return triton.autotune(configs=configs, key=list(key))(scaled_kernel)


def test_a_tuned_kernel_takes_the_short_way():
    kernel = tuned([triton.Config({"ADD": 1}), triton.Config({"ADD": 2})])
    x = random(16, "fp32", seed=6)
    out = np.zeros(16, np.float32)
    grids = []

    def grid(meta):
        grids.append(meta["ADD"])
        return (1,)

    for _ in range(2):
        kernel[(1,)](out, x, 2.0, 16)
    with Counted() as counted:
        kernel[(1,)](out, x, 3.0, 16)
        kernel[grid](out, x, 3.0, 16)
    assert (counted.hits, counted.misses, grids) == (2, 0, [1])
    np.testing.assert_allclose(out, x * 3 + 1, rtol=1e-6)
    # A choice that is written down holds.
    (key,) = kernel.cache
    kernel.cache[key] = kernel.configs[1]
    kernel[(1,)](out, x, 3.0, 16)
    np.testing.assert_allclose(out, x * 3 + 2, rtol=1e-6)
    assert kernel.best_config is kernel.configs[1]
    kernel[(1,)](out, x, 3.0, 8)
    assert len(kernel.cache) == 2 and kernel.best_config is kernel.configs[0]
    kernel[(1,)](out, x, 3.0, 16)
    assert kernel.best_config is kernel.configs[1]


def test_configurations_with_hooks_are_prepared_for_each_launch():
    seen = []
    kernel = tuned([triton.Config({"ADD": 1}, pre_hook=lambda args: seen.append(args["n"]))])
    out, x = np.zeros(16, np.float32), random(16, "fp32", seed=7)
    for _ in range(3):
        kernel[(1,)](out, x, 2.0, 16)
    assert seen == [16, 16, 16]


TEXT = """
import pantile as triton
import pantile.language as tl

@triton.jit
def passing_kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.arange(0, N))
"""


def module_of(folder, text, name="passing"):
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What the compiler calls while it compiles must not keep the kernel either.
HOST_TEXT = (
    TEXT.replace("@triton.jit", "@triton.constexpr_function\ndef twice(n):\n    return 2 * n\n\n@triton.jit")
    .replace("tl.arange(0, N))", "tl.arange(0, N) * twice(N))")
)  # fmt: skip


@pytest.mark.parametrize("text", [TEXT, HOST_TEXT], ids=["plain", "with a constexpr function"])
def test_kernels_are_collected_with_their_functions(tmp_path, text):
    module = module_of(tmp_path, text)
    out = np.zeros(8, np.int32)
    for _ in range(3):
        compiled = module.passing_kernel[(1,)](out, 8)
    np.testing.assert_array_equal(out, np.arange(8) * (16 if "twice" in text else 1))
    assert "func.func" in compiled.asm["ttir"]
    alive = [weakref.ref(module.passing_kernel), weakref.ref(compiled)]
    launcher = module.passing_kernel[(1,)]
    del module, compiled
    gc.collect()
    assert alive[0]() is not None, "the launcher holds its kernel"
    launcher(out, 8)
    del launcher
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, scale, transposed, BM: tl.constexpr = 64, BN: tl.constexpr = 64, BK: tl.constexpr = 32
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    steps = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(
            a_ptr + rows[:, None] * K + (k + steps)[None, :],
            mask=(rows[:, None] < M) & ((k + steps)[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + (k + steps)[:, None] * N + columns[None, :],
            mask=((k + steps)[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(a, b, total)
    if transposed:
        total = -total
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total * scale, mask=inside)


def test_launches_like_the_one_before(device):
    rng = np.random.default_rng(12)
    grid = lambda meta: (triton.cdiv(meta["M"], meta["BM"]), triton.cdiv(meta["N"], meta["BN"]))  # noqa: E731
    with Counted() as counted:
        for step in range(8):
            M, N, K = (16 * int(n) for n in rng.integers(4, 13, 3))
            a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
            scale, transposed = float(rng.uniform(0.5, 2)), bool(step % 3)
            out = device.to(np.full((M, N), np.nan, np.float32))
            extents = grid({"M": M, "N": N, "BM": 64, "BN": 64})
            launcher = matmul_kernel[extents if step % 2 else grid]
            launcher(device.to(a), device.to(b), out, M, N, K, scale, transposed, num_warps=4)
            expected = (
                a.astype(np.float64) @ b.astype(np.float64) * scale * (-1 if transposed else 1)
            )
            np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-3, atol=1e-2)
    assert counted.misses <= 1
    if device.arch is not None:
        assert counted.shortcuts >= 5


def test_stats_count_compilations():
    out, x = np.zeros(16, np.float32), random(16, "fp32", seed=8)
    with Counted() as counted:
        for _ in range(3):
            scaled_kernel[(1,)](out, x, 2.0, 16, ADD=1234)
    assert counted.misses == 1 and counted.hits == 2 and counted.compiles <= 1


@triton.jit
def addressed_kernel(
    out_ptr: "*fp32",  # noqa: F722
    x_ptr: tl.pointer_type(tl.float32),
    n,
    N: tl.constexpr,
):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=0.0) * 2)


def test_raw_addresses(device):
    x = random(64, "fp32", seed=9)
    given, out = device.to(x), device.to(np.zeros(64, np.float32))
    address = lambda array: (  # noqa: E731
        array.data_ptr() if device.on_gpu else array.ctypes.data
    )
    for first, second in [(out, address(given)), (address(out), given), (out, given)]:
        for _ in range(3):
            device.to(np.zeros(1))
            with Counted() as counted:
                addressed_kernel[(1,)](first, second, 60, N=64)
        assert counted.misses == 0
        expected = np.where(np.arange(64) < 60, x * 2, 0)
        np.testing.assert_array_equal(device.numpy(out), expected)
    with pytest.raises(TypeError, match="`x_ptr` is annotated `\\*fp32`, but is no array"):
        addressed_kernel[(1,)](out, 2.5, 60, N=64)


def run_of(kernel, grid, stream, *args):
    """As the launchers that Inductor writes call a compiled kernel."""
    kernel.run(*grid, stream, kernel.function, kernel.packed_metadata, None, None, None, *args)


@triton.jit
def mixed_kernel(out_ptr, x_ptr, bias_ptr, factor, n, twice, SHIFT: tl.constexpr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0) * factor
    if twice:
        x *= 2
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x + SHIFT, mask=offsets < n)


@pytest.mark.parametrize("has_bias", [False, True])
def test_runs_of_a_compiled_kernel(device, has_bias):
    """All arguments or none of the constants; what a kernel was not compiled for takes the long way."""
    size, block = 200, 64
    x, bias = random(size + 1, "fp32", seed=21), random(size + 1, "fp32", seed=22)
    given, added = device.to(x), device.to(bias) if has_bias else None
    out = device.to(np.zeros(size, np.float32))
    kernel = mixed_kernel[(4,)](out, given, added, 1.5, size, True, 3, block)
    rng = np.random.default_rng(23)
    stream = 0
    quick = 0
    for step in range(12):
        n, factor, twice = int(rng.integers(1, 13)) * 16, float(rng.uniform(0.5, 2)), bool(step % 2)
        out = device.to(np.full(size, np.nan, np.float32))
        constants = (3, block) if step % 3 else ()
        args = (out, given, added, factor, n, twice, *constants)
        with Counted() as counted:
            run_of(kernel, (4, 1, 1), stream, *args)
        quick += counted.shortcuts
        expected = (
            x[:n] * np.float32(factor) * (2 if twice else 1) + (bias[:n] if has_bias else 0) + 3
        )
        np.testing.assert_allclose(device.numpy(out)[:n], expected, rtol=1e-6, atol=1e-6)
        assert np.isnan(device.numpy(out)[n:]).all()
    if device.arch is not None:
        assert quick >= 10
    out = device.to(np.full(size, np.nan, np.float32))
    run_of(kernel, (0, 1, 1), stream, out, given, added, 1.5, 160, False)
    assert np.isnan(device.numpy(out)).all()


def test_runs_that_are_refused(device):
    x = random(64, "fp32", seed=24)
    given, out = device.to(x), device.to(np.zeros(64, np.float32))
    kernel = mixed_kernel[(1,)](out, given, None, 1.5, 48, True, 3, 64)
    run_of(kernel, (1, 1, 1), 0, out, given, None, 1.5, 48, True)
    for args, error in [
        ((out, given, None, 1.5), TypeError),  # too few
        ((out, given, None, "a", 48, True), (TypeError, ValueError)),
        ((out, given, None, 1.5, 2**70, True), (OverflowError, ValueError, TypeError)),
    ]:
        with pytest.raises(error):
            run_of(kernel, (1, 1, 1), 0, *args)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.check = "overlap"
        out = device.to(np.zeros(64, np.float32))
        with Counted() as counted:
            run_of(kernel, (1, 1, 1), 0, out, given, None, 2.0, 48, False)
        assert counted.shortcuts == 0
        np.testing.assert_allclose(device.numpy(out)[:48], x[:48] * 2 + 3, rtol=1e-6)
