# Library functions of the language, written in it. Each is inlined where it is called.


def cdiv(x, div):
    return (x + (div - 1)) // div


def zeros(shape, dtype):
    return tl.full(shape, 0, dtype)


def zeros_like(input):
    return tl.full(input.shape, 0, input.dtype)


def expect_zero(x, mask):
    tl.device_assert((x == 0) | ~mask, "expect_zero expected x == 0 where mask is true")
    return x


def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    axis: tl.constexpr = 0 if dim is None else dim
    scaled = tl.exp(x - tl.max(x, axis, keep_dims=True))
    return tl.fdiv(scaled, tl.sum(scaled, axis, keep_dims=True), ieee_rounding)


def interleave(a, b):
    pairs = tl.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    return tl.reshape(pairs, pairs.shape[:-2] + (2 * pairs.shape[-2],))


def swizzle2d(i, j, size_i, size_j, size_g):
    position = i * size_j + j
    group_size = size_g * size_j
    first_row = position // group_size * size_g
    rows = tl.minimum(size_i - first_row, size_g)
    within = position % group_size
    return first_row + within % rows, within // rows


def _log2(i: tl.constexpr):
    log: tl.constexpr = 0 if i <= 1 else 1 + _log2(i // 2)
    return log


def _roll_along(x, shift, axis: tl.constexpr):
    tl.static_assert(-len(x.shape) <= axis and axis < len(x.shape), "`axis` of `roll` is no dimension of the tile")
    size: tl.constexpr = x.shape[axis]
    if (size & (size - 1)) == 0:
        return tl.gather(x, (index_along(x, axis) - shift) & (size - 1), axis)
    place = (index_along(x, axis) - shift % size) % size
    return tl.gather(x, tl.where(place < 0, place + size, place), axis)


# Along one dimension, or along all of a tuple by one distance each, as NumPy does.
def roll(x, shift, axis=None):
    if isinstance(axis, tuple):
        tl.static_assert(not isinstance(shift, tuple) or len(shift) == len(axis), "`roll` takes as many distances as dimensions")
        for i, each in enumerate(axis):
            x = _roll_along(x, shift[i] if isinstance(shift, tuple) else shift, each)
        return x
    if isinstance(shift, tuple):
        distances = shift
        shift = 0
        for each in distances:
            shift += each
    if axis is None:
        return tl.reshape(_roll_along(tl.ravel(x), shift, 0), x.shape)
    return _roll_along(x, shift, axis)
