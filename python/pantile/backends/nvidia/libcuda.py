"""The few calls of the CUDA driver that Python makes itself: handles for libraries, times, memory.

The library is opened when first needed. Every call works in the device's primary context, which
torch and the compiler's library use too.
"""

import contextlib
import ctypes
import functools

from ...runtime.errors import DriverError

_REGISTERS, _LOCAL_BYTES, _MAX_THREADS, _DYNAMIC_SHARED = 4, 3, 0, 8
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_CAPTURE_OF_THREAD = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
_PRINTF_FIFO_SIZE = 1
_CLUSTER_DIMENSION = 4


class _LaunchAttribute(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("value", ctypes.c_uint * 16),
    ]


class _LaunchConfig(ctypes.Structure):
    _fields_ = [
        *[(f"grid_{axis}", ctypes.c_uint) for axis in "xyz"],
        *[(f"block_{axis}", ctypes.c_uint) for axis in "xyz"],
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    ]


class Libcuda:
    """The driver library, its calls checked."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._contexts = {}
        self.call("cuInit", 0)

    @classmethod
    @functools.cache
    def of_process(cls):
        """Open the library once; DriverError where there is none."""
        from ... import knobs

        try:
            return cls(knobs.nvidia.libcuda_path or "libcuda.so.1")
        except OSError as error:
            raise DriverError(f"no CUDA driver: {error}") from error

    def call(self, name, *args):
        """Call a function; DriverError with the driver's name of the error if it fails."""
        code = getattr(self._library, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(f"`{name}` failed: {(text.value or b'?').decode()}")

    def use(self, device):
        """Make the device's primary context current on this thread."""
        if device not in self._contexts:
            handle, context = ctypes.c_int(), ctypes.c_void_p()
            self.call("cuDeviceGet", ctypes.byref(handle), device)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
            self._contexts[device] = context
        self.call("cuCtxSetCurrent", self._contexts[device])

    @contextlib.contextmanager
    def using(self, device):
        """The device's primary context is current on this thread within."""
        before = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(before))
        self.use(device)
        try:
            yield
        finally:
            self.call("cuCtxSetCurrent", before)

    def load(self, name, cubin, shared, device):
        """Load a cubin: (module, function, registers, spilled registers, most threads of a CTA)."""
        self.use(device)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), bytes(cubin))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, _DYNAMIC_SHARED, shared)
        return (module.value, function.value, *self._facts(function))

    def facts_of(self, function, device):
        """Of a function that is loaded: registers, spilled registers, most threads of a CTA."""
        with self.using(device):
            return self._facts(ctypes.c_void_p(function))

    def _facts(self, function):
        facts = [self._attribute(function, a) for a in (_REGISTERS, _LOCAL_BYTES, _MAX_THREADS)]
        registers, local_bytes, threads = facts
        return (registers, -(-local_bytes // 4), threads)

    def _attribute(self, function, attribute):
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
        return value.value

    def unload(self, module):
        self.call("cuModuleUnload", ctypes.c_void_p(module))

    def active_clusters(self, function, shared, cluster):
        """Return how many clusters of this shape run at once, with 128 threads a CTA."""
        attribute = _LaunchAttribute(_CLUSTER_DIMENSION, 0)
        attribute.value[:3] = cluster
        config = _LaunchConfig(*cluster, 128, 1, 1, shared, None, ctypes.pointer(attribute), 1)
        count = ctypes.c_int()
        self.call(
            "cuOccupancyMaxActiveClusters",
            ctypes.byref(count),
            ctypes.c_void_p(function),
            ctypes.byref(config),
        )
        return count.value

    def set_printf_size(self, size):
        self.call("cuCtxSetLimit", _PRINTF_FIFO_SIZE, ctypes.c_size_t(size))

    def allocate(self, size):
        """Return the address of device memory of `size` bytes, in the current context."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def clear(self, address, size, stream):
        """Set memory to 0 in a stream's order."""
        self.call(
            "cuMemsetD8Async",
            ctypes.c_uint64(address),
            ctypes.c_ubyte(0),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream),
        )

    def event(self):
        handle = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(handle), 0)
        return handle

    def record(self, event, stream):
        self.call("cuEventRecord", event, ctypes.c_void_p(stream))

    def elapsed(self, start, end):
        """Return milliseconds between two recorded events, waiting for the second."""
        self.call("cuEventSynchronize", end)
        time = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(time), start, end)
        return time.value

    def destroy(self, event):
        self.call("cuEventDestroy_v2", event)

    def stream(self):
        """Return a new stream that does not wait for the default one."""
        handle = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(handle), _NON_BLOCKING)
        return handle.value

    def capture(self, stream, body):
        """Return what `body` puts into the stream as a graph that can be launched."""
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), _CAPTURE_OF_THREAD)
        try:
            body()
        finally:
            self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        self.call("cuGraphDestroy", graph)
        return ready

    def launch_graph(self, graph, stream):
        self.call("cuGraphLaunch", graph, ctypes.c_void_p(stream))

    def destroy_graph(self, graph):
        self.call("cuGraphExecDestroy", graph)

    def destroy_stream(self, stream):
        self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream))
