"""Scopes: names that the kernels launched within them are listed under."""

import time

from . import places, session
from .decorator import Decorator
from .flags import flags

_CPU_TIME = "cpu_time (ns)(exc)"


class scope(Decorator):
    """A scope, as a context manager or as a decorator.

    Parameters
    ----------
    name : str
        Name of the frame; scopes of one name in one place are one frame.
    metrics : dict of str to number, optional
        Added to the scope each time it is entered. The viewer sums them over the frames within,
        unless a name ends in "(exc)".
    """

    def __init__(self, name, metrics=None):
        self.name, self.metrics, self.id = name, metrics, None

    def _enter_scope(self):
        self.id = None
        if not flags.profiling_on:
            return
        self.id, place = places.enter(self.name, self)
        session.note_scope(place)
        if self.metrics:
            session.add_metrics(place, self.metrics)

    def _exit_scope(self):
        if flags.profiling_on:
            return places.leave(self)
        return None

    def __enter__(self):
        self._enter_scope()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self._exit_scope()


class cpu_timed_scope(scope):
    """A scope with the metric `cpu_time`: the time of the CPU from its start to its end.

    Parameters
    ----------
    name : str
        Name of the frame.
    metrics : dict of str to number, optional
        Added to the scope each time it is entered; ValueError if one is called `cpu_time`.
    """

    def __init__(self, name, metrics=None):
        super().__init__(name, metrics)
        self.start_time = None
        if metrics and "cpu_time" in metrics:
            raise ValueError("the metric name `cpu_time` is that of the time measured here")

    def _enter_scope(self):
        self.start_time = time.perf_counter_ns()
        super()._enter_scope()

    def _exit_scope(self):
        left = super()._exit_scope()
        if left is not None:
            session.add_metrics(left[1], {_CPU_TIME: time.perf_counter_ns() - self.start_time})
        return left


def enter_scope(name, *, metrics=None):
    """Enter a scope that `exit_scope` leaves; return its number, None while nothing is profiled.

    Parameters
    ----------
    name : str
        Name of the frame.
    metrics : dict of str to number, optional
        Added to the scope.
    """
    if not flags.profiling_on:
        return None
    number, place = places.enter(name)
    session.note_scope(place)
    if metrics:
        session.add_metrics(place, metrics)
    return number


def exit_scope(name=None, *, metrics=None):
    """Leave the scope that this thread entered last by `enter_scope`; return its number.

    Parameters
    ----------
    name : str, optional
        ValueError if the scope has another name.
    metrics : dict of str to number, optional
        Added to the scope.

    None is returned while nothing is profiled, and for a scope entered before that.
    """
    if not flags.profiling_on:
        return None
    found = places.last()
    if name is not None and found is not None and name != found:
        raise ValueError(f"the scope to leave is `{found}`, not `{name}`")
    left = places.leave()
    if left is None:
        return None
    if metrics:
        session.add_metrics(left[1], metrics)
    return left[0]
