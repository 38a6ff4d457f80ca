"""What every driver answers."""


class DriverBase:
    """The interface of `runtime.driver.active`; a driver for `set_active` derives from it."""

    @classmethod
    def is_active(cls):
        """Return whether the driver's device is there; NotImplementedError without an answer."""
        raise NotImplementedError

    def get_current_target(self):
        """Return the GPUTarget of the current device; NotImplementedError without an answer."""
        raise NotImplementedError

    def get_active_torch_device(self):
        """Return the torch.device of the current device; NotImplementedError without an answer."""
        raise NotImplementedError

    def get_benchmarker(self):
        """Return the function that measures a launch, as `testing.do_bench`."""
        from ..testing.bench import in_use

        return in_use("do_bench")

    def map_python_to_cpp_type(self, ty):
        """Return the C type of a kernel argument's type; KeyError for no type.

        Parameters
        ----------
        ty : str
            The type as in signatures: "*fp32", "i32", "fp32".
        """
        if ty.startswith("*"):
            return "CUdeviceptr"
        if ty.startswith("tensordesc"):
            return "CUtensorMap"
        return _C_TYPES[ty]


_C_TYPES = {
    "i1": "int8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u1": "uint8_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "fp16": "double",
    "bf16": "double",
    "fp32": "double",
    "f32": "double",
    "fp64": "double",
    "nvTmaDesc": "CUtensorMap",
}
