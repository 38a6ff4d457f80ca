"""One of several processes decides, and all of them take its decision.

The processes have a common log for each question. An entry that was appended never changes, and of
several processes that append entry N one does, the others get its text: nothing else synchronises
them. An entry is

- a claim: the process that appended it decides, and gives a sign of life each second until it has
  decided,
- a withdrawal: the claim before it came to nothing,
- a decision: the first one in the log counts for all processes, whenever they read it.

No process depends on another one to go on. It waits for a claim; if the process that claimed has
died, withdrew or gives no sign of life, it appends a claim of its own. When its patience is over it
decides by itself, with a warning; that decision is appended too, and gives way to an earlier one.
So all take the same decision even then.
"""

import contextlib
import json
import os
import threading
import time
import uuid
import warnings

from .process_identity import describe_process, host_identity, is_alive

_SIGN = 1.0  # seconds from one sign of life to the next
_SILENCE = 15.0  # seconds without one after which a process of another host counts as dead
_PAUSES = (0.002, 0.2)  # seconds between two looks at the log: the first, and the longest


class LogError(Exception):
    """The log cannot be read or written."""


class Log:
    """The common log of one question. Every method may raise LogError, and none waits."""

    def read(self, number):
        """Return the text of entry `number`, an int from 0; None if it was not appended yet."""
        raise NotImplementedError

    def append(self, number, text):
        """Make `text` entry `number` unless there is one; return the text that is there then."""
        raise NotImplementedError

    def give_sign(self, number):
        """Change what `signs` returns for entry `number`, which this process appended."""
        raise NotImplementedError

    def signs(self, number):
        """Return a value that differs after each sign of life for entry `number`."""
        raise NotImplementedError


def agree(log, decide, *, patience, before_claim=None):
    """Return (decision, whether this process made it).

    Parameters ---------- log : Log That of the question; all processes with an interest in it have
    one of the same content. decide : function without parameters Returns the decision as JSON has
    it. What it raises withdraws the claim and goes to the caller. patience : float Seconds to wait
    for other processes, after which this one decides by itself, with a RuntimeWarning. before_claim
    : function without parameters, optional Called before each attempt to claim, while nothing waits
    for this process.
    """
    number, left = 0, patience
    while True:
        entry = log.read(number)
        if entry is None:
            if before_claim is not None:
                before_claim()
            claim = _claim()
            entry = log.append(number, claim)
            if entry == claim:
                return _decide(log, number, decide)
        kind, content = _parse(entry)
        if kind == "decision":
            return content, False
        if kind == "claim":
            left = _wait(log, number, content, left)
            if left <= 0:
                _warn(f"waited {patience:g} s for another rank to tune, and tunes as well")
                return _publish(log, number + 1, decide())
        number += 1


def _claim():
    return json.dumps(["claim", {**describe_process(), "token": uuid.uuid4().hex}])


def _parse(entry):
    try:
        kind, content = json.loads(entry)
    except ValueError as error:
        raise LogError(f"an entry cannot be read: {error}") from error
    return kind, content


def _warn(what):
    warnings.warn(f"process {os.getpid()} {what}", RuntimeWarning, stacklevel=2)


def _decide(log, number, decide):
    """Decide for all, with entry `number` as the claim."""
    with _signs_of_life(log, number):
        try:
            decision = decide()
        except BaseException as error:
            with contextlib.suppress(LogError):
                log.append(number + 1, json.dumps(["withdrawal", type(error).__name__]))
            raise
    return _publish(log, number + 1, decision)


def _publish(log, number, decision):
    """Append a decision at entry `number` or the next free one; an earlier decision counts."""
    ours = json.dumps(["decision", decision])
    try:
        while True:
            entry = log.append(number, ours)
            if entry == ours:
                return decision, True
            kind, content = _parse(entry)
            if kind == "decision":
                return content, False
            number += 1
    except LogError as error:
        _warn(f"cannot send its choice to other ranks, and theirs may be another one: {error}")
        return decision, True


@contextlib.contextmanager
def _signs_of_life(log, number):
    """A thread that gives signs of life within."""
    over = threading.Event()

    def give():
        with contextlib.suppress(LogError):
            while not over.wait(_SIGN):
                log.give_sign(number)

    threading.Thread(target=give, name="pantile signs of life", daemon=True).start()
    try:
        yield
    finally:
        over.set()  # and no more: the thread may be in a call to a server that does not answer


def _wait(log, number, claim, seconds):
    """Wait while the process with claim `number` decides; return how many of `seconds` are left."""
    start = looked = time.monotonic()
    watch, (pause, longest) = _Watch(log, number, claim), _PAUSES
    while log.read(number + 1) is None:
        now = time.monotonic()
        if now - start >= seconds:
            return 0.0
        if now - looked >= _SIGN / 4:
            looked = now
            if watch.is_dead():
                break
        time.sleep(pause)
        pause = min(1.5 * pause, longest)
    # A decision that is there in the last moment counts.
    return max(seconds - (time.monotonic() - start), 1e-3)


class _Watch:
    """Whether the process that claimed is alive: seen in /proc on this host, by signs on others."""

    def __init__(self, log, number, claim):
        self.log, self.number, self.claim = log, number, claim
        self.is_near = bool(claim["started"]) and claim["host"] == host_identity()
        self.signs, self.since = None, time.monotonic()

    def is_dead(self):
        if self.is_near:
            return not is_alive(self.claim["process"], self.claim["started"])
        now, signs = time.monotonic(), self.log.signs(self.number)
        if signs != self.signs:
            self.signs, self.since = signs, now
        return now - self.since > _SILENCE
