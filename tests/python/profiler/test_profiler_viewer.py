"""What the viewer computes from a file and how it prints it, from numbers known by hand."""

import json
import math
import subprocess
import sys

import pantile.profiler.viewer as viewer
import pytest
from fake_cupti import environment
from pantile.profiler import specs

H200 = {
    "arch": "90", "bus_width": 6144, "clock_rate": 1980000, "memory_clock_rate": 3201000, "num_sms": 132,
}  # fmt: skip


def frame(name, metrics=(), *children):
    return {
        "frame": {"name": name, "type": "function"},
        "metrics": dict(metrics),
        "children": list(children),
    }


def kernel(name, count, time, device="0", **more):
    own = {"count": count, "time (ns)": time, "device_id": device, "device_type": "CUDA", **more}
    return frame(name, own)


FILE = [
    frame(
        "ROOT",
        {"count": 0, "time (ns)": 0, "flops16": 0, "bytes": 0, "tokens": 0},
        frame(
            "forward",
            {"tokens": 10, "cpu_time (ns)(exc)": 9000},
            kernel("gemm", 2, 4000, flops16=1e9, bytes=2e6),
            kernel("softmax", 4, 1000, bytes=4e6),
        ),
        frame("empty"),
        frame("__proton_launch_metadata", {}, kernel("reduction", 1, 10**9)),
        frame("/home/a/train.py:12@step", {}, kernel("copy", 2, 5000, device="1", bytes=1e6)),
    ),
    {"CUDA": {"0": H200, "1": H200}},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.hatchet"
    path.write_text(json.dumps(FILE))
    return str(path)


def values(file, *metrics, **filters):
    profile, columns = viewer.parse(list(metrics), file, **filters)
    return {
        frame.name: tuple(frame.value(column) for column in columns)
        for frame in profile.root.walk()
    }


def test_times_are_sums_over_the_frames_below(file):
    found = values(file, "time/us", "avg_time/us", "time/%", "count", "Tokens")
    nan = math.nan
    assert list(found) == [
        "ROOT", "forward", "gemm", "softmax", "/home/a/train.py:12@step", "copy",
    ]  # fmt: skip
    assert found["ROOT"] == pytest.approx((10, 10 / 8, 100, 8, 10))
    assert found["forward"] == pytest.approx((5, 5 / 6, 50, 6, 10))
    assert found["gemm"] == pytest.approx((4, 2, 40, 2, nan), nan_ok=True)
    assert found["softmax"] == pytest.approx((1, 0.25, 10, 4, nan), nan_ok=True)
    assert found["copy"] == pytest.approx((5, 2.5, 50, 2, nan), nan_ok=True)


@pytest.mark.parametrize("unit, scale", [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)])
def test_units_of_time(file, unit, scale):
    (total, average), *_ = values(file, f"time/{unit}", f"avg_time/{unit}").values()
    assert total == pytest.approx(10000 / scale) and average == pytest.approx(1250 / scale)


def test_rates(file):
    """Rates are the counted work over the time, in their units."""
    found = values(file, "tflop16/s", "gflop16/s", "flop16/s", "tbyte/s", "gbyte/s", "byte/s")
    assert found["gemm"] == pytest.approx((250, 250e3, 250e12, 0.5, 500, 5e11))
    assert found["forward"][:1] == pytest.approx((200,))
    assert found["forward"][3:] == pytest.approx((1.2, 1200, 1.2e12))
    assert found["ROOT"] == pytest.approx((100, 1e5, 1e14, 0.7, 700, 7e11))


def test_utilisation_is_that_of_the_busier_unit(file):
    found = values(file, "util")
    flops, bytes_per_second = 4096 * 132 * 1.98e9, 2 * 6144 / 8 * 3.201e9
    assert specs.max_flops("CUDA", "90", 16, 132, 1980000) == pytest.approx(flops)
    assert specs.max_bps("CUDA", "90", 6144, 3201000) == pytest.approx(bytes_per_second)
    assert found["gemm"][0] == pytest.approx(1e9 / flops / 4e-6)
    assert found["softmax"][0] == pytest.approx(4e6 / bytes_per_second / 1e-6)
    assert math.isnan(found["ROOT"][0]) and math.isnan(found["forward"][0])


def test_peaks_of_known_gpus():
    # Data sheets, without sparsity: A100 624 TOPS of int8, H100 SXM 1979 TFLOPS of FP8 at 1830 MHz.
    assert specs.max_flops("CUDA", "80", 8, 108, 1410000) == pytest.approx(624e12, rel=0.01)
    assert specs.max_flops("CUDA", "90", 8, 132, 1830000) == pytest.approx(1979e12, rel=0.01)
    with pytest.raises(ValueError, match="the architecture is `70`"):
        specs.max_flops("CUDA", "70", 16, 80, 1)
    with pytest.raises(ValueError, match="the device type is `HIP`"):
        specs.max_bps("HIP", "gfx942", 1, 1)


