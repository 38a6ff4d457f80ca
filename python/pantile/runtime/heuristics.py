"""Meta-parameters that are computed from the arguments of a launch: `@heuristics`."""

from .kernel_interface import KernelInterface


def require_kernel(fn, decorator):
    """Raise a TypeError if `decorator` does not stand above a kernel."""
    if not hasattr(fn, "arg_names"):
        name = getattr(fn, "__name__", fn)
        raise TypeError(f"`{name}` is no kernel yet: put `{decorator}` above `jit`")


class Heuristics(KernelInterface):
    """A kernel some of whose meta-parameters are computed from its arguments; `heuristics` makes it.

    Parameters
    ----------
    fn : JITFunction, Autotuner or Heuristics
        The kernel.
    arg_names : list of str
        Its parameters, in order.
    values : dict of str to callable
        As of `heuristics`.
    """

    def __init__(self, fn, arg_names, values):
        self.fn, self.arg_names, self.values = fn, arg_names, values
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__

    def run(self, *args, **kwargs):
        """Compute the meta-parameters, and run the kernel with them.

        Parameters
        ----------
        args, kwargs : arguments
            Of the kernel, `grid` and `warmup` among them, and the keywords of a launch.
        """
        for name, heuristic in self.values.items():
            kwargs[name] = heuristic({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, **kwargs)


def heuristics(values):
    """Compute meta-parameters from the arguments of each launch.

    Stands above `jit`, below or above `autotune`; TypeError elsewhere.

    Parameters
    ----------
    values : dict of str to callable
        For names of `tl.constexpr` parameters functions, each called with a dict of all arguments
        that are known by then: `{"EVEN": lambda args: args["n"] % args["BLOCK"] == 0}`.
    """

    def decorate(fn):
        require_kernel(fn, "heuristics")
        return Heuristics(fn, fn.arg_names, values)

    return decorate
