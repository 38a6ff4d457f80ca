"""Host arithmetic that kernels may call as well: the compiler knows these functions by name."""


def cdiv(x, y):
    """Return `x / y`, rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n):
    """Return the smallest power of two that is not below `n`; 0 for `n` = 0."""
    if n <= 0:
        return 0
    return 1 << (n - 1).bit_length()
