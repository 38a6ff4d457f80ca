"""Places of the program that launches belong to, as the numbers that the runtime keeps for them.

Needs: the scopes that each thread enters.
Gives: the place of a thread, passed to the runtime at each change; from a place the frames of a
       session's tree.
How:   places are interned, so that the scope of a loop is one place. A thread that is in no scope
       of its own, as autograd's, is where the thread is that started profiling.
"""

import itertools
import os
import sys
import threading
import weakref

from .. import _pantile

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_new_id = itertools.count()


class Place:
    """Open scopes, with what else distinguishes launches.

    Attributes
    ----------
    scopes : tuple of str
    state : str or None
        What `state` names.
    op : str or None
        The name of the launch that is in progress, by the launch hook.
    frames : tuple of str or None
        The Python stack, outermost first, where a session requested it.
    """

    __slots__ = ("frames", "index", "op", "scopes", "state")

    def __init__(self, index, scopes, state=None, op=None, frames=None):
        self.index, self.scopes, self.state, self.op, self.frames = index, scopes, state, op, frames

    def path(self, context):
        """Return the names of the frames below the root, for a session of this context."""
        found = self.scopes if context == "shadow" else self.frames or ()
        return (*found, *(name for name in (self.state, self.op) if name is not None))


class _Places:
    """All places of the process, by what they hold and by index; 0 is outside of all scopes."""

    def __init__(self):
        self.rows, self.known, self.lock = [], {}, threading.Lock()
        self.root = self.of(())

    def of(self, scopes, state=None, op=None, frames=None):
        key = scopes, state, op, frames
        place = self.known.get(key)
        if place is None:
            with self.lock:
                place = self.known.get(key)
                if place is None:
                    place = self.known[key] = Place(len(self.rows), *key)
                    self.rows.append(place)
        return place


class _Thread(threading.local):
    """The scopes that a thread is in, of the profile with number `profile`."""

    def __init__(self):
        self.profile, self.stack, self.state, self.op = -1, [], None, None
        self.until = None  # a weak reference to what lives as long as the operation


_places = _Places()
_thread = _Thread()
_profile, _starter, _shared = 0, None, _places.root


def place_at(index):
    """Return the place that has this number in the runtime."""
    return _places.rows[index]


def begin():
    """Forget the scopes of all threads: a new profile starts, on this thread."""
    global _profile, _starter, _shared
    _profile, _starter, _shared = _profile + 1, threading.get_ident(), _places.root
    _pantile.profiler_shared_place(0)
    _tell()


def _of_thread():
    if _thread.profile != _profile:
        _thread.profile, _thread.stack, _thread.state, _thread.op = _profile, [], None, None
    return _thread


def _scopes():
    thread = _of_thread()
    return thread.stack[-1][1].scopes if thread.stack else _shared.scopes


def current():
    """Return the place of this thread."""
    thread = _of_thread()
    return _places.of(_scopes(), thread.state, thread.op)


def _tell():
    """Pass the place of this thread to the runtime."""
    global _shared
    thread = _of_thread()
    if threading.get_ident() == _starter:
        _shared = thread.stack[-1][1] if thread.stack else _places.root
        _pantile.profiler_shared_place(_shared.index)
    has_own = thread.stack or thread.state is not None or thread.op is not None
    _pantile.profiler_place(current().index if has_own else None)


def enter(name, owner=None):
    """Enter a scope: (its number, its place). `owner` is what may leave it."""
    place = _places.of((*_scopes(), name))
    entry = owner, place, next(_new_id), name
    _of_thread().stack.append(entry)
    _tell()
    return entry[2], place


def leave(owner=None):
    """Leave the last scope of `owner` and those within: (number, place, name), or None."""
    stack = _of_thread().stack
    for at in range(len(stack) - 1, -1, -1):
        if stack[at][0] is owner:
            entry = stack[at]
            del stack[at:]
            _tell()
            return entry[2], entry[1], entry[3]
    return None


def last(owner=None):
    """Return the name of the last scope of `owner` that this thread is in, or None."""
    names = [entry[3] for entry in _of_thread().stack if entry[0] is owner]
    return names[-1] if names else None


def set_state(name):
    """Add a frame to all that this thread launches, None: no more; return the one before."""
    thread = _of_thread()
    before, thread.state = thread.state, name
    _tell()
    return before


def set_op(name, until=None):
    """Give what this thread launches the name of an operation, None: no more; return the place.

    The end of the object `until` ends the operation too: a launch that fails calls no exit hook.
    """
    thread = _of_thread()
    thread.op, thread.until = name, weakref.ref(until, _end_op) if until is not None else None
    _tell()
    return current()


def _end_op(until):
    if _of_thread().until is until:
        set_op(None)


def depth():
    """Return how many scopes this thread is in."""
    return len(_scopes())


def with_frames(place):
    """Return `place` with the Python stack of the caller, without this package's functions."""
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            frames.append(f"{code.co_filename}:{frame.f_lineno}@{code.co_name}")
        frame = frame.f_back
    return _places.of(place.scopes, place.state, place.op, tuple(reversed(frames)))


def refine(index):
    """Return the number of a launch's place, with the Python stack of the launch."""
    return with_frames(_places.rows[index]).index
