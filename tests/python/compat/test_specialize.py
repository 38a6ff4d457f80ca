"""Types and assumptions of single arguments, as libraries query them; the values are those of Triton 3.6."""

from collections import namedtuple

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile._utils import find_paths_if, get_iterable_path
from pantile.backends import BaseBackend
from pantile.runtime.jit import MockTensor, TensorWrapper, mangle_type, native_specialize_impl
from pantile.tools.tensor_descriptor import TensorDescriptor

Pair = namedtuple("Pair", "x y")


class Tensor:
    """What is read of torch's: an address and a dtype that prints as torch's do."""

    def __init__(self, address, kind):
        self.address, self.dtype = address, kind

    def data_ptr(self):
        return self.address


class Float16:
    itemsize = 2

    def __str__(self):
        return "torch.float16"


@triton.jit
def double(x):
    return x * 2


# (argument, type and assumption, those without alignment); without a value nothing is assumed.
ARGUMENTS = [
    (None, ("constexpr", None), ("constexpr", None)),
    (True, ("u1", None), ("u1", None)),
    (False, ("u1", None), ("u1", None)),
    (0, ("i32", "D"), ("i32", "")),
    (1, ("constexpr", 1), ("constexpr", 1)),
    (17, ("i32", ""), ("i32", "")),
    (-16, ("i32", "D"), ("i32", "")),
    (2**31 - 1, ("i32", ""), ("i32", "")),
    (2**31, ("i64", "D"), ("i64", "")),
    (-(2**31), ("i32", "D"), ("i32", "")),
    (-(2**31) - 1, ("i64", ""), ("i64", "")),
    (2**63 - 1, ("i64", ""), ("i64", "")),
    (2**63, ("u64", "D"), ("u64", "")),
    (2**64 - 1, ("u64", ""), ("u64", "")),
    (16.0, ("fp32", None), ("fp32", None)),
    (np.float64(2.5), ("fp32", None), ("fp32", None)),
    (Tensor(64, "torch.float32"), ("*fp32", "D"), ("*fp32", "")),
    (Tensor(72, "torch.bfloat16"), ("*bf16", ""), ("*bf16", "")),
    (Tensor(64, "torch.bool"), ("*u1", "D"), ("*u1", "")),
    (Tensor(64, "torch.uint8"), ("*u8", "D"), ("*u8", "")),
    (Tensor(64, "torch.float8_e4m3fn"), ("*fp8e4nv", "D"), ("*fp8e4nv", "")),
    (Tensor(64, "torch.float8_e4m3fnuz"), ("*fp8e4b8", "D"), ("*fp8e4b8", "")),
    (Tensor(64, "torch.float8_e5m2fnuz"), ("*fp8e5b16", "D"), ("*fp8e5b16", "")),
    (Tensor(64, tl.bfloat16), ("*bf16", "D"), ("*bf16", "")),
    (MockTensor(tl.float16), ("*fp16", "D"), ("*fp16", "")),
    (MockTensor(tl.int1), ("*u1", "D"), ("*u1", "")),
    ((), ((), ()), ((), ())),
]


@pytest.mark.parametrize("arg, aligned, unaligned", ARGUMENTS)
def test_one_argument(arg, aligned, unaligned):
    assert native_specialize_impl(BaseBackend, arg, False, True, True) == aligned
    assert native_specialize_impl(BaseBackend, arg, False, True, False) == unaligned
    kind, assumed = native_specialize_impl(BaseBackend, arg, False, False, True)
    assert kind == ("i32" if arg is not True and arg == 1 else aligned[0])
    assert assumed == (() if type(arg) is tuple else None)
    assert mangle_type(arg) == kind and mangle_type(arg, specialize=True) == aligned[0]
    constant = native_specialize_impl(BaseBackend, arg, True, True, True)
    expected = aligned[0].replace("*", "*k") if isinstance(aligned[0], str) else aligned[0]
    assert constant == (expected, aligned[1])


