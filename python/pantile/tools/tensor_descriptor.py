"""Descriptors of tensors that the host makes and by which kernels read and write tiles."""

from dataclasses import dataclass
from typing import Any

_ALIGNMENT = 16  # bytes
_MAX_RANK = 5


def _element_bytes(base):
    if hasattr(base, "element_size"):
        return base.element_size()
    if hasattr(base, "itemsize"):
        return base.itemsize
    itemsize = getattr(base.dtype, "itemsize", None)
    return itemsize if itemsize is not None else base.dtype.primitive_bitwidth // 8


def _address(base):
    if hasattr(base, "data_ptr"):
        return base.data_ptr()
    for name in ("__cuda_array_interface__", "__array_interface__"):
        if hasattr(base, name):
            return getattr(base, name)["data"][0]
    return 0


def _plain(value):
    return getattr(value, "value", value)


@dataclass
class TensorDescriptor:
    """An array, its sizes and strides in elements, and the tile that one access moves.

    Parameters
    ----------
    base : array
        Of a device or of the host; its memory starts at a multiple of 16 bytes.
    shape, strides : list of int
        Sizes, and strides in elements: the last is 1, the others are multiples of 16 bytes. At
        most 5 dimensions.
    block_shape : list of int
        Extents of a tile, at least 16 bytes along the last dimension.
    padding : {"zero", "nan"}, default "zero"
        What a load gives outside of the array; "nan" for floats alone.
    round_f32_to_tf32 : bool, default False
        Of Triton, kept as an attribute and without effect.

    Raises
    ------
    ValueError
        For what is not as said above.
    """

    base: Any
    shape: list
    strides: list
    block_shape: list
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self):
        rank = len(self.shape)
        if not 1 <= rank <= _MAX_RANK:
            raise ValueError(f"a tensor descriptor has 1 to {_MAX_RANK} dimensions, got {rank}")
        if len(self.strides) != rank:
            raise ValueError(f"{rank} sizes, but {len(self.strides)} strides")
        if len(self.block_shape) != rank:
            raise ValueError(f"{rank} sizes, but {len(self.block_shape)} block sizes")
        self.block_shape = [_plain(size) for size in self.block_shape]
        if any(size <= 0 for size in self.shape):
            raise ValueError(f"shape must be positive, got {list(self.shape)}")
        self._check_alignment()
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"padding is 'zero' or 'nan', got {self.padding!r}")
        if self.padding == "nan" and not _is_float(self.base.dtype):
            raise ValueError("padding 'nan' needs an array of floats")

    def _check_alignment(self):
        size = _element_bytes(self.base)
        if _address(self.base) % _ALIGNMENT:
            raise ValueError("base must be 16-byte aligned")
        for stride in self.strides[:-1]:
            if stride * size % _ALIGNMENT:
                raise ValueError(f"strides must be 16-byte aligned, got {list(self.strides)}")
        if self.strides[-1] != 1:
            raise ValueError("Last dimension must be contiguous")

    @property
    def dtype(self):
        """The dtype of `base`."""
        return self.base.dtype

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """Return the descriptor of a whole tensor.

        Parameters
        ----------
        tensor : array
            A torch tensor, or an array of NumPy or CuPy.
        block_shape : list of int
            Extents of a tile, at least 16 bytes along the last dimension.
        padding : {"zero", "nan"}, default "zero"
            What a load gives outside of the array.
        round_f32_to_tf32 : bool, default False
            Kept as an attribute and without effect.

        Raises
        ------
        ValueError
            For what the class refuses.
        """
        size = _element_bytes(tensor)
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else None
        if strides is None:
            strides = [stride // size for stride in tensor.strides]
        return TensorDescriptor(
            tensor, list(tensor.shape), list(strides), block_shape, padding, round_f32_to_tf32
        )


def _is_float(dtype):
    name = str(dtype)
    return "float" in name or name.startswith(("fp", "bf"))
