"""What every kernel offers, however it is decorated, and what finds its launchers."""

import functools

from .tensors import MockTensor


class KernelInterface:
    """Something that `[grid](...)` launches; the base of jit functions and of what decorates them."""

    __module__ = "pantile.runtime.jit"  # where Triton has it

    def run(self, *args, grid, warmup, **kwargs):
        """Launch, or with `warmup` only compile, the kernel; return the CompiledKernel.

        Parameters
        ----------
        args, kwargs : arguments
            Of the kernel, and the keywords of a launch.
        grid : int, tuple of int, or callable
            Programs along up to three axes, or a function of all arguments by name that gives them.
        warmup : bool
            Whether the kernel is only compiled.

        Raises
        ------
        NotImplementedError
            Where a subclass has no `run`.
        """
        raise NotImplementedError("run not implemented")

    def warmup(self, *args, grid, **kwargs):
        """Compile for these arguments and return the kernel.

        Parameters
        ----------
        args, kwargs : arguments
            Of the kernel, and the keywords of a launch; a dtype stands for an array of it.
        grid : int, tuple of int, or callable
            As of a launch.
        """
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid, warmup=False)


class FirstLaunchers:
    """Stands for the launchers of a kernel until the first launch: only then the library is loaded.

    Launchers are an attribute of the object alone, which Python reads in a step: for a cached
    property it would look into the class first, at each launch.
    """

    def __init__(self, kernel):
        self._kernel = kernel

    def __getitem__(self, grid):
        self._kernel._launchers = made = self._kernel._make_launchers()
        return made[grid]


class RunLaunchers:
    """Launchers of a kernel whose `run` does more than the library's launch."""

    def __init__(self, kernel):
        self._kernel = kernel

    def __getitem__(self, grid):
        return KernelInterface.__getitem__(self._kernel, grid)
