"""Compiling many kernels side by side, inside an AsyncCompileMode."""

from contextvars import ContextVar

active_mode = ContextVar("pantile_async_compile_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled."""

    def __init__(self, finalize_compile, future):
        self.finalize_compile, self.future, self.kernel = finalize_compile, future, None

    def result(self, ignore_errors=False):
        """Wait for the kernel and return it.

        Parameters
        ----------
        ignore_errors : bool, default False
            Return None where the compilation failed, and do not raise what it raised.
        """
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if ignore_errors:
                    return None
                raise
            self.finalize_compile(kernel)
            self.kernel = kernel
        return self.kernel


class AsyncCompileMode:
    """While it is entered, `warmup` hands compilations to `executor` and returns FutureKernels.

    Leaving it waits for all of them. RuntimeError where one is entered within another.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        What runs the compilations, on threads of this process.
    ignore_errors : bool, default False
        Leave out kernels that did not compile; otherwise leaving raises what the first one raised.
    """

    def __init__(self, executor, *, ignore_errors=False):
        self.executor, self.ignore_errors = executor, ignore_errors
        self.raw_futures, self.future_kernels = [], {}

    def submit(self, key, compile_fn, finalize_fn):
        """Start a compilation, one for each key; return its FutureKernel.

        Parameters
        ----------
        key : hashable
            The key by which compilations differ.
        compile_fn : callable
            Without parameters; returns the kernel.
        finalize_fn : callable
            Called with the kernel on the thread that first reads the result.
        """
        known = self.future_kernels.get(key)
        if known is not None:
            return known
        future = self.executor.submit(compile_fn)
        kernel = FutureKernel(finalize_fn, future)
        future._pantile_key = key
        self.raw_futures.append(future)
        self.future_kernels[key] = kernel
        return kernel

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        from concurrent.futures import as_completed

        active_mode.set(None)
        for future in as_completed(self.raw_futures):
            self.future_kernels[future._pantile_key].result(self.ignore_errors)
