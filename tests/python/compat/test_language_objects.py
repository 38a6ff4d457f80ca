"""Types and values of the language on the host, against Triton's facts about them."""

import copy
import pickle

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.language import core

# name, code name, bits, and of floats the mantissa's bits and the exponent's bias
FACTS = {
    "int1": ("int1", "int1", 1),
    "int8": ("int8", "int8", 8),
    "int64": ("int64", "int64", 64),
    "uint8": ("uint8", "uint8", 8),
    "uint32": ("uint32", "uint32", 32),
    "float16": ("fp16", "float16", 16, 10, 15),
    "bfloat16": ("bf16", "bfloat16", 16, 7, 127),
    "float32": ("fp32", "float32", 32, 23, 127),
    "float64": ("fp64", "float64", 64, 52, 1023),
    "float8e5": ("fp8e5", "float8e5", 8, 2, 15),
    "float8e4nv": ("fp8e4nv", "float8e4nv", 8, 3, 7),
    "float8e4b8": ("fp8e4b8", "float8e4b8", 8, 3, 8),
    "float8e4b15": ("fp8e4b15", "float8e4b15", 8, 3, 15),
    "float8e5b16": ("fp8e5b16", "float8e5b16", 8, 2, 16),
}


@pytest.mark.parametrize("attribute", FACTS)
def test_element_types(attribute):
    kind = getattr(tl, attribute)
    name, code, bits, *floats = FACTS[attribute]
    assert (kind.name, str(kind), kind.codegen_name()) == (name, name, code)
    assert kind.primitive_bitwidth == bits and repr(kind) == f"triton.language.{code}"
    assert tl.dtype(name) == kind and tl.dtype(kind.short_name) == kind
    assert pickle.loads(pickle.dumps(kind)) == kind == copy.deepcopy(kind)
    assert [kind.fp_mantissa_width, kind.exponent_bias] == floats if floats else kind.is_int()
    groups = tl.dtype.KIND
    expected = groups.FLOATING if floats else groups.BOOLEAN if bits == 1 else groups.INTEGRAL
    assert kind.kind() is expected and kind.scalar is kind and not kind.is_block()
    assert hasattr(kind, "int_bitwidth") == (not floats)
    assert hasattr(kind, "fp_mantissa_width") == bool(floats)


def test_limits_of_integers():
    for kind in (tl.int8, tl.uint8, tl.int32, tl.uint64, tl.int64):
        info = np.iinfo(kind.name)
        assert kind.get_int_max_value() == info.max and kind.get_int_min_value() == info.min
    assert tl.int1.get_int_max_value() == 1 and tl.int1.get_int_min_value() == 0
    with pytest.raises(TypeError, match="no integer"):
        tl.float32.get_int_max_value()
    assert tl.int8.int_signedness is tl.dtype.SIGNEDNESS.SIGNED
    assert tl.int1.int_signedness is tl.dtype.SIGNEDNESS.UNSIGNED


def test_pointer_and_block_types():
    pointer = tl.pointer_type(tl.float16, const=True)
    assert pointer.name == "const_pointer<fp16>" and pointer.is_const() and pointer.is_ptr()
    assert pointer.mangle() == "Pfp16" and pointer.primitive_bitwidth == 64
    assert pointer != tl.pointer_type(tl.float16) and not pointer.is_int()
    block = tl.block_type(tl.uint8, [4, tl.constexpr(8)])
    assert block.name == "<(4, 8), uint8>" and block.numel == 32 and block.nbytes == 32
    assert block.mangle() == "u8S4_8S" and block.scalar == tl.uint8
    assert block.with_element_ty(tl.int64) == tl.block_type(tl.int64, (4, 8))
    with pytest.raises(TypeError, match="expected `dtype`"):
        tl.pointer_type(3)
    with pytest.raises(ValueError, match="no element type"):
        tl.dtype("int7")


