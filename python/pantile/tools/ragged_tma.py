"""Descriptors of ragged arrays: many slices in one buffer, each access kept within its slice.

How: two leading dimensions are added whose strides cancel. The descriptor's ragged dimension is
2^30 long; a row r of a slice of n rows has the coordinate 2^30 - n + r, which lies inside exactly
while r < n. The leading dimensions cancel that offset: 2^30 steps of 2^34 - s elements and
(offset + n) steps of s, where s is the stride of a row, come to the offset modulo 2^64.
"""

from ..language import namespace as tl
from ..runtime.jit import jit
from .tensor_descriptor import TensorDescriptor

_LONGEST = tl.constexpr(0x40000000)
_ROWS_OF_ALL = 0x7FFF0000


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """Return the descriptor of `T` with slices along `ragged_dim`; it has two dimensions more.

    `block_shape` is of the rank of `T`.
    """
    shape, strides = list(T.shape), _strides(T)
    if len(block_shape) != len(shape):
        raise ValueError(f"a block of rank {len(block_shape)} of an array of rank {len(shape)}")
    if len(shape) > 3:
        raise ValueError("a ragged descriptor takes arrays of at most 3 dimensions")
    step = strides[ragged_dim]
    shape[ragged_dim] = _LONGEST.value
    return TensorDescriptor(
        T,
        [_LONGEST.value + 1, _ROWS_OF_ALL, *shape],
        [2**34 - step, step, *strides],
        [1, 1, *block_shape],
    )


def _strides(array):
    if callable(getattr(array, "stride", None)):
        return list(array.stride())
    return [stride // array.itemsize for stride in array.strides]


@jit
def to_ragged_indices(slice_off, slice_size, row):
    """Return where a row of a slice is: in the two front dimensions, and in the ragged one."""
    return _LONGEST, slice_off + slice_size, _LONGEST - slice_size + row


@jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr = 0):
    """Load a tile at `coords` of the slice of `slice_size` rows that starts at row `slice_off`."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    data = TMA.load([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :])
    return tl.reshape(data, data.shape[2:])


@jit
def store_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Store a tile at `coords` of the slice; rows after its end are left out."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.store([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :], block)


@jit
def atomic_add_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Add a tile to memory at `coords` of the slice; rows after its end are left out."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.atomic_add([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :], block)
