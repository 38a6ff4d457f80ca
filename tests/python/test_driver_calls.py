"""What launches ask of the CUDA driver, seen by a driver that notes it: no GPU is needed."""

import os
import subprocess
import sys
import textwrap

import pytest
from noted_driver import NOTED, build, program_head, without_assembler


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return build(tmp_path_factory.mktemp("driver"), NOTED)


def run(driver, tmp_path, text):
    """Run a program with that driver; return what it printed."""
    path = tmp_path / "program.py"
    path.write_text(program_head() + textwrap.dedent(text), encoding="utf-8")
    variables = {**os.environ, "PANTILE_LIBCUDA_PATH": str(driver)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    without_assembler(done.stdout)
    return done.stdout + done.stderr


def test_a_launch_is_one_call(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        for i in range(20):
            kernel[(3,)](Array(0x7F0000000000 + 256 * i), 5)
            assert ctypes.c_longlong.in_dll(driver, "address").value == 0x7F0000000000 + 256 * i
        assert note("launches").value == 20 and note("loads").value == 1
        stats = triton.runtime.stats()
        assert (stats["hits"], stats["misses"]) == (19, 1), stats
        kernel[(3,)](x, 5, launch_cooperative_grid=True, launch_pdl=True)
        assert note("attribute_count").value == 2
        assert list((ctypes.c_int * 2).in_dll(driver, "attributes")) == [2, 6]
        kernel[(0,)](x, 5)
        assert note("launches").value == 21
        print("done")
        """,
    )
    assert "done" in said


def test_streams_of_cupy(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        from types import ModuleType, SimpleNamespace as Space
        cupy = sys.modules["cupy"] = ModuleType("cupy")
        current = Space(ptr=0x77)
        cupy.cuda = Space(get_current_stream=lambda: current, runtime=Space(getDevice=lambda: 0))
        for stream in (0x77, 0x99, 0):
            current.ptr = stream
            kernel[(1,)](x, 5)
            assert ctypes.c_longlong.in_dll(driver, "stream").value == stream
        print("done")
        """,
    )
    assert "done" in said


def test_code_goes_with_its_kernel_unless_captured(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        from types import ModuleType, SimpleNamespace as Space
        cupy = sys.modules["cupy"] = ModuleType("cupy")
        device = Space(getDevice=lambda: 0)
        cupy.cuda = Space(get_current_stream=lambda: Space(ptr=0x77), runtime=device)
        for capturing in (0, 1):
            note("capturing").value = capturing
            before = note("unloads").value, note("loads").value
            dropped = triton.jit(kernel.fn)
            dropped[(1,)](x, 7)
            del dropped
            gc.collect()
            assert note("loads").value == before[1] + 1
            assert note("unloads").value == before[0] + (1 - capturing), capturing
            assert note("relaxed").value == 0
        configs = [triton.Config({}, num_warps=warps) for warps in (1, 2)]
        tuned = triton.autotune(configs=configs, key=["n"])(kernel)
        try:
            tuned[(1,)](x, 5)
        except triton.AutotunerError as error:
            assert "before the capture, to warm up" in str(error)
            print("done")
        """,
    )
    assert "done" in said


def test_a_lost_context_is_told_with_the_last_kernels(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        @triton.jit
        def stray_kernel(x_ptr):
            tl.store(x_ptr, 1.0)

        kernel[(1,)](x, 5)
        stray_kernel[(1,)](x)
        note("result").value = 700
        for _ in range(2):
            try:
                kernel[(1,)](x, 5)
            except triton.DriverError as error:
                assert "launching kernel `kernel` over a grid of 1x1x1" in str(error)
                assert "the context is lost" in str(error)
                assert "launched last: `kernel`, `stray_kernel`" in str(error)
                print("caught")
        y = np.zeros(1, np.float32)
        kernel[(1,)](y, 6)
        print("alive", y[0])
        """,
    )
    assert said.count("caught") == 2 and "alive 6.0" in said


def test_a_forked_process_is_told(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        kernel[(1,)](x, 5)
        if os.fork() == 0:
            try:
                kernel[(1,)](x, 5)
            except triton.DriverError as error:
                print("caught", error, flush=True)
            y = np.zeros(1, np.float32)
            kernel[(1,)](y, 6)
            print("child", y[0], flush=True)
            os._exit(0)
        os.wait()
        kernel[(1,)](x, 5)
        print("parent")
        """,
    )
    assert "forked" in said and "child 6.0" in said and "parent" in said
