"""Compiled kernels as objects, errors, launch hooks, constexpr functions, and kernels made to run on the CPU."""

import ast
import pickle
import shutil

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource, make_backend
from test_jit_function_objects import function_of

HOPPER = GPUTarget("cuda", 90, 32)
needs_ptxas = pytest.mark.skipif(
    triton.knobs.nvidia.ptxas is None, reason="needs an assembler of PTX"
)


@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def source(block=128):
    types = {"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    return ASTSource(add, types, {"BLOCK": block}, attrs)


@needs_ptxas
def test_stages_of_a_gpu_kernel():
    kernel = triton.compile(source(), target=HOPPER, options={"num_warps": 8})
    assert list(kernel.asm.keys()) == ["ttir", "ttgir", "llir", "ptx", "cubin"]
    assert "tile.load" in kernel.asm["ttir"] and "#tile.layout" in kernel.asm["ttgir"]
    assert "define" in kernel.asm["llir"] and ".target sm_90a" in kernel.asm["ptx"]
    assert kernel.asm["cubin"][:4] == b"\x7fELF" and kernel.kernel == kernel.asm["cubin"]
    assert "tl.store" in kernel.asm["source"] and "cubin" in kernel.asm
    with pytest.raises(KeyError):
        kernel.asm["amdgcn"]
    assert kernel.n_regs > 0 and kernel.n_spills == 0
    metadata = kernel.metadata
    assert (metadata.num_warps, metadata.num_ctas, metadata.num_stages) == (8, 1, 3)
    assert metadata.target == HOPPER and metadata.arch == "sm90" and metadata.warp_size == 32
    assert metadata.hash == kernel.hash and metadata.name == kernel.name == "add"
    assert kernel.packed_metadata == (8, 1, metadata.shared)
    assert metadata._asdict()["global_scratch_size"] == 0
    assert set(metadata._fields) == set(metadata._asdict())


@needs_ptxas
@pytest.mark.skipif(shutil.which("nvdisasm") is None, reason="needs nvdisasm")
def test_sass():
    """A kernel for Hopper has machine code."""
    kernel = triton.compile(source(), target=HOPPER)
    assert "STG" in kernel.asm["sass"]


def test_a_kernel_and_its_metadata_can_be_pickled(device):
    x, y = random(200, seed=1), random(200, seed=2)
    out = device.output(200, "fp32")
    kernel = add.warmup(out.array, device.to(x), device.to(y), 200, BLOCK=64, grid=(4,))
    again = pickle.loads(pickle.dumps(kernel))
    assert again.metadata == kernel.metadata and again.src.signature == kernel.src.signature
    again[(4,)](out.array, device.to(x), device.to(y), 200, 64)
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) + y, rtol=1e-6)


def test_run_as_generated_launchers_do(device):
    x, y = random(200, seed=3), random(200, seed=4)
    kernel = add.warmup(device.to(x), device.to(x), device.to(y), 200, BLOCK=64, grid=(4,))
    stream = triton.runtime.driver.active.get_current_stream(0)
    for constants in ([], [64]):
        out = device.output(200, "fp32")
        seen = []
        args = [out.array, device.to(x), device.to(y), 200, *constants]
        # The hooks are those that the caller hands over, whatever is installed.
        kernel.run(
            4, 1, 1, stream, None, kernel.packed_metadata, "told", seen.append, seen.append, *args
        )
        assert seen == ["told", "told"]
        np.testing.assert_allclose(out.numpy(), x.astype(np.float64) + y, rtol=1e-6)


def test_launch_on_a_stream(gpu):
    stream = gpu.torch.cuda.Stream()
    x, y = random(1000, seed=5), random(1000, seed=6)
    out = gpu.output(1000, "fp32")
    kernel = add.warmup(out.array, gpu.to(x), gpu.to(y), 1000, BLOCK=128, grid=(8,))
    gpu.torch.cuda.synchronize()
    kernel[(8,)](out.array, gpu.to(x), gpu.to(y), 1000, 128, stream=stream.cuda_stream)
    stream.synchronize()
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) + y, rtol=1e-6)


def test_handles_of_a_loaded_kernel(gpu):
    x = gpu.to(random(64))
    kernel = add.warmup(x, x, x, 64, BLOCK=64, grid=(1,))
    assert kernel.module and kernel.function and kernel.n_max_threads >= 128
    utils = triton.runtime.driver.active.utils
    again = utils.load_binary(kernel.name, kernel.asm["cubin"], kernel.metadata.shared, 0)
    assert again[1] != kernel.function and again[2] == kernel.n_regs
    assert utils.cuOccupancyMaxActiveClusters(again[1], 0, 2, 1, 1) > 8
    utils.unload_module(again[0])
    assert utils.get_device_properties(0)["max_shared_mem"] >= 48 * 1024


