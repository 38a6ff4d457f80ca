# Sorting networks. Every step compares each element with the one whose index differs in one bit,
# so that no data moves but between registers and lanes wherever the tile's layout allows.


def _sort_axis(x, dim):
    last: tl.constexpr = len(x.shape) - 1
    axis: tl.constexpr = last if dim is None else dim
    tl.static_assert(axis == last or axis == -1, "only the last dimension can be sorted")
    return last


# The bits of a float, arranged so that integers order them: it undoes itself.
def _ordered_bits(bits):
    width: tl.constexpr = bits.dtype.primitive_bitwidth
    return bits ^ ((bits >> (width - 1)) & ((1 << (width - 1)) - 1))


def _integer_of(dtype: tl.constexpr):
    if dtype.primitive_bitwidth == 8:
        return tl.int8
    if dtype.primitive_bitwidth == 16:
        return tl.int16
    if dtype.primitive_bitwidth == 32:
        return tl.int32
    return tl.int64


def _to_keys(x):
    if x.dtype.is_floating():
        return _ordered_bits(x.to(_integer_of(x.dtype), bitcast=True))
    if x.dtype.is_bool():
        return x.to(tl.int8)
    return x


def _from_keys(keys, dtype: tl.constexpr):
    if dtype.is_floating():
        return _ordered_bits(keys).to(dtype, bitcast=True)
    return keys.to(dtype)


# `falls`: whether the larger element goes first. The smaller one goes where that and the half agree.
def _compare_exchange(keys, index, axis: tl.constexpr, distance: tl.constexpr, falls):
    other = exchange(keys, axis, distance)
    is_upper = (index & distance) != 0
    return tl.where(is_upper == falls, tl.minimum(keys, other), tl.maximum(keys, other))


# Merges runs of `length` elements that rise and then fall.
def _merge_runs(keys, index, axis: tl.constexpr, length: tl.constexpr, falls):
    steps: tl.constexpr = tl._log2(length)
    for step in tl.static_range(steps):
        keys = _compare_exchange(keys, index, axis, length >> (step + 1), falls)
    return keys


# Sorts runs of `length` elements in alternating directions, the first one falling if `descending`.
def _sort_runs(keys, index, axis: tl.constexpr, length: tl.constexpr, descending: tl.constexpr):
    stages: tl.constexpr = tl._log2(length)
    for stage in tl.static_range(1, stages + 1):
        turn = (index & (1 << stage)) != 0
        falls = turn == (not descending)
        keys = _merge_runs(keys, index, axis, 1 << stage, falls)
    return keys


def sort(x, dim=None, descending: tl.constexpr = False):
    axis: tl.constexpr = _sort_axis(x, dim)
    keys = _to_keys(x)
    index = index_along(keys, axis)
    return _from_keys(_sort_runs(keys, index, axis, x.shape[axis], descending), x.dtype)


def bitonic_merge(x, dim=None, descending: tl.constexpr = False):
    axis: tl.constexpr = _sort_axis(x, dim)
    keys = _to_keys(x)
    index = index_along(keys, axis)
    falls = (index >= 0) == descending
    return _from_keys(_merge_runs(keys, index, axis, x.shape[axis], falls), x.dtype)


# Of two neighbouring runs of `k` that are sorted in opposite directions, the larger elements at each
# place are the `k` largest of both, and rise and fall once.
def _halve(keys, axis: tl.constexpr, k: tl.constexpr):
    count: tl.constexpr = keys.shape[axis]
    pairs = tl.reshape(keys, keys.shape[:-1] + (count // (2 * k), 2, k))
    best = tl.reduce(pairs, axis + 1, _larger)
    return tl.reshape(best, keys.shape[:-1] + (count // 2,))


def _best_runs(keys, axis: tl.constexpr, k: tl.constexpr):
    if keys.shape[axis] == k:
        return keys
    best = _halve(keys, axis, k)
    index = index_along(best, axis)
    falls = (index & k) == 0
    return _best_runs(_merge_runs(best, index, axis, k, falls), axis, k)


# The smallest elements are the largest ones of the complements.
def topk(x, k: tl.constexpr, dim=None, descending: tl.constexpr = True):
    axis: tl.constexpr = _sort_axis(x, dim)
    tl.static_assert(k >= 1 and k <= x.shape[axis], "`k` lies between 1 and the size of the last dimension")
    tl.static_assert((k & (k - 1)) == 0, "`k` is a power of two")
    keys = _to_keys(x) if descending else ~_to_keys(x)
    best = _best_runs(_sort_runs(keys, index_along(keys, axis), axis, k, True), axis, k)
    found = _from_keys(best if descending else ~best, x.dtype)
    return _widened(found) if k < x.shape[axis] else found


def flip(x, dim=None):
    axis: tl.constexpr = len(x.shape) - 1 if dim is None else dim
    if x.shape[axis] == 1:
        return x
    return exchange(x, axis, x.shape[axis] - 1)
