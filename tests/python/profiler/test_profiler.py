"""The profiler: what it notes of scopes and kernels, and the numbers in its files."""

import pytest
from fake_cupti import needs_fake, run

pytestmark = needs_fake


def test_kernels_are_listed_under_the_scopes_of_their_launch(tmp_path):
    run(
        """
proton.start("scopes")
launch("outside", 11)
with proton.scope("forward", {"tokens": 5}):
    launch("gemm", 300)
    launch("gemm", 500, own_ids=False)
    with proton.scope("softmax"):
        launch("gemm", 70)
proton.enter_scope("backward", metrics={"tokens": 2})
launch("_ZN2at6native3addIfEEvPT_", 9)
proton.exit_scope("backward", metrics={"tokens": 1.5})
with proton.scope("forward", {"tokens": 7}):
    launch("gemm", 1)
with proton.scope("nothing"):
    pass
proton.finalize()
assert not fake.fakeCuptiIsSubscribed()
launch("after", 1000)

literal, devices = json.loads(Path("scopes.hatchet").read_text())
assert literal["frame"] == {"name": "ROOT", "type": "function"}
assert literal["metrics"] == {"count": 0, "time (ns)": 0, "tokens": 0}
assert list(devices) == ["CUDA"] and list(devices["CUDA"]) == ["0"]
assert [child["frame"]["name"] for child in literal["children"]] == ["forward", "backward", "nothing", "outside"]
assert simple(literal) == {
    "outside": (kernel(11), {}),
    "forward": ({"tokens": 12}, {"gemm": (kernel(801, 3), {}), "softmax": ({}, {"gemm": (kernel(70), {})})}),
    "backward": ({"tokens": 3.5}, {"void at::native::add<float>(float*)": (kernel(9), {})}),
    "nothing": ({}, {}),
}
""",
        tmp_path,
    )


def test_a_scope_decorates_and_times_the_cpu(tmp_path):
    run(
        """
import time

@proton.scope("work", {"calls": 1})
def work(depth):
    launch("k", 10)
    if depth:
        work(depth - 1)

@proton.cpu_timed_scope("timed")
def timed():
    time.sleep(0.02)

work(0)  # nothing is profiled yet
proton.start("decorated")
assert proton.context.depth() == 0
work(1)
timed()
try:
    with proton.scope("fails"):
        assert proton.context.depth() == 1
        raise KeyError
except KeyError:
    assert proton.context.depth() == 0
try:
    proton.cpu_timed_scope("x", {"cpu_time": 1})
except ValueError as error:
    assert "cpu_time" in str(error)
else:
    raise AssertionError
proton.enter_scope("a")
try:
    proton.exit_scope("b")
except ValueError as error:
    assert str(error) == "the scope to leave is `a`, not `b`"
else:
    raise AssertionError
proton.exit_scope()
proton.finalize()
assert proton.context.depth() is None
found = tree("decorated")
inner = {"work": ({"calls": 1}, {"k": (kernel(10), {})}), "k": (kernel(10), {})}
assert found["work"] == ({"calls": 1}, inner), found
assert 20e6 <= found["timed"][0]["cpu_time (ns)(exc)"] < 2e9
assert list(found) == ["work", "timed", "fails", "a"]
""",
        tmp_path,
    )


def test_sessions_gather_only_while_they_are_active(tmp_path):
    run(
        """
first = proton.start("first")
launch("both_off_later", 1)
second = proton.start("second")
launch("both", 2)
proton.deactivate(first)
launch("second_only", 4)
proton.deactivate()
assert not fake.fakeCuptiIsSubscribed()
launch("none", 8)
proton.activate(first)
launch("first_only", 16)
assert proton.start("second") == second  # is activated
launch("both", 32)
proton.finalize(first)
launch("second_only", 64)
proton.finalize()
assert tree("first") == {"both_off_later": (kernel(1), {}), "both": (kernel(34, 2), {}), "first_only": (kernel(16), {})}
assert tree("second") == {"both": (kernel(34, 2), {}), "second_only": (kernel(68, 2), {})}
for call in (proton.activate, proton.deactivate, proton.finalize):
    try:
        call(first)
    except ValueError as error:
        assert str(error) == f"there is no session {first}"
    else:
        raise AssertionError
proton.finalize()

@proton.profile(name="function")
def function(n):
    launch("in_function", n)
    return n + 1

assert function(100) == 101 and function(20) == 21
launch("outside", 3)
proton.finalize()
assert tree("function") == {"in_function": (kernel(120, 2), {})}
""",
        tmp_path,
    )


