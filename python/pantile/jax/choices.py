"""What the decorators of a kernel add to a call: configurations, values of heuristics."""

import itertools
import weakref

from .parameters import constant, is_array
from .tensors import Tensor

_choices = weakref.WeakKeyDictionary()  # configurations of a tuner, by request


def layers_of(kernel):
    """Return (the decorators of a kernel, from the outside in, and its JITFunction)."""
    from ..runtime.autotuner import Autotuner
    from ..runtime.heuristics import Heuristics
    from ..runtime.jit_function import JITFunction

    layers = []
    while isinstance(kernel, (Autotuner, Heuristics)):
        layers.append(kernel)
        kernel = kernel.fn
    if not isinstance(kernel, JITFunction):
        raise TypeError(
            f"a kernel is a function under `pantile.jit`, not a `{type(kernel).__name__}`"
        )
    return layers, kernel


def filled_by(layers):
    """Return the names of parameters and options that decorators give values to."""
    names = set()
    for layer in layers:
        given = layer.values if hasattr(layer, "values") else layer.configs[0].all_kwargs()
        names |= set(given)
    return names


def apply(layers, arguments, options, out_shapes, grid):
    """Add to `arguments` and `options` what the decorators give.

    Parameters
    ----------
    layers : list
        The decorators, from the outside in.
    arguments, options : dict
        What the call gave; of outputs their shapes and dtypes.
    out_shapes : set of str
        The parameters that take outputs.
    grid : object
        The grid of the launches that a tuner measures.
    """
    for layer in layers:
        if hasattr(layer, "values"):
            given = {
                name: heuristic({**arguments, **options})
                for name, heuristic in layer.values.items()
            }
        else:
            given = _chosen(layer, arguments, options, out_shapes, grid).all_kwargs()
        names = set(layer.arg_names)
        arguments.update({name: v for name, v in given.items() if name in names})
        options.update({name: v for name, v in given.items() if name not in names})


def _chosen(tuner, arguments, options, out_shapes, grid):
    """The configuration of a tuner for arrays of these shapes and dtypes, measured if need be."""
    if len(tuner.configs) == 1:
        config = tuner.configs[0]
    else:
        key = tuple(
            (name, _described(value, name, tuner.__name__))
            for name, value in sorted({**arguments, **options}.items())
        )
        known = _choices.setdefault(tuner, {})
        if key not in known:
            known[key] = _choose(tuner, arguments, options, out_shapes, grid)
        config = known[key]
    if config.pre_hook is not None:
        raise NotImplementedError(
            f"{config} of `{tuner.__name__}` has a pre_hook, which nothing calls before a launch by JAX"
        )
    return config


def _described(value, name, kernel):
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return (tuple(value.shape), str(value.dtype))
    return constant(value, name, kernel)


def _choose(tuner, arguments, options, out_shapes, grid):
    """Run the tuner, with arrays that may be written to.

    It runs outside of all traces. In the place of a traced array stands one of the same shape and
    dtype: numbers of a normal distribution, zeros if they are integers.
    """
    import jax

    with jax.ensure_compile_time_eval():
        tensors = {
            name: Tensor(_stand_in(value, name in out_shapes))
            for name, value in arguments.items()
            if is_array(value) or name in out_shapes
        }
        named = {**arguments, **tensors, **options}
        # As in a launch: what comes first by position, which is what functions that prune look at.
        first = list(itertools.takewhile(named.__contains__, tuner.arg_names))
        args = [named.pop(name) for name in first]
        tuner.nargs = dict(zip(first, args))
        try:
            return tuner._choose(tuple(args), {**named, "grid": grid, "warmup": False})
        finally:
            tuner.nargs = None
            for tensor in tensors.values():
                tensor.wait()


def _stand_in(value, is_output):
    import jax
    import jax.numpy as jnp
    import numpy

    if is_output:
        return jnp.zeros(value.shape, value.dtype)
    if isinstance(value, jax.core.Tracer):
        return jnp.array(_numbers(value.shape, numpy.dtype(value.dtype)), copy=True)
    return jnp.array(value, copy=True)


def _numbers(shape, dtype):
    import jax.numpy as jnp
    import numpy

    if not jnp.issubdtype(dtype, jnp.floating):
        return numpy.zeros(shape, dtype)
    return numpy.random.default_rng(0).standard_normal(shape, numpy.float32).astype(dtype)
