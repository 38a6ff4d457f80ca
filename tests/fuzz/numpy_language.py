"""The language over NumPy: a kernel's text runs as Python, one program after the other.

Needs: NumPy, numpy_memory (pointers).
Gives: Language, the `tl` of one launch; Tile; NumpyTriton, what `import pantile` is to the text.
How:   dots and sums are computed in float64. Each operation in a float type is compared with its
       result in float64: while none is rounded, every order of evaluation gives the same bits, and
       `memory.exact` stays true. Only conversions may round. A tile has the numbers of the loads that
       it depends on.
"""

import functools
import inspect

import ml_dtypes
import numpy as np

from .numpy_memory import Pointer
from .values import Undefined, sums_exactly

MANTISSA = {np.dtype(np.float16): 11, np.dtype(np.float32): 24, np.dtype(np.float64): 53}
MOST_TRIPS = 10000
EXACT_BITS = 23  # of the sums in a dot, whose hardware cuts the last bit off
EXACT_BITS_OF_BYTES = 13  # of those of fp8 on Hopper


class Tile(np.ndarray):
    """A tile or scalar; in-place operators give another one."""

    memory = None  # of the launch that runs: notes where something is rounded
    loads = frozenset()  # the numbers of those that it depends on

    def __array_finalize__(self, source):
        self.loads = getattr(source, "loads", frozenset())

    def __array_wrap__(self, array, context=None, return_scalar=False):
        result = np.asarray(array).view(Tile)
        return _depending(result, context[1] if context else [self])

    def __getitem__(self, index):
        """A copy, as parts are values; a single element is a scalar of the language."""
        part = np.array(np.asarray(self)[index]).view(Tile)
        part.loads = self.loads
        return part

    def __setitem__(self, index, value):
        self.loads = self.loads | getattr(value, "loads", frozenset())
        np.asarray(self)[index] = value

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def to(self, dtype, **_):
        """In another type; conversions to fp8 saturate to its largest finite numbers."""
        with np.errstate(all="ignore"):
            if dtype not in (Language.float8e4nv, Language.float8e5) or self.dtype == dtype:
                return self.astype(dtype)
            largest = float(ml_dtypes.finfo(dtype).max)
            return self.clip(-largest, largest).astype(dtype)

    def trans(self):
        return np.swapaxes(self, -1, -2).copy()

    @property
    def T(self):  # noqa: N802
        return self.trans()


def _depending(result, sources):
    """The tile, which comes of these values."""
    result.loads = result.loads.union(*(getattr(source, "loads", ()) for source in sources))
    Tile.memory.check_use(result)
    return result


def tile(array, dtype=None):
    """A tile of its own: an assignment to a part of it changes no other."""
    return np.array(array, dtype).view(Tile)


def _watched(name):
    """An operator that notes whether a result in a float type was rounded."""
    plain = getattr(np.ndarray, name)

    def operator(self, other):
        result = plain(self, other)
        if result is NotImplemented or isinstance(other, Pointer):
            return NotImplemented
        if result.dtype.kind in "fVc":
            wide_type = np.complex128 if result.dtype.kind == "c" else np.float64
            wide = getattr(np.asarray(self, wide_type), name)(np.asarray(other, wide_type))
            if not np.array_equal(wide, result.astype(wide_type), equal_nan=True):
                Tile.memory.exact = False
        return result

    return operator


def _to_zero(name, of_integers):
    """A quotient or remainder, which in integers is C's: quotients are rounded to zero."""
    plain = getattr(np.ndarray, name)

    def operator(self, other):
        if self.dtype.kind != "i" or isinstance(other, float):
            return plain(self, other)
        return of_integers(self, other)

    return operator


for _name in ("add", "sub", "mul", "truediv"):
    for _prefix in ("", "r"):
        setattr(Tile, f"__{_prefix}{_name}__", _watched(f"__{_prefix}{_name}__"))
Tile.__floordiv__ = _to_zero("__floordiv__", lambda x, y: np.floor_divide(x - np.fmod(x, y), y))
Tile.__mod__ = _to_zero("__mod__", np.fmod)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor"):
    setattr(Tile, f"__i{_name}__", lambda self, other, n=_name: getattr(self, f"__{n}__")(other))


