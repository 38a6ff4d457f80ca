"""Sessions: which are active, and what each has gathered.

Needs: `measurement`, which runs CUPTI while a session is active.
Gives: `start`, `activate`, `deactivate` and `finalize` for `profile`; metrics to active sessions.
How:   whenever the active sessions change, what was measured until then goes to those that were
       active, after the GPUs have finished it.
"""

import json
import threading

from . import measurement, places
from .flags import flags
from .trace import Run, chrome_trace
from .tree import ROOT, Frame, hatchet_literal

CAPTURED = "<captured_at>"
SUFFIXES = {"tree": "hatchet", "trace": "chrome_trace"}


class Session:
    """What one session gathers, for the file `name` + suffix."""

    def __init__(self, number, name, context, data):
        self.number, self.name, self.context, self.data = number, name, context, data
        self.root, self.runs, self.devices, self.lost = Frame(ROOT), [], {}, 0
        self.is_active = False

    def _path(self, kernel):
        """The frames of a kernel of the runtime: (path, whether its last frame is the kernel)."""
        name, _, place, captured = kernel
        path = places.place_at(place).path(self.context)
        op = places.place_at(place).op
        if captured is not None:
            at = places.place_at(captured)
            path, op = (*path, CAPTURED, *at.path(self.context)), at.op
        return path, op

    def add_total(self, kernel, count, nanoseconds):
        """Add the executions of a kernel at a place to the tree."""
        path, op = self._path(kernel)
        frame = self.root.below(path)
        self._see(kernel[1])
        leaf = frame if op else frame.child(kernel[0], kernel[1])
        leaf.add_executions(count, nanoseconds, kernel[1])

    def add_run(self, kernel, *place_and_times):
        """Add one execution to the trace: its context, stream, graph, start and end."""
        path, op = self._path(kernel)
        self._see(kernel[1])
        path = path if op else (*path, kernel[0])
        self.runs.append(Run(path[-1], path, kernel[1], *place_and_times))

    def add_metrics(self, place, metrics):
        """Add metrics to the frame of a place; numbers as Python's."""
        if self.context == "python":
            place = places.with_frames(place)
        self.root.below(place.path(self.context)).add(metrics)

    def _see(self, device):
        of_type = self.devices.setdefault("CUDA", {})
        if str(device) not in of_type:
            of_type[str(device)] = measurement.describe_device(device)

    def write(self, format):
        """Write the session's file."""
        if format == "hatchet":
            content = hatchet_literal(self.root, self.devices)
        else:
            content = chrome_trace(self.runs, self.devices, self.lost)
        with open(f"{self.name}.{format}", "w", encoding="utf-8") as file:
            json.dump(content, file)
        if self.lost:
            measurement.warn(
                f"session `{self.name}`: CUPTI lost {self.lost} records of kernels, which are in "
                "no sum"
            )


_sessions = {}
_next = 0
_lock = threading.RLock()


def _active():
    return [one for one in _sessions.values() if one.is_active]


def _distribute():
    """Give what was measured since the last change to the sessions that were active."""
    active = _active()
    if not active:
        return
    totals, runs, lost = measurement.take()
    for one in active:
        one.lost += lost
        if one.data == "tree":
            for row in totals:
                one.add_total(*row)
        else:
            for row in runs:
                one.add_run(*row)


def _change(wanted):
    """Make the sessions of a set of numbers the active ones."""
    if {one.number for one in _active()} == wanted:
        return
    _distribute()
    for one in _sessions.values():
        one.is_active = one.number in wanted
    active = _active()
    measurement.run(
        is_on=bool(active),
        keep_runs=any(one.data == "trace" for one in active),
        wants_frames=any(one.context == "python" for one in active),
    )


def _numbers(number):
    if number is None:
        return set(_sessions)
    if number not in _sessions:
        raise ValueError(f"there is no session {number}")
    return {number}


def start(name, context, data):
    """Start a session, or activate the one of this name; return its number."""
    global _next
    with _lock:
        found = [one.number for one in _sessions.values() if one.name == name]
        if not found:
            if not _sessions:
                places.begin()
            _sessions[_next] = Session(_next, name, context, data)
            found, _next = [_next], _next + 1
        flags.profiling_on = True
        activate(found[0])
        return found[0]


def activate(number=None):
    """Activate a session, or all; ValueError if there is none of this number."""
    with _lock:
        _change({one.number for one in _active()} | _numbers(number))


def deactivate(number=None):
    """Deactivate a session, or all; ValueError if there is none of this number."""
    with _lock:
        _change({one.number for one in _active()} - _numbers(number))


def check(number, format):
    """Return the sessions to finalize and their formats; ValueError if that cannot be."""
    chosen = [_sessions[one] for one in sorted(_numbers(number))]
    return chosen, [_format(one, format) for one in chosen]


def finalize(number, format):
    """End a session, or all, and write the files."""
    with _lock:
        chosen, formats = check(number, format)
        numbers = {one.number for one in chosen}
        _change({one.number for one in _active()} - numbers)
        for one in chosen:
            del _sessions[one.number]
        if not _sessions:
            flags.profiling_on = False
        _write(chosen, formats)


def _write(chosen, formats):
    """Write all files, then raise the first error of one that could not be."""
    failure = None
    for one, suffix in zip(chosen, formats):
        try:
            one.write(suffix)
        except OSError as error:
            failure = failure or error
    if failure:
        raise failure


def _format(one, format):
    suffix = SUFFIXES[one.data]
    if format and format != suffix:
        raise ValueError(
            f"session `{one.name}` has the data `{one.data}`, whose format is `{suffix}`, "
            f"not `{format}`"
        )
    return suffix


def note_scope(place):
    """Have a frame for a scope in all active sessions, in the order in which scopes are entered."""
    with _lock:
        for one in _active():
            if one.context == "shadow":
                one.root.below(place.path("shadow"))


def add_metrics(place, metrics):
    """Add metrics to the frame of a place in all active sessions."""
    with _lock:
        for one in _active():
            one.add_metrics(place, metrics)
