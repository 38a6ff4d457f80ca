"""Arrays whose edges are watched, and the comparison with float64."""

import torch

GUARD = 4096  # elements on either side


def guarded(rows, columns, dtype=torch.float16):
    """Return a NaN-filled matrix and the buffer around it, whose edges hold a pattern."""
    buffer = torch.full((rows * columns + 2 * GUARD,), 7.0, dtype=dtype, device="cuda")
    matrix = buffer[GUARD : GUARD + rows * columns].view(rows, columns)
    matrix.fill_(float("nan"))
    return matrix, buffer


def check_guards(buffer):
    """Raise if anything wrote outside of the matrix of `buffer`."""
    if not ((buffer[:GUARD] == 7.0).all() and (buffer[-GUARD:] == 7.0).all()):
        raise AssertionError("the kernel wrote outside of its output")


def check_product(a, b, c, activation=""):
    """Raise unless every element of `c` is within the bound of its float64 value; return the worst.

    The bound is 1e-3 |R| + 1e-4 sqrt(K) plus half a unit in the last place of `c`'s type; the
    result is the largest error as a share of it.
    """
    reference = a.double() @ b.double()
    if activation == "leaky_relu":
        reference = torch.where(reference >= 0, reference, 0.01 * reference)
    rounding = reference.abs() * torch.finfo(c.dtype).eps / 2
    bound = 1e-3 * reference.abs() + 1e-4 * a.shape[1] ** 0.5 + rounding
    share = ((c.double() - reference).abs() / bound).nan_to_num(nan=float("inf")).max().item()
    if share > 1:
        raise AssertionError(f"an element is off by {share:.2f} times the bound")
    return share
