"""A GPU that is emulated: PTX runs on the CPU, through the same runtime and launch path as on a real one.

`start()` points the runtime at the emulated driver; it comes before the first use of a device. `EmulatedDevice` makes
arrays as `device_arrays.Device` does. `PANTILE_EMULATED_TARGET=sm_80` emulates another GPU than an H100,
`PANTILE_EMULATION_SEED=N` draws another order of warps, copies and MMAs, `PANTILE_EMULATED_DEVICES=3` makes three GPUs instead of two.
"""

import contextlib
import ctypes
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes  # noqa: F401 (gives NumPy the small floats)
import numpy as np
from exchange_table import table_of_arrays

_library = None


def library_path():
    """The emulated driver of the build that `import pantile` takes; None where it was not built."""
    import pantile

    given = os.environ.get("PANTILE_EMULATED_CUDA")
    built = Path(pantile.__file__).absolute().parents[2] / "tests/ptx/libemulated_cuda.so"
    path = Path(given) if given else built
    return path if path.exists() else None


def start(target="sm_90a", seed=0):
    """Make the emulated GPU this process's; it has none yet."""
    global _library
    path = library_path()
    if path is None:
        raise FileNotFoundError("the emulated driver is not built: ninja pantile_emulated_cuda")
    os.environ.update(
        PANTILE_LIBCUDA_PATH=str(path),
        PANTILE_ASSEMBLER="driver",
        PANTILE_EMULATED_TARGET=os.environ.get("PANTILE_EMULATED_TARGET", target),
        PANTILE_EMULATED_DEVICES=os.environ.get("PANTILE_EMULATED_DEVICES", "2"),
        PANTILE_EMULATION_SEED=os.environ.get("PANTILE_EMULATION_SEED", str(seed)),
        PANTILE_CACHE_DIR=os.environ.get("PANTILE_CACHE_DIR")
        or tempfile.mkdtemp(prefix="pantile-emulated-"),
    )
    _library = ctypes.CDLL(str(path))


def restart():
    """The next launches draw the same order of warps, copies and MMAs as the first ones of the process did."""
    if _library is not None:
        _library.pantileRestartEmulation()


@contextlib.contextmanager
def context(index):
    """The primary context of GPU `index` is current within."""
    context = ctypes.c_void_p()
    _library.cuDevicePrimaryCtxRetain(ctypes.byref(context), index)
    _library.cuCtxPushCurrent_v2(context)
    try:
        yield
    finally:
        _library.cuCtxPopCurrent_v2(ctypes.byref(context))


class _Memory:
    """An allocation of the emulated driver on GPU `index`, of exactly `size` bytes."""

    def __init__(self, size, index):
        self.index, pointer = index, ctypes.c_uint64()
        with context(index):
            _library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        self.pointer = pointer.value
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.pointer))

    def __del__(self):
        _library.cuMemFree_v2(ctypes.c_uint64(self.pointer))


class DeviceArray:
    """A view of an allocation, with what kernels and tests need of a tensor; `host` is the same memory for NumPy."""

    __dlpack_c_exchange_api__ = table_of_arrays()

    def __init__(self, memory, host):
        self.memory, self.host = memory, host

    @classmethod
    def copy_of(cls, array, index=0):
        plain = np.ascontiguousarray(array)
        memory = _Memory(plain.nbytes, index)
        memory.bytes[:] = plain.reshape(-1).view(np.uint8)
        return cls(memory, memory.bytes.view(plain.dtype).reshape(np.shape(array)))

    @classmethod
    def empty(cls, count, dtype, index=0):
        memory = _Memory(count * np.dtype(dtype).itemsize, index)
        return cls(memory, memory.bytes.view(dtype))

    @property
    def device(self):
        return SimpleNamespace(type="cuda", index=self.memory.index)

    @property
    def dtype(self):
        return f"torch.{self.host.dtype.name}"

    @property
    def shape(self):
        return self.host.shape

    @property
    def ndim(self):
        return self.host.ndim

    @property
    def T(self):  # noqa: N802
        return DeviceArray(self.memory, self.host.T)

    def data_ptr(self):
        return self.host.ctypes.data if self.host.size else self.memory.pointer

    @property
    def ctypes(self):
        return self.host.ctypes

    def element_size(self):
        return self.host.itemsize

    @property
    def nbytes(self):
        return self.host.nbytes

    def numel(self):
        return self.host.size

    def size(self, axis=None):
        return self.host.shape if axis is None else self.host.shape[axis]

    def stride(self, axis=None):
        strides = tuple(stride // self.host.itemsize for stride in self.host.strides)
        return strides if axis is None else strides[axis]

    def reshape(self, *shape):
        view = self.host.reshape(*shape)
        assert np.shares_memory(view, self.host) or not view.size
        return DeviceArray(self.memory, view)

    def transpose(self, *axes):
        return DeviceArray(self.memory, self.host.transpose(*axes))

    def swapaxes(self, first, second):
        return DeviceArray(self.memory, self.host.swapaxes(first, second))

    def zero_(self):
        self.host[...] = 0
        return self

    def copy_(self, other):
        self.host[...] = other.host
        return self

    def clone(self):
        return DeviceArray.copy_of(self.host, self.memory.index)

    def contiguous(self):
        return self if self.host.flags.c_contiguous else self.clone()

    def is_contiguous(self):
        return self.host.flags.c_contiguous

    def view(self, dtype):
        return DeviceArray(self.memory, self.host.view(dtype))

    def __getitem__(self, key):
        return DeviceArray(self.memory, self.host[key])

    def __setitem__(self, key, value):
        self.host[key] = value.host if isinstance(value, DeviceArray) else value

    def __len__(self):
        return len(self.host)


class EmulatedDevice:
    """As `device_arrays.Device`; GPU `index` of those that are emulated."""

    name, on_gpu = "emulated", False  # sizes are those of the CPU

    def __init__(self, index=0):
        self.index = index
        self.arch = int(os.environ["PANTILE_EMULATED_TARGET"][3:].rstrip("a"))
        self.torch = SimpleNamespace(
            cuda=SimpleNamespace(synchronize=lambda: None),
            empty=lambda size, device, dtype: DeviceArray.copy_of(np.zeros(size, dtype)),
            int8=np.int8,
        )

    def to(self, array):
        return DeviceArray.copy_of(array, self.index)

    def empty(self, count, dtype):
        return DeviceArray.empty(count, dtype, self.index)

    def numpy(self, array):
        return array.host.copy()

    def output(self, shape, dtype):
        from device_arrays import Output

        return Output(self, (shape,) if isinstance(shape, int) else tuple(shape), dtype)

    def stream(self):
        handle = ctypes.c_void_p()
        with context(self.index):
            _library.cuStreamCreate(ctypes.byref(handle), 1)
        return SimpleNamespace(cuda_stream=handle.value)

    def strides(self, array):
        return array.stride()


__all__ = ["DeviceArray", "EmulatedDevice", "context", "library_path", "restart", "start"]
