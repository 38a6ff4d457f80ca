"""A kernel that one process compiles and another launches, as torch's compiler has it; see `compile_worker_steps`."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

HERE = Path(__file__).parent

GENERATED = """
import triton
import triton.language as tl
from triton.language.extra import libdevice

SCALE: tl.constexpr = tl.constexpr(2.5)

@triton.jit
def scaled(x):
    return x * SCALE

@triton.jit
def triton_poi_fused_0(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + xindex, xmask)
    tmp1 = tl.load(in_ptr1 + xindex % ks0, xmask, eviction_policy="evict_last")
    tmp2 = scaled(tmp0) + libdevice.tanh(tmp1)
    tl.store(out_ptr0 + xindex, tmp2, xmask)
"""

HEAD = f"""
import pickle, sys
sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}
import pantile.compat
pantile.compat.install()
import compile_worker_steps as steps
import numpy as np
device = steps.device_named(sys.argv[1])
"""

WORKER = (
    HEAD
    + """
fn = steps.load_generated("generated.py", "compile_tasks.c0ffee").triton_poi_fused_0
tuner = steps.Tuner(fn)
signature = {"in_ptr0": "*fp32", "in_ptr1": "*fp32", "out_ptr0": "*fp32", "ks0": "i32", "xnumel": "i32",
             "XBLOCK": "constexpr"}
attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
for block, warps in ((128, 4), (256, 8)):
    tuner.compile(signature, attrs, {"XBLOCK": block}, steps.target_of(device), num_warps=warps, num_stages=1)
if sys.argv[2] == "loaded":
    # The handles of the first are this process's: the parent must make its own.
    tuner.results[0].kernel._init_handles()
old = tuner.prepare_for_pickle()
text = pickle.dumps(tuner)
tuner.restore_after_unpickle(old)
assert fn.fn.__code__.co_name == "triton_poi_fused_0" and fn.__globals__ is fn.fn.__globals__
again = pickle.dumps(tuner.fn.cache_key)
open("tuner.pickle", "wb").write(text)
"""
)

PARENT = (
    HEAD
    + """
assert not any(name.startswith("compile_tasks") for name in sys.modules)
with open(sys.argv[2], "rb") as file:
    tuner = pickle.load(file)
tuner.restore_after_unpickle()
fn = tuner.fn
assert fn.fn is None and fn.__name__ == "triton_poi_fused_0" and "tl.store(out_ptr0" in fn.src
assert fn.arg_names == ["in_ptr0", "in_ptr1", "out_ptr0", "ks0", "xnumel", "XBLOCK"]
assert [p.num for p in fn.params if p.is_constexpr] == [5] and len(fn.cache_key) == 64
for result in tuner.results:
    assert result.kernel.src.fn is fn and result.kernel.__dict__["_handles"] is None
generator = np.random.default_rng(5)
n, ks0 = 1000, 7
x, y = generator.standard_normal(n).astype(np.float32), generator.standard_normal(ks0).astype(np.float32)
want = x.astype(np.float64) * 2.5 + np.tanh(y.astype(np.float64))[np.arange(n) % ks0]
stream = __import__("triton").runtime.driver.active.get_current_stream(0)
for launcher, block in zip(tuner.make_launchers(), (128, 256)):
    out = device.output(n, "fp32")
    launcher(device.to(x), device.to(y), out.array, ks0, n, -(-n // block), 1, 1, stream)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=1e-5)
    assert launcher.n_spills == 0 and len(launcher.cache_hash) == 64
assert tuner.results[0].kernel.metadata.num_warps == 4
if sys.argv[1] != "cpu":
    assert tuner.results[1].kernel.metadata.num_warps == 8
    assert tuner.results[0].kernel.asm["cubin"] and ".entry" in tuner.results[0].kernel.asm["ptx"]
    assert tuner.results[0].kernel.asm.get("llir") is None
else:
    assert "tile.store" in tuner.results[0].kernel.asm["ttir"]
tuner.launchers = []
tuner.prepare_for_pickle()
with open("second.pickle", "wb") as file:
    pickle.dump(tuner, file)
print("right")
"""
)


def run(program, *arguments, cwd):
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(triton.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("loaded", ["loaded", "not loaded"])
def test_worker_and_parent(device, tmp_path, loaded):
    (tmp_path / "generated.py").write_text(GENERATED)
    run(WORKER, device.name, loaded, cwd=tmp_path)
    (tmp_path / "generated.py").unlink()
    assert run(PARENT, device.name, "tuner.pickle", cwd=tmp_path) == "right\n"
    # The cache of graphs keeps what the parent pickles again.
    assert run(PARENT, device.name, "second.pickle", cwd=tmp_path) == "right\n"


FACTOR: tl.constexpr = tl.constexpr(3)


@triton.jit
def times_factor(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


@triton.jit
def matmul(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :])
        right = tl.load(b + inner[:, None] * N + columns[None, :])
        acc += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


def taken_apart(kernel):
    """The pickle of a kernel's parts, made while its function has none of its own."""
    from compile_worker_steps import Result, Tuner

    tuner = Tuner(kernel.src.fn)
    tuner.results = [Result(kernel, {"constants": {}})]
    old = tuner.prepare_for_pickle()
    try:
        return pickle.dumps(tuner)
    finally:
        tuner.restore_after_unpickle(old)


RESTORED = (
    HEAD
    + """
with open("kernel.pickle", "rb") as file:
    tuner = pickle.load(file)
kernel = tuner.results[0].kernel
with np.load("arrays.npz") as arrays:
    a, b, want = arrays["a"], arrays["b"], arrays["want"]
out = device.output(want.shape, "fp16")
M, K = a.shape
N = b.shape[1]
kernel.run(M // 64, N // 64, 1, 0, kernel.function, kernel.packed_metadata, None, None, None,
           out.array, device.to(a), device.to(b), M, N, K, 64, 64, 64)
np.testing.assert_allclose(out.numpy().astype(np.float64), want, rtol=1e-2, atol=1e-2)
print("right", kernel._kernel.tensor_maps)
"""
)


def test_kernels_with_tensor_maps_are_restored_whole(device, tmp_path):
    """A kernel that a launch compiled may take maps of its tensors; they are made in the other process too."""
    a = (random((128, 256), seed=3) / 4).astype(np.float16)
    b = (random((256, 64), seed=4) / 4).astype(np.float16)
    out = device.output((128, 64), "fp16")
    args = (out.array, device.to(a), device.to(b), 128, 64, 256)
    kernel = matmul[(2, 1)](*args, BM=64, BN=64, BK=64)
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out.numpy().astype(np.float64), want, rtol=1e-2, atol=1e-2)
    (tmp_path / "kernel.pickle").write_bytes(taken_apart(kernel))
    np.savez(tmp_path / "arrays.npz", a=a, b=b, want=want)
    said = run(RESTORED, device.name, cwd=tmp_path)
    assert said == f"right {kernel._kernel.tensor_maps}\n"
    if os.environ.get("PANTILE_EMULATED_TARGET") == "sm_90a":
        assert kernel._kernel.tensor_maps > 0


def test_a_function_is_whole_after_it_was_restored(device):
    x = random(300, seed=6)
    out = device.output(300, "fp32")
    kernel = times_factor[(3,)](out.array, device.to(x), 300, BLOCK=128)
    values = times_factor.used_global_vals
    assert [value.value for value, _ in values.values()] == [3]
    text = taken_apart(kernel)
    assert b"times_factor" in text
    assert (
        times_factor.used_global_vals == values
        and times_factor.repr() == f"{__name__}.times_factor"
    )
    out = device.output(300, "fp32")
    assert times_factor[(3,)](out.array, device.to(x), 300, BLOCK=128) is kernel
    np.testing.assert_array_equal(out.numpy(), x * np.float32(3))
    out = device.output(300, "fp32")
    times_factor[(2,)](out.array, device.to(x), 300, BLOCK=256)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(3))
    assert pickle.loads(pickle.dumps(times_factor)) is times_factor


