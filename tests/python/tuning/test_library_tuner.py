"""The tuner of the C++ library: processes share its measurements, predictions prune its spaces."""

import importlib.util
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pantile as triton
import pytest
from conftest import random

PROGRAM = Path(triton.__file__).absolute().parents[2] / "tests/tuning/tune_process"
KERNELS = Path(__file__).resolve().parents[3] / "docs/examples/kernels.py"
SIZES = (70, 96, 48)
CANDIDATES = 8  # of the program's own axes

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the tuning process is not built")


@dataclass
class Report:
    """What a process printed: per candidate the time, whether it was known, prediction and error."""

    times: list = field(default_factory=list)
    known: list = field(default_factory=list)
    cycles: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    def __init__(self, text):
        rows = [line.split("\t") for line in text.splitlines()]
        self.facts = {row[0]: row[1] for row in rows if not row[0].isdigit()}
        rows = [row for row in rows if row[0].isdigit()]
        self.times, self.cycles = ([float(row[i]) for row in rows] for i in (1, 3))
        self.known, self.errors = [row[2] == "1" for row in rows], [row[4] for row in rows]

    @property
    def kept(self):
        return {i for i, time in enumerate(self.times) if np.isfinite(time)}

    @property
    def measured(self):
        return {i for i in self.kept if not self.known[i]}


@pytest.fixture
def start(device, tmp_path, monkeypatch):
    """A function that starts a process with flags; those that run at the end are killed."""
    if device.name == "cpu":
        pytest.skip("times of the CPU are not kept, and nothing is predicted for it")
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(tmp_path / "cache"))
    running = []

    def begin(sizes=SIZES, **flags):
        words = [str(word) for item in flags.items() for word in item]
        command = [PROGRAM, KERNELS, *map(str, sizes), *words]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def finish(process):
    """The report of a process, whose best kernel gives the GEMM."""
    printed, problem = process.communicate(timeout=120)
    assert process.returncode == 0, printed + problem
    report = Report(printed)
    assert report.facts["right"] == "1"
    best = int(report.facts["best"])
    assert best in report.kept and report.times[best] == min(report.times)
    return report


def wait_for(path):
    while not path.exists():
        pass


def test_one_process_measures_each_candidate(start, tmp_path):
    processes = [start(first=tmp_path / "go", pause=5) for _ in range(4)]
    (tmp_path / "go").write_text("")
    reports = [finish(process) for process in processes]
    measured = [i for report in reports for i in report.measured]
    assert sorted(measured) == list(range(CANDIDATES))
    assert len({report.facts["best"] for report in reports}) == 1
    assert not any(report.facts["warnings"] for report in reports)


def test_a_killed_process_frees_its_lock(start, tmp_path):
    """Two are killed one after the other; of those that wait one measures, the others find its times."""
    first = start(tell=tmp_path / "first", die=2 * CANDIDATES + 3, pause=10)
    wait_for(tmp_path / "first")
    second = start(tell=tmp_path / "second", die=2 * CANDIDATES + 3, pause=10)
    wait_for(tmp_path / "second")
    assert first.wait(timeout=60) < 0, "the second only measures since the first is dead"
    others = [start(pause=2) for _ in range(3)]
    assert second.wait(timeout=60) < 0
    reports = [finish(process) for process in others]
    assert sorted(len(report.measured) for report in reports) == [0, 0, CANDIDATES]
    assert all(report.kept == set(range(CANDIDATES)) for report in reports)


def test_waiting_ends(start, tmp_path, monkeypatch):
    """A process that waited long enough measures as well, and says so."""
    slow = start(tell=tmp_path / "begun", pause=500)
    wait_for(tmp_path / "begun")
    monkeypatch.setenv("PANTILE_TUNE_WAIT_SECONDS", "0.2")
    report = finish(start())
    assert "waited 0.2 s for another process that tunes" in report.facts["warnings"]
    assert report.kept == set(range(CANDIDATES)) and CANDIDATES - 1 in report.measured
    assert slow.poll() is None


def test_other_arguments_are_not_waited_for(start, tmp_path):
    slow = start(tell=tmp_path / "begun", pause=500)
    wait_for(tmp_path / "begun")
    report = finish(start(sizes=(70, 96, 64)))
    assert report.measured == set(range(CANDIDATES)) and not report.facts["warnings"]
    assert slow.poll() is None


