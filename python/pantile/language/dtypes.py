"""Element types, usable on the host: `tl.float16.primitive_bitwidth`, `str(tl.float16)`."""

import enum
import functools

from .dtype_table import NAMES_OF_ARRAYS, ROWS

_NAMES = {**{short: name for name, short, _, _ in ROWS}, "void": "void"}
_LONG_NAMES = {**{long: short for _, short, long, _ in ROWS}, "void": "void"}
_CODE_NAMES = {short: long for long, short in _LONG_NAMES.items()}
_BITS = {**{short: bits for _, short, _, bits in ROWS}, "void": 0}
FP8_NAMES = tuple(short for short in _BITS if short.startswith("fp8"))
# The short name by each name of an element type, also by torch's, NumPy's and C's. A bool is "u1"
# there, as in Triton's signatures.
SHORT_NAMES = {
    **_LONG_NAMES,
    **{short: short for short in _NAMES},
    **NAMES_OF_ARRAYS,
    **{"half": "fp16", "float": "fp32", "double": "fp64", "int": "i32"},
    **dict.fromkeys(("bool", "int1", "uint1", "i1", "u1"), "u1"),
}
# Bits of the mantissa, and the bias of the exponent.
_FLOAT_FORMATS = {
    "fp8e4b15": (3, 15),
    "fp8e4nv": (3, 7),
    "fp8e4b8": (3, 8),
    "fp8e5": (2, 15),
    "fp8e5b16": (2, 16),
    "fp16": (10, 15),
    "bf16": (7, 127),
    "fp32": (23, 127),
    "fp64": (52, 1023),
}


class base_value:
    """A value of kernels; `type` is its type."""

    type = None


class base_type:
    """A type of values of kernels."""

    def mangle(self):
        """Return the type as part of a function's name."""
        raise NotImplementedError(f"`{type(self).__name__}` has no part in names")