def test_hooks_around_launches(device):
    x = random(64, seed=7)
    told, order = [], []

    def metadata(grid, kernel, args):
        return {"bytes": args["n"] * 12, "grid": grid, "warps": kernel.num_warps}

    kernel = triton.jit(add.fn, launch_metadata=metadata)
    hooks = triton.knobs.runtime
    with hooks.scope():
        hooks.launch_enter_hook.add(lambda lazy: told.append(lazy.get()))
        hooks.launch_enter_hook.add(lambda lazy: order.append("enter"))
        hooks.launch_exit_hook.add(lambda lazy: order.append("first"))
        hooks.launch_exit_hook.add(lambda lazy: order.append("last"))
        kernel[(1,)](device.to(x), device.to(x), device.to(x), 64, 64)
        compiled = kernel.warmup(device.to(x), device.to(x), device.to(x), 64, 64, grid=(1,))
        compiled[(1,)](device.to(x), device.to(x), device.to(x), 64, 64)
        for hook in (hooks.launch_enter_hook, hooks.launch_exit_hook):
            for function in list(hook.calls):
                hook.remove(function)
    assert [(t["bytes"], t["grid"][0], t["warps"], t["name"]) for t in told] == [
        (768, 1, 4, "add")
    ] * 2
    assert order == ["enter", "last", "first"] * 2


def test_listener_and_post_compile_hook():
    seen, compiled = [], []
    knobs = triton.knobs
    with knobs.compilation.scope(), knobs.runtime.scope():
        knobs.compilation.listener = lambda **info: seen.append(info)
        knobs.runtime.jit_post_compile_hook = lambda **info: compiled.append(info)
        triton.jit(add.fn).warmup(tl.float32, tl.float32, tl.float32, 64, BLOCK=64, grid=(1,))
    (info,) = seen
    assert info["metadata"]["name"] == "add" and info["src"].fn.__name__ == "add"
    assert info["times"].total == info["times"].total_lowering > 0
    # On a GPU an earlier test may have left it on disk.
    assert info["cache_hit"] is False or triton.runtime.driver.active.is_active()
    assert compiled[0]["fn"].name == "add" and compiled[0]["compile"]["is_warmup"]


def test_options_of_a_back_end():
    backend = make_backend(HOPPER)
    options = backend.parse_options({"num_warps": 2, "BLOCK": 3, "num_stages": None})
    assert (options.num_warps, options.num_stages, options.arch) == (2, 3, "sm90")
    assert options.hash() != backend.parse_options({}).hash() and "90" in backend.hash()
    assert make_backend(GPUTarget("cpu", "cpu", 1)).parse_options({}).backend_name == "cpu"
    with pytest.raises(RuntimeError, match="0 compatible backends"):
        make_backend(GPUTarget("hip", "gfx942", 64))


def test_compile_explains_what_it_takes():
    with pytest.raises(FileNotFoundError, match="no-such-kernel.ttir"):
        triton.compile("no-such-kernel.ttir")
    types = {"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32"}
    with pytest.raises(ValueError, match="parameter `BLOCK` has neither a type nor a value"):
        triton.compile(ASTSource(add, types))


def errors():
    node = ast.parse("def f():\n  x = 1 +  y\n").body[0].body[0]
    return [
        triton.OutOfResources(300000, 232448, "shared memory"),
        triton.PTXASError("Unexpected instruction"),
        triton.InterpreterError("out of bounds"),
        triton.AutotunerError("no configuration"),
        triton.CompilationError("def f():\n  x = 1 +  y\n", node, "y is unknown"),
        triton.CompileTimeAssertionFailure(None, None, "N is odd"),
        triton.UnsupportedLanguageConstruct(None, node, "try"),
        triton.TritonError("anything"),
    ]


@pytest.mark.parametrize("error", errors(), ids=lambda error: type(error).__name__)
def test_errors_can_be_pickled(error):
    """Each class of error keeps its arguments."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.args == error.args
    assert isinstance(again, triton.TritonError)


def test_messages_of_errors():
    resources, ptxas, *_, compilation, _, _, _ = errors()
    assert str(resources) == (
        "out of resource: shared memory, Required: 300000, Hardware limit: 232448. "
        "Reducing block sizes or `num_stages` may help."
    )
    assert (resources.required, resources.limit, resources.name) == (
        300000,
        232448,
        "shared memory",
    )
    assert str(ptxas) == "PTXAS error: Unexpected instruction"
    assert str(compilation) == "at 2:2:\ndef f():\n  x = 1 +  y\n  ^\ny is unknown"


def test_an_error_of_the_compiler_can_be_pickled():
    kernel = triton.jit(function_of("def kernel(out):\n    tl.store(out, missing)\n"))
    with pytest.raises(triton.CompilationError) as raised:
        kernel.warmup(tl.float32, grid=(1,))
    again = pickle.loads(pickle.dumps(raised.value))
    assert "missing" in again.error_message and str(again) == str(raised.value)
    assert again.range[1] == 2 and again.src is None


@needs_ptxas
def test_too_much_shared_memory():
    """Compiling without a GPU says it, too."""
    text = """
