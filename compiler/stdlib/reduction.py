# Reductions and scans, as combinations of two elements.


def _add(a, b):
    return a + b


def _multiply(a, b):
    return a * b


def _exclusive_or(a, b):
    return a ^ b


def _inclusive_or(a, b):
    return a | b


def _larger(a, b):
    return tl.maximum(a, b)


def _smaller(a, b):
    return tl.minimum(a, b)


# Of equal values, the first index wins if `first`, else either.
def _larger_at(value, index, other, other_index, first: tl.constexpr):
    if first:
        keeps = (value > other) | ((value == other) & (index < other_index))
    else:
        keeps = value > other
    return tl.where(keeps, value, other), tl.where(keeps, index, other_index)


def _smaller_at(value, index, other, other_index, first: tl.constexpr):
    if first:
        keeps = (value < other) | ((value == other) & (index < other_index))
    else:
        keeps = value < other
    return tl.where(keeps, value, other), tl.where(keeps, index, other_index)


def _first_largest(value, index, other, other_index):
    return _larger_at(value, index, other, other_index, True)


def _any_largest(value, index, other, other_index):
    return _larger_at(value, index, other, other_index, False)


def _first_smallest(value, index, other, other_index):
    return _smaller_at(value, index, other, other_index, True)


def _any_smallest(value, index, other, other_index):
    return _smaller_at(value, index, other, other_index, False)


# Narrow integers add up in 32 bits.
def _sum_type(dtype: tl.constexpr):
    if dtype.is_int() and dtype.int_bitwidth < 32:
        return tl.int32 if dtype.is_int_signed() else tl.uint32
    return dtype


# Narrow numbers compare in 32 bits.
def _widened(x):
    if x.dtype.primitive_bitwidth >= 32:
        return x
    return x.to(tl.float32) if x.dtype.is_floating() else x.to(tl.int32)


def _without_bf16(x):
    return x.to(tl.float32) if x.dtype.is_bf16() else x


def sum(input, axis=None, keep_dims=False, dtype: tl.constexpr = None):
    wide: tl.constexpr = _sum_type(input.dtype) if dtype is None else dtype
    return tl.reduce(input.to(wide), axis, _add, keep_dims=keep_dims)


def xor_sum(input, axis=None, keep_dims=False):
    tl.static_assert(input.dtype.is_int(), "`xor_sum` takes integers")
    return tl.reduce(input, axis, _exclusive_or, keep_dims=keep_dims)


def reduce_or(input, axis, keep_dims=False):
    tl.static_assert(input.dtype.is_int(), "`reduce_or` takes integers")
    return tl.reduce(input, axis, _inclusive_or, keep_dims=keep_dims)


def _with_index(input, axis, combine, keep_dims):
    x = tl.ravel(input) if axis is None else input
    along: tl.constexpr = 0 if axis is None else axis
    return tl.reduce((x, index_along(x, along)), along, combine, keep_dims=keep_dims)


def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    if return_indices:
        combine = _first_largest if return_indices_tie_break_left else _any_largest
        return _with_index(_without_bf16(input), axis, combine, keep_dims)
    return tl.reduce(_widened(input), axis, _larger, keep_dims=keep_dims)


def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    if return_indices:
        combine = _first_smallest if return_indices_tie_break_left else _any_smallest
        return _with_index(_without_bf16(input), axis, combine, keep_dims)
    return tl.reduce(_widened(input), axis, _smaller, keep_dims=keep_dims)


def argmax(input, axis, tie_break_left=True, keep_dims=False):
    value, index = max(input, axis, True, tie_break_left, keep_dims)
    return index


def argmin(input, axis, tie_break_left=True, keep_dims=False):
    value, index = min(input, axis, True, tie_break_left, keep_dims)
    return index


def cumsum(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    x = _without_bf16(input)
    wide: tl.constexpr = _sum_type(x.dtype) if dtype is None else dtype
    return tl.associative_scan(x.to(wide), axis, _add, reverse)


def cumprod(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    x = _without_bf16(input)
    wide: tl.constexpr = x.dtype if dtype is None else dtype
    return tl.associative_scan(x.to(wide), axis, _multiply, reverse)
