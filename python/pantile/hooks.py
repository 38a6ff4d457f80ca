"""Chains of functions that are called around launches, and their argument."""

import contextlib


class HookChain:
    """Functions that are all called in the order in which they were added, or in the reverse.

    Parameters
    ----------
    reversed : bool, default False
        Call the last one first.
    """

    def __init__(self, reversed=False):
        self.calls, self.reversed = [], reversed

    def add(self, func):
        """Call `func` as well, after those that are there; nothing changes if it is one of them.

        Parameters
        ----------
        func : callable
            Takes what the chain is called with.
        """
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func):
        """Call `func` no more; nothing changes if it was not called.

        Parameters
        ----------
        func : callable
            One that was added.
        """
        if func in self.calls:
            self.calls.remove(func)

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kwargs):
        for function in self.calls if not self.reversed else self.calls[::-1]:
            function(*args, **kwargs)


class LaunchMetadata(dict):
    """The argument of a launch hook: metadata, name, stream, and what the kernel adds.

    Hooks written for Triton read all of it with `get()`; it is also a dict. `computing` makes the
    context that the functions of kernels run in: the profiler's, while its launch hook is active.
    """

    computing = contextlib.nullcontext

    def get(self, *key):
        """Return the whole dict without arguments; else as `dict.get`.

        Parameters
        ----------
        key : any
            A key, and what is returned where there is none such.
        """
        return super().get(*key) if key else self

    def add(self, func, args):
        """Take in the dict that `func(*args)` gives.

        Parameters
        ----------
        func : callable
            A kernel's `launch_metadata`.
        args : tuple
            What it takes.
        """
        with type(self).computing():
            self.update(func(*args))

    @property
    def data(self):
        return self


LazyDict = LaunchMetadata
