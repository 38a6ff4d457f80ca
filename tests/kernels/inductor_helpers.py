"""Jit helpers that kernels in the style of PyTorch's Inductor reach through a module.

Needs: nothing but the language.
Gives: `minimum`, `maximum` and their reductions, which hand NaN on; reductions with indices, where
       the smallest index of the extreme wins and NaN counts as more extreme than every number;
       Welford's mean and variance; `any`; `promote_to_tensor`.
"""

import pantile as triton
import pantile.language as tl


@triton.jit
def promote_to_tensor(x):
    """A scalar as a tile of one element, a tile as it is."""
    return tl.full([1], 0, tl.int1) + x


@triton.jit
def is_floating(x):
    return promote_to_tensor(x).dtype.is_floating()


@triton.jit
def minimum(a, b):
    chosen = a < b
    if is_floating(a):
        chosen |= a != a
    return tl.where(chosen, a, b)


@triton.jit
def maximum(a, b):
    chosen = a > b
    if is_floating(a):
        chosen |= a != a
    return tl.where(chosen, a, b)


@triton.jit
def min2(x, dim):
    return tl.reduce(x, dim, minimum)


@triton.jit
def max2(x, dim):
    return tl.reduce(x, dim, maximum)


@triton.jit
def minimum_with_index(a, a_index, b, b_index):
    chosen = a < b
    equal = a == b
    if is_floating(a):
        a_nan = a != a
        b_nan = b != b
        chosen |= a_nan & ~b_nan
        equal |= a_nan & b_nan
    chosen |= equal & (a_index < b_index)
    return tl.where(chosen, a, b), tl.where(chosen, a_index, b_index)


@triton.jit
def maximum_with_index(a, a_index, b, b_index):
    chosen = a > b
    equal = a == b
    if is_floating(a):
        a_nan = a != a
        b_nan = b != b
        chosen |= a_nan & ~b_nan
        equal |= a_nan & b_nan
    chosen |= equal & (a_index < b_index)
    return tl.where(chosen, a, b), tl.where(chosen, a_index, b_index)


@triton.jit
def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


@triton.jit
def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    """One more value for each running triple; the first needs no division."""
    if first_iteration:
        new_weight = tl.full(weight.shape, 1, weight.dtype)
        new_mean = value
        new_m2 = tl.zeros_like(m2)
    else:
        delta = value - mean
        new_weight = weight + 1
        new_mean = mean + delta / new_weight
        new_m2 = m2 + delta * (value - new_mean)
    return new_mean, new_m2, new_weight


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    new_weight = weight_1 + weight_2
    share = tl.where(new_weight == 0.0, 0.0, weight_2 / new_weight)
    return (
        mean_1 + delta * share,
        m2_1 + m2_2 + delta * delta * weight_1 * share,
        new_weight,
    )


@triton.jit
def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def any(a, dim):
    return tl.reduce(a, dim, either)
