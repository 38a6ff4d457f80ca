"""One launch of a kernel as JAX keeps it: hashable."""

import math
from dataclasses import dataclass, replace

from .parameters import Operand


@dataclass(frozen=True)
class Axis:
    """An axis that `vmap` added: its extent, and of each operand whether it has it."""

    extent: int
    has: tuple


@dataclass(frozen=True)
class Launch:
    """A kernel, what its parameters are given, its outputs and its grid.

    `values` are pairs of a parameter and its Operand, Result or Constant; `options` pairs of a name
    and a Constant; `outputs` pairs of a shape and a dtype, without the batch; `aliases` pairs of an
    operand and the output that takes its buffer; `batch` the axes of `vmap`, the outermost first.
    """

    fn: object
    name: str
    values: tuple
    options: tuple
    outputs: tuple
    grid: tuple
    aliases: tuple
    batch: tuple = ()

    @property
    def sizes(self):
        """The extents of the batch."""
        return tuple(axis.extent for axis in self.batch)

    def batched(self, extent, has):
        """Return this launch for each element of one more axis, outside of the others."""
        return replace(self, batch=(Axis(extent, tuple(has)), *self.batch))

    def array(self, source, operands):
        """Return (shape, dtype) of an Operand or a Result, both with the batch."""
        if isinstance(source, Operand):
            return tuple(operands[source.index].shape), operands[source.index].dtype
        shape, dtype = self.outputs[source.index]
        return (*self.sizes, *shape), dtype

    def steps(self, source, operands):
        """Return the elements of an array between neighbours along each axis of the batch.

        0 where the array has no such axis.
        """
        is_operand = isinstance(source, Operand)
        has = [axis.has[source.index] if is_operand else True for axis in self.batch]
        shape, _ = self.array(source, operands)
        steps, inner = [], math.prod(shape[sum(has) :])
        for axis, own in zip(reversed(self.batch), reversed(has)):
            steps.append(inner if own else 0)
            inner *= axis.extent if own else 1
        return tuple(reversed(steps))

    def byte_steps(self, source, operands):
        """Return `steps` in bytes."""
        import numpy

        size = numpy.dtype(self.array(source, operands)[1]).itemsize
        return tuple(step * size for step in self.steps(source, operands))