def test_types_of_strings():
    assert tl.str_to_ty("*ki8", None) == tl.pointer_type(tl.int8, const=True)
    assert tl.str_to_ty("u1", None) == tl.int1
    assert tl.str_to_ty("constexpr", 7) == tl.constexpr_type(7)
    pair = tl.str_to_ty(("i32", "*fp32"), None)
    assert isinstance(pair, tl.tuple_type) and list(pair) == [
        tl.int32,
        tl.pointer_type(tl.float32),
    ]
    desc = tl.str_to_ty("tensordesc<fp16[64, 32]>", None)
    assert isinstance(desc, tl.tensor_descriptor_type)
    assert desc.block_type == tl.block_type(tl.float16, [64, 32])
    assert list(desc.shape_type) == [tl.int32] * 2 and list(desc.strides_type) == [tl.int64] * 2
    with pytest.raises(KeyError):
        tl.str_to_ty("i7", None)


def test_values():
    """Constants and tuples of constants compare and convert as in Triton."""
    assert core.CONSTEXPR_0 == 0 and isinstance(core.CONSTEXPR_0, core.base_value)
    three = tl.constexpr(3)
    assert three.type == tl.constexpr_type(3) != tl.constexpr_type(4)
    assert list(tl.constexpr((1, 2))) == [1, 2] and isinstance(tl.float32, core.base_type)
    both = tl.tuple([three, tl.constexpr(4)])
    assert len(both) == 2 and both[0] == 3 and both.values[1] == 4
    assert both.type == tl.tuple_type([tl.constexpr_type(3), tl.constexpr_type(4)])
    named = tl.tuple([1, 2], tl.tuple_type([tl.int32, tl.int32], ["left", "right"]))
    assert named.right == 2 and named[0:1] == (1,) and named.type.name == "[left:int32,right:int32]"
    assert named + both == (1, 2, 3, 4) and named * tl.constexpr(2) == (1, 2, 1, 2)
    assert issubclass(tl.tensor, core.base_value) and not hasattr(named, "middle")


@triton.jit
def types_kernel(out, x, pair):
    i = tl.arange(0, 4)
    kind: tl.constexpr = x.dtype.element_ty
    tl.static_assert(isinstance(pair.type, tl.tuple_type))
    tl.static_assert(pair.type[0] == tl.int32)
    tl.static_assert(pair.type[1].element_ty == kind)
    tl.static_assert(not isinstance(pair, tl.tuple_type))
    tl.store(out + 4 + i, kind.fp_mantissa_width)
    tl.store(out, kind.fp_mantissa_width)
    tl.store(out + 1, kind.exponent_bias)
    tl.store(out + 2, out.dtype.element_ty.get_int_max_value())
    tl.store(out + 3, out.dtype.element_ty.get_int_min_value())
    tl.static_assert(kind.codegen_name() == "bfloat16" or kind.codegen_name() == "float16")


@pytest.mark.parametrize("dtype, mantissa, bias", [("fp16", 10, 15), ("bf16", 7, 127)])
def test_types_in_kernels(device, dtype, mantissa, bias):
    x, out = device.to(random(4, dtype, seed=5)), device.to(np.zeros(8, np.int32))
    types_kernel[(1,)](out, x, (5, x))
    limits = np.iinfo(np.int32)
    expected = [mantissa, bias, limits.max, limits.min, *[mantissa] * 4]
    np.testing.assert_array_equal(device.numpy(out), expected)


@triton.jit
def shapes_kernel(out, x, DIM: tl.constexpr):
    i = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)
    tile = tl.load(x + i)
    both = tl.cat(tile, tile * 2, dim=DIM)
    wide: tl.constexpr = both.shape[1]
    places = tl.arange(0, both.shape[0])[:, None] * wide + tl.arange(0, wide)
    tl.store(out + places, tl.squeeze(tl.unsqueeze(both, -1), 2))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_squeeze_unsqueeze(device, dim):
    x = random((4, 8), "fp32", seed=6)
    out = device.to(np.zeros(64, np.float32))
    shapes_kernel[(1,)](out, device.to(x), dim)
    expected = np.concatenate([x, x * 2], axis=dim).ravel()
    np.testing.assert_array_equal(device.numpy(out), expected)


def test_tuples_of_the_language_are_arguments(device):
    x, out = device.to(random(4, "fp16", seed=7)), device.to(np.zeros(8, np.int32))
    types_kernel[(1,)](out, x, tl.tuple([9, x]))
    assert device.numpy(out)[0] == 10
