# Sorting networks. Every step compares each element with the one whose index differs in some bits,
# so that no data moves but between registers and lanes wherever the tile's layout allows.
#
# An extent that is no power of two is thought of as one with further elements, which go last: where
# every step puts the element that goes first at the lower index, those never move, and `exchange`
# keeps what it would compare with them.


def _axis_of(x, dim):
    rank: tl.constexpr = len(x.shape)
    axis: tl.constexpr = rank - 1 if dim is None else dim
    tl.static_assert(-rank <= axis and axis < rank, "`dim` is no dimension of the tile")
    return axis % rank


def _is_power_of_two(extent: tl.constexpr):
    return (extent & (extent - 1)) == 0


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


# `bit`: the highest one of `distance`. `falls`: whether the larger element goes first. The smaller
# one goes where that and the half agree.
def _compare_exchange(keys, index, axis: tl.constexpr, distance: tl.constexpr, bit: tl.constexpr, falls):
    other = exchange(keys, axis, distance)
    is_upper = (index & bit) != 0
    return tl.where(is_upper == falls, tl.minimum(keys, other), tl.maximum(keys, other))


# Merges runs of `length` elements that rise and then fall.
def _merge_runs(keys, index, axis: tl.constexpr, length: tl.constexpr, falls):
    steps: tl.constexpr = tl._log2(length)
    for step in tl.static_range(steps):
        distance: tl.constexpr = length >> (step + 1)
        keys = _compare_exchange(keys, index, axis, distance, distance, falls)
    return keys


# Sorts runs of `length` elements in alternating directions, the first one falling if `descending`.
def _sort_runs(keys, index, axis: tl.constexpr, length: tl.constexpr, descending: tl.constexpr):
    stages: tl.constexpr = tl._log2(length)
    for stage in tl.static_range(1, stages + 1):
        turn = (index & (1 << stage)) != 0
        falls = turn == (not descending)
        keys = _merge_runs(keys, index, axis, 1 << stage, falls)
    return keys


# Sorts all elements, however many, in one direction: the second of two runs is read from its end.
def _sort_all(keys, index, axis: tl.constexpr, descending: tl.constexpr):
    stages: tl.constexpr = tl._log2(2 * keys.shape[axis] - 1)
    for stage in tl.static_range(stages):
        keys = _compare_exchange(keys, index, axis, (2 << stage) - 1, 1 << stage, descending)
        keys = _merge_runs(keys, index, axis, 1 << stage, descending)
    return keys


def _sorted_keys(keys, axis: tl.constexpr, descending: tl.constexpr):
    index = index_along(keys, axis)
    if _is_power_of_two(keys.shape[axis]):
        return _sort_runs(keys, index, axis, keys.shape[axis], descending)
    return _sort_all(keys, index, axis, descending)


def sort(x, dim=None, descending: tl.constexpr = False):
    axis: tl.constexpr = _axis_of(x, dim)
    return _from_keys(_sorted_keys(_to_keys(x), axis, descending), x.dtype)


# Elements that rise and then fall do not do so with others after them: of an extent that is no
# power of two, they are sorted as any others are.
def bitonic_merge(x, dim=None, descending: tl.constexpr = False):
    axis: tl.constexpr = _axis_of(x, dim)
    keys = _to_keys(x)
    if not _is_power_of_two(x.shape[axis]):
        remark(f"`bitonic_merge` of {x.shape[axis]} elements, no power of two, sorts them")
        return _from_keys(_sorted_keys(keys, axis, descending), x.dtype)
    index = index_along(keys, axis)
    falls = (index >= 0) == descending
    return _from_keys(_merge_runs(keys, index, axis, x.shape[axis], falls), x.dtype)


# Of two neighbouring runs of `k` that are sorted in opposite directions, the larger elements at each
# place are the `k` largest of both, and rise and fall once.
def _halve(keys, axis: tl.constexpr, k: tl.constexpr):
    count: tl.constexpr = keys.shape[axis]
    pairs = tl.reshape(keys, keys.shape[:axis] + (count // (2 * k), 2, k) + keys.shape[axis + 1 :])
    best = tl.reduce(pairs, axis + 1, _larger)
    return tl.reshape(best, keys.shape[:axis] + (count // 2,) + keys.shape[axis + 1 :])


def _best_runs(keys, axis: tl.constexpr, k: tl.constexpr):
    if keys.shape[axis] == k:
        return keys
    best = _halve(keys, axis, k)
    index = index_along(best, axis)
    falls = (index & k) == 0
    return _best_runs(_merge_runs(best, index, axis, k, falls), axis, k)


def _lowest(dtype: tl.constexpr):
    return -(1 << (dtype.primitive_bitwidth - 1)) if dtype.is_int_signed() else 0


# The first `count` elements, or all and as many of the lowest as are missing.
def _resized(keys, axis: tl.constexpr, count: tl.constexpr):
    extent: tl.constexpr = keys.shape[axis]
    if count == extent:
        return keys
    shape: tl.constexpr = keys.shape[:axis] + (count,) + keys.shape[axis + 1 :]
    index = index_along(tl.zeros(shape, tl.int32), axis)
    if count < extent:
        return tl.gather(keys, index, axis)
    remark(f"`topk` pads {extent} elements to {count}, a power of two")
    found = tl.gather(keys, tl.minimum(index, extent - 1), axis)
    return tl.where(index < extent, found, tl.full(shape, _lowest(keys.dtype), keys.dtype))


# The `k` largest of keys, largest first.
def _largest(keys, axis: tl.constexpr, k: tl.constexpr):
    if keys.shape[axis] == k:
        return _sorted_keys(keys, axis, True)
    run: tl.constexpr = 1 << tl._log2(2 * k - 1)
    padded = _resized(keys, axis, 1 << tl._log2(2 * keys.shape[axis] - 1))
    runs = _sort_runs(padded, index_along(padded, axis), axis, run, True)
    return _resized(_best_runs(runs, axis, run), axis, k)


# The smallest elements are the largest ones of the complements.
def topk(x, k: tl.constexpr, dim=None, descending: tl.constexpr = True):
    axis: tl.constexpr = _axis_of(x, dim)
    tl.static_assert(k >= 1 and k <= x.shape[axis], "`k` lies between 1 and the size of the dimension")
    keys = _to_keys(x) if descending else ~_to_keys(x)
    best = _largest(keys, axis, k)
    found = _from_keys(best if descending else ~best, x.dtype)
    return _widened(found) if k < x.shape[axis] else found


# Along one dimension, or along all of a tuple.
def flip(x, dim=None):
    if isinstance(dim, tuple):
        for each in dim:
            x = _flip_along(x, each)
        return x
    return _flip_along(x, dim)


def _flip_along(x, dim):
    axis: tl.constexpr = _axis_of(x, dim)
    if x.shape[axis] == 1:
        return x
    if _is_power_of_two(x.shape[axis]):
        return exchange(x, axis, x.shape[axis] - 1)
    return tl.gather(x, x.shape[axis] - 1 - index_along(x, axis), axis)
