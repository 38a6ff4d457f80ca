"""The calls of launches to the CUDA driver, seen by a driver that notes them: no GPU is needed."""

import pytest
from noted_driver import NOTED, build
from noted_driver import run_program as run


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return build(tmp_path_factory.mktemp("driver"), NOTED)


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


def test_host_arrays_for_a_kernel_of_a_gpu(driver, tmp_path):
    """Not launched: the access would end the context."""
    said = run(
        driver,
        tmp_path,
        """
        import numpy as np
        compiled = kernel[(1,)](x, 5)
        launched = note("launches").value
        for launch in (compiled[(1,)], lambda *a: compiled.run(1, 1, 1, 0, None, None, None, None, None, *a)):
            try:
                launch(np.ones(64, np.float32), 5)
            except ValueError as error:
                assert "compiled for a GPU, got host array `x_ptr`" in str(error), error
            else:
                raise AssertionError("launched")
        assert note("launches").value == launched
        compiled[(1,)](x, 5)
        assert note("launches").value == launched + 1
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


def test_a_lost_context_is_reported_with_the_last_kernels(driver, tmp_path):
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


def test_a_forked_process_gets_an_error(driver, tmp_path):
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


def test_what_the_driver_refuses_is_an_error_and_can_be_tried_again(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        note("load_result").value = 209
        for _ in range(2):
            try:
                kernel[(1,)](x, 5)
            except triton.DriverError as error:
                assert "loading kernel `kernel` for `sm_90a` on GPU 0: CUDA_ERROR_NOTED (209)" in str(error)
                assert "context is lost" not in str(error)
                print("caught")
        note("load_result").value = 0
        kernel[(1,)](x, 5)
        for code in (1, 701, 720):
            note("result").value = code
            try:
                kernel[(2, 3)](x, 5)
            except triton.DriverError as error:
                assert f"launching kernel `kernel` over a grid of 2x3x1: CUDA_ERROR_NOTED ({code})" in str(error)
                assert "context is lost" not in str(error)
                print("caught")
        note("result").value = 0
        launches = note("launches").value
        kernel[(1,)](x, 5)
        assert note("launches").value == launches + 1
        """,
    )
    assert said.count("caught") == 5


def test_too_much_shared_memory_is_an_error_before_the_launch(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        @triton.jit
        def matmul_kernel(a_ptr, out_ptr, steps, N: tl.constexpr):
            offsets = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
            total = tl.zeros((N, N), tl.float32)
            for step in tl.range(0, steps, num_stages=4):
                a = tl.load(a_ptr + step * N * N + offsets)
                total = tl.dot(a, tl.load(a_ptr + (step + 1) * N * N + offsets), total)
            tl.store(out_ptr + offsets, total)

        note("shared_limit").value = 50 * 1024
        try:
            matmul_kernel[(1,)](x, x, 2, N=64)
        except triton.OutOfResources as error:
            assert error.required > error.limit == 50 * 1024 and "shared memory" in str(error)
            print("caught")
        assert note("launches").value == 0
        note("shared_limit").value = 232448
        matmul_kernel[(1,)](x, x, 2, N=64)
        assert note("launches").value == 1
        """,
    )
    assert "caught" in said


def test_contexts(driver, tmp_path):
    """A thread without a context gets the primary one, once."""
    run(
        driver,
        tmp_path,
        """
        import threading

        for _ in range(3):
            kernel[(1,)](x, 5)
        assert note("context_calls").value == 0
        # A thread without a context gets the primary one, which stays.
        def work():
            driver.set_context(ctypes.c_longlong(0))
            for _ in range(3):
                kernel[(1,)](x, 5)
            assert note("context_calls").value == 1 and driver.get_context() == 1
            done.append(0)

        done = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done and driver.get_context() == 1
        # Another GPU's is put back, also after an error.
        for result in (0, 1):
            note("result").value = result
            driver.set_context(ctypes.c_longlong(9))
            calls = note("context_calls").value
            try:
                kernel[(1,)](x, 5)
                assert result == 0
            except triton.DriverError:
                assert result == 1
            assert note("context_calls").value == calls + 2 and driver.get_context() == 9
        # A context of the same GPU that is not the primary one is kept.
        note("result").value = 0
        driver.set_context(ctypes.c_longlong(5))
        calls = note("context_calls").value
        kernel[(1,)](x, 5)
        assert note("context_calls").value == calls and driver.get_context() == 5
        """,
    )


def test_threads_launch_at_once(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        import threading

        before = note("launches").value
        failures = []

        def work(seed):
            for i in range(300):
                try:
                    kernel[(1 + i % 3,)](Array(0x7F0000000000 + 16 * (seed + i % 2)), 5 + 11 * (i % 4))
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == [], failures[:1]
        stats = triton.runtime.stats()
        assert stats["hits"] + stats["misses"] == 1800 and stats["misses"] <= 60, stats
        """,
    )


def test_workers_that_were_forked_compile(driver, tmp_path):
    """As Inductor's: torch has initialised CUDA in the process that forks, and counted the GPUs."""
    said = run(
        driver,
        tmp_path,
        """
        from types import ModuleType, SimpleNamespace as Space
        from pantile import _pantile
        from pantile.backends.compiler import GPUTarget
        from pantile.runtime.driver import driver as active
        torch = sys.modules["torch"] = ModuleType("torch")
        torch.cuda = Space(is_available=lambda: True, current_device=lambda: 0)
        torch.version = Space(hip=None)
        assert driver.cuInit(0) == 0
        if os.fork() == 0:
            assert _pantile.device_count() == 0
            assert type(active.active).is_active()
            source = triton.compiler.ASTSource(kernel, {"x_ptr": "*fp32", "n": "i32"})
            made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
            print("compiled", made.metadata.target.arch, len(made.asm["cubin"]) > 0, flush=True)
            os._exit(0)
        os.wait()
        kernel[(1,)](x, 5)
        print("parent")
        """,
    )
    assert "compiled 90 True" in said and "parent" in said
