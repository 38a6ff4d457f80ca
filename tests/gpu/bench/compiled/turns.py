"""The lock by which Inductor's timing in one child is alone on the GPU."""

import contextlib
import fcntl
import time


class Turns:
    """The lock among all children for work on the GPU: timing takes it alone, the rest shares it.

    `waited` is how long this child did, in seconds; `idle` adds what else it had to wait for.
    """

    LONGEST = 20  # s, after which a child goes on: another may hang

    def __init__(self, path):
        self.file = open(path, "a+") if path else None
        self.waited = self.idle = 0.0
        self.depth = 0

    @contextlib.contextmanager
    def taken(self, alone):
        if self.file and self.depth == 0:
            self._wait(fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if self.file and self.depth == 0:
                fcntl.lockf(self.file, fcntl.LOCK_UN)

    def _wait(self, kind):
        start = time.perf_counter()
        while (waited := time.perf_counter() - start) < self.LONGEST:
            try:
                fcntl.lockf(self.file, kind | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.001)
        self.waited += waited
        self.idle += waited

    def guard(self, owner, name):
        """Make a method take the lock while it runs."""
        inner = getattr(owner, name)

        def guarded(*args, **keywords):
            with self.taken(alone=True):
                return inner(*args, **keywords)

        setattr(owner, name, guarded)
