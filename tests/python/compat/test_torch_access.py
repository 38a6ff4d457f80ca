"""What PyTorch uses of triton: its probes, Inductor's imports and reads, and user kernels in `torch.library`.

Without torch the same accesses are made here one by one; on a GPU machine torch itself makes them, in a process of
its own in which triton is this package.
"""

import inspect
import subprocess
import sys
import textwrap

import numpy as np
import pantile as triton
import pantile.language as tl
from conftest import random


@triton.jit
def axpy(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def test_probes():
    """Versions, backends and targets answer torch's probes."""
    from pantile.backends import backends
    from pantile.compiler.compiler import make_backend, triton_key
    from pantile.runtime.driver import driver

    assert tuple(int(v) for v in triton.__version__.split(".")[:2]) == (3, 6)
    assert "nvidia" in backends and "cpu" in backends and "amd" not in backends
    for backend in backends.values():
        assert hasattr(backend.compiler, "supports_target")
    active = {name: backend.driver.is_active() for name, backend in backends.items()}
    is_gpu = driver.active.get_current_target().backend == "cuda"
    assert active == {"nvidia": is_gpu, "cpu": False}  # called on classes, as torch does
    driver.set_active(backends["nvidia"].driver())
    assert isinstance(driver.active, backends["nvidia"].driver)
    driver.reset_active()
    backend = make_backend(driver.active.get_current_target())
    assert isinstance(backend.hash(), str) and len(triton_key()) > 10
    assert hasattr(tl, "make_tensor_descriptor")


def test_signatures_that_are_read():
    parameters = inspect.signature(triton.Config.__init__).parameters
    for name in "kwargs num_warps num_stages num_ctas maxnreg pre_hook ir_override".split():
        assert name in parameters
    assert "num_consumer_groups" not in parameters
    assert "_semantic" in inspect.signature(tl.core.view).parameters
    assert list(inspect.signature(tl.load).parameters)[:3] == ["pointer", "mask", "other"]
    defaults = inspect.signature(triton.Autotuner.__init__).parameters
    assert defaults["warmup"].default is None and defaults["use_cuda_graph"].default is False
    assert tl.standard._log2.__name__ == "_log2"
    assert tl.load.__doc__ and tl.sum.__doc__ and tl.extra.libdevice.tanh.__doc__


def test_autotuners_and_heuristics_as_objects():
    tuned = triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])(axpy)
    assert isinstance(tuned, triton.runtime.Autotuner) and isinstance(tuned, triton.KernelInterface)
    assert tuned.fn is axpy and tuned.base_fn is axpy.fn and tuned.keys == ["n"]
    assert tuned.num_warmups is None and tuned.num_reps is None and not tuned.use_cuda_graph
    assert not tuned.user_defined_pre_hook and not tuned.user_defined_post_hook
    assert tuned.restore_value == [] and tuned.reset_to_zero == [] and tuned.perf_model is None
    assert tuned.early_config_prune is None and tuned.configs_top_k == 1.0
    heuristic = triton.heuristics({"BLOCK": lambda args: 64})(axpy)
    assert isinstance(heuristic, triton.runtime.autotuner.Heuristics)
    assert heuristic.fn is axpy and list(heuristic.values) == ["BLOCK"]
    assert heuristic.arg_names == axpy.arg_names


def test_what_inductor_reads_of_a_kernel(device):
    """Its tuner compiles ahead of time, keeps the parts, and launches with a grid and a raw stream."""
    from pantile.compiler.compiler import ASTSource
    from pantile.runtime.jit import JITFunction

    target = triton.runtime.driver.active.get_current_target()
    if not device.on_gpu:
        target = triton.backends.compiler.GPUTarget("cpu", "cpu", 1)
    signature = {
        "out": "*fp32",
        "x": "*fp32",
        "y": "*fp32",
        "a": "fp32",
        "n": "i32",
        "BLOCK": "constexpr",
    }
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    options = {"num_warps": 4, "num_stages": 1, "debug": True, "sanitize_overflow": False}
    source = ASTSource(axpy, signature, {"BLOCK": 128}, attrs)
    binary = triton.compile(source, target=target, options=options)
    binary._init_handles()
    assert isinstance(binary.src.fn, JITFunction) and binary.src.fn.arg_names == list(signature)
    assert binary.src.signature == signature and binary.src.constants == {(5,): 128}
    metadata = binary.metadata
    for (
        name
    ) in "num_warps num_ctas shared name cluster_dims global_scratch_size launch_pdl".split():
        assert hasattr(metadata, name)
    assert metadata.num_warps == binary.packed_metadata[0] and metadata._asdict()["name"] == "axpy"
    assert isinstance(binary.n_regs, int) and isinstance(binary.n_spills, int)
    assert binary.launch_metadata((1, 1, 1), 0) is None
    if device.on_gpu:
        assert binary.asm["cubin"][:4] == b"\x7fELF" and binary.function
    x, y = random(300, seed=1), random(300, seed=2)
    out = device.output(300, "fp32")
    stream = triton.runtime.driver.active.get_current_stream(0)
    args = (out.array, device.to(x), device.to(y), 2.5, 300)
    packed = binary.packed_metadata
    binary.run(3, 1, 1, stream, binary.function, packed, None, None, None, *args)
    np.testing.assert_allclose(out.numpy(), 2.5 * x.astype(np.float64) + y, rtol=1e-5, atol=1e-6)


