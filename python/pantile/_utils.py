"""Paths into nested tuples and lists, under the name that torch imports from Triton."""

import functools


def get_iterable_path(iterable, path):
    """Return what stands at `path`, the positions from the outermost sequence to the innermost."""
    return functools.reduce(lambda part, position: part[position], path, iterable)


def find_paths_if(iterable, pred):
    """Return the paths, in order, of those values in nested sequences for which `pred` holds.

    `pred(path, value)` sees the values that are no list and no tuple themselves; a value that is
    not in a sequence has the empty path.
    """
    found = []

    def walk(path, value):
        if isinstance(value, (list, tuple)):
            for position, part in enumerate(value):
                walk((*path, position), part)
        elif pred(path, value):
            found.append(path)

    walk((), iterable)
    return found
