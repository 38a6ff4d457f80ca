"""Which process a number stands for: numbers are used again, and each host has its own."""

import functools
import os
import socket
import time


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


@functools.cache
def host_identity():
    """Return a text that processes have in common if they see the same numbers of processes."""
    boot = _read("/proc/sys/kernel/random/boot_id").decode().strip()
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{boot or socket.gethostname()} {namespace}"


def _fields(process):
    """The fields of /proc/N/stat after the name, which may hold any character; empty if none."""
    return _read(f"/proc/{process}/stat").rpartition(b")")[2].split()


def start_of(process):
    """Return when `process` started, a text of clock ticks since the boot; "" if there is none."""
    fields = _fields(process)
    return fields[19].decode() if len(fields) > 19 else ""


def seconds_since_start():
    """Return how long ago this process started; 0.0 where the system does not say."""
    started = start_of(os.getpid())
    if not started:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(started) / os.sysconf("SC_CLK_TCK")


def describe_process():
    """Return what others need to see this process: {"host", "process", "started"}."""
    number = os.getpid()
    return {"host": host_identity(), "process": number, "started": start_of(number)}


def is_alive(process, started):
    """Return whether number `process`, which started at `started`, still runs: no zombie does."""
    fields = _fields(process)
    return len(fields) > 19 and fields[19].decode() == started and fields[0] not in (b"Z", b"X")
