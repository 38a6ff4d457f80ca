"""Host arithmetic that kernels may call as well: the compiler finds these functions by name."""

from .language.constexpr import constexpr


def cdiv(x, y):
    """Return `x / y`, rounded up.

    Parameters
    ----------
    x, y : int or tl.constexpr
        Dividend and divisor, not 0; of compile-time values the quotient's value is returned.
    """
    result = (x + y - 1) // y
    return result.value if isinstance(result, constexpr) else result


def next_power_of_2(n):
    """Return the smallest power of two that is not below a number.

    Parameters
    ----------
    n : int or tl.constexpr
        The number; 0 is returned for 0 and what is below.
    """
    n = n.value if isinstance(n, constexpr) else n
    if n <= 0:
        return 0
    return 1 << (n - 1).bit_length()
