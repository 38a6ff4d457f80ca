"""The emulated driver's functions themselves, for kernels that are given as PTX."""

import ctypes

import numpy as np
from emulated_device import library_path

LANES = 32


class Driver:
    """The functions of the emulated driver, with errors as exceptions."""

    def __init__(self):
        self.library = ctypes.CDLL(str(library_path()))
        context = ctypes.c_void_p()
        self.cuInit(0)
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            if function(*arguments):
                text = ctypes.c_char_p()
                self.library.cuGetErrorString(1, ctypes.byref(text))
                raise RuntimeError((text.value or b"").decode())

        return call

    def array(self, values):
        """A device pointer to a copy of `values`, and the same memory for NumPy."""
        pointer = ctypes.c_uint64()
        self.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(values.nbytes))
        memory = (ctypes.c_uint32 * values.size).from_address(pointer.value)
        view = np.ctypeslib.as_array(memory)
        view[:] = values
        return pointer, view

    def map_of(self, pointer, rows):
        """A tensor map of numbers of 32 bits in rows of 32, whose box are two rows."""
        made = (ctypes.c_uint8 * 128)()
        extents, strides = (ctypes.c_uint64 * 2)(LANES, rows), (ctypes.c_uint64 * 1)(4 * LANES)
        box, steps = (ctypes.c_uint32 * 2)(LANES, 2), (ctypes.c_uint32 * 2)(1, 1)
        self.cuTensorMapEncodeTiled(made, 2, 2, pointer, extents, strides, box, steps, 0, 0, 0, 0)
        return made

    def launch(self, text, name, blocks, arrays, threads=LANES):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.cuModuleLoadData(ctypes.byref(module), text.encode())
        self.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        arguments = (ctypes.c_void_p * len(arrays))(
            *(ctypes.cast(ctypes.byref(array), ctypes.c_void_p) for array in arrays)
        )
        self.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, None, arguments, None)

    def run(self, text, name, blocks, inputs, outputs, threads=LANES):
        """Launch `name` on copies of the arrays `inputs` and `outputs`, all of 32 bits; return what it left in `outputs`."""
        copies = [self.array(values) for values in (*inputs, *outputs)]
        try:
            self.launch(text, name, blocks, [pointer for pointer, _ in copies], threads)
            return [view.copy() for _, view in copies[len(inputs) :]]
        finally:
            for pointer, _ in copies:
                self.cuMemFree_v2(pointer)


__all__ = ["LANES", "Driver"]
