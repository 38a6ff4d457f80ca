"""What Triton refuses is refused, and the message holds the words that tests of other projects look for."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

GLOBAL = 5
CASES = []


def says(*phrases, arrays=(np.float32,), args=()):
    def note(fn):
        CASES.append(pytest.param(triton.jit(fn), phrases, arrays, args, id=fn.__name__))
        return fn

    return note


@says("global variable")
def plain_global(p):
    tl.store(p, GLOBAL)


@says("is not defined")
def undefined(p):
    tl.store(p, missing)  # noqa: F821


@says("program_id axis must be 0, 1, or 2 but got 3")
def grid_axis(p):
    tl.store(p, tl.program_id(3))


@says("invalid axis 2")
def reduction_axis(p):
    tl.store(p, tl.sum(tl.arange(0, 16), axis=2))


@says("invalid axis 4")
def new_axis(p):
    tl.store(p + tl.arange(0, 16)[None, :], tl.expand_dims(tl.arange(0, 16), 4))


@says("expand_dims received duplicate axes")
def duplicate_axes(p):
    tl.store(p, tl.sum(tl.expand_dims(tl.arange(0, 16), (0, 0))))


@says("arange's arguments must be of type tl.constexpr", args=(32,))
def arange_end(p, n):
    tl.store(p + tl.arange(0, n), 1)


@says("arange's end argument must be greater than the start argument")
def arange_order(p):
    tl.store(p + tl.arange(8, 4), 1)


@says("Shape element 1 must be a power of 2")
def shape(p):
    tl.store(p, tl.sum(tl.sum(tl.zeros((2, 0), tl.float32), 0), 0))


@says("exceeds triton maximum tensor numel")
def size(p):
    tl.store(p, tl.max(tl.zeros((2**21,), tl.float32), 0))


@says("unsupported tensor index")
def index(p):
    tl.store(p, tl.arange(0, 16)[1.5])


@says("are not compatible for matmul")
def dot_shapes(p):
    tl.store(p, tl.dot(tl.zeros((16, 32), tl.float16), tl.zeros((16, 16), tl.float16)))


@says("Input shapes should have M >= 1, N >= 1 and K >= 16")
def dot_depth(p):
    tl.store(p, tl.dot(tl.zeros((16, 8), tl.float16), tl.zeros((8, 16), tl.float16)))


@says("Both operands must be same dtype")
def dot_types(p):
    tl.store(p, tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32)))


@says("Both inputs must be either 2D or 3D")
def dot_ranks(p):
    tl.store(p, tl.dot(tl.zeros((16,), tl.float16), tl.zeros((16, 16), tl.float16)))


@says("incompatible dimensions at index 0: 16 and 8")
def broadcast(p):
    tl.store(p + tl.arange(0, 16), tl.arange(0, 16) + tl.arange(0, 8))


@says("reshape() cannot change total number of elements in tensor")
def reshape(p):
    tl.store(p, tl.max(tl.reshape(tl.arange(0, 16), (32,)), 0))


@says("must have the same length as input shape")
def permutation(p):
    tl.store(p, tl.permute(tl.zeros((4, 4), tl.float32), (0,)))


@says("`other` cannot be provided without `mask`")
def other(p):
    tl.store(p, tl.load(p, other=0.0))


@says("Value argument cannot be block type if pointer argument is not a block")
def store_of_a_tile(p):
    tl.store(p, tl.arange(0, 16))


@says("Mask argument cannot be block type if pointer argument is not a block")
def mask_of_a_tile(p):
    tl.store(p, 1.0, mask=tl.arange(0, 16) < 3)


@says("Cannot store to a constant pointer")
def const_pointer(p: tl.const):
    tl.store(p, 1.0)


@says("not supported", "cache modifier")
def cache_modifier(p):
    tl.store(p, tl.load(p, cache_modifier=".xy"))


@says("not supported", "eviction policy")
def eviction_policy(p):
    tl.store(p, tl.load(p, eviction_policy="never"))


@says("Boolean value of Tensor with more than one value is ambiguous")
def condition(p):
    if tl.arange(0, 16) > 3:
        tl.store(p, 1.0)


@says("Only `range` and `static_range` iterators are currently supported")
def iterator(p):
    for x in tl.sum(tl.arange(0, 16), 0):
        tl.store(p, x)


@says("Please make sure that the type stays consistent", args=(3,))
def loop_type(p, n):
    x = 0
    for _ in range(n):
        x = 1.5
    tl.store(p, x)


@says("could not be determined at compile-time", args=(3,))
def static_assertion(p, n):
    tl.static_assert(n > 2)


@says("`with` is not supported")
def with_statement(p):
    with tl.range(3):
        tl.store(p, 1.0)


@says("wrong type argument to unary invert")
def inverted(p):
    tl.store(p, ~tl.load(p))


@says("invalid operands of type", "takes integers")
def bitwise(p):
    tl.store(p, tl.load(p) & 1)


@says("invalid operands of type", "takes integers")
def shift(p):
    tl.store(p, tl.load(p) >> 1)


SIGNS = (np.int32, np.uint32)


@says("Cannot use ", "because they have different signedness", arrays=SIGNS)
def remainder(p, q):
    tl.store(p, tl.load(p) % tl.load(q))


@says("Cannot use ", "because they have different signedness", arrays=SIGNS)
def quotient(p, q):
    tl.store(p, tl.load(p) // tl.load(q))


@says("Mismatched type for x between then block", args=(32,))
def branches(p, n):
    if n > 3:
        x = 1.0
    else:
        x = 1
    tl.store(p, x)


@says("Ternary expression with dynamic condition has inconsistent types", args=(32,))
def two_sides(p, n):
    tl.store(p, 0.5 if n > 3 else 1)


@says("is not being used")
def advanced(p):
    block = tl.make_block_ptr(p, (16,), (1,), (0,), (16,), (0,))
    tl.advance(block, (0,))
    block.advance((4,))


@pytest.mark.parametrize("kernel, phrases, arrays, args", CASES)
def test_message(kernel, phrases, arrays, args):
    """The message of a refusal has the phrases that others look for."""
    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](*(np.ones(16, dtype) for dtype in arrays), *args)
    for phrase in phrases:
        assert phrase in str(caught.value)


@pytest.mark.parametrize("keyword", ["do_not_specialize", "do_not_specialize_on_alignment"])
def test_constexpr_that_is_not_to_be_specialised(keyword):
    @triton.jit(**{keyword: ["N"]})
    def kernel(p, N: tl.constexpr):
        tl.store(p, N)

    with pytest.raises(triton.CompilationError, match="N marked as constexpr and listed in do_not"):
        kernel[(1,)](np.zeros(1, np.float32), 3)


@pytest.mark.parametrize(
    "options, phrase",
    [({"num_warps": 33}, "must be from 1 to 32"), ({"num_ctas": 5}, "must be a power of 2")],
)
def test_options_out_of_range(options, phrase):
    with pytest.raises(AssertionError, match=phrase):
        triton.jit(bitwise)[(1,)](np.zeros(1, np.float32), **options)


def test_operations_outside_of_kernels():
    with pytest.raises(ValueError, match="Did you forget to add @triton.jit"):
        tl.zeros((4,), tl.float32)