def _meet(x, y):
    """Two operands, of which a plain number takes the type of the other."""
    if isinstance(x, (bool, int, float)):
        return tile(x, np.asarray(y).dtype), y
    if isinstance(y, (bool, int, float)):
        return x, tile(y, np.asarray(x).dtype)
    return x, y


class Language:
    """The names of `tl` that the drawn kernels use."""

    constexpr = staticmethod(lambda value: value)
    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    float16, float32, float64 = np.float16, np.float32, np.float64
    bfloat16, int1 = ml_dtypes.bfloat16, np.bool_
    float8e4nv, float8e5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    uint8, uint32, uint64 = np.uint8, np.uint32, np.uint64
    complex64 = np.complex64

    def __init__(self, memory, grid):
        self.memory, self.grid, self.pid = memory, (*grid, 1, 1)[:3], (0, 0, 0)
        Tile.memory = memory

    def program_id(self, axis):
        return tile(self.pid[axis], np.int32)

    def num_programs(self, axis):
        return tile(self.grid[axis], np.int32)

    @staticmethod
    def arange(start, end):
        return tile(np.arange(start, end, dtype=np.int32))

    @staticmethod
    def zeros(shape, dtype):
        return tile(np.zeros(shape, dtype))

    @staticmethod
    def full(shape, value, dtype):
        return tile(np.full(shape, value, dtype))

    @staticmethod
    def range(*bounds, **_):
        """Counters have the widest type of the bounds; a step that the launch gives counts up."""
        step = bounds[2] if len(bounds) > 2 else 1
        if step == 0 or (isinstance(step, np.ndarray) and step < 0):
            raise Undefined("a step that does not count up")
        dtype = np.result_type(np.int32, *(_number_type(bound) for bound in bounds))
        counters = range(*(int(bound) for bound in bounds))
        if len(counters) > MOST_TRIPS:
            raise Undefined("too many iterations")
        for i in counters:
            yield tile(i, dtype)

    static_range = range

    @staticmethod
    def cdiv(x, y):
        return (x + y - 1) // y

    @staticmethod
    def multiple_of(x, _):
        return x

    @staticmethod
    def assume(condition):
        if not condition:
            raise Undefined("an assumption that does not hold")

    # Memory.
    def load(self, pointer, mask=None, other=None, **_):
        result = tile(self.memory.load(pointer, mask, other))
        result.loads = frozenset({self.memory.load_count})
        return result

    def store(self, pointer, value, mask=None, **_):
        self.memory.store(pointer, value, mask)

    def debug_barrier(self):
        self.memory.synchronize()

    def _atomic(name):  # noqa: N805
        def operation(self, pointer, value, mask=None, **_):
            return tile(self.memory.atomic(name, pointer, value, mask))

        return operation

    atomic_add, atomic_max, atomic_min = _atomic("add"), _atomic("max"), _atomic("min")
    atomic_and, atomic_or, atomic_xor = _atomic("and"), _atomic("or"), _atomic("xor")
    atomic_xchg = atomic_store = _atomic("xchg")

    def atomic_poll(self, pointer, expected, **_):
        """Programs run one after the other here: what is waited for must be there."""
        found = tile(self.memory.atomic("or", pointer, 0, None) == expected)
        if not found.all():
            raise Undefined("a poll of what no earlier program has set")
        return found

    def atomic_cas(self, pointer, compare, value, **_):
        return tile(self.memory.compare_and_swap(pointer, compare, value))

    def make_tensor_descriptor(self, base, shape, strides, block_shape, **_):
        return Descriptor(self, base, shape, strides, block_shape)

    # Dots and reductions.
    def dot(self, a, b, acc=None, input_precision=None, out_dtype=np.float32, **_):
        if "c" in a.dtype.kind + b.dtype.kind:
            return self._complex_dot(a, b, acc)
        if a.dtype == np.int8:
            product = np.matmul(a.astype(np.int32), b.astype(np.int32))
            return tile(product if acc is None else product + acc)
        wide = [np.asarray(x, np.float64) for x in (a, b)]
        total = np.matmul(*map(np.abs, wide))
        terms = np.concatenate([(wide[0][..., :1] * 0).ravel(), *[x.ravel() for x in wide]])
        result = np.matmul(*wide)
        if acc is not None:
            total, result = total + np.abs(acc), result + np.asarray(acc, np.float64)
            terms = np.append(terms, np.asarray(acc, np.float64).ravel())
        lowest = _lowest_of_products(*wide)
        if acc is not None:
            lowest = min(lowest, _lowest(np.asarray(acc, np.float64)))
        bits = EXACT_BITS_OF_BYTES if a.dtype.itemsize == 1 else EXACT_BITS
        if not np.isfinite(total).all() or total.max() / lowest > 2.0**bits:
            self.memory.exact = False
        return tile(result.astype(out_dtype))

    def _complex_dot(self, a, b, acc):
        """Dots of the parts; a real operand has but one."""
        re, im = (None, None) if acc is None else (acc.real, acc.imag)
        re, im = self.dot(a.real, b.real, re), self.dot(a.real, b.imag, im)
        if a.dtype.kind == "c":
            re, im = self.dot(-a.imag, b.imag, re), self.dot(a.imag, b.real, im)
        return self.complex(re, im)

    def sum(self, x, axis=None, keep_dims=False):
        if x.dtype.kind == "c":
            parts = [self.sum(part, axis, keep_dims) for part in (x.real, x.imag)]
            return self.complex(*parts)
        if x.dtype.kind in "iub":
            dtype = np.int32 if x.dtype.itemsize < 4 else x.dtype
            return tile(np.sum(np.asarray(x), axis=axis, keepdims=keep_dims, dtype=dtype))
        wide = np.asarray(x, np.float64)
        total = np.abs(wide).sum(axis=axis, keepdims=keep_dims)
        if not sums_exactly(wide, total, MANTISSA.get(x.dtype, 8)):
            self.memory.exact = False
        return tile(wide.sum(axis=axis, keepdims=keep_dims).astype(x.dtype))

    @staticmethod
    def max(x, axis=None, keep_dims=False):
        return tile(np.fmax.reduce(np.asarray(x), axis=axis, keepdims=keep_dims))

    @staticmethod
    def min(x, axis=None, keep_dims=False):
        return tile(np.fmin.reduce(np.asarray(x), axis=axis, keepdims=keep_dims))

    @staticmethod
    def argmax(x, axis):
        return tile(np.argmax(np.asarray(x), axis=axis).astype(np.int32))

    def cumsum(self, x, axis=0):
        self.sum(x, axis)
        if x.dtype.kind == "c":
            return self.complex(self.cumsum(x.real, axis), self.cumsum(x.imag, axis))
        wide = np.asarray(x, np.float64 if x.dtype.kind == "f" else x.dtype)
        return tile(np.cumsum(wide, axis=axis).astype(x.dtype))

    # Elements and shapes.
    @staticmethod
    def where(condition, x, y):
        x, y = _meet(x, y)
        return tile(np.where(np.asarray(condition), np.asarray(x), np.asarray(y)))

    @staticmethod
    def maximum(x, y):
        return tile(np.fmax(*_meet(x, y)))

    @staticmethod
    def minimum(x, y):
        return tile(np.fmin(*_meet(x, y)))

    def abs(self, x):
        if x.dtype.kind != "c":
            return tile(np.abs(np.asarray(x)))
        magnitude = np.abs(np.asarray(x, np.complex128))
        if not np.array_equal(magnitude, np.floor(magnitude)):
            self.memory.exact = False
        return tile(magnitude.astype(np.float32))

    @staticmethod
    def complex(re, im):
        return tile(np.asarray(re) + 1j * np.asarray(im), np.complex64)

    @staticmethod
    def conj(x):
        return tile(np.conj(np.asarray(x)))

    def floor(self, x):
        if not self.memory.exact:
            raise Undefined("a step of a rounded value")
        return tile(np.floor(np.asarray(x)))

    def exp2(self, x):
        if not np.array_equal(np.floor(x), x):
            self.memory.exact = False
        with np.errstate(all="ignore"):
            return tile(np.exp2(np.asarray(x)))

    def exp(self, x):
        self.memory.exact = False
        return tile(np.exp(np.asarray(x)))

    @staticmethod
    def trans(x, *_):
        return tile(np.swapaxes(np.asarray(x), -1, -2))

    @staticmethod
    def reshape(x, *shape):
        shape = shape[0] if isinstance(shape[0], (tuple, list)) else shape
        return tile(np.asarray(x).reshape(shape))

    @staticmethod
    def permute(x, dims):
        return tile(np.transpose(np.asarray(x), dims))

    @staticmethod
    def flip(x, dim):
        return tile(np.flip(np.asarray(x), dim))

    @staticmethod
    def roll(x, shift, axis):
        return tile(np.roll(np.asarray(x), shift, axis))

    @staticmethod
    def cat(tiles, dim=0):
        return tile(np.concatenate(tiles, dim))

    @staticmethod
    def stack(tiles, axis=0):
        return tile(np.stack(tiles, axis))

    @staticmethod
    def pad(x, widths, constant_values=0):
        return tile(np.pad(np.asarray(x), widths, constant_values=constant_values))

    @staticmethod
    def broadcast_to(x, shape):
        return tile(np.broadcast_to(np.asarray(x), shape).copy())

    @staticmethod
    def expand_dims(x, axis):
        return tile(np.expand_dims(np.asarray(x), axis))

    @staticmethod
    def join(x, y):
        return tile(np.stack([x, y], -1))

    @staticmethod
    def split(x):
        return tile(x[..., 0]), tile(x[..., 1])