def test_without_a_cache_each_measures(start, monkeypatch):
    monkeypatch.setenv("PANTILE_CACHE_DIR", "/dev/null/nothing")
    for _ in range(2):
        assert finish(start()).measured == set(range(CANDIDATES))


def test_launches_that_cannot_be_made_are_known(start, device, monkeypatch):
    """Of a cooperative launch the programs of small tiles are not all resident."""
    if device.name != "emulated":
        pytest.skip("how many CTAs run at once is known of the emulated GPU")
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "9")
    reports = [finish(start(cooperative=1)) for _ in range(2)]
    assert [report.kept for report in reports] == [{6, 7}] * 2
    assert [report.measured for report in reports] == [{6, 7}, set()]
    for report in reports:
        assert all("have to run at once" in error for error in report.errors[:6])
    assert reports[1].known[:6] == [True] * 6, "another process does not try them"
    assert finish(start()).measured == set(range(CANDIDATES)), "other launches are"


MESSAGE = "arange's end argument must be greater than the start argument, got 0 and -16"
SMALL = {"BM": [16, 32, 48, 64], "BN": [16, 32], "BK": [16, 32]}
LARGE = {"BM": range(16, 97, 16), "BN": range(16, 97, 16), "BK": [16, 32], "num_warps": [1, 2]}


def flags_of(axes):
    names = {"num_warps": "warps", "num_stages": "stages"}
    return {names.get(axis, axis): ",".join(map(str, values)) for axis, values in axes.items()}


def kept_by_python(device, space):
    """What `autotune` keeps of the same space for the same launch, as numbers."""
    spec = importlib.util.spec_from_file_location("kernels", KERNELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    bench = lambda call, quantiles: [1.0] * len(quantiles)
    tuned = triton.autotune(configs=space, key=["M"], do_bench=bench)(module.matmul)
    m, n, k = SIZES
    grid = lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"]))
    a, b = device.to(random((m, k), "fp16", 1)), device.to(random((k, n), "fp16", 2))
    tuned[grid](device.output((m, n), "fp32").array, a, b, m, n, k)
    return {tuned.configs.index(config) for config in tuned.configs_timings}


@pytest.mark.parametrize(("axes", "keep"), [(SMALL, 3), (SMALL, 7), (LARGE, 10)])
def test_a_space_keeps_what_python_keeps(start, device, axes, keep):
    report = finish(start(keep=keep, **flags_of(axes)))
    space = triton.search_space(
        **{**axes, "num_warps": axes.get("num_warps", [1])}, num_stages=3, keep=keep
    )
    assert len(report.times) == len(space)
    assert report.kept == report.measured == kept_by_python(device, space)
    assert len(report.kept) == keep and not report.facts["unranked"]
    left = {i: report.errors[i] for i in range(len(space)) if i not in report.kept}
    assert set(left.values()) == {f"is not among the {keep} that are kept"}
    planned = [cycles for cycles in report.cycles if cycles > 0]
    assert len(planned) == min(len(space), 64)


def test_what_is_kept_is_predicted_once(start):
    first, second = (finish(start(keep=3, **flags_of(SMALL))) for _ in range(2))
    assert first.kept == second.kept and not second.measured
    assert max(second.cycles) < 0, "no prediction was made"
    fewer = finish(start(keep=2, **flags_of(SMALL)))
    assert fewer.kept < first.kept and not fewer.measured and max(fewer.cycles) > 0


def test_candidates_that_do_not_compile_are_not_kept(start):
    report = finish(start(keep=2, BM="16", BN="16,32", BK="16,-16,32"))
    assert len(report.kept) == 2 and not report.kept & {1, 4}
    assert all(report.errors[i] == MESSAGE for i in (1, 4))
    process = start(keep=1, BM="16", BN="32", BK="-16,-32")
    assert process.wait(timeout=60) == 1 and "error: " in process.communicate()[1]


def test_nothing_is_ranked_on_the_cpu(start, device):
    if device.name != "emulated":
        pytest.skip(
            "the program has memory of a GPU, which is the host's only where it is emulated"
        )
    report = finish(start(keep=3, target="cpu"))
    assert report.kept == report.measured == {0, 1, 2}
    assert report.facts["unranked"] == "the kernel runs on the CPU"


def test_a_space_that_is_small_enough_is_not_ranked(start):
    report = finish(start(keep=CANDIDATES))
    assert report.measured == set(range(CANDIDATES)) and max(report.cycles) < 0
