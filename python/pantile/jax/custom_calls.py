"""The attributes of a launch's custom call: what `binding/XlaFrame.h` reads."""

import hashlib
import struct

from .batches import fold
from .kernels import prepare_kernel
from .parameters import Constant, Operand

_BUFFER, _INTEGER, _FLOAT = 0, 1, 2  # ArgumentRow of the header


def attributes_of(launch, operands, target):
    """Compile the kernel of a launch; return the attributes of its custom call by name.

    The axes of the batch become an axis of the grid where that changes nothing for the kernel; else
    the call launches it once per element, in order.

    Parameters
    ----------
    launch : Launch
        What is launched.
    operands : sequence
        Shapes and dtypes of the operands, with the batch.
    target : str
        "cpu", or a GPU's name such as "sm_90a".
    """
    steps = {
        source: launch.byte_steps(source, operands)
        for _, source in launch.values
        if not isinstance(source, Constant)
    }

    def dtype_of(source):
        return launch.array(source, operands)[1]

    prepared = prepare_kernel(launch, dtype_of, target, lambda source: True)
    folded = fold(launch, operands, prepared) if launch.batch else None
    if folded is not None:
        kernel, grid = folded
        return _attributes(launch, prepared, kernel, grid, len(operands), None)
    if any(step % 16 for own in steps.values() for step in own):
        # Each element of the batch begins where its neighbours end.
        prepared = prepare_kernel(
            launch, dtype_of, target, lambda source: all(step % 16 == 0 for step in steps[source])
        )
    return _attributes(launch, prepared, prepared.compile(), launch.grid, len(operands), steps)


def _attributes(launch, prepared, kernel, grid, operand_count, steps):
    import numpy

    artifact = kernel.to_bytes()
    rows = _rows(launch, prepared)
    _refuse_writes(launch, kernel, [source for source, _ in rows])
    cooperative, early = (
        bool(prepared.options.get(name)) for name in ("launch_cooperative_grid", "launch_pdl")
    )
    # The batch has one axis at least: of an empty list XLA does not keep the type.
    extents = launch.sizes if steps and launch.batch else (1,)
    batch = list(extents)
    for source, _ in rows:
        own = steps.get(source) if steps and launch.batch else None
        batch += own or (0,) * len(extents)
    return {
        "artifact": numpy.frombuffer(artifact, numpy.uint8),
        "digest": hashlib.sha256(artifact).hexdigest(),
        "launch": numpy.array([*grid, cooperative, early], numpy.int64),
        "arguments": numpy.array(
            [_row(launch, source, kind, operand_count) for source, kind in rows], numpy.int64
        ).reshape(-1),
        "batch": numpy.array(batch, numpy.int64),
    }


def _rows(launch, prepared):
    """Pairs of what a run-time argument of the kernel is given and its type."""
    values, rows = dict(launch.values), []

    def walk(kind, source):
        if isinstance(kind, tuple):
            parts = source.value if isinstance(source, Constant) else ()
            for part, value in zip(kind, parts):
                walk(part, Constant(value))
        elif kind != "constexpr":
            rows.append((source, kind.partition(":")[0]))

    for name, kind, value in zip(
        prepared.fn.arg_names, prepared.specialization.types(), prepared.call.values
    ):
        walk(kind, values.get(name, None) or Constant(value))
    return rows


def _row(launch, source, kind, operand_count):
    if not isinstance(source, Constant):
        is_operand = isinstance(source, Operand)
        number = source.index if is_operand else operand_count + source.index
        return (_BUFFER, number, not is_operand or source.index in dict(launch.aliases))
    if kind.startswith("*"):
        raise TypeError(
            f"kernel `{launch.fn.__name__}` takes an address as a number, which means nothing in "
            "another process: pass an array"
        )
    if kind.startswith(("fp", "bf")):
        return (_FLOAT, struct.unpack("<q", struct.pack("<d", source.value))[0], 0)
    value = int(source.value)
    return (_INTEGER, value - 2**64 if value >= 2**63 else value, 0)


def _refuse_writes(launch, kernel, sources):
    """Raise ValueError where the kernel writes to an input, which other operations may read."""
    names = {source: name for name, source in launch.values if isinstance(source, Operand)}
    in_place = dict(launch.aliases)
    for position in kernel.written:
        source = sources[position]
        if isinstance(source, Operand) and source.index not in in_place:
            raise ValueError(
                f"kernel `{launch.fn.__name__}` writes to its input `{names[source]}`: name the output "
                f"that takes its place, `input_output_aliases={{{names[source]!r}: 0}}`"
            )
