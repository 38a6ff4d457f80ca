"""The objects behind `kernel[grid]`, kept by grid.

A callable grid gets a new one each time: what it captures may live no longer than the call.
"""

_MOST = 1024


class Launchers(dict):
    """Launchers of one kernel by tuple grids (and ints); `launchers[grid]` makes what is missing."""

    def __init__(self, function, dispatcher, tuner=None):
        super().__init__()
        from .. import _pantile

        self._make, self._parts = _pantile.Launcher, (function, dispatcher, tuner)

    def __missing__(self, grid):
        made = self._make(*self._parts, grid)
        if not callable(grid):
            if len(self) >= _MOST:
                self.clear()
            self[grid] = made
        return made
