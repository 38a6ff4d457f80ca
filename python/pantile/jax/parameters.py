"""What a parameter of a kernel is given: an operand of the custom call, a result, a constant."""

from dataclasses import dataclass

from ..language.constexpr import constexpr


@dataclass(frozen=True)
class Operand:
    """An input array, by its position among the arrays of the call."""

    index: int


@dataclass(frozen=True)
class Result:
    """An output array, by its position among the leaves of `out_shape`."""

    index: int


class Constant:
    """A number or a compile-time value. Equal only to what compiles to the same code.

    1, 1.0 and True are three constants, 0.0 and -0.0 are two, and nan is one.
    """

    __slots__ = ("_key", "value")

    def __init__(self, value):
        self.value = value
        self._key = _identity(value)
        hash(self._key)

    def __eq__(self, other):
        return isinstance(other, Constant) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        return f"Constant({self.value!r})"


def _identity(value):
    if isinstance(value, tuple):
        return (type(value), *map(_identity, value))
    if isinstance(value, float):
        return (float, value.hex())
    if isinstance(value, complex):
        return (complex, value.real.hex(), value.imag.hex())
    return (type(value), value)


def is_array(value):
    """Return whether `value` is an array of JAX, traced or not, or what JAX takes for one."""
    import jax
    import numpy

    if isinstance(value, (jax.Array, numpy.ndarray)):
        return True
    # Classes of JAX's own that hold an array while it differentiates.
    has_elements = hasattr(value, "__array__") or hasattr(value, "__jax_array__")
    is_shaped = hasattr(value, "shape") and hasattr(value, "dtype")
    return has_elements and is_shaped and not isinstance(value, (numpy.generic, type))


def _plain(value):
    """A number of NumPy as Python's, what `tl.constexpr` holds, a list as a tuple."""
    import numpy

    if isinstance(value, constexpr):
        return _plain(value.value)
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, numpy.generic) else value


def constant(value, name, kernel):
    """Return the Constant of what parameter `name` was given; TypeError for what is none."""
    if is_array(value):
        import jax

        kind = "a traced value" if isinstance(value, jax.core.Tracer) else "an array"
        raise TypeError(
            f"`{name}` of kernel `{kernel}` is a compile-time value, but got {kind}: pass a "
            "number, under `jax.jit` one of `static_argnames`"
        )
    value = _plain(value)
    if isinstance(value, (tuple, list)) and any(map(is_array, value)):
        raise TypeError(
            f"`{name}` of kernel `{kernel}` is a tuple with arrays: pass them one by one"
        )
    try:
        return Constant(value)
    except TypeError:
        raise TypeError(
            f"`{name}` of kernel `{kernel}` is a `{type(value).__name__}`, which cannot be hashed: a "
            "compile-time value is a number, a string, a dtype, a function or a tuple of these"
        ) from None


def bind(fn, args, meta, filled):
    """Return (arguments by parameter, options by name).

    Parameters
    ----------
    fn : JITFunction
        The kernel.
    args : tuple
        Values of the first parameters.
    meta : dict
        Values of other parameters and options of the launch, by name.
    filled : set of str
        Parameters that a decorator of the kernel gives values to.

    Raises
    ------
    TypeError
        If a parameter has two values, or there are more values than parameters.
    KeyError
        If a name is neither a parameter nor an option.
    """
    from ..backends.options import check_names

    names = fn.arg_names
    if len(args) > len(names):
        raise TypeError(
            f"kernel `{fn.__name__}` takes {len(names)} arguments, but got {len(args)} and its outputs"
        )
    arguments = dict(zip(names, args))
    options = {}
    for name, value in meta.items():
        if name not in names:
            options[name] = value
        elif name in arguments:
            raise TypeError(f"kernel `{fn.__name__}` got multiple values for argument `{name}`")
        else:
            arguments[name] = value
    if twice := sorted(filled & (arguments.keys() | options.keys())):
        raise ValueError(
            f"`{twice[0]}` is set by the decorators of `{fn.__name__}` and by the call"
        )
    check_names(options)
    return arguments, options


def place_outputs(fn, arguments, filled, count, aliased):
    """Return the names of the parameters that take the outputs, None for one that has none.

    Outputs take the parameters that are left, in order. Where as many are left as there are outputs
    that are not in place, outputs in place have none: the kernel writes through its input.

    Parameters
    ----------
    fn : JITFunction
        The kernel.
    arguments : dict
        What was given, by parameter.
    filled : set of str
        Parameters that a decorator gives values to.
    count : int
        How many outputs there are.
    aliased : set of int
        The positions of those in place.
    """
    left = [
        param
        for param in fn.params
        if not (param.is_constexpr or param.name in arguments or param.name in filled)
    ]
    required = [param for param in left if not param.has_default]
    if len(left) >= count and len(required) <= count:
        return [param.name for param in left[:count]]
    alone = [i for i in range(count) if i not in aliased]
    if len(left) >= len(alone) and len(required) <= len(alone):
        names = dict(zip(alone, (param.name for param in left)))
        return [names.get(i) for i in range(count)]
    described = ", ".join(f"`{param.name}`" for param in left) or "none"
    raise TypeError(
        f"kernel `{fn.__name__}` has {count} outputs, but {len(left)} parameters are left for them: "
        f"{described}"
    )
