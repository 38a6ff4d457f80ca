"""Jit functions without their Python function: what a library that took one apart pickles.

Such a function has its text, its parameters and its key. Kernels that were compiled from it, pickled
next to it, are launched through it in the other process.
"""

# Of one process: the Python function and what belongs to it, launchers, and what kernels read.
_OWN = frozenset(
    "fn __globals__ __wrapped__ __annotate__ __type_params__ dispatcher _launchers _pre_run_hooks "
    "_uses held_snapshots _hash_lock _hides_uses _number _pantile_key".split()
)


def state_of(function):
    """Return the attributes of a jit function that mean something in another process, by name."""
    function.cache_key  # noqa: B018 (kept by the function, and needs the Python function)
    return {
        name: value
        for name, value in vars(function).items()
        if name not in _OWN and getattr(value, "__self__", None) is not function
    }


def restore(kind, state):
    """Make a jit function of class `kind` from what `state_of` returned."""
    from .callables import next_key
    from .kernel_interface import FirstLaunchers

    function = kind.__new__(kind)
    function.__dict__.update(state)
    function.fn = function.__globals__ = None
    function._number, function._pantile_key = next_key()
    function._pre_run_hooks, function._uses, function.held_snapshots = [], {}, []
    function._launchers = FirstLaunchers(function)
    return function
