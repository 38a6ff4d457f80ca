"""What XLA passes to a custom call of `pantile.jax`, without JAX: right frames launch, all others are errors."""

import ctypes
import threading
from types import SimpleNamespace

import numpy as np
import pantile
import pantile.language as tl
import pytest
from pantile import _pantile
from pantile.jax.custom_calls import attributes_of
from pantile.jax.launches import Axis, Launch
from pantile.jax.parameters import Constant, Operand, Result
from xla_frames import CallFrame, Frame, Metadata, MetadataExtension, function_of


@pantile.jit
def blend_kernel(x, weight, count, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) * weight + count, mask)


def launch_of(n, batch=(), grid=None):
    values = {
        "x": Operand(0),
        "weight": Constant(0.25),
        "count": Constant(3),
        "out": Result(0),
        "n": Constant(n),
        "BLOCK": Constant(32),
    }
    return Launch(
        blend_kernel,
        "",
        tuple(values.items()),
        (("num_warps", Constant(2)),),
        (((n,), np.dtype("float32")),),
        grid or (-(-n // 32), 1, 1),
        (),
        batch,
    )


class Memory:
    """Arrays of a device, and the function that XLA would call there."""

    def __init__(self, device):
        self.device, self.on_cpu = device, device.name == "cpu"
        name = "xla_call_on_host" if self.on_cpu else "xla_call_on_gpu"
        self.function = function_of(getattr(_pantile, name))
        self.target = "cpu" if self.on_cpu else _pantile.device_info(0)["target"]

    def frame(self, x, shape, attributes, **keywords):
        """A frame with `x` as operand and an output of `shape`; the output."""
        array, out = self.device.to(x), self.device.to(np.full(shape, -7, np.float32))
        stream = 0 if self.on_cpu else self.stream().cuda_stream
        frame = Frame(
            [("float32", x.shape, address_of(array))],
            [("float32", shape, address_of(out))],
            attributes,
            stream=stream,
            **keywords,
        )
        frame.arrays = array, out  # whose memory it refers to
        return frame, out

    def stream(self):
        if hasattr(self.device, "stream"):
            return self.device.stream()
        return self.device.torch.cuda.Stream()

    def read(self, out):
        if not self.on_cpu:
            _pantile.synchronize(0)
        return self.device.numpy(out)


class MemoryOf(Memory):
    """That of one GPU of several."""

    def __init__(self, device, index):
        super().__init__(device)
        self.index = index

    def stream(self):
        if hasattr(self.device, "stream"):
            return self.device.stream()
        return self.device.torch.cuda.Stream(self.index)

    def read(self, out):
        _pantile.synchronize(self.index)
        return self.device.numpy(out)


def address_of(array):
    return array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data


@pytest.fixture
def memory(device):
    return Memory(device)


@pytest.fixture
def x():
    return np.random.default_rng(3).standard_normal(500).astype(np.float32)


def shaped(shape):
    return SimpleNamespace(shape=shape, dtype=np.dtype("float32"))


def test_a_launch(memory, x):
    attributes = attributes_of(launch_of(x.size), [shaped(x.shape)], memory.target)
    for _ in range(2):  # the second finds the kernel made
        frame, out = memory.frame(x, x.shape, attributes)
        assert frame.call(memory.function) == []
        np.testing.assert_allclose(memory.read(out), x * np.float64(0.25) + 3, rtol=1e-6)


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("size", [125, 128])
def test_a_batch(memory, size, folds):
    """As an axis of the grid, and where the grid has none that is free as launches in order."""
    x = np.random.default_rng(4).standard_normal((3, size)).astype(np.float32)
    grid = (-(-size // 32), 1, 1) if folds else (-(-size // 32), 2, 2)
    # Axes (2, 3): the input has the inner one alone.
    batch = (Axis(2, (False,)), Axis(3, (True,)))
    attributes = attributes_of(launch_of(size, batch, grid), [shaped(x.shape)], memory.target)
    assert (attributes["batch"][0] == 1) == folds
    frame, out = memory.frame(x, (2, 3, size), attributes)
    assert frame.call(memory.function) == []
    expected = np.broadcast_to(x * np.float64(0.25) + 3, (2, 3, size))
    np.testing.assert_allclose(memory.read(out).reshape(2, 3, size), expected, rtol=1e-6)


def test_several_gpus(gpus, x):
    """The kernel runs where the stream is, whatever GPU is current, as of threads of XLA's."""
    memories = [MemoryOf(device, index) for index, device in enumerate(gpus)]
    attributes = attributes_of(launch_of(x.size), [shaped(x.shape)], memories[0].target)
    frames = [memory.frame(x + i, x.shape, attributes) for i, memory in enumerate(memories)]
    said = []

    def call(i):
        said.append(frames[i][0].call(memories[i].function))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(memories))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [[] for _ in memories]
    for i, memory in enumerate(memories):
        expected = (x + i).astype(np.float64) * 0.25 + 3
        np.testing.assert_allclose(memory.read(frames[i][1]), expected, rtol=1e-6)


def test_nothing_runs_before_it_is_executed(memory, x):
    attributes = attributes_of(launch_of(x.size), [shaped(x.shape)], memory.target)
    for stage in (0, 1, 2):
        frame, out = memory.frame(x, x.shape, attributes, stage=stage)
        assert frame.call(memory.function) == []
        np.testing.assert_array_equal(memory.read(out), np.full(x.shape, -7))


def changed(attributes, name, change):
    copied = dict(attributes)
    value = copied[name]
    copied[name] = change(value if isinstance(value, str) else value.copy())
    return copied


def with_number(position, value):
    def change(numbers):
        numbers[position] = value
        return numbers

    return change


MISTAKES = {
    "no digest": ("digest", lambda _: np.array([1]), "not made by this version"),
    "a grid of four": ("launch", lambda v: v[:4], "not made by this version"),
    "numbers of 32 bits": ("launch", lambda v: v.astype(np.int32), "not made by this version"),
    "a grid below 0": ("launch", with_number(0, -5), "grid"),
    "a grid that is too large": ("launch", with_number(1, 2**40), "grid"),
    "half a row": ("arguments", lambda v: v[:-1], "no list of arguments"),
    "a buffer too many": ("arguments", with_number(1, 7), "no buffer"),
    "a buffer below 0": ("arguments", with_number(1, -1), "no buffer"),
    "a kind that there is not": ("arguments", with_number(0, 9), "no buffer"),
    "an argument too few": ("arguments", lambda v: v[:-3], "batch"),
    "a number for an array": ("arguments", with_number(0, 1), "exceeds a buffer"),
    "an array for a number": ("arguments", with_number(slice(6, 9), (0, 0, 0)), "other arguments"),
    "a batch beyond its buffer": ("batch", with_number(0, 2**20), "exceeds a buffer"),
    "one element too many": ("batch", with_number(0, 4), "exceeds a buffer"),
    "a batch of too many": ("batch", with_number(0, 2**40), "too large"),
    "a batch below 0": ("batch", with_number(0, -1), "too large"),
    "half a batch": ("batch", lambda v: v[:-1], "no batch"),
    "an empty list": ("arguments", lambda v: v[:0], "other arguments"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_errors(memory, mistake):
    x = np.random.default_rng(5).standard_normal((3, 99)).astype(np.float32)
    launch = launch_of(99, (Axis(3, (True,)),), (4, 2, 2))
    attributes = attributes_of(launch, [shaped(x.shape)], memory.target)
    name, change, message = MISTAKES[mistake]
    frame, out = memory.frame(x, x.shape, changed(attributes, name, change))
    ((said, code),) = frame.call(memory.function)
    assert message in said and code in (3, 13), said
    np.testing.assert_array_equal(memory.read(out), np.full(x.shape, -7))


@pytest.mark.parametrize("cut", [0, 1, 16, 40, 300, -1])
def test_damaged_artifacts_are_errors(memory, x, cut):
    attributes = attributes_of(launch_of(x.size), [shaped(x.shape)], memory.target)
    attributes = changed(attributes, "artifact", lambda v: v[:cut])
    attributes["digest"] = f"of damaged bytes, cut at {cut}"
    frame, _ = memory.frame(x, x.shape, attributes)
    ((said, _),) = frame.call(memory.function)
    assert "artifact" in said


def test_buffers_that_no_kernel_takes(memory, x):
    attributes = attributes_of(launch_of(x.size), [shaped(x.shape)], memory.target)
    frame = Frame([("complex128", x.shape, 0)], [("float32", x.shape, 0)], attributes)
    ((said, _),) = frame.call(memory.function)
    assert "no buffer" in said
    frame = Frame([("float32", (2**40, 2**40), 0)], [("float32", x.shape, 0)], attributes)
    ((said, _),) = frame.call(memory.function)
    assert "no buffer" in said


def test_the_other_processor(memory, x):
    attributes = attributes_of(launch_of(x.size), [shaped(x.shape)], memory.target)
    other = _pantile.xla_call_on_gpu if memory.on_cpu else _pantile.xla_call_on_host
    frame, _ = memory.frame(x, x.shape, attributes)
    ((said, _),) = frame.call(function_of(other))
    assert "was compiled for" in said


def test_accesses_on_the_cpu_are_checked(memory, x, capfd):
    """Of a batch, the bounds are those of an element: what lies after it is another one's."""
    if not memory.on_cpu:
        pytest.skip("the CPU checks accesses")
    x = x.reshape(2, 250)
    launch = launch_of(260, (Axis(2, (True,)),), (9, 2, 2))
    attributes = attributes_of(launch, [shaped(x.shape)], memory.target)
    frame, out = memory.frame(x, (2, 260), attributes)
    assert frame.call(memory.function) == []
    assert "outside argument" in capfd.readouterr().err
    expected = np.full((2, 260), 3.0)
    expected[:, :250] += x * np.float64(0.25)
    np.testing.assert_allclose(memory.read(out).reshape(2, 260), expected, rtol=1e-6)


@pytest.mark.parametrize("version, answer", [((0, 1), (0, 1)), ((0, 3), (0, 3)), ((1, 0), (0, 1))])
def test_the_version_in_the_answer(memory, version, answer):
    metadata = Metadata(bytes=40)
    extension = MetadataExtension(
        bytes=32, kind=1, metadata=ctypes.cast(ctypes.pointer(metadata), ctypes.c_void_p)
    )
    frame = Frame([], [], {}, version=version)
    assert isinstance(frame.frame, CallFrame)
    frame.frame.header.extensions = ctypes.cast(ctypes.pointer(extension), ctypes.c_void_p)
    assert frame.call(memory.function) == []
    assert (metadata.version.major, metadata.version.minor) == answer
    assert metadata.traits == 0


@pantile.jit
def descriptor_kernel(x, out, n, BLOCK: tl.constexpr):
    """A program per block of a descriptor, whose base is an element of the batch."""
    i = tl.program_id(0) * BLOCK
    source = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    target = tl.make_tensor_descriptor(out, [n], [1], [BLOCK])
    target.store([i], source.load([i]) * 3)


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("size", [125, 128, 260])
def test_descriptors_of_elements_of_a_batch(memory, size, folds):
    """Also where an element begins at an address that TMA does not take."""
    x = np.random.default_rng(6).standard_normal((3, size)).astype(np.float32)
    values = {"x": Operand(0), "out": Result(0), "n": Constant(size), "BLOCK": Constant(64)}
    grid = (-(-size // 64), 1, 1) if folds else (-(-size // 64), 2, 2)
    outputs = (((size,), np.dtype("float32")),)
    launch = Launch(
        descriptor_kernel, "", tuple(values.items()), (), outputs, grid, (), (Axis(3, (True,)),)
    )
    attributes = attributes_of(launch, [shaped(x.shape)], memory.target)
    assert (attributes["batch"][0] == 1) == folds
    frame, out = memory.frame(x, x.shape, attributes)
    assert frame.call(memory.function) == []
    np.testing.assert_array_equal(memory.read(out).reshape(x.shape), x * np.float32(3))