def _number_type(number):
    """The type that a number of the text has, or that of a scalar."""
    if isinstance(number, np.ndarray):
        return number.dtype
    return np.int32 if -(2**31) <= number < 2**31 else np.int64


def _following(function):
    """A function whose results depend on what its arguments depend on."""

    @functools.wraps(function)
    def follow(*arguments, **keywords):
        result = function(*arguments, **keywords)
        for part in result if isinstance(result, tuple) else (result,):
            if isinstance(part, Tile):
                _depending(part, [*arguments, *keywords.values()])
        return result

    return follow


for _name, _member in list(vars(Language).items()):
    if inspect.isfunction(_member) and _name[0] != "_":
        setattr(Language, _name, _following(_member))
    elif isinstance(_member, staticmethod) and _name not in ("constexpr", "range", "static_range"):
        setattr(Language, _name, staticmethod(_following(_member.__func__)))


def _lowest(x):
    """The lowest bit that is set in any of the numbers; 1 if all are 0."""
    x = x[x != 0]
    if not x.size:
        return 1.0
    mantissa, exponent = np.frexp(x)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    return float(((whole & -whole) * 2.0 ** (exponent - 53.0)).min())


def _lowest_of_products(a, b):
    return _lowest(a) * _lowest(b)


class Descriptor:
    """A tensor descriptor: blocks that end at the edges of a matrix."""

    def __init__(self, language, base, shape, strides, block):
        self.language, self.base, self.block = language, base, [int(n) for n in block]
        self.shape, self.strides = [int(n) for n in shape], [int(n) for n in strides]

    def _block(self, start):
        offsets, inside = np.zeros(self.block, np.int64), np.ones(self.block, bool)
        for axis, first in enumerate(start):
            at = int(first) + np.arange(self.block[axis])
            at = at.reshape([-1 if i == axis else 1 for i in range(len(self.block))])
            offsets, inside = offsets + at * self.strides[axis], inside & (at >= 0)
            inside = inside & (at < self.shape[axis])
        return self.base + offsets, inside

    def load(self, start):
        pointer, inside = self._block(start)
        return self.language.load(pointer, inside, 0)

    def store(self, start, value):
        pointer, inside = self._block(start)
        self.language.store(pointer, value, inside)


class NumpyTriton:
    """What the text calls `triton`: a kernel is its Python function."""

    @staticmethod
    def jit(function):
        return function

    @staticmethod
    def cdiv(x, y):
        return -(-x // y)

    @staticmethod
    def constexpr_function(function):
        return function
