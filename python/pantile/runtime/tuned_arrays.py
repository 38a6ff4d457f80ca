"""Zeroing and restoring arrays around measured runs: those of NumPy, and those with torch's methods."""


def _is_numpy(array):
    return type(array).__module__ == "numpy"


def fill_zero(array):
    """Set all elements to zero."""
    if _is_numpy(array):
        array[...] = 0
    else:
        array.zero_()


def copy(array):
    """Return an array of its own with the same elements."""
    return array.copy() if _is_numpy(array) else array.clone()


def assign(array, value):
    """Set all elements to those of another array."""
    if _is_numpy(array):
        array[...] = value
    else:
        array.copy_(value)