def test_tuples_are_always_specialised():
    found = native_specialize_impl(
        BaseBackend, (1, 2.0, Tensor(64, "torch.float32")), 1, False, False
    )
    assert found == (("constexpr", "fp32", "*fp32"), (1, None, "D"))
    kinds, assumed = native_specialize_impl(BaseBackend, Pair(16, (1, 32)), False, True, True)
    assert kinds == Pair("i32", ("constexpr", "i32")) and type(kinds) is Pair
    assert assumed == Pair("D", (1, "D")) and type(assumed) is Pair
    assert mangle_type((1, 2.0)) == ("constexpr", "fp32")


def test_compile_time_values():
    three = tl.constexpr(3)
    kind, value = native_specialize_impl(BaseBackend, three, False, True, True)
    assert kind == "constexpr" and value is three
    assert native_specialize_impl(BaseBackend, double, False, True, True) == (
        "constexpr",
        double.cache_key,
    )


def test_descriptors_and_wrapped_tensors():
    base = Tensor(64, Float16())
    base.element_size = lambda: 2
    descriptor = TensorDescriptor(base, [64, 64], [64, 1], [16, 32])
    found = native_specialize_impl(BaseBackend, descriptor, False, True, True)
    assert found == ("tensordesc<fp16[16, 32]>", None)
    wrapped = TensorWrapper(np.zeros(8, np.int8), tl.float8e5)
    assert native_specialize_impl(BaseBackend, wrapped, True, False, True) == ("*kfp8e5", None)


def test_arrays_of_the_host():
    memory = np.zeros(64, np.float32)
    start = -memory.ctypes.data % 16 // 4
    assert native_specialize_impl(BaseBackend, memory[start:], False, True, True) == ("*fp32", "D")
    assert native_specialize_impl(BaseBackend, memory[start + 1 :], False, True, True)[1] == ""
    assert mangle_type(np.zeros(4, bool)) == "*u1"


@pytest.mark.parametrize("arg", ["text", [1, 2], 1j, np.int32(5), np.float32(5), object(), tl.int8])
def test_what_no_kernel_takes(arg):
    with pytest.raises(TypeError, match="failed to specialize argument of type"):
        native_specialize_impl(BaseBackend, arg, False, True, True)
    with pytest.raises(TypeError, match="failed to specialize argument of type"):
        mangle_type(arg)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_integers_beyond_64_bits(number):
    with pytest.raises(OverflowError, match="too large to represent"):
        native_specialize_impl(BaseBackend, number, False, False, True)


def test_paths():
    """Paths into nested values lead to what was looked for."""
    values = ["D", None, ("", ("D", 3)), [["x"]]]
    paths = find_paths_if(values, lambda _, value: isinstance(value, str))
    assert paths == [(0,), (2, 0), (2, 1, 0), (3, 0, 0)]
    assert [get_iterable_path(values, path) for path in paths] == ["D", "", "D", "x"]
    assert find_paths_if(3, lambda path, value: True) == [()]
    assert find_paths_if([1, 2, 3], lambda path, value: path == (1,)) == [(1,)]
    assert get_iterable_path(values, ()) is values


def test_attributes_of_a_call_as_torch_makes_them():
    """Assumptions of all arguments, those that are strings by their path, and what the back end reads there."""
    backend = triton.compiler.make_backend(triton.backends.compiler.GPUTarget("cuda", 90, 32))
    args = [Tensor(64, "torch.float32"), (Tensor(80, "torch.float16"), 5), 48, 3.0]
    assumed = [native_specialize_impl(BaseBackend, arg, False, True, True)[1] for arg in args]
    paths = find_paths_if(assumed, lambda _, value: isinstance(value, str))
    attrs = {path: backend.parse_attr(get_iterable_path(assumed, path)) for path in paths}
    sixteen = [["tt.divisibility", 16]]
    assert attrs == {(0,): sixteen, (1, 0): sixteen, (1, 1): [], (2,): sixteen}
