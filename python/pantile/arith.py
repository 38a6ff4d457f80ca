"""Host arithmetic that kernels may call as well: the compiler knows these functions by name."""

from .language.constexpr import constexpr


def cdiv(x, y):
    """Return `x / y`, rounded up; the value of compile-time values."""
    result = (x + y - 1) // y
    return result.value if isinstance(result, constexpr) else result


def next_power_of_2(n):
    """Return the smallest power of two that is not below `n`; 0 for `n` = 0."""
    n = n.value if isinstance(n, constexpr) else n
    if n <= 0:
        return 0
    return 1 << (n - 1).bit_length()
