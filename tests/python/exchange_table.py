"""DLPack's table of C functions for a class of arrays written in Python: launches read them as they read torch's tensors."""

import ctypes

_CODES = {
    "bool": (6, 8),
    "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8),
    "float8_e5m2": (12, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2fnuz": (13, 8),
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
}
_CUDA = 2
_NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    ]


_DESCRIBE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))


class _Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("others", ctypes.c_void_p * 4),
        ("describe", _DESCRIBE),
        ("stream", ctypes.c_void_p),
    ]


@_DESCRIBE
def _describe(array, told):
    name = array.dtype.removeprefix("torch.")
    if name not in _CODES:
        return -1
    code, bits = _CODES[name]
    told[0] = _Tensor(
        data=array.data_ptr(),
        device_type=_CUDA,
        device=array.device.index,
        rank=1,
        code=code,
        bits=bits,
        lanes=1,
    )
    return 0


_table = _Table(major=1, minor=3, describe=_describe)


def table_of_arrays():
    """The capsule that a class has as `__dlpack_c_exchange_api__`.

    Its objects have `data_ptr()`, `dtype` ("torch.float16") and `device.index`, and lie on a GPU.
    """
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(_table), _NAME, None)
