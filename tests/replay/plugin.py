"""For pytest: records each kernel that tests compile (`-p tests.replay.plugin`), in `REPLAY_FOLDER`."""

import os

import pytest

from .launching import record_compilations
from .recorder import Recorder

_running = "tests"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    global _running
    _running = f"{item.path.parent.name}/{item.path.stem}"
    return (yield)


def pytest_configure():
    recorder = Recorder(os.environ["REPLAY_FOLDER"], bool(os.environ.get("REPLAY_TEXTS")))
    record_compilations(recorder, lambda: _running)
