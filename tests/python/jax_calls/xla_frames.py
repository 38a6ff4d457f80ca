"""Calls the functions of `_pantile` that XLA calls, with frames made here: no JAX is needed."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)

import numpy as np

TYPES = {  # XLA's PrimitiveType
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8,
    "uint64": 9, "float16": 10, "float32": 11, "float64": 12, "complex64": 15, "bfloat16": 16,
    "complex128": 18,
}  # fmt: skip


class Header(Structure):
    _fields_ = [("bytes", c_size_t), ("extensions", c_void_p)]


class Buffer(Structure):
    _fields_ = [("header", Header), ("type", c_int), ("data", c_void_p), ("rank", c_int64),
                ("extents", POINTER(c_int64))]  # fmt: skip


class Text(Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class Array(Structure):
    _fields_ = [("type", c_int), ("size", c_size_t), ("data", c_void_p)]


class Values(Structure):
    _fields_ = [("header", Header), ("size", c_int64), ("kinds", POINTER(c_int)),
                ("values", POINTER(c_void_p))]  # fmt: skip


class Attributes(Structure):
    _fields_ = [("header", Header), ("size", c_int64), ("kinds", POINTER(c_int)),
                ("names", POINTER(c_void_p)), ("values", POINTER(c_void_p))]  # fmt: skip


class ErrorRequest(Structure):
    _fields_ = [("header", Header), ("message", c_char_p), ("code", c_int)]


class StreamRequest(Structure):
    _fields_ = [("header", Header), ("context", c_void_p), ("stream", c_void_p)]


class Version(Structure):
    _fields_ = [("header", Header), ("major", c_int), ("minor", c_int)]


class Metadata(Structure):
    _fields_ = [("bytes", c_size_t), ("version", Version), ("traits", c_uint32)]


class MetadataExtension(Structure):
    _fields_ = [("bytes", c_size_t), ("kind", c_int), ("next", c_void_p), ("metadata", c_void_p)]


CREATE = CFUNCTYPE(c_void_p, POINTER(ErrorRequest))
STREAM = CFUNCTYPE(c_void_p, POINTER(StreamRequest))


class Api(Structure):
    _fields_ = [("header", Header), ("version", Version), ("internal", c_void_p), ("create", CREATE),
                ("message_of", c_void_p), ("destroy", c_void_p), ("register", c_void_p),
                ("stream", STREAM)]  # fmt: skip


class CallFrame(Structure):
    _fields_ = [("header", Header), ("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int),
                ("arguments", Values), ("results", Values), ("attributes", Attributes),
                ("future", c_void_p)]  # fmt: skip


def function_of(capsule):
    """The function in a capsule without a name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return CFUNCTYPE(c_void_p, POINTER(CallFrame))(get(capsule, None))


class Frame:
    """A call: `operands` and `results` are triples (dtype, shape, address), `attributes` by name."""

    def __init__(self, operands, results, attributes, stream=0, stage=3, version=(0, 3)):
        self.messages = []
        self._kept = []

        @CREATE
        def create(request):
            self.messages.append((request.contents.message.decode(), request.contents.code))
            return 1

        @STREAM
        def get_stream(request):
            request.contents.stream = stream
            return None

        api = self._keep(Api(create=create, stream=get_stream))
        api.version.major, api.version.minor = version
        self.frame = CallFrame(api=ctypes.pointer(api), stage=stage)
        self.frame.arguments = self._values(operands)
        self.frame.results = self._values(results)
        self.frame.attributes = self._attributes(attributes)

    def call(self, function):
        """Return what the function complains of, as [(message, code)]."""
        failed = function(ctypes.byref(self.frame))
        assert bool(failed) == bool(self.messages)
        return self.messages

    def _keep(self, value):
        self._kept.append(value)
        return value

    def _address(self, value):
        return ctypes.cast(ctypes.pointer(self._keep(value)), c_void_p).value

    def _list(self, kind, values):
        return self._keep((kind * max(len(values), 1))(*values))

    def _values(self, triples):
        addresses = []
        for dtype, shape, address in triples:
            extents = self._list(c_int64, list(shape))
            buffer = Buffer(type=TYPES[dtype], data=address, rank=len(shape), extents=extents)
            addresses.append(self._address(buffer))
        kinds = self._list(c_int, [1] * len(triples))
        return Values(size=len(triples), kinds=kinds, values=self._list(c_void_p, addresses))

    def _attributes(self, attributes):
        kinds, names, values = [], [], []
        for name, value in sorted(attributes.items()):
            names.append(self._address(Text(name.encode(), len(name))))
            if isinstance(value, str):
                kinds.append(4)
                values.append(self._address(Text(value.encode(), len(value.encode()))))
                continue
            kinds.append(1)
            value = self._keep(np.ascontiguousarray(value))
            array = Array(TYPES[str(value.dtype)], value.size, value.ctypes.data)
            values.append(self._address(array))
        return Attributes(
            size=len(names),
            kinds=self._list(c_int, kinds),
            names=self._list(c_void_p, names),
            values=self._list(c_void_p, values),
        )
