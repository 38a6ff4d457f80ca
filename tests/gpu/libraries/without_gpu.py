"""Run programs that ask for a GPU on a machine without one, to find what Pantile cannot compile.

A plugin of pytest (`-p without_gpu`), or `without_gpu.install()`. Torch says of its CPU tensors that
they are on a GPU. Pantile compiles each kernel for sm_90a, so that errors of the compiler show, and
launches the CPU's code of the same kernel. Autotuners take their first configuration.
`WITHOUT_GPU=compile` launches nothing and has torch's comparisons pass, which is quicker.

Needs: Pantile in place of Triton, torch. `WITHOUT_GPU_REPORT=FILE` collects one line of JSON per
       kernel: its name, milliseconds, and the error if there was one.
"""

import contextlib
import functools
import json
import os
import time
from types import SimpleNamespace

import torch

TARGET = "sm_90a"
GPU = torch.device("cuda", 0)
PROPERTIES = SimpleNamespace(
    name="NVIDIA H100",
    major=9,
    minor=0,
    multi_processor_count=132,
    total_memory=80 << 30,
    shared_memory_per_multiprocessor=233472,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    warp_size=32,
    L2_cache_size=50 << 20,
    uuid="0",
)


def on_host(value):
    """Replace names of GPUs, also in tuples, by the CPU."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


class TensorsOnGpu(torch.overrides.TorchFunctionMode):
    """Tensors of the CPU that say to be on a GPU."""

    ANSWERS = {
        torch.Tensor.device.__get__: lambda t: GPU if t.is_cpu else t.device,
        torch.Tensor.is_cuda.__get__: lambda t: t.is_cpu,
        torch.Tensor.is_cpu.__get__: lambda t: False,
        torch.Tensor.get_device: lambda t: 0,
        torch.Tensor.cuda: lambda t, *a, **k: t,
        torch.Tensor.pin_memory: lambda t, *a: t,
        torch.Tensor.record_stream: lambda t, stream: None,
    }

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in self.ANSWERS:
            return self.ANSWERS[function](*args, **(kwargs or {}))
        kwargs = {name: on_host(value) for name, value in (kwargs or {}).items()}
        kwargs.pop("pin_memory", None)
        return function(*map(on_host, args), **kwargs)


class _Stream:
    cuda_stream = 0
    device = GPU

    def __init__(self, *_, **__):
        pass

    def wait_stream(self, *_):
        pass

    wait_event = synchronize = wait_stream
    record_event = wait_stream


class _Event:
    def __init__(self, *_, **__):
        self.at = 0.0

    def record(self, *_):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return 1e3 * (other.at - self.at)

    def synchronize(self, *_):
        pass

    wait = synchronize

    def query(self):
        return True


class _Scope(contextlib.nullcontext):
    def __init__(self, *_):
        super().__init__()


ANSWERS = dict(
    is_available=True,
    is_initialized=True,
    device_count=1,
    current_device=0,
    get_device_capability=(9, 0),
    get_device_name="NVIDIA H100",
    get_device_properties=PROPERTIES,
    is_bf16_supported=True,
    is_current_stream_capturing=False,
    mem_get_info=(80 << 30, 80 << 30),
    memory_allocated=0,
    max_memory_allocated=0,
    memory_reserved=0,
    synchronize=None,
    empty_cache=None,
    set_device=None,
    _lazy_init=None,
    init=None,
    manual_seed=None,
    manual_seed_all=None,
    reset_peak_memory_stats=None,
    current_stream=_Stream(),
    default_stream=_Stream(),
)


def pretend():
    """Replace the functions of `torch.cuda` that need a GPU."""
    # A function of its own for each: torch's compiler keeps a table of them.
    for name, value in ANSWERS.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    for name in ("device", "stream", "device_of"):
        setattr(torch.cuda, name, type(name, (_Scope,), {}))
    torch.accelerator.device_index = _Scope
    torch.accelerator.current_device_index = lambda: 0
    torch.cuda.Stream, torch.cuda.Event = _Stream, _Event
    register = torch.library.Library.impl
    torch.library.Library.impl = lambda self, op, fn, dispatch_key="", **more: register(
        self,
        op,
        fn,
        "CPU" if dispatch_key == "CUDA" else dispatch_key,
        **more | {"allow_override": True},
    )
    torch._C._cuda_getCurrentRawStream = lambda *_: 0
    torch._C._cuda_getDevice = lambda: 0


def plainly(function):
    """Call `function` where tensors say where they are."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with torch._C.DisableTorchFunction():
            return function(*args, **kwargs)

    return call