def test_threads_have_scopes_of_their_own(tmp_path):
    run(
        """
proton.start("threads")
barrier = threading.Barrier(8)

def work(i):
    barrier.wait()
    for _ in range(200):
        with proton.scope(f"thread {i % 4}", {"rounds": 1}):
            fake.fakeCuptiLaunch(b"own", 0, i, i % 2)
        fake.fakeCuptiLaunch(b"shared", 0, i, i % 2)

fake.fakeCuptiSetDuration(3)
with proton.scope("starter"):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
proton.finalize()
below = {f"thread {i}": ({"rounds": 400}, {"own": (kernel(1200, 400), {})}) for i in range(4)}
found = tree("threads")["starter"][1]
assert found == {**below, "shared": (kernel(4800, 1600), {})}, found
""",
        tmp_path,
    )


def test_devices_and_streams_are_separate(tmp_path):
    run(
        """
proton.start("tree")
proton.start("times", data="trace")
with proton.scope("s"):
    launch("k", 100, device=0, stream=7)
    launch("k", 30, device=1, stream=13)
    launch("k", 5, device=1, stream=14)
proton.finalize()
literal, devices = json.loads(Path("tree.hatchet").read_text())
kernels = [child["metrics"] for child in literal["children"][0]["children"]]
assert kernels == [kernel(100), kernel(35, 2, device=1)]
assert sorted(devices["CUDA"]) == ["0", "1"]

trace = json.loads(Path("times.chrome_trace").read_text())
assert trace["displayTimeUnit"] == "ns" and trace["otherData"]["lost"] == 0
events = trace["traceEvents"]
assert all(event["ph"] == "X" and event["cat"] == "kernel" and event["name"] == "k" for event in events)
assert [(e["pid"], e["tid"], e["ts"], e["dur"]) for e in events] == [
    ("device 0", "stream 7", 0, 0.1), ("device 1", "stream 13", 0.15, 0.03), ("device 1", "stream 14", 0.23, 0.005)]
assert all(e["args"]["call_stack"] == ["ROOT", "s", "k"] for e in events)
assert [e["args"]["context"] for e in events] == [1, 2, 2]
""",
        tmp_path,
    )


def test_kernels_of_a_graph_have_the_place_of_their_capture(tmp_path):
    run(
        """
proton.start("graph")
proton.start("trace", data="trace")
with proton.scope("capture"):
    fake.fakeCuptiCapture(101)
    with proton.scope("inner"):
        fake.fakeCuptiCapture(102)
fake.fakeCuptiCloneNode(101, 201)
fake.fakeCuptiCloneNode(102, 202)
fake.fakeCuptiSetDuration(40)
with proton.scope("replay"):
    for _ in range(3):
        launch_graph(("first", 201), ("second", 202), ("unknown", 999))
launch("plain", 5)
proton.finalize()
found = tree("graph")
assert found["plain"] == (kernel(5), {})
assert found["replay"][1] == {
    "unknown": (kernel(120, 3), {}),
    "<captured_at>": ({}, {"capture": ({}, {"first": (kernel(120, 3), {}),
                                            "inner": ({}, {"second": (kernel(120, 3), {})})})}),
}
events = json.loads(Path("trace.chrome_trace").read_text())["traceEvents"]
assert [event["args"].get("graph") for event in events] == [7] * 9 + [None]
assert events[1]["args"]["call_stack"] == ["ROOT", "replay", "<captured_at>", "capture", "inner", "second"]
""",
        tmp_path,
    )


def test_the_context_python_lists_kernels_under_the_stack(tmp_path):
    run(
        """
proton.start("stacks", context="python")
def inner(name, n):
    launch(name, n)

def outer():
    with proton.scope("ignored", {"m": 1}):
        inner("k", 10)
    thread = threading.Thread(target=inner, args=("in thread", 7))
    thread.start()
    thread.join()

def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return f"{__file__}:{1 + [line.strip() for line in lines].index(text)}"

for _ in range(2):
    outer()
proton.finalize()
found = tree("stacks")
called = line_of("outer()") + "@<module>"
bottom = line_of("fake.fakeCuptiLaunch(name.encode(), device, stream, int(own_ids))") + "@launch"
inside = line_of("launch(name, n)") + "@inner"
assert found.pop(called) == ({}, {
    line_of('with proton.scope("ignored", {"m": 1}):') + "@outer": ({"m": 2}, {}),
    line_of('inner("k", 10)') + "@outer": ({}, {inside: ({}, {bottom: ({}, {"k": (kernel(20, 2), {})})})}),
})
(_, rest), = found.values()  # functions of the module threading
while inside not in rest:
    (_, rest), = rest.values()
assert rest == {inside: ({}, {bottom: ({}, {"in thread": (kernel(14, 2), {})})})}
""",
        tmp_path,
    )


