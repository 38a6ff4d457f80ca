"""What the library counts and holds in this process."""


def info():
    """Return the versions of the library, of LLVM and of the assembler in use, a line each."""
    from .. import _pantile

    return _pantile.version_text()


def stats():
    """Return what the launches of this process came to, as a dict of counts.

    `launches` are `hits`, which found their kernel without running Python (but a callable grid), and
    `misses`: the first ones of a kind, and those that hooks watch. `shortcuts` are hits of which each
    argument was like that of the launch before. `compiles` are kernels that were compiled, `loads`
    those that were read from the cache on disk.
    """
    from .. import _pantile

    return _pantile.launch_stats()


def release_workspaces(device=None):
    """Wait for a GPU's work, and free the memory that kernels with `nv-stream-k` hand parts of sums over in.

    Returns the bytes that were freed: 0 without a GPU. Graphs that still exist keep theirs, later
    launches allocate again.

    Parameters
    ----------
    device : int, optional
        Number of the GPU; None: the current one.

    Raises
    ------
    RuntimeError
        While one of the GPU's streams is captured.
    """
    from .. import _pantile

    return _pantile.release_workspaces(-1 if device is None else device)