def report(name, started, error=None):
    path = os.environ.get("WITHOUT_GPU_REPORT")
    if path:
        row = {"kernel": name, "ms": round(1e3 * (time.perf_counter() - started))}
        row |= {"error": f"{type(error).__name__}: {error}"} if error else {}
        row["test"] = os.environ.get("PYTEST_CURRENT_TEST", "")
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")


def compile_alone():
    """Have launches compile for the GPU and stop there, and comparisons of results pass."""
    from pantile.runtime.jit import JITFunction

    seen = set()

    @plainly
    def compile_once(self, grid, args, kwargs, warmup=False):
        call = self.dispatcher.prepare(*args, **kwargs)
        if callable(grid):
            grid({**call.options, **call.named()})
        if (self._pantile_key, str(call.key)) in seen:
            return
        seen.add((self._pantile_key, str(call.key)))
        started = time.perf_counter()
        try:
            compile_for_gpu(self, call)
        except BaseException as error:
            report(f"{self.module}.{self.__name__}", started, error)
            return
        report(f"{self.module}.{self.__name__}", started)

    JITFunction._launch = compile_once
    JITFunction.__getitem__ = lambda self, grid: lambda *a, **k: self._launch(grid, a, k)
    torch.testing.assert_close = lambda *_, **__: None
    torch.allclose = lambda *_, **__: True
    torch.isclose = lambda a, *_, **__: torch.ones_like(a, dtype=torch.bool)


def compile_for_gpu(kernel, call):
    """Compile what a call of a kernel needs, for the GPU."""
    from pantile.compiler import ASTSource
    from pantile.compiler.kernel import prepare
    from pantile.runtime.snapshot import Snapshot

    snapshot = Snapshot(kernel)
    specialization = call.specialization(snapshot.constant)
    source = ASTSource.of_specialization(kernel, specialization, call.values)
    program = snapshot.program(kernel._kernel_name(source))
    return prepare(program, specialization, TARGET, call.options, source)()


def tune_nothing():
    """Have autotuners take their first configuration."""
    from pantile.runtime.autotuner import Autotuner
    from pantile.runtime.jit import KernelInterface

    made = Autotuner.__init__

    def with_one_config(self, *args, **kwargs):
        made(self, *args, **kwargs)
        self.configs = self.configs[:1]

    Autotuner.__init__ = with_one_config
    Autotuner.__getitem__ = KernelInterface.__getitem__


def compile_and_launch():
    """Have each kernel compiled for the GPU as well, and launched on the CPU."""
    from pantile.compiler.compiler import CompiledKernel
    from pantile.runtime.jit import JITFunction

    plain = JITFunction._compile

    def compile_both(self, call, warmup):
        started = time.perf_counter()
        try:
            compile_for_gpu(self, call)
        except BaseException as error:
            report(f"{self.module}.{self.__name__}", started, error)
            raise
        report(f"{self.module}.{self.__name__}", started)
        return plain(self, call, warmup)

    JITFunction._compile = compile_both
    launcher_of = JITFunction.__getitem__
    JITFunction.__getitem__ = lambda self, grid: plainly(launcher_of(self, grid))
    JITFunction._launch = plainly(JITFunction._launch)
    again = CompiledKernel.__getitem__
    CompiledKernel.__getitem__ = lambda self, grid: plainly(again(self, grid))


def teach_driver():
    """Have Pantile's Python answer as on a machine with a GPU."""
    from pantile import _pantile
    from pantile.backends.compiler import GPUTarget
    from pantile.runtime.driver import Driver, driver

    class Gpu(Driver):
        device_count = 1

        @classmethod
        def is_active(cls):
            return True

        def get_current_device(self):
            return 0

        def get_current_stream(self, device=None):
            return 0

        def _target_of(self, device):
            return GPUTarget("cuda", 90, 32)

        def synchronize(self):
            pass

    facts = {
        "target": TARGET,
        "max_shared_mem": 232448,
        "multiprocessor_count": 132,
        "warpSize": 32,
        "max_num_regs": 65536,
        "sm_clock_rate": 1980000,
        "mem_clock_rate": 2619000,
        "mem_bus_width": 5120,
    }
    _pantile.device_info = lambda *_: facts
    Driver.is_active = classmethod(lambda cls: True)
    driver.set_active(Gpu())


def install():
    """From now on; once per process."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    teach_driver()
    tune_nothing()
    if os.environ.get("WITHOUT_GPU") == "compile":
        compile_alone()
    else:
        compile_and_launch()
    pretend()
    TensorsOnGpu().__enter__()


install()
