"""What a row of tensor_cores.py is: arrays, launches by configuration, the library's calls, the check.

Gives: `Row`, the base of all; `draw`, normal random numbers of any dtype; `near`, the comparison.
How:   a file of tensor_core_rows/ is imported once for each package, as kernels.py tells, and lists
       its rows in `ROWS`. Arrays are drawn by the row of one package and used by all.
"""

from types import SimpleNamespace

import torch


class Row:
    """One workload at one size.

    `flops` or `bytes` is its work. `configs` are dictionaries of tile sizes, `num_warps` and
    `num_stages`; `own` are those that Pantile alone has. `arrays()` draws inputs and outputs.
    `launch(a, config)` gives a function without arguments. `outputs(a)` are poisoned before a
    check. `check(a)` raises unless they hold what float64 gives. `libraries(a)`: functions by name.
    """

    flops, bytes = 0, 0
    configs, own = (), ()

    def __init__(self, title):
        self.title = title

    @property
    def unit(self):
        """Of `rate`."""
        return "TFLOP/s" if self.flops else "GB/s"

    def rate(self, milliseconds):
        """TFLOP/s or GB/s."""
        return self.flops / milliseconds * 1e-9 if self.flops else self.bytes / milliseconds * 1e-6

    def libraries(self, a):
        """None by default."""
        return {}

    def timed(self, call):
        """What is timed of a launch: the launch."""
        return call


def draw(*shape, dtype=torch.bfloat16, scale=1.0):
    """Normal random numbers; the types of 8 bits are rounded from fp32, in parts."""
    if dtype.itemsize > 1:
        return torch.randn(*shape, device="cuda", dtype=dtype).mul_(scale)
    out = torch.empty(*shape, device="cuda", dtype=dtype)
    for part in out.view(-1, shape[-1]).split(1 << 14):
        part.copy_(torch.randn(part.shape, device="cuda") * scale)
    return out


def numbers(low, high, *shape, dtype=torch.int32):
    """Uniform integers below `high`."""
    return torch.randint(low, high, shape, device="cuda", dtype=dtype)


def arrays(**by_name):
    """Arrays as attributes."""
    return SimpleNamespace(**by_name)


def sample(count, most=48):
    """Some indices below `count`, the ends among them."""
    middle = torch.randint(0, count, (most,)).tolist()
    return sorted({0, count - 1, *middle})


def near(name, got, want, relative, absolute):
    """Raise unless every element is within its bound of float64."""
    error = (got.double() - want).abs() - (relative * want.abs() + absolute)
    if not (error <= 0).all():
        worst = error.nan_to_num(nan=1e30).max().item()
        raise AssertionError(f"`{name}` is beyond its bound by {worst:.3g}")