INDUCTOR_IMPORTS = """
import triton.language as tl
from triton import Config, knobs
from triton.compiler import CompiledKernel
from triton.runtime.autotuner import OutOfResources, PTXASError
from triton.runtime.jit import KernelInterface, JITFunction
from triton.compiler.compiler import ASTSource, make_backend
from triton.backends.compiler import GPUTarget
from triton.language.extra import libdevice
from triton.language.standard import _log2
from triton.runtime.cache import triton_key
from triton.testing import do_bench
assert tl.extra.libdevice is libdevice and tl.math.exp is tl.exp
"""


def run(program, *arguments):
    head = "import pantile, pantile.compat; pantile.compat.install()\n"
    command = [sys.executable, "-c", head + textwrap.dedent(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_what_inductor_imports():
    run(INDUCTOR_IMPORTS)


# A file as Inductor writes it: a kernel, and its globals with their annotations (wrapper.py).
GENERATED = """
import triton
import triton.language as tl
FACTOR: MODULE.constexpr = tl.constexpr(3)

@triton.jit
def kernel(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * FACTOR)
"""

ANNOTATED = """
import copy, pickle, runpy, sys
import numpy as np, triton.language as tl
with open(sys.argv[1]) as file:
    text = file.read().replace("MODULE", tl.constexpr.__module__)
with open(sys.argv[1], "w") as file:
    file.write(text)
x, out = np.random.default_rng().standard_normal(64, "f4"), np.empty(64, "f4")
runpy.run_path(sys.argv[1])["kernel"][(1,)](out, x, BLOCK=64)
np.testing.assert_array_equal(out, x * 3)
five = tl.constexpr(5)
assert pickle.loads(pickle.dumps(five)).value == copy.deepcopy(five).value == 5
pantile.compat.uninstall()
assert tl.constexpr.__module__ == "pantile.language.constexpr"
"""


def test_annotated_globals_of_generated_files(tmp_path):
    """Generated files name the class of a constexpr by its module, and import only `triton`."""
    (tmp_path / "generated.py").write_text(GENERATED)
    run(ANNOTATED, str(tmp_path / "generated.py"))


def test_torch_finds_us(gpu):
    run(
        """
        import torch, torch.utils._triton as probes
        assert probes.has_triton_package() and probes.has_triton()
        from torch._inductor.runtime import triton_compat
        assert triton_compat.triton is pantile and triton_compat.HAS_TRITON
        assert triton_compat.JITFunction is pantile.JITFunction
        assert triton_compat.builtins_use_semantic_kwarg
        """
    )


# Kernels are compiled from the source in a file.
PROGRAM = """
import torch, triton, triton.language as tl

FACTOR: tl.constexpr = tl.constexpr(2)

@triton.jit
def kernel(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) * FACTOR + tl.load(y + i, mask=mask), mask=mask)

@torch.library.triton_op("ours::twice_and", mutates_args={})
def twice_and(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    torch.library.wrap_triton(kernel)[grid](out, x, y, n, BLOCK=128)
    return out

x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
torch.testing.assert_close(twice_and(x, y), x * 2 + y)
"""


def run_file(tmp_path, text):
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, "-m", "pantile.compat", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def test_wrap_triton(gpu, tmp_path):
    run_file(tmp_path, PROGRAM)


def test_compiled_functions_with_user_kernels(gpu, tmp_path):
    text = "compiled = torch.compile(lambda x, y: twice_and(x, y) + 1)\n"
    text += "torch.testing.assert_close(compiled(x, y), x * 2 + y + 1)\n"
    run_file(tmp_path, PROGRAM + text)


# Kernels of a function and of its gradient, compiled by workers: processes that this one starts.
COMPILED = """
import sys, time
import torch
import torch._inductor.config as config
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime.triton_heuristics import CachingAutotuner

device = sys.argv[1]
config.cpu_backend, config.compile_threads, config.fx_graph_cache = "triton", 2, False
came, taken_up = [], CachingAutotuner.__setstate__

def note(self, state):
    taken_up(self, state)
    came.append(self.fn.__name__)

CachingAutotuner.__setstate__ = note
AsyncCompile.warm_pool()
end = time.monotonic() + 300
while not AsyncCompile.use_process_pool():
    assert time.monotonic() < end, "no worker is ready"
    time.sleep(0.1)

def function(x, w):
    return torch.softmax(x @ w, -1).cumsum(0) + torch.nn.functional.gelu(x).sum(1, keepdim=True)

def results(function):
    torch.manual_seed(4)
    x, w = (torch.randn(96, 96, device=device, requires_grad=True) for _ in range(2))
    out = function(x, w)
    return out, *torch.autograd.grad(out.square().mean(), (x, w))

for got, want in zip(results(torch.compile(function)), results(function)):
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
assert came and all(name.startswith("triton_") for name in came), came
import os, triton
assert triton.__name__ == "pantile"
print(len(came), "kernels came from workers", flush=True)
os._exit(0)  # Python 3.12 may wait for workers that wait for it
"""


def test_kernels_that_workers_compile(gpu, tmp_path):
    (tmp_path / "program.py").write_text(COMPILED)
    command = [sys.executable, "-m", "pantile.compat", str(tmp_path / "program.py"), "cuda"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "kernels came from workers" in done.stdout
