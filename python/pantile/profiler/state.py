"""States: one more frame for all that a thread launches, such as what a launch hook computes."""

from . import places
from .decorator import Decorator
from .flags import flags


class state(Decorator):
    """A state, as a context manager or as a decorator; a thread has at most one, the last.

    Parameters
    ----------
    name : str
        Name of the frame.
    """

    def __init__(self, name):
        self.name, self._before = name, None

    def __enter__(self):
        if flags.profiling_on:
            self._before = places.set_state(self.name)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if flags.profiling_on:
            places.set_state(self._before)


def enter_state(name):
    """Put what this thread launches from now on below a frame.

    Parameters
    ----------
    name : str
        Name of the frame.
    """
    places.set_state(name)


def exit_state():
    """End the state of this thread."""
    places.set_state(None)
