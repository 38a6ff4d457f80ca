"""Questions about the scopes that are open."""

from . import places
from .flags import flags

__all__ = ["depth"]


def depth(session=0):
    """Return in how many scopes the calling thread is; None while nothing is profiled.

    Parameters
    ----------
    session : int, default 0
        A session of the process; all of them see the same scopes.
    """
    return places.depth() if flags.profiling_on else None
