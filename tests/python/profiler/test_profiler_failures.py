"""The profiler without a CUPTI that it can use, or with one that fails: it says so and goes on."""

import shutil

import pytest
from fake_cupti import FOLDER, needs_fake, run

pytestmark = needs_fake

PROFILED = """
def profiled():
    fake.fakeCuptiSetDuration(4)
    for name in ("one", "two"):
        proton.start(name, data="tree" if name == "one" else "trace")
        with proton.scope("s", {"m": 3}):
            launch("k", 4)
        proton.finalize()
    return tree("one"), json.loads(Path("two.chrome_trace").read_text())

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    PREPARE
    found, trace = profiled()
for warning in seen:
    assert warning.category is RuntimeWarning and warning.filename == __file__, warning
    print(warning.message)
if MEASURED:
    assert found == {"s": ({"m": 3}, {"k": (kernel(4), {})})}
else:
    assert found == {"s": ({"m": 3}, {})} and trace["traceEvents"] == []
    literal, devices = json.loads(Path("one.hatchet").read_text())
    assert literal["metrics"] == {"count": 0, "time (ns)": 0, "m": 0} and devices == {}
"""


def warnings_of(folder, prepare, measured=False, **variables):
    program = PROFILED.replace("PREPARE", prepare).replace("MEASURED", str(measured))
    return run(program, folder, **variables).splitlines()


@pytest.mark.parametrize(
    "prepare, reason",
    [
        ("fake.fakeCuptiSetVersion(17)", "has version 17; known are those of CUDA 11.8 (18) to 13"),
        ("fake.fakeCuptiSetVersion(140000)", "has version 140000; known are"),
        ("fake.fakeCuptiFail(b'cuptiSubscribe', 39)",
         "subscribing to CUPTI, which another tool has done: "
         "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"),
        ("fake.fakeCuptiFail(b'cuptiActivityEnable', 27)",
         "having CUPTI record kernels: the test says so (27)"),
        ("fake.fakeCuptiFail(b'cuptiEnableCallback', 1)",
         "having CUPTI record kernels: the test says so (1)"),
    ],
)  # fmt: skip
def test_it_says_once_why_nothing_is_measured(tmp_path, prepare, reason):
    (line,) = warnings_of(tmp_path, prepare)
    assert line.startswith("the profiler measures no kernels: ") and reason in line, line
    assert line.endswith("; scopes and metrics are still noted")


def test_without_the_library(tmp_path):
    shutil.copy(FOLDER / "libcupti.so", tmp_path)  # for the test itself
    prepare = f"os.environ['TRITON_CUPTI_LIB_PATH'] = {str(tmp_path / 'empty')!r}"
    (line,) = warnings_of(tmp_path, prepare)
    assert f"no CUPTI: {tmp_path}/empty/libcupti.so: cannot open shared object file" in line


def test_with_a_library_that_is_none(tmp_path):
    (tmp_path / "libcupti.so").write_text("no library")
    prepare = f"os.environ['TRITON_CUPTI_LIB_PATH'] = {str(tmp_path)!r}"
    (line,) = warnings_of(tmp_path, prepare)
    assert f"no CUPTI: {tmp_path}/libcupti.so: " in line


def test_a_newer_name_of_the_library_comes_first(tmp_path):
    shutil.copy(FOLDER / "libcupti.so", tmp_path / "libcupti.so.12")
    (tmp_path / "libcupti.so").write_text("no library")
    prepare = (
        f"os.environ['TRITON_CUPTI_LIB_PATH'] = {str(tmp_path)!r}; "
        f"globals().update(fake=ctypes.CDLL({str(tmp_path / 'libcupti.so.12')!r}))"
    )
    program = PROFILED.replace("PREPARE", prepare).replace("MEASURED", "True")
    assert run(program.replace("(4)\n", "(ctypes.c_uint64(4))\n"), tmp_path) == ""


def test_lost_records_are_counted(tmp_path):
    lines = warnings_of(tmp_path, "fake.fakeCuptiDrop(12)", measured=True)
    assert lines == [
        "session `one`: CUPTI lost 12 records of kernels, which are in no sum",
    ]


def test_records_without_times_are_in_no_sum(tmp_path):
    out = run(
        """
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    proton.start("tree")
    proton.start("trace", data="trace")
    launch("timed", 5)
    launch("untimed", 0)
    proton.finalize()
assert tree("tree") == {"timed": (kernel(5), {})}
trace = json.loads(Path("trace.chrome_trace").read_text())
assert [event["name"] for event in trace["traceEvents"]] == ["timed"] and trace["otherData"]["lost"] == 1
print(*(warning.message for warning in seen), sep="\\n")
""",
        tmp_path,
    )
    assert out.count("CUPTI lost 1 records") == 2


def test_a_flush_that_fails_loses_what_was_measured(tmp_path):
    out = run(
        """
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    proton.start("x")
    launch("k", 5)
    fake.fakeCuptiFail(b"cuptiActivityFlushAll", 999)
    proton.finalize()
assert tree("x") == {}
print(*(warning.message for warning in seen), sep="\\n")
""",
        tmp_path,
    )
    assert out.strip() == (
        "the profiler lost what it measured: reading CUPTI's records: the test says so (999)"
    )


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    run(
        """
proton.start("missing/folder/x")
proton.start("y")
launch("k", 5)
try:
    proton.finalize(0)
except FileNotFoundError:
    pass
else:
    raise AssertionError
launch("k", 6)
proton.finalize()
assert tree("y") == {"k": (kernel(11, 2), {})} and not fake.fakeCuptiIsSubscribed()
""",
        tmp_path,
    )


def test_where_the_library_is_looked_for(tmp_path):
    wheel = tmp_path / "site/nvidia/cuda_cupti/lib"
    toolkit = tmp_path / "cuda/lib64"
    for folder in (wheel, toolkit):
        folder.mkdir(parents=True)
        shutil.copy(FOLDER / "libcupti.so", folder / "libcupti.so.12")
    run(
        f"""
import sys
from pantile.profiler import measurement
loaded = os.environ.pop("TRITON_CUPTI_LIB_PATH") + "/libcupti.so"
sys.path.append({str(tmp_path / "site")!r})
os.environ["CUDA_HOME"] = {str(tmp_path / "cuda")!r}
found = measurement.candidates()
assert os.path.samefile(found[0], loaded), found
assert found[1:6] == [{str(wheel)!r} + "/libcupti.so.12", "libcupti.so.13", "libcupti.so.12",
                      "libcupti.so", {str(toolkit)!r} + "/libcupti.so.12"], found
proton.start("loaded")  # the library that the process has
launch("k", 3)
proton.finalize()
assert tree("loaded") == {{"k": (kernel(3), {{}})}}
""",
        tmp_path,
    )
