"""Element types, usable on the host: `tl.float16.primitive_bitwidth`, `str(tl.float16)`."""

import functools

_LONG_NAMES = {
    "int1": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float8e5": "fp8e5",
    "float8e5b16": "fp8e5b16",
    "float8e4nv": "fp8e4nv",
    "float8e4b8": "fp8e4b8",
    "float8e4b15": "fp8e4b15",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "void": "void",
}
_CODE_NAMES = {short: long for long, short in _LONG_NAMES.items()}
_BITS = {"bf16": 16, "void": 0}


class dtype:
    """An element type: `dtype("fp16")`, `dtype("int32")`. `name` is the short name, "i32"."""

    SINT_TYPES = ("int8", "int16", "int32", "int64")
    UINT_TYPES = ("int1", "uint8", "uint16", "uint32", "uint64")
    FP_TYPES = tuple(name for name in _LONG_NAMES.values() if name[0] in "fb")
    STANDARD_FP_TYPES = ("fp16", "bf16", "fp32", "fp64")
    OTHER_TYPES = ("void",)

    def __init__(self, name):
        name = getattr(name, "value", name)
        self.name = self.by_long_name(name) or name

    @staticmethod
    def is_dtype(name):
        """Return whether `name` is one that the constructor takes."""
        return bool(dtype.by_long_name(name)) or name == "void"

    @staticmethod
    def by_long_name(name):
        """Return the short name of `name` ("int64", "i64", "u1"), or "" if it is no type."""
        if name == "u1":
            return "i1"
        return _LONG_NAMES.get(
            name, name if name in _LONG_NAMES.values() and name != "void" else ""
        )

    @property
    def _pantile_key(self):
        return f"dtype:{self.name}"

    @property
    def primitive_bitwidth(self):
        """Bits of an element: 1 of a bool, 64 of a pointer."""
        if self.name in _BITS:
            return _BITS[self.name]
        if self.is_fp8():
            return 8
        return int(self.name.lstrip("fpiu"))

    @property
    def itemsize(self):
        """Bytes of an element in memory."""
        return max(self.primitive_bitwidth // 8, 1)

    int_bitwidth = primitive_bitwidth

    @property
    def scalar(self):
        """The element type: itself."""
        return self

    def is_fp8(self):
        """Return whether this is one of the 8-bit floats."""
        return self.name.startswith("fp8")

    def is_fp16(self):
        return self.name == "fp16"

    def is_bf16(self):
        return self.name == "bf16"

    def is_fp32(self):
        return self.name == "fp32"

    def is_fp64(self):
        return self.name == "fp64"

    def is_floating(self):
        """Return whether this is a float of any width."""
        return self.name[0] == "f" or self.name == "bf16"

    def is_standard_floating(self):
        """Return whether this is fp16, bf16, fp32 or fp64."""
        return self.name in ("fp16", "bf16", "fp32", "fp64")

    def is_int(self):
        """Return whether this is an integer or a bool."""
        return self.name[0] in "iu"

    def is_int_signed(self):
        """Return whether this is a signed integer; a bool is not."""
        return self.name[0] == "i" and self.name != "i1"

    def is_int_unsigned(self):
        """Return whether this is an unsigned integer or a bool."""
        return self.name[0] == "u" or self.name == "i1"

    def is_bool(self):
        """Return whether this is the type of masks."""
        return self.name == "i1"

    def is_void(self):
        return self.name == "void"

    def is_ptr(self):
        """Return whether this is a pointer."""
        return False

    def is_const(self):
        """Return whether this is a pointer that is only read."""
        return False

    def is_tuple(self):
        return False

    def __getattr__(self, name):
        # is_int32, is_uint8, is_fp8e4nv, ...
        if name.startswith("is_") and self.is_dtype(name[3:]):
            return lambda: self.name == self.by_long_name(name[3:])
        raise AttributeError(f"a dtype has no attribute `{name}`")

    def __deepcopy__(self, memo):
        return self

    def is_block(self):
        """Return whether this is the type of a tile."""
        return False

    def __eq__(self, other):
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self):
        return hash(("dtype", self.name))

    def __str__(self):
        return (
            f"{'u' if self.name[0] == 'u' else ''}int{self.name[1:]}"
            if self.is_int()
            else self.name
        )

    def __repr__(self):
        # An expression that gives the type again: libraries write it into kernels.
        return f"triton.language.{_CODE_NAMES.get(self.name, self)}"


class pointer_type(dtype):
    """A pointer to `element_ty`."""

    def __init__(self, element_ty, address_space=1, const=False):
        super().__init__(("*k" if const else "*") + element_ty.name)
        self.element_ty, self.address_space, self.const = element_ty, address_space, const

    @property
    def primitive_bitwidth(self):
        return 64

    def is_int(self):
        return False

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const


class block_type(dtype):
    """A tile of `element_ty`."""

    def __init__(self, element_ty, shape):
        shape = [getattr(extent, "value", extent) for extent in shape]
        super().__init__(f"<{list(map(int, shape))}, {element_ty.name}>")
        self.element_ty, self.shape = element_ty, tuple(shape)
        self.numel = functools.reduce(lambda product, extent: product * extent, shape, 1)

    @property
    def scalar(self):
        """The type of an element."""
        return self.element_ty

    @property
    def primitive_bitwidth(self):
        """Bits of an element."""
        return self.element_ty.primitive_bitwidth

    @property
    def nbytes(self):
        """Bytes of the whole tile."""
        return self.numel * self.primitive_bitwidth // 8

    def get_block_shapes(self):
        """Return the tile's extents."""
        return self.shape

    def is_block(self):
        return True

    def is_floating(self):
        return False

    def is_int(self):
        return False


TYPES = {long_name: dtype(short_name) for long_name, short_name in _LONG_NAMES.items()}
TYPES["pi32_t"] = pointer_type(TYPES["int32"])


def get_int_dtype(bitwidth, signed):
    """Return the integer type of a width."""
    return TYPES[f"{'' if signed else 'u'}int{bitwidth}"]


def dtype_of_text(text):
    """Return the type of a name: "fp16", "int32", "*kfp32"."""
    if text.startswith("*k"):
        return pointer_type(dtype_of_text(text[2:]), const=True)
    if text.startswith("*"):
        return pointer_type(dtype_of_text(text[1:]))
    return dtype(dtype.by_long_name(text) or text)