def test_exclusive_metrics_are_not_summed(file):
    found = values(file, "cpu_time/us", "cpu_time/%")
    assert found["forward"] == pytest.approx((9, 100)) and math.isnan(found["ROOT"][0])


def test_filters_leave_the_numbers_as_they_are(file):
    assert list(values(file, "time/us", include="gem")) == ["ROOT", "forward", "gemm"]
    assert list(values(file, "time/us", include=".*step"))[1:] == [
        "/home/a/train.py:12@step",
        "copy",
    ]
    found = values(file, "time/us", exclude="forward|ge")
    assert found == {"ROOT": (10,), "/home/a/train.py:12@step": (5,), "copy": (5,)}
    assert list(values(file, "time/us", threshold=4)) == [
        "ROOT", "forward", "gemm", "/home/a/train.py:12@step", "copy",
    ]  # fmt: skip
    for filters in ({"include": "nothing"}, {"exclude": "ROOT"}, {"threshold": 11}):
        with pytest.raises(ValueError, match="no frame is left"):
            values(file, "time/us", **filters)
    with pytest.raises(ValueError, match="cannot both be given"):
        values(file, "time/us", include="a", exclude="b")


@pytest.mark.parametrize(
    "metric, text", [("nothing", "no metric `nothing`"), ("flop8/s", "no metric `flops8`"), ("count/x", "unit `x`")]
)  # fmt: skip
def test_unknown_metrics(file, metric, text):
    with pytest.raises(ValueError, match=text):
        values(file, metric)


def test_the_tree_is_printed(file, capsys):
    profile, columns = viewer.parse(["time/us", "util"], file)
    viewer.print_tree(profile, columns, format="function_line", print_sorted=True)
    assert capsys.readouterr().out == (
        "10.000 nan ROOT\n"
        "├─ 5.000 nan forward\n"
        "│  ├─ 4.000 0.234 gemm\n"
        "│  └─ 1.000 0.814 softmax\n"
        "└─ 5.000 nan 12@step\n"
        "   └─ 5.000 0.041 copy\n"
        "frames by time/us (inc)\n"
        + "".join(f"{name:105} {time}\n" for name, time in
                  (("forward", 5), ("12@step", 5), ("copy", 5), ("gemm", 4), ("softmax", 1)))
    )  # fmt: skip
    viewer.print_tree(profile, columns[:1], depth=1, format="file_function")
    assert capsys.readouterr().out == "10.000 ROOT\n├─ 5.000 forward\n└─ 5.000 train.py@step\n"


def test_on_a_terminal_rich_draws_the_tree(file, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(viewer, "_has_rich", lambda: True)
    profile, columns = viewer.parse(["time/us"], file)
    viewer.print_tree(profile, columns)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[0] == "10.000 ROOT" and lines[2].endswith("4.000 gemm")
    assert not lines[2].startswith("4.000")


def view(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pantile.profiler.viewer", *arguments],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip


def test_two_files_are_compared(file, tmp_path):
    before = json.loads(json.dumps(FILE))
    forward = before[0]["children"][0]["children"]
    forward[0]["metrics"]["time (ns)"] = 4750
    forward[1]["frame"]["name"] = "old softmax"
    other = tmp_path / "before.hatchet"
    other.write_text(json.dumps(before))
    done = view("-m", "time/ns", "-diff", str(other), file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "columns: time/ns\n"
        "-750.000 ROOT\n"
        "├─ -750.000 forward\n"
        "│  ├─ -750.000 gemm\n"
        "│  ├─ 1000.000 softmax\n"
        "│  └─ -1000.000 old softmax\n"
        "└─ 0.000 /home/a/train.py:12@step\n"
        "   └─ 0.000 copy\n"
    )


def test_the_command_line_lists_and_refuses(file, tmp_path):
    done = view("--list", file)
    assert done.stdout == (
        "inclusive metrics:\n- count\n- time\n- flops16\n- bytes\n- tokens\n"
        "exclusive metrics:\n- cpu_time\n- device_id\n- device_type\n"
    )
    done = view("-m", "nothing", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: there is no metric `nothing`")
    broken = tmp_path / "broken"
    for content in ("no json", "[]", "{}", "[1, 2]"):
        broken.write_text(content)
        done = view("-m", "time/ms", str(broken))
        assert done.returncode == 1 and "is no hatchet file" in done.stderr, done
    assert view("-m", "time/ms", str(tmp_path / "missing")).returncode == 1
