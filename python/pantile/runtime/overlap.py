"""Arguments of a launch that share memory, by their shapes and strides.

Programs and warps of a kernel run at once. Where two arguments are the same memory and the kernel
writes through one of them, what the other one reads depends on their order. `PANTILE_CHECK=overlap`
warns of each such pair, once a kernel and pair of names.
"""

import math
import warnings

_reported = set()


def warn_of_overlaps(call, name):
    """Warn of arrays of the call of kernel `name` that overlap."""
    known = [(argument, _Extent.of(array), written) for argument, array, written in call.arrays()]
    known = [row for row in known if row[1] is not None]
    for i, (first, extent, is_written) in enumerate(known):
        for second, other, other_is_written in known[:i]:
            if (is_written or other_is_written) and extent.meets(other):
                _warn(name, (second, other_is_written), (first, is_written))


def _warn(name, first, second):
    written = " and ".join(
        f"`{argument}`" for argument, is_written in (first, second) if is_written
    )
    key = (name, first[0], second[0])
    if key in _reported:
        return
    _reported.add(key)
    warnings.warn(
        f"arguments `{first[0]}` and `{second[0]}` of kernel `{name}` overlap in memory, and the "
        f"kernel writes through {written}; without a `tl.debug_barrier()` between them, and beyond one "
        "program, their order is not fixed",
        RuntimeWarning,
        stacklevel=5,
    )


class _Extent:
    """The bytes that an array covers: runs of `run` bytes, at sums of multiples of `strides`."""

    def __init__(self, address, item, shape, strides):
        self.is_empty = 0 in shape
        self.begin, self.end, self.run = address, address + item, item
        self.strides = []
        for extent, stride in sorted(zip(shape, strides), key=lambda axis: abs(axis[1])):
            reach = (extent - 1) * stride
            self.begin, self.end = self.begin + min(reach, 0), self.end + max(reach, 0)
            if extent <= 1 or stride == 0:
                continue
            if abs(stride) <= self.run:
                self.run += (extent - 1) * abs(stride)
            else:
                self.strides.append(abs(stride))

    @staticmethod
    def of(array):
        """The extent of an array; None of an object without shape and strides."""
        interface = getattr(array, "__array_interface__", None)
        if interface is None and not hasattr(array, "data_ptr"):
            interface = getattr(array, "__cuda_array_interface__", None)
        if isinstance(interface, dict):
            return _Extent._of_interface(interface)
        if not all(
            hasattr(array, name) for name in ("data_ptr", "shape", "stride", "element_size")
        ):
            return None
        item = array.element_size()
        return _Extent(array.data_ptr(), item, array.shape, [s * item for s in array.stride()])

    @staticmethod
    def _of_interface(interface):
        item, shape = int(interface["typestr"][2:]), interface["shape"]
        strides = interface.get("strides")
        if strides is None:
            strides = [item * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return _Extent(interface["data"][0], item, shape, strides)

    def meets(self, other):
        """Whether a byte may be of both; False where that is certain to be of at most one."""
        if self.is_empty or other.is_empty or self.end <= other.begin or other.end <= self.begin:
            return False
        step = math.gcd(*self.strides, *other.strides)
        if not step or self.run + other.run > step:
            return True
        # All runs of an array begin at one place within a step: columns of one matrix stay apart.
        distance = (other.begin - self.begin) % step
        return distance < self.run or step - distance < other.run
