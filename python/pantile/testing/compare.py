"""Comparing arrays of NumPy, torch and anything that becomes a NumPy array."""


def _to_numpy(values):
    import numpy as np

    if hasattr(values, "detach"):  # torch; NumPy has no bfloat16 and no fp8 of its own
        values = values.detach()
        if values.is_floating_point():
            values = values.double()
        return values.cpu().numpy()
    return np.asarray(values)


def _compared(x, y):
    import numpy as np

    x, y = _to_numpy(x), _to_numpy(y)
    if x.size > 1 or y.size > 1:
        assert x.shape == y.shape, f"shapes differ: {x.shape} and {y.shape}"
    return x.astype(np.float64), y.astype(np.float64)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raise AssertionError unless |x - y| <= atol + rtol * |y| everywhere; NaN equals NaN.

    Parameters
    ----------
    x, y : array
        Of torch, NumPy or what NumPy converts, compared in float64; of one shape, unless both have
        one element.
    atol : float, optional
        Absolute tolerance; None is 0.01.
    rtol : float, optional
        Tolerance relative to `y`; None is 0.
    err_msg : str, default ""
        An addition to the message of the error.
    """
    import numpy as np

    x, y = _compared(x, y)
    np.testing.assert_allclose(
        x,
        y,
        atol=1e-2 if atol is None else atol,
        rtol=0.0 if rtol is None else rtol,
        equal_nan=True,
        err_msg=err_msg,
    )


def assert_allclose(x, y, tol=1e-2):
    """Raise AssertionError unless |x - y| <= tol everywhere: `assert_close` as before Triton 2.1.

    Parameters
    ----------
    x, y : array
        Of torch or NumPy, of one shape.
    tol : float, default 0.01
        The largest difference.
    """
    assert_close(x, y, atol=tol, rtol=0.0)


def assert_almost_equal(x, y, decimal=2, err_msg=""):
    """Raise AssertionError unless |x - y| < 1.5 * 10**-decimal everywhere, as before Triton 2.1.

    Parameters
    ----------
    x, y : array
        Of torch or NumPy, of one shape.
    decimal : int, default 2
        The decimals that agree.
    err_msg : str, default ""
        What the message begins with.
    """
    assert_close(x, y, atol=1.5 * 10.0**-decimal, rtol=0.0, err_msg=err_msg)


def allclose(x, y, atol=1e-2, rtol=0.0, tol=None):
    """Return whether |x - y| <= atol + rtol * |y| everywhere.

    Parameters
    ----------
    x, y : array
        Of torch or NumPy, of one shape and dtype.
    atol : float, default 0.01
        Absolute tolerance.
    rtol : float, default 0.0
        Tolerance relative to `y`.
    tol : float, optional
        Older name of `atol`.

    Raises
    ------
    RuntimeError
        Where the dtypes differ.
    """
    atol = atol if tol is None else tol
    import numpy as np

    if str(x.dtype) != str(y.dtype):
        raise RuntimeError(f"dtypes differ: {x.dtype} and {y.dtype}")
    return bool(np.allclose(*_compared(x, y), atol=atol, rtol=rtol))
