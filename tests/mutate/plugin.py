"""A pytest plugin: which PTX each test launches, and the compiler with a planted mistake.

Needs: `-p tests.mutate.plugin`, on the emulated GPU; PANTILE_EMULATION_RECORD, where the emulated driver keeps texts.
Gives: `--results FOLDER`: a file for each process with a line of JSON for each test: name, outcome, seconds, the
       names of the texts that it launched, and the last line of what failed. `--plant TEXT`: an entry of the options'
       enabled passes with which a pass makes a mistake. `--each N`: only the first N cases of each test function.
"""

import collections
import json
import os
import textwrap
import time
from pathlib import Path

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("mutate")
    group.addoption("--results", default="", help="folder for what each test did")
    group.addoption("--plant", default="", help="a mistake, as Options::enabledPasses takes it")
    group.addoption("--each", type=int, default=0, help="cases to run of each test function")


def pytest_configure(config):
    if config.getoption("results"):
        config.pluginmanager.register(Results(Path(config.getoption("results"))))
    if config.getoption("plant"):
        plant(config.getoption("plant"))


def plant(entry):
    """Add `entry` to the passes of every compilation; so it is part of the key in the cache of kernels."""
    from pantile.backends import options as backend
    from pantile.compiler import kernel
    from pantile.compiler import options as launch

    original = backend.library_options

    def with_mistake(target, given):
        result = original(target, given)
        if target != "cpu":
            result.enabled_passes = result.enabled_passes | {entry}
        return result

    for module in (backend, kernel, launch):
        module.library_options = with_mistake


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    limit, seen, left = config.getoption("each"), collections.Counter(), []
    for item in items if limit else ():
        function = item.nodeid.split("[")[0]
        seen[function] += 1
        if seen[function] > limit:
            left.append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


class Results:
    """Writes what each test did."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"tests.{os.getpid()}.jsonl"
        record = os.environ.get("PANTILE_EMULATION_RECORD")
        self.launches = Path(record) / f"launches.{os.getpid()}" if record else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self):
        self.start = time.time()
        if self.launches:
            self.launches.unlink(missing_ok=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.when == "call" or not report.passed:
            self.write(item.nodeid, report, str(call.excinfo.value) if call.excinfo else "")
        return report

    def write(self, name, report, message):
        launched = self.launches.read_text().split() if self._has_launched() else []
        lines = [line.strip() for line in message.splitlines() if line.strip()]
        line = {
            "test": name,
            "outcome": report.outcome,
            "seconds": round(time.time() - self.start, 3),
            "texts": sorted(set(launched)),
            "message": textwrap.shorten(lines[0], 300, placeholder=" ...") if lines else "",
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _has_launched(self):
        return self.launches is not None and self.launches.exists()
