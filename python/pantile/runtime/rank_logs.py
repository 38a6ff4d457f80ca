"""Where ranks keep the logs of their agreements: in a process group's store, or in files."""

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
import uuid

from .agreement import Log, LogError
from .process_identity import describe_process, host_identity, is_alive, seconds_since_start

_DAYS_KEPT = 7
_SLACK = 20.0  # seconds between the starts of a run's ranks, at most


class KeyValueLog(Log):
    """A log in a store of torch.distributed, whose `compare_set` one process wins.

    Nothing here waits: a store's own `wait` and `get` of a missing key would hold up other threads
    that use the store.
    """

    def __init__(self, store, question):
        self._store, self._question = store, question

    def _name(self, number):
        return f"{self._question}/{number}"

    def read(self, number):
        with log_errors():
            name = self._name(number)
            return self._store.get(name).decode() if self._store.check([name]) else None

    def append(self, number, text):
        with log_errors():
            return self._store.compare_set(self._name(number), "", text).decode()

    def give_sign(self, number):
        with log_errors():
            self._store.add(f"{self._name(number)}/signs", 1)

    def signs(self, number):
        with log_errors():
            return self._store.add(f"{self._name(number)}/signs", 0)


class FileLog(Log):
    """A log of files QUESTION.NUMBER in a folder.

    A hard link makes each appear whole, and once: that needs no locks, which NFS may lack.
    """

    def __init__(self, folder, question):
        self._folder, self._question = folder, question

    def _path(self, number):
        return os.path.join(self._folder, f"{self._question}.{number}")

    def read(self, number):
        with log_errors():
            try:
                with open(self._path(number), encoding="utf-8") as file:
                    return file.read()
            except FileNotFoundError:
                return None

    def append(self, number, text):
        with log_errors():
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            _link(self._path(number), text)
        entry = self.read(number)
        if entry is None:
            raise LogError(f"`{self._path(number)}` is gone")
        return entry

    def give_sign(self, number):
        with log_errors():
            os.utime(self._path(number))

    def signs(self, number):
        with log_errors():
            return os.stat(self._path(number)).st_mtime_ns


@contextlib.contextmanager
def log_errors():
    """Make a LogError of the RuntimeError, OSError or ValueError of a store or a file system."""
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        raise LogError(str(error) or type(error).__name__) from error


def _link(path, text):
    """Make a file of `text` appear at `path`, unless there is one."""
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def folder_of_run(identity, cache):
    """Return a folder for the logs of this process's run; None where no place takes hard links.

    It is in the kernel cache's folder `cache`, or, where that is read-only, in one for temporary
    files. Runs of the same `identity`, a dict, are distinguished by time: a log of its own says when
    each began.
    """
    name = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
    temporary = os.path.join(tempfile.gettempdir(), f"pantile-ranks-{os.geteuid()}")
    for runs in (os.path.join(cache, "ranks"), temporary):
        if _takes_links(runs):
            with log_errors():
                _remove_old(runs)
                folder = os.path.join(runs, name)
                return os.path.join(folder, str(_number_of_run(folder)))
    return None


def _number_of_run(folder):
    """The entry of the log `run` that stands for this process's run; its first rank appends it."""
    log, number = FileLog(folder, "run"), _latest(folder)
    entry = log.read(number) if number >= 0 else None
    while (later := log.read(number + 1)) is not None:
        number, entry = number + 1, later
    while entry is None or not _is_our_run(json.loads(entry)):
        number += 1
        entry = log.append(number, json.dumps({"began": time.time(), **describe_process()}))
    _remove_old(folder, keep=f"run.{number}")
    return number


def _latest(folder):
    """The number of the latest run in a folder, as far as it can be seen; -1 if there is none."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return -1
    numbers = [name[4:] for name in names if name.startswith("run.")]
    return max((int(number) for number in numbers if number.isdecimal()), default=-1)


def _is_our_run(run):
    """Whether `run` can be this process's: it began later, or the rank that began it still runs."""
    if run["began"] > time.time() - seconds_since_start() - _SLACK:
        return True
    near = run["started"] and run["host"] == host_identity()
    return bool(near and is_alive(run["process"], run["started"]))


def _takes_links(folder):
    """Whether `folder`, which is made if need be, is this user's alone and takes hard links."""
    probe = os.path.join(folder, f"probe.{uuid.uuid4().hex}")
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            return False
        _link(probe, "")
        is_there = os.path.exists(probe)
        os.unlink(probe)
        return is_there
    except OSError:
        return False


def _remove_old(folder, keep=None):
    """Remove what is in `folder` and has not changed for a week, but not what is named `keep`."""
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            changed = entry.stat(follow_symlinks=False).st_mtime
            if entry.name == keep or changed > time.time() - _DAYS_KEPT * 86400:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
