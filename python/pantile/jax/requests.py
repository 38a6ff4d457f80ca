"""From the arguments of a call to a launch and its operands."""

import operator

from ..language.dtype_table import NAMES_OF_ARRAYS, ROWS
from ..language.dtypes import FP8_NAMES
from . import choices, parameters
from .launches import Launch
from .parameters import Operand, Result

# JAX's names: those that arrays have, but for bools and floats of 8 bits ours, too.
_DTYPES = frozenset(NAMES_OF_ARRAYS) | {
    long for _, short, long, _ in ROWS if short != "i1" and short not in FP8_NAMES
}


class Request:
    """A call's arguments, bound to the parameters of its kernel.

    `arguments` and `options` are by name; an output stands in `arguments` as its shape and dtype.
    """

    def __init__(self, kernel, args, meta, leaves, aliases):
        self.layers, self.fn = choices.layers_of(kernel)
        self.fn._check_uses()
        if (capability := meta.pop("compute_capability", None)) is not None:
            meta["arch"] = f"sm{capability}"
        filled = choices.filled_by(self.layers)
        self.arguments, self.options = parameters.bind(self.fn, args, meta, filled)
        self.outputs = [self._output(leaf) for leaf in leaves]
        if not leaves:
            raise TypeError(f"`out_shape` of kernel `{self.fn.__name__}` has no array")
        self._inputs = self._arrays()
        self.in_place = self._in_place(aliases)
        places = parameters.place_outputs(
            self.fn, self.arguments, filled, len(leaves), set(self.in_place.values())
        )
        self._places = {place: i for i, place in enumerate(places) if place}
        self.arguments.update((place, leaves[i]) for place, i in self._places.items())

    def _output(self, leaf):
        """(shape, dtype) of an output."""
        import jax
        import numpy

        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise TypeError(
                f"`out_shape` of kernel `{self.fn.__name__}` holds {leaf!r}, expected a "
                "`jax.ShapeDtypeStruct`"
            )
        self._check_dtype(leaf.dtype, "an output")
        dtype = numpy.dtype(leaf.dtype)
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                f"an output of kernel `{self.fn.__name__}` is {dtype}, which JAX has where "
                "`jax_enable_x64` is set"
            )
        try:
            return tuple(operator.index(extent) for extent in leaf.shape), dtype
        except TypeError as error:
            raise TypeError(
                f"an output of kernel `{self.fn.__name__}` is {dtype}[{', '.join(map(str, leaf.shape))}], "
                "expected extents that are known while JAX traces"
            ) from error

    def _check_dtype(self, dtype, what):
        if str(dtype) not in _DTYPES:
            raise TypeError(
                f"kernel `{self.fn.__name__}` got {what} of dtype {dtype}, which no kernel takes"
            )

    def _arrays(self):
        """The names of the parameters that are given arrays; the arrays become JAX's."""
        import jax.numpy as jnp

        names = []
        for param in self.fn.params:
            value = self.arguments.get(param.name)
            if param.is_constexpr or not parameters.is_array(value):
                continue
            self._check_dtype(value.dtype, f"`{param.name}`")
            self.arguments[param.name] = jnp.asarray(value)
            names.append(param.name)
        return names

    def _in_place(self, aliases):
        """Outputs in place, by the parameters of their inputs."""
        result = {}
        for key, output in dict(aliases).items():
            name = self._input_of(key)
            shown = f"`input_output_aliases` of kernel `{self.fn.__name__}`"
            if output not in range(len(self.outputs)):
                raise ValueError(f"{shown} names output {output} of {len(self.outputs)}")
            if output in result.values() or name in result:
                raise ValueError(f"{shown} has input `{name}` or output {output} twice")
            array = self.arguments[name]
            if (tuple(array.shape), array.dtype) != self.outputs[output]:
                shape, dtype = self.outputs[output]
                raise ValueError(
                    f"{shown}: input `{name}` is {array.dtype}{list(array.shape)}, output {output} is "
                    f"{dtype}{list(shape)}"
                )
            result[name] = operator.index(output)
        return result

    def _input_of(self, key):
        if isinstance(key, str) and key in self._inputs:
            return key
        if not isinstance(key, str) and key in range(len(self._inputs)):
            return self._inputs[key]
        raise ValueError(
            f"`input_output_aliases` of kernel `{self.fn.__name__}` names input {key!r}; its arrays are "
            f"{', '.join(f'`{name}`' for name in self._inputs) or 'none'}"
        )

    def decorate(self, grid):
        """Add what the kernel's decorators give; a tuner's launches are over `grid`."""
        choices.apply(self.layers, self.arguments, self.options, set(self._places), grid)

    def launch(self, name, grid, zeroed):
        """Return (the Launch, its operands); `name`, `grid` and `zeroed` as of `call`."""
        import jax.numpy as jnp

        known = {**self.options, **self.arguments}
        operands = [self.arguments[name] for name in self._inputs]
        aliases = {self._inputs.index(name): output for name, output in self.in_place.items()}
        for output in self._zeroed(zeroed(known) if callable(zeroed) else zeroed):
            # An operand that no parameter has: the output takes its buffer.
            aliases[len(operands)] = output
            operands.append(jnp.zeros(*self.outputs[output]))
        launch = Launch(
            self.fn,
            str(name),
            tuple(
                (name, self._source(name)) for name in self.fn.arg_names if name in self.arguments
            ),
            tuple((name, self._constant(name, v)) for name, v in sorted(self.options.items())),
            tuple(self.outputs),
            self._extents(grid(known) if callable(grid) else grid),
            tuple(sorted(aliases.items())),
        )
        return launch, operands

    def _zeroed(self, outputs):
        try:
            places = sorted(set(map(operator.index, outputs)))
        except TypeError as error:
            raise TypeError(
                f"`zeroed_outputs` of kernel `{self.fn.__name__}` is {outputs!r}, expected positions of "
                "outputs"
            ) from error
        for output in places:
            if output not in range(len(self.outputs)) or output in self.in_place.values():
                raise ValueError(
                    f"`zeroed_outputs` of kernel `{self.fn.__name__}` names output {output}, which "
                    + ("is in place" if output in self.in_place.values() else "there is not")
                )
            yield output

    def _source(self, name):
        if name in self._places:
            return Result(self._places[name])
        if name in self._inputs:
            return Operand(self._inputs.index(name))
        return self._constant(name, self.arguments[name])

    def _constant(self, name, value):
        return parameters.constant(value, name, self.fn.__name__)

    def _extents(self, grid):
        try:
            grid = grid if isinstance(grid, (tuple, list)) else (grid,)
            extents = tuple(operator.index(extent) for extent in grid)
        except TypeError as error:
            raise TypeError(
                f"the grid of kernel `{self.fn.__name__}` is {grid!r}, expected integers that are known "
                "while JAX traces"
            ) from error
        if not 1 <= len(extents) <= 3 or min(extents) < 0:
            raise ValueError(
                f"the grid of kernel `{self.fn.__name__}` is {grid!r}, expected one to three extents of 0 "
                "or more"
            )
        return (*extents, 1, 1)[:3]
