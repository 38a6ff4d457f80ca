"""Marks of functions, of which the compiler needs none."""


def must_use_result(fn, is_method=True):
    """Mark a function whose result must be used; the compiler has a list of such functions of its own.

    Returns the function itself.

    Parameters
    ----------
    fn : function
        The function.
    is_method : bool, default True
        Of Triton, without effect.
    """
    return fn