@pytest.mark.parametrize(
    "given",
    [
        {"context": "c"},
        {"data": "d"},
        {"backend": "roctracer"},
        {"backend": "instrumentation"},
        {"hook": "h"},
    ],
)
def test_other_values_are_refused(tmp_path, given):
    (name, value), *_ = given.items()
    run(
        f"""
try:
    proton.start("x", **{given!r})
except ValueError as error:
    assert "`{name}` is `{value}`" in str(error), error
    told = {{"roctracer": "AMD's GPUs", "instrumentation": "nothing is measured inside"}}
    assert told.get({value!r}, "must be one of") in str(error), error
else:
    raise AssertionError
try:
    proton.start("x", mode=proton.mode.PCSampling(interval=10))
except ValueError as error:
    assert "`pcsampling:interval=10`" in str(error), error
    assert "program counters are not sampled, and kernels are only timed" in str(error), error
else:
    raise AssertionError
proton.start("x")
try:
    proton.finalize(output_format="chrome_trace")
except ValueError as error:
    assert "`hatchet`" in str(error)
else:
    raise AssertionError
launch("k", 6)
proton.finalize(output_format="hatchet")
assert tree("x") == {{"k": (kernel(6), {{}})}}
""",
        tmp_path,
    )


def test_it_can_be_switched_off(tmp_path):
    run(
        """
assert proton.start("off") is None
with proton.scope("s"):
    launch("k", 1)
assert proton.enter_scope("t") is None and proton.exit_scope() is None
proton.finalize()
assert not Path("off.hatchet").exists()
""",
        tmp_path,
        TRITON_PROTON_DISABLE="1",
    )


def test_many_records_fill_many_buffers(tmp_path):
    run(
        """
proton.start("many")
fake.fakeCuptiSetDuration(2)
for i in range(7):
    with proton.scope(f"s{i % 3}"):
        for _ in range(2500):
            fake.fakeCuptiLaunch(b"k", 0, 1, 1)
proton.finalize()
counts = {"s0": 7500, "s1": 5000, "s2": 5000}
assert tree("many") == {name: ({}, {"k": (kernel(2 * n, n), {})}) for name, n in counts.items()}
""",
        tmp_path,
    )


def test_states_are_frames_below_the_scopes(tmp_path):
    run(
        """
@proton.state("decorated")
def work():
    launch("k", 3)

proton.start("states")
with proton.scope("s", {"numpy": np.float32(1.5), "whole": np.int64(7)}):
    with proton.state("outer"):
        launch("k", 1)
        work()
        with proton.scope("inner"):
            launch("k", 5)
        launch("k", 1)
    proton.enter_state("open")
    launch("k", 9)
    proton.exit_state()
    launch("k", 11)
proton.finalize()
assert tree("states") == {"s": ({"numpy": 1.5, "whole": 7}, {
    "outer": ({}, {"k": (kernel(2, 2), {})}),
    "decorated": ({}, {"k": (kernel(3), {})}),
    "inner": ({}, {"outer": ({}, {"k": (kernel(5), {})})}),
    "open": ({}, {"k": (kernel(9), {})}),
    "k": (kernel(11), {}),
})}, tree("states")
""",
        tmp_path,
    )


def test_scopes_of_an_earlier_profile_are_forgotten(tmp_path):
    run(
        """
proton.start("first")
left_open = proton.scope("left open")
left_open.__enter__()
proton.enter_scope("never left")
proton.finalize()
proton.start("second")
launch("k", 2)
left_open.__exit__(None, None, None)
assert proton.exit_scope() is None
with proton.scope("s"):
    left_open.__exit__(None, None, None)
    launch("k", 3)
proton.finalize()
assert tree("second") == {"s": ({}, {"k": (kernel(3), {})}), "k": (kernel(2), {})}
""",
        tmp_path,
    )


def test_every_file_is_written_that_can_be(tmp_path):
    run(
        """
proton.start("missing/x")
proton.start("y", data="trace")
launch("k", 5)
try:
    proton.finalize()
except FileNotFoundError as error:
    assert error.filename == "missing/x.hatchet"
else:
    raise AssertionError
assert len(json.loads(Path("y.chrome_trace").read_text())["traceEvents"]) == 1
""",
        tmp_path,
    )


def test_scopes_in_kernels_compile_to_nothing(tmp_path):
    run(
        """
import pantile.profiler.language as pl

@pantile.jit
def add_kernel(x_ptr, n, BLOCK: tl.constexpr):
    pl.enter_scope("load")
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    pl.exit_scope("load")
    pl.enter_scope(name="store")
    tl.store(x_ptr + at, x * 3, mask=at < n)
    pl.exit_scope(name="store")

pl.enable_semantic("triton")
x = np.random.default_rng(5).random(100, np.float32)
expected = x * np.float32(3)
add_kernel[(1,)](x, 100, BLOCK=128)
np.testing.assert_array_equal(x, expected)
pl.disable_semantic("triton")
try:
    pl.enable_semantic("other")
except ValueError as error:
    assert "`other`" in str(error)
else:
    raise AssertionError
""",
        tmp_path,
    )