LAUNCHED = (
    HEAD
    + """
with open("kernel.pickle", "rb") as file:
    tuner = pickle.load(file)
kernel = tuner.results[0].kernel
x = np.load("arrays.npz")["x"]
out = device.output(x.shape, "fp32")
kernel.run(2, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, out.array, device.to(x), len(x))
np.testing.assert_array_equal(out.numpy(), x * np.float32(3))
print("right")
"""
)


def test_a_copy_of_parts_is_pickled_as_parts(device, tmp_path):
    """What Inductor's cache of graphs holds: copied while it is taken apart, pickled after it was put together."""
    from compile_worker_steps import Result, Tuner

    x = random(200, seed=8)
    out = device.output(200, "fp32")
    kernel = times_factor[(2,)](out.array, device.to(x), 200, BLOCK=128)
    tuner = Tuner(kernel.src.fn)
    tuner.results = [Result(kernel, {"constants": {}})]
    old = tuner.prepare_for_pickle()
    copied = copy.deepcopy(tuner)
    tuner.restore_after_unpickle(old)
    assert copied.fn is not times_factor and copied.fn.fn is None
    assert copied.results[0].kernel.src.fn is copied.fn
    (tmp_path / "kernel.pickle").write_bytes(pickle.dumps(copied))
    np.savez(tmp_path / "arrays.npz", x=x)
    assert run(LAUNCHED, device.name, cwd=tmp_path) == "right\n"


def test_restored_in_the_same_process(device):
    x = random(200, seed=7)
    out = device.output(200, "fp32")
    kernel = times_factor[(2,)](out.array, device.to(x), 200, BLOCK=128)
    tuner = pickle.loads(taken_apart(kernel))
    restored, out = tuner.results[0].kernel, device.output(200, "fp32")
    stream = triton.runtime.driver.active.get_current_stream(0)
    packed = restored.packed_metadata
    # The compile-time arguments may be left out.
    restored.run(2, 1, 1, stream, None, packed, None, None, None, out.array, device.to(x), 200)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(3))
    assert restored.hash == kernel.hash and restored.n_regs == kernel.n_regs
    assert tuner.fn is not times_factor and tuner.fn.cache_key == times_factor.cache_key
    with pytest.raises(RuntimeError, match="compiles no kernels"):
        tuner.fn[(1,)](out.array, device.to(x), 200, BLOCK=64)
    if device.name != "cpu":
        with pytest.raises(RuntimeError, match="restored from a pickle"):
            restored.remarks  # noqa: B018


def test_dropping_used_globals_drops_their_check():
    scope = {"triton": triton, "tl": tl, "__name__": __name__}
    fn = times_factor.__copy__()
    x = random(64, seed=8)
    out = np.empty_like(x)
    fn[(1,)](out, x, 64, BLOCK=64)
    np.testing.assert_array_equal(out, x * np.float32(3))
    assert len(fn.used_global_vals) == 1 and scope
    fn.used_global_vals = {}
    assert fn.used_global_vals == {}
    saved = globals()["FACTOR"]
    try:
        globals()["FACTOR"] = tl.constexpr(4)
        fn[(1,)](out, x, 64, BLOCK=64)  # the kernel of before, unchecked
        np.testing.assert_array_equal(out, x * np.float32(3))
    finally:
        globals()["FACTOR"] = saved
