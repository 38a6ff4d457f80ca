"""Threads that parse kernels at once, while Python's garbage collector calls Python."""

import gc
import sys
import threading

import pytest
from pantile.runtime.scope import Names, parse

LINES = [f"    x{i} = (a + {i} * (b - c.d)) if a > {i} else [a, b][{i % 2}]\n" for i in range(30)]
TEXT = "def f(a, b, c):\n" + "".join(LINES)
READ = {"a", "b", "c", *(f"x{i}" for i in range(30))}


@pytest.fixture
def restless_collector():
    """Collects at nearly every allocation, and other threads go on meanwhile, as with JAX's hook."""

    def hook(phase, info):
        for _ in range(50):
            pass

    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(hook)
    gc.set_threshold(1)
    sys.setswitchinterval(1e-6)
    yield
    gc.callbacks.remove(hook)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_names_in_threads(restless_collector):
    found, errors = [], []

    def read():
        try:
            found.extend(Names(TEXT) for _ in range(20))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(found) == 160
    assert all(names.read == READ and names.paths == {("c", ("d",))} for names in found)


def test_what_cannot_be_parsed():
    with pytest.raises(SyntaxError):
        parse("def f(:")