class dtype(base_type):
    """An element type: `dtype("fp16")`, `dtype("int32")`.

    `name` is Triton's name of it, "int32" or "fp16"; `short_name` is that of signatures, "i32".
    """

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = [*_FLOAT_FORMATS]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        """Whether an integer has a sign."""

        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        """What a type promotes by, in order."""

        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name):
        name = getattr(name, "value", name)
        self.short_name = self.by_long_name(name) or name
        if self.short_name not in _CODE_NAMES:
            raise ValueError(f"there is no element type `{name}`")
        self.name = _NAMES[self.short_name]
        if self.name in self.SINT_TYPES:
            self.int_signedness = dtype.SIGNEDNESS.SIGNED
        elif self.name in self.UINT_TYPES:
            self.int_signedness = dtype.SIGNEDNESS.UNSIGNED
        elif self.name in _FLOAT_FORMATS:
            self.fp_mantissa_width, self.exponent_bias = _FLOAT_FORMATS[self.name]

    @staticmethod
    def is_dtype(type_str):
        """Return whether `type_str` is one that the constructor takes."""
        return bool(dtype.by_long_name(type_str)) or type_str == "void"

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
        return f"dtype:{self.short_name}"

    @property
    def primitive_bitwidth(self):
        """Bits of an element: 1 of a bool, 64 of a pointer."""
        return _BITS[self.short_name]

    @property
    def itemsize(self):
        """Bytes of an element in memory."""
        return max(self.primitive_bitwidth // 8, 1)

    @property
    def int_bitwidth(self):
        """Bits of an integer; AttributeError for any other type."""
        if not self.is_int():
            raise AttributeError(f"`{self}` is no integer: it has no `int_bitwidth`")
        return self.primitive_bitwidth

    @property
    def scalar(self):
        """The element type: itself."""
        return self

    def is_fp8(self):
        """Return whether this is one of the 8-bit floats."""
        return self.short_name.startswith("fp8")

    def is_floating(self):
        """Return whether this is a float of any width."""
        return self.name in _FLOAT_FORMATS

    def is_standard_floating(self):
        """Return whether this is fp16, bf16, fp32 or fp64."""
        return self.name in self.STANDARD_FP_TYPES

    def is_int(self):
        """Return whether this is an integer or a bool."""
        return self.is_int_signed() or self.is_int_unsigned()

    def is_int_signed(self):
        """Return whether this is a signed integer; a bool is not."""
        return self.name in self.SINT_TYPES

    def is_int_unsigned(self):
        """Return whether this is an unsigned integer or a bool."""
        return self.name in self.UINT_TYPES

    def is_bool(self):
        """Return whether this is the type of masks."""
        return self.name == "int1"

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

    def is_block(self):
        """Return whether this is the type of a tile."""
        return False

    def kind(self):
        """Return the `dtype.KIND` that promotion goes by; TypeError for what is no number."""
        if self.is_bool():
            return dtype.KIND.BOOLEAN
        if self.is_int():
            return dtype.KIND.INTEGRAL
        if self.is_floating():
            return dtype.KIND.FLOATING
        raise TypeError(f"`{self}` is no type of numbers")

    def get_int_max_value(self):
        """Return the largest value of an integer type; TypeError for any other."""
        return (1 << (self._need_int() - self.is_int_signed())) - 1

    def get_int_min_value(self):
        """Return the smallest value of an integer type; TypeError for any other."""
        return -(1 << (self._need_int() - 1)) if self.is_int_signed() else 0

    def _need_int(self):
        if not self.is_int():
            raise TypeError(f"`{self}` is no integer")
        return self.primitive_bitwidth

    def codegen_name(self):
        """Return the name under which `triton.language` has the type: "float16" for "fp16"."""
        return _CODE_NAMES.get(self.short_name, self.name)

    @property
    def cache_key_part(self):
        """What the type adds to the key of a kernel: its name."""
        return self.name

    def mangle(self):
        """Return the type as part of a function's name: "i32", "fp16", "Pfp16"."""
        if self.is_int():
            return f"{'i' if self.is_int_signed() else 'u'}{self.primitive_bitwidth}"
        return "V" if self.is_void() else str(self)

    def with_element_ty(self, element_ty):
        """Return the type of the same shape with other elements: of a scalar, `element_ty`."""
        return element_ty

    def __getattr__(self, name):
        # is_int32, is_uint8, is_fp8e4nv, ...
        if name.startswith("is_") and self.is_dtype(name[3:]):
            return lambda: self.short_name == self.by_long_name(name[3:])
        raise AttributeError(f"a dtype has no attribute `{name}`")

    def __deepcopy__(self, memo):
        return self

    def __eq__(self, other):
        other = getattr(other, "value", other)
        return isinstance(other, dtype) and self.short_name == other.short_name

    def __hash__(self):
        return hash(("dtype", self.short_name))

    def __str__(self):
        return self.name

    def __repr__(self):
        # An expression that gives the type again: libraries write it into kernels.
        return f"triton.language.{self.codegen_name()}"


class pointer_type(dtype):
    """A pointer to `element_ty`; TypeError where that is no dtype."""

    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = getattr(element_ty, "value", element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.short_name = ("*k" if const else "*") + element_ty.short_name
        self.name = f"{'const_' if const else ''}pointer<{element_ty}>"
        self.element_ty, self.address_space, self.const = element_ty, address_space, const

    @property
    def primitive_bitwidth(self):
        return 64

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const

    def mangle(self):
        return f"P{self.element_ty.mangle()}"

    def __repr__(self):
        return self.name


class block_type(dtype):
    """A tile of `element_ty`; TypeError for a shape without dimensions or with other than ints."""

    def __init__(self, element_ty, shape):
        shape = [getattr(extent, "value", extent) for extent in shape]
        if not shape:
            raise TypeError("0d block_type is forbidden")
        self.element_ty, self.shape = element_ty, tuple(shape)
        self.short_name = f"<{list(map(int, shape))}, {element_ty.short_name}>"
        self.name = f"<{self.shape}, {element_ty}>"
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

    def with_element_ty(self, scalar_ty):
        return block_type(scalar_ty, self.shape)

    def is_block(self):
        return True

    def mangle(self):
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    def __repr__(self):
        return self.name


def _question(short_name):
    return lambda self: self.short_name == short_name


for _long, _short in _LONG_NAMES.items():
    # is_int32, is_uint8, is_fp8e4nv, ...; of void, there is one.
    _name = f"is_{_short if _short in _FLOAT_FORMATS else _long}"
    if _name not in vars(dtype):
        setattr(dtype, _name, _question(_short))

TYPES = {long_name: dtype(short_name) for long_name, short_name in _LONG_NAMES.items()}
TYPES["pi32_t"] = pointer_type(TYPES["int32"])


def get_int_dtype(bitwidth, signed):
    """Return the integer type of a width."""
    return TYPES[f"{'' if signed else 'u'}int{bitwidth}"]


def short_name_of(kind):
    """Return the short name of an element type of ours, torch's or NumPy's; KeyError for another."""
    return SHORT_NAMES[str(kind).rpartition(".")[2]]


def dtype_of_text(text):
    """Return the type of a name: "fp16", "int32", "*kfp32"."""
    if text.startswith("*k"):
        return pointer_type(dtype_of_text(text[2:]), const=True)
    if text.startswith("*"):
        return pointer_type(dtype_of_text(text[1:]))
    return dtype(dtype.by_long_name(text) or text)
