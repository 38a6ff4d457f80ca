"""Memory of a launch over NumPy, which notices accesses that nothing orders.

Needs: values.Undefined.
Gives: Memory (load, store, atomics), Pointer.
How:   each element remembers who wrote and read it last: the program, the tile of pointers, and how
       many barriers had been before. Undefined is raised where two programs access an element outside of
       atomics, and where two tiles of pointers of one program do without a barrier between them:
       the compiler orders accesses only through the same tile of pointers. One meeting is defined: a
       store of values that depend, each at its position, on all that was loaded from the element.
       Threads may hold copies of a small tile, which load too late then: what was loaded is not
       used after that store.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from .values import Undefined

NO_PROGRAM, SEVERAL, ATOMIC = -1, -2, -3
MOST_WATCHED = 1 << 24
MOST_OF_A_THREAD = 16  # elements of a vector; threads with as many each hold no copies


def _turns(at):
    """For each place, how often it stood before."""
    order = np.argsort(at, kind="stable")
    ordered = at[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]] if at.size else np.zeros(0, bool)
    count = np.arange(at.size)
    turns = np.empty(at.size, np.int64)
    turns[order] = count - np.maximum.accumulate(np.where(starts, count, 0))
    return turns


class Pointer:
    """Elements of an array."""

    def __init__(self, array, offsets):
        self.array, self.offsets = array, np.asarray(offsets, np.int64)

    def __add__(self, other):
        return Pointer(self.array, self.offsets + np.asarray(other, np.int64))

    __radd__ = __add__

    def __sub__(self, other):
        return Pointer(self.array, self.offsets - np.asarray(other, np.int64))

    def __getitem__(self, index):
        return Pointer(self.array, self.offsets[index])

    @property
    def dtype(self):
        return SimpleNamespace(element_ty=self.array.data.dtype)


class Array:
    """A buffer and what is known of the accesses to its elements."""

    def __init__(self, data):
        self.data, self.is_watched = data, data.size <= MOST_WATCHED
        self.forget()

    def forget(self):
        size = self.data.size if self.is_watched else 0
        marks = [np.full(size, NO_PROGRAM, np.int64) for _ in range(2)]
        self.writer, self.reader = marks
        zeros = [np.zeros(size, np.int64) for _ in range(4)]
        self.write_epoch, self.read_epoch, self.write_tile, self.read_tile = zeros


@dataclass
class Load:
    """A load since the last barrier, by its number; `at` are the places that it read."""

    number: int
    pointer: Pointer
    at: np.ndarray


class Memory:
    """The arrays of a launch of so many threads; `program` is the number of the one that runs."""

    def __init__(self, arrays, threads=128):
        self.arrays, self.threads = {name: Array(data) for name, data in arrays.items()}, threads
        self.program, self.epoch, self.exact = 0, 1, True
        self.kept = []  # tiles of pointers, so that their identities stay their own
        self.loads, self.load_count, self.overwritten = [], 0, frozenset()

    def forget(self):
        """Another launch begins: all that was stored before it is seen."""
        for array in self.arrays.values():
            array.forget()

    def start(self, program):
        """The next program runs."""
        self.program = program
        self.kept.clear()
        self.overwritten = frozenset()
        self.synchronize()

    def synchronize(self):
        """A barrier."""
        self.epoch += 1
        self.loads.clear()

    def pointer(self, name, first=0):
        return Pointer(self.arrays[name], np.asarray(first))

    def _places(self, pointer, mask):
        offsets = pointer.offsets
        if mask is not None:
            offsets = offsets[np.broadcast_to(np.asarray(mask, bool), offsets.shape)]
        offsets = offsets.ravel()
        if offsets.size and (offsets.min() < 0 or offsets.max() >= pointer.array.data.size):
            raise Undefined("out of bounds")
        self.kept.append(pointer)
        return pointer.array, offsets, id(pointer)

    def _check_read(self, array, at, tile):
        if not array.is_watched:
            return
        writer = array.writer[at]
        if ((writer != NO_PROGRAM) & (writer != self.program)).any():
            raise Undefined("a load of what another program stored")
        fresh = (writer == self.program) & (array.write_epoch[at] == self.epoch)
        if (fresh & (array.write_tile[at] != tile)).any():
            raise Undefined("a load of what was stored without a barrier")

    def _mark_read(self, array, at, tile):
        if not array.is_watched:
            return
        others = (array.reader[at] != NO_PROGRAM) & (array.reader[at] != self.program)
        same_time = (array.reader[at] == self.program) & (array.read_epoch[at] == self.epoch)
        mixed = same_time & (array.read_tile[at] != tile)
        array.reader[at] = np.where(others, SEVERAL, self.program)
        array.read_epoch[at], array.read_tile[at] = self.epoch, np.where(mixed, SEVERAL, tile)

    def _check_write(self, array, at, pointer, value):
        if not array.is_watched:
            return
        if np.unique(at).size != at.size:
            raise Undefined("colliding stores")
        writer, reader = array.writer[at], array.reader[at]
        if ((writer != NO_PROGRAM) & (writer != self.program)).any():
            raise Undefined("a store over what another program stored")
        if ((reader != NO_PROGRAM) & (reader != self.program)).any():
            raise Undefined("a store over what another program loads")
        tile = id(pointer)
        written = (writer == self.program) & (array.write_epoch[at] == self.epoch)
        if (written & (array.write_tile[at] != tile)).any():
            raise Undefined("a store without a barrier")
        read = (reader == self.program) & (array.read_epoch[at] == self.epoch)
        if (read & (array.read_tile[at] != tile)).any():
            self._overwrite(at, pointer, value)

    def _overwrite(self, at, pointer, value):
        """A store over what was loaded through other pointers."""
        for load in self.loads:
            if load.pointer is pointer or load.pointer.array is not pointer.array:
                continue
            if not np.isin(at, load.at).any():
                continue
            if not np.array_equal(load.pointer.offsets, pointer.offsets):
                raise Undefined("a store without a barrier")
            if load.number not in getattr(value, "loads", ()):
                raise Undefined("a store that does not wait for a load")
            if pointer.offsets.size < self.threads * MOST_OF_A_THREAD:
                self.overwritten |= {load.number}

    def check_use(self, value):
        """Whether a value still is what was loaded, for each thread that holds it."""
        if self.overwritten & getattr(value, "loads", frozenset()):
            raise Undefined("a use of what was overwritten")

    def load(self, pointer, mask, other):
        array, at, tile = self._places(pointer, mask)
        self._check_read(array, at, tile)
        self._mark_read(array, at, tile)
        self.load_count += 1
        self.loads.append(Load(self.load_count, pointer, at))
        if mask is None:
            return array.data[pointer.offsets]
        result = np.zeros(pointer.offsets.shape, array.data.dtype)
        if other is not None:
            result[...] = other
        result[np.broadcast_to(np.asarray(mask, bool), result.shape)] = array.data[at]
        return result

    def store(self, pointer, value, mask):
        self.check_use(value)
        array, at, tile = self._places(pointer, mask)
        self._check_write(array, at, pointer, value)
        array.data[at] = self._selected(pointer, value, mask, array.data.dtype)
        if array.is_watched:
            array.writer[at], array.write_epoch[at] = self.program, self.epoch
            array.write_tile[at] = tile

    @staticmethod
    def _selected(pointer, value, mask, dtype):
        with np.errstate(all="ignore"):
            value = np.broadcast_to(np.asarray(value).astype(dtype), pointer.offsets.shape)
        if mask is not None:
            return value[np.broadcast_to(np.asarray(mask, bool), value.shape)]
        return value.ravel()

    def atomic(self, name, pointer, value, mask):
        """The old values; elements of a tile are updated one after the other."""
        array, at, _ = self._places(pointer, mask)
        self._check_atomic(array, at)
        values = self._selected(pointer, value, mask, array.data.dtype)
        operate = {
            "add": np.add,
            "max": np.maximum,
            "min": np.minimum,
            "and": np.bitwise_and,
            "or": np.bitwise_or,
            "xor": np.bitwise_xor,
            "xchg": lambda old, new: new,
        }[name]
        found = array.data[at]
        turns = _turns(at)
        for turn in range(turns.max(initial=-1) + 1):
            now = turns == turn
            found[now] = array.data[at[now]]
            array.data[at[now]] = self._summed(operate, found[now], values[now])
        old = np.zeros(pointer.offsets.shape, array.data.dtype)
        chosen = True if mask is None else np.broadcast_to(np.asarray(mask, bool), old.shape)
        old[np.broadcast_to(chosen, old.shape)] = found
        return old

    def _summed(self, operate, old, new):
        result = operate(old, new)
        if result.dtype.kind == "f" and operate is np.add:
            wide = old.astype(np.float64) + new.astype(np.float64)
            self.exact &= np.array_equal(wide, result.astype(np.float64))
        return result

    @staticmethod
    def _check_atomic(array, at):
        if not array.is_watched:
            return
        for marks in (array.writer, array.reader):
            if ((marks[at] != NO_PROGRAM) & (marks[at] != ATOMIC)).any():
                raise Undefined("an atomic operation where there are others")
        array.writer[at] = ATOMIC

    def compare_and_swap(self, pointer, compare, value):
        array, at, _ = self._places(pointer, None)
        self._check_atomic(array, at)
        old = array.data[at].reshape(pointer.offsets.shape)
        compare = np.broadcast_to(np.asarray(compare, old.dtype), old.shape)
        array.data[at] = np.where(old == compare, np.asarray(value, old.dtype), old).ravel()
        return old
