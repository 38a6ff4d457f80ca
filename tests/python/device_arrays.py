"""Arrays for kernel tests, the same on both devices; `conftest.py` makes fixtures of them.

A test that takes `device` runs on the CPU with NumPy arrays and, where torch drives a GPU, on the GPU with tensors.
Inputs have exactly the requested size. Outputs start as NaN (integers: as a pattern) and stand between
canaries that are checked when the result is fetched.
"""

import mmap

import ml_dtypes
import numpy as np
import pytest

DTYPES = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "c64": np.complex64,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}
_MOST_GIB = 20  # of an array on a GPU that several test processes use
_CANARIES = 64  # elements on each side of an output
_BYTE = 0xA5


def torch_with_gpu():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _filler(count, dtype):
    """`count` elements that no kernel should leave: NaN, or a pattern of bytes."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return np.frombuffer(
            bytes([1 if dtype.kind == "b" else _BYTE]) * (count * dtype.itemsize), dtype
        ).copy()
    return np.full(count, float("nan"), np.float32).astype(dtype)


class Output:
    """An array for a kernel to write."""

    def __init__(self, device, shape, dtype):
        self.device, self.shape, self.dtype = device, shape, np.dtype(DTYPES[dtype])
        self.size = int(np.prod(shape))
        guard = np.frombuffer(bytes([_BYTE]) * (_CANARIES * self.dtype.itemsize), np.uint8)
        middle = _filler(self.size, self.dtype).view(np.uint8)
        self.before = np.concatenate([guard, middle, guard])
        self.buffer = device.to(self.before.view(self.dtype))
        self.array = self.buffer[_CANARIES : _CANARIES + self.size].reshape(shape)

    def numpy(self):
        """The result; fails if a canary changed."""
        after = self.device.numpy(self.buffer)
        edge = _CANARIES * self.dtype.itemsize
        raw = np.ascontiguousarray(after).view(np.uint8)
        assert (raw[:edge] == self.before[:edge]).all(), "written before the output"
        assert (raw[-edge:] == self.before[-edge:]).all(), "written behind the output"
        return after[_CANARIES : _CANARIES + self.size].reshape(self.shape)


class Device:
    """Where a test runs: "cpu" or "cuda"; GPU `index`, by default the current one."""

    def __init__(self, name, index=None):
        self.name, self.index = name, index
        self.torch = torch_with_gpu() if name == "cuda" else None

    @property
    def on_gpu(self):
        return self.name == "cuda"

    @property
    def arch(self):
        """What code is compiled for: 90 for compute capability 9.0, None for the CPU."""
        if not self.on_gpu:
            return None
        major, minor = self.torch.cuda.get_device_capability(self.index)
        return 10 * major + minor

    def to(self, array):
        """A NumPy array as this device's kind of array."""
        if not self.on_gpu:
            return array
        dtype = getattr(self.torch, np.dtype(array.dtype).name)
        plain = np.ascontiguousarray(array)
        bits = plain.view(
            {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[plain.dtype.itemsize]
        )
        return self.torch.from_numpy(bits.copy()).cuda(self.index).view(dtype)

    def empty(self, count, dtype):
        """An array of zeros of one dimension; what is not touched costs nothing but on a GPU."""
        if not self.on_gpu:
            no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Linux; named since Python 3.12
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
            size = count * np.dtype(dtype).itemsize
            return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype)
        needed = count * np.dtype(dtype).itemsize >> 30
        if needed > _MOST_GIB:
            pytest.skip(f"an array of {needed} GiB is left to the emulated GPU")
        return self.torch.zeros(
            count, dtype=getattr(self.torch, np.dtype(dtype).name), device=f"cuda:{self.index or 0}"
        )

    def give_back_memory(self):
        """What torch keeps of large arrays is other processes' again."""
        if self.on_gpu and self.torch.cuda.memory_reserved() > 1 << 30:
            self.torch.cuda.empty_cache()

    def numpy(self, array):
        if not self.on_gpu:
            return array
        width = array.element_size()
        bits = array.contiguous().view(
            getattr(self.torch, {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}[width])
        )
        name = str(array.dtype).removeprefix("torch.")
        dtype = (
            getattr(ml_dtypes, name) if name.startswith(("bfloat", "float8")) else np.dtype(name)
        )
        return bits.cpu().numpy().view(dtype)

    def output(self, shape, dtype):
        return Output(self, (shape,) if isinstance(shape, int) else tuple(shape), dtype)

    def stream(self):
        """A stream of that GPU: an object that stays alive, with its number."""
        return self.torch.cuda.Stream(device=self.index)

    def strides(self, array):
        """Strides in elements."""
        return (
            array.stride()
            if self.on_gpu
            else [stride // array.itemsize for stride in array.strides]
        )


def random(shape, dtype="fp32", seed=0, low=None, high=None):
    """Normal floats, or integers over [low, high) (by default small ones)."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(DTYPES[dtype])
    if kind.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        low = (0 if kind.kind == "u" else -100) if low is None else low
        return generator.integers(low, 100 if high is None else high, shape).astype(kind)
    return generator.standard_normal(shape).astype(kind)


def check_gemm(result, a, b, activation=None):
    """Compare a GEMM with float64: 1e-3 |R| for the rounding of the result, 1e-4 sqrt(K) for that of the accumulation.

    The tensor cores of Hopper add products of fp8 with some 13 bits of fraction (DeepSeek-V3's report, section 3.3.2).
    """
    reference = a.astype(np.float64) @ b.astype(np.float64)
    if activation is not None:
        reference = activation(reference)
    allowed = 1e-3 * np.abs(reference) + 1e-4 * np.sqrt(a.shape[-1])
    if np.dtype(result.dtype).name == "bfloat16":
        allowed = allowed + 2.0**-8 * np.abs(reference)
    if a.dtype.itemsize == 1:
        allowed = allowed + 2.0**-12 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    error = np.abs(result.astype(np.float64) - reference)
    worst = np.unravel_index(np.argmax(np.nan_to_num(error - allowed, nan=np.inf)), error.shape)
    assert (error <= allowed).all(), f"at {worst}: {result[worst]} instead of {reference[worst]}"
