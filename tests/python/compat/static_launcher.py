"""A launcher that has only the metadata, the signature and the machine code of a kernel, as torch's static launcher and Inductor's C++ code do.

It passes the arguments that are no constants, in order, a null pointer for each scratch space that the metadata names, and nothing else.
"""

import ctypes
import os
import re

_VALUES = {
    "i1": ctypes.c_int8,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}
_MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def parameters_of(ptx, name):
    """The parameters of a kernel as its PTX declares them: a type each, "map" for a tensor map."""
    head = re.search(rf"\.entry {re.escape(name)}\s*\((.*?)\)", ptx, re.DOTALL).group(1)
    kinds = [line.split()[1] for line in head.split(",") if line.strip()]
    return ["map" if kind == ".align" else kind for kind in kinds]


def threads_of(ptx):
    """The threads per CTA that a kernel's PTX requires."""
    return int(re.search(r"\.reqntid (\d+)", ptx).group(1))


class StaticLauncher:
    """`machine_code` in the place of the kernel's own, such as that of a file."""

    def __init__(self, compiled, machine_code=None):
        self.cuda = ctypes.CDLL(os.environ.get("PANTILE_LIBCUDA_PATH", "libcuda.so.1"))
        metadata = compiled.metadata
        assert metadata.num_ctas == 1 and not metadata.launch_cooperative_grid
        assert metadata.global_scratch_size == 0 and metadata.profile_scratch_size == 0
        self.scratches = 2
        self.threads, self.shared = 32 * metadata.num_warps, metadata.shared
        constants = {path[0] for path in compiled.src.constants}
        self.kinds = [
            kind
            for i, kind in enumerate(compiled.src.signature.values())
            if kind != "constexpr" and i not in constants
        ]
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        code = machine_code or compiled.asm["cubin"]
        self._check(self.cuda.cuInit(0))
        context = ctypes.c_void_p()
        self._check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self._check(self.cuda.cuCtxSetCurrent(context))
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(self.module), code))
        name = compiled.src.fn.__name__.encode()
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, name))
        limit = (self.function, _MAX_DYNAMIC_SHARED_BYTES, self.shared)
        self._check(self.cuda.cuFuncSetAttribute(*limit))

    def _check(self, status):
        text = ctypes.c_char_p()
        if status:
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError((text.value or b"").decode())

    def __call__(self, grid, *arguments):
        """Launch and wait; `arguments` are arrays and numbers without those that are constants."""
        assert len(arguments) == len(self.kinds)
        values = [
            ctypes.c_uint64(value.data_ptr()) if kind[0] == "*" else _VALUES[kind](value)
            for kind, value in zip(self.kinds, arguments)
        ]
        values += [ctypes.c_uint64(0) for _ in range(self.scratches)]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        block, shared = (self.threads, 1, 1), self.shared
        self._check(
            self.cuda.cuLaunchKernel(self.function, *grid, *block, shared, None, pointers, None)
        )
        self._check(self.cuda.cuCtxSynchronize())


__all__ = ["StaticLauncher", "parameters_of", "threads_of"]