def kernel(out, a, b, N: tl.constexpr, K: tl.constexpr):
    i, k = tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((N, N), tl.float32)
    for start in range(0, 4096, K):
        x = tl.load(a + i[:, None] * 4096 + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * 4096 + i[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(out + i[:, None] * N + i[None, :], acc)
"""
    kernel = triton.jit(function_of(text))
    types = {"out": "*fp32", "a": "*fp16", "b": "*fp16", "N": "constexpr", "K": "constexpr"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    src = ASTSource(kernel, types, {"N": 128, "K": 256}, attrs)
    with pytest.raises(triton.OutOfResources, match="out of resource: shared memory") as raised:
        triton.compile(src, target=HOPPER, options={"num_stages": 6})
    assert raised.value.required > raised.value.limit > 200000


@triton.constexpr_function
def widest(dtypes, default=None):
    """The dtype with the most bits."""
    return max(dtypes, key=lambda dtype: dtype.primitive_bitwidth, default=default)


@triton.constexpr_function
def squares(count):
    return tuple(i * i for i in range(count))


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def halved(x):
    return x / 2


@triton.constexpr_function
def operation(name):
    return {"twice": twice, "halved": halved}[name]


@triton.constexpr_function
def layout(rows, *, columns=4, label="none"):
    if rows > 64:
        raise ValueError(f"{rows} rows for {label}")
    return rows * columns, label.upper(), None if columns else 0, columns > 2, rows / 8


@triton.jit
def uses_constexpr_functions(out, x, N: tl.constexpr, OP: tl.constexpr):
    i = tl.arange(0, N)
    value = operation(OP)(tl.load(x + i).to(widest((tl.float16, tl.float64, tl.int32))))
    table = squares(5)
    size, label, nothing, wide, eighth = layout(N, columns=8, label="tile")
    tl.static_assert(label == "TILE" and nothing is None and wide)
    tl.store(out + i, value + table[4] * size + eighth)


@pytest.mark.parametrize("op, factor", [("twice", 2.0), ("halved", 0.5)])
def test_constexpr_functions(device, op, factor):
    x = random(32, seed=8)
    out = device.output(32, "fp64")
    uses_constexpr_functions[(1,)](out.array, device.to(x), 32, op)
    np.testing.assert_allclose(
        out.numpy(), x.astype(np.float64) * factor + 16 * 256 + 4, rtol=1e-12
    )


def test_constexpr_functions_on_the_host():
    assert squares(4) == (0, 1, 4, 9) and squares(tl.constexpr(3)) == (0, 1, 4)
    assert layout(tl.constexpr(8), label="a") == (32, "A", None, True, 1.0)
    assert operation("twice") is twice and squares.__name__ == "squares"
    assert tl.constexpr_function is triton.constexpr_function


def test_a_constexpr_function_that_raises():
    text = "def kernel(out, N: tl.constexpr):\n    tl.store(out, layout(N, label='big')[0])\n"
    kernel = triton.jit(function_of(text, layout=layout))
    with pytest.raises(
        triton.CompilationError, match="`layout` raised ValueError: 128 rows for big"
    ):
        kernel.warmup(tl.int32, 128, grid=(1,))


def test_a_constexpr_function_takes_no_run_time_value():
    text = "def kernel(out, n):\n    tl.store(out, squares(n)[0])\n"
    kernel = triton.jit(function_of(text, squares=squares))
    with pytest.raises(triton.CompilationError, match="`squares` runs while compiling"):
        kernel.warmup(tl.int32, 7, grid=(1,))


def test_a_constexpr_function_is_part_of_the_key():
    text = "def kernel(out):\n    tl.store(out, f(3))\n"
    keys = set()
    for body in ("n + 1", "n + 2"):
        inner = function_of(f"def f(n):\n    return {body}\n", "f")
        keys.add(triton.jit(function_of(text, f=triton.constexpr_function(inner))).cache_key)
    assert len(keys) == 2


def test_interpreted_functions(device, monkeypatch):
    if device.arch and not device.on_gpu:
        pytest.skip("the interpreter copies torch's tensors")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    kernel = triton.jit(add.fn)
    x, y = random(300, seed=9), random(300, seed=10)
    out = device.output(300, "fp32")
    compiled = kernel[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](
        out.array, device.to(x), y=device.to(y), n=300, BLOCK=64
    )
    assert compiled.target.backend == "cpu" and isinstance(kernel, triton.JITFunction)
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) + y, rtol=1e-6)


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BLOCK: tl.constexpr, STEP: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, STEP)
    pa, pb = a + m[:, None] * sa + k[None, :], b + k[:, None] * sb + n[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, STEP):
        x = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        y = tl.load(pb, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        pa += STEP
        pb += STEP * sb
    out = c + m[:, None] * sc + n[None, :]
    tl.store(out, acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@needs_ptxas
def test_code_for_other_launchers_takes_the_arguments_alone():
    kinds = ["*fp16"] * 3 + ["i32"] * 6 + ["constexpr"] * 2
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(9)}
    src = ASTSource(matmul, dict(zip(matmul.arg_names, kinds)), {"BLOCK": 128, "STEP": 64}, attrs)
    kernel = triton.compile(src, target=HOPPER, options={"num_warps": 8})
    head = kernel.asm["ptx"].partition(".visible .entry matmul(")[2].partition(")")[0]
    # The nine, and Triton's two pointers to scratch memory.
    assert head.count(".param") == 11 and ".align 64" not in head
    assert kernel.metadata.num_warps == 8 and "wgmma" in kernel.asm["ptx"]
    assert pickle.loads(pickle.dumps(kernel)).hash == kernel.hash


@triton.jit
def meet(out, arrived, COUNT: tl.constexpr):
    """Every program waits until all have come."""
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < COUNT:
        pass
    tl.store(out + tl.program_id(0), tl.program_id(0) * 3)


def test_cooperative_launches(device, monkeypatch):
    """64 programs that wait for one another run at once, and the metadata says so."""
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "64")
    out = device.output(64, "i32")
    arrived = device.to(np.zeros(1, np.int32))
    kernel = meet[(64,)](out.array, arrived, 64, launch_cooperative_grid=True)
    assert kernel.metadata.launch_cooperative_grid
    np.testing.assert_array_equal(out.numpy(), np.arange(64) * 3)


def test_a_cooperative_grid_that_does_not_fit(gpu):
    out, arrived = gpu.output(64, "i32"), gpu.to(np.zeros(1, np.int32))
    with pytest.raises(triton.runtime.OutOfResources, match="its 1048576 CTAs have to run at once"):
        meet[(1 << 20,)](out.array, arrived, 64, launch_cooperative_grid=True)


def test_programmatic_launches(device):
    x, y = random(500, seed=21), random(500, seed=22)
    first, second = device.output(500, "fp32"), device.output(500, "fp32")
    a, b = device.to(x), device.to(y)
    add[(8,)](first.array, a, b, 500, 64)
    add[(8,)](second.array, a, b, 500, 64, launch_pdl=True)
    np.testing.assert_allclose(second.numpy(), x.astype(np.float64) + y, rtol=1e-6)


def test_jit_functions_can_be_pickled_and_copied():
    import copy

    assert pickle.loads(pickle.dumps(add)) is add and copy.deepcopy([add])[0] is add
    again = copy.copy(add)
    assert again is not add and again.cache_key == add.cache_key
    assert again.dispatcher is not add.dispatcher


def test_interpreted_functions_without_arrays(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    kernel = triton.jit(function_of("def kernel(n):\n    tl.device_assert(n > 3)\n"))
    assert kernel.warmup(5, grid=(1,)).target.backend == "cpu"


def test_a_global_of_a_constexpr_function_is_watched():
    inner = triton.constexpr_function(function_of("def f(n):\n    return n + STEP\n", "f", STEP=4))
    kernel = triton.jit(function_of("def kernel(out):\n    tl.store(out, f(3))\n", f=inner))
    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    inner.fn.__globals__["STEP"] = 5
    with pytest.raises(RuntimeError, match="Global variable STEP has value 5"):
        kernel[(1,)](out)
    assert out[0] == 7


@needs_ptxas
def test_another_architecture(monkeypatch):
    kernel = triton.compile(source(), target=HOPPER, options={"arch": "sm80"})
    assert kernel.metadata.arch == "sm80" and kernel.metadata.target.arch == 80
    assert ".target sm_80" in kernel.asm["ptx"]
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm89")
    assert ".target sm_89" in triton.compile(source(), target=HOPPER).asm["ptx"]
