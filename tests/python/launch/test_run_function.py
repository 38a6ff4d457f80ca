"""`CompiledKernel.run`, which launchers that Inductor writes call: what launches at once and what does not."""

import gc
import weakref

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.hooks import HookChain


@triton.jit
def add_kernel(out_ptr, x_ptr, bias, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x + bias, mask=i < n)


class Case:
    """A compiled kernel and its arguments; `check` launches it and compares every element."""

    SIZE, BLOCK = 200, 64

    def __init__(self, device):
        self.device = device
        self.x = random(self.SIZE, "fp32", seed=1)
        self.given = device.to(self.x)
        self.kernel = self.fresh()

    def fresh(self):
        out = self.device.to(np.zeros(self.SIZE, np.float32))
        return add_kernel.warmup(out, self.given, 1.5, self.SIZE, N=self.BLOCK, grid=(4,))

    def check(self, launch):
        """How many launches ran no Python code, of the one that `launch` makes."""
        out = self.device.to(np.full(self.SIZE, np.nan, np.float32))
        before = triton.runtime.stats()
        launch((out, self.given, 1.5, self.SIZE))
        after = triton.runtime.stats()
        direct = after["shortcuts"] - before["shortcuts"]
        if direct:  # it counts as a launch like any other
            assert all(after[name] - before[name] == 1 for name in ("launches", "hits"))
        np.testing.assert_allclose(self.device.numpy(out), self.x.astype(np.float64) + 1.5, 1e-6)
        return direct


@pytest.fixture
def case(device):
    return Case(device)


def test_one_function_launches_again_and_again(case, device):
    run = case.kernel.run
    launch = lambda args: run(4, 1, 1, 0, None, None, None, None, None, *args)  # noqa: E731
    case.check(launch)
    assert [case.check(launch) for _ in range(3)] == [int(device.arch is not None)] * 3


def test_hooks_that_have_no_function_cost_no_python(case, device):
    chains = HookChain(), HookChain(reversed=True)
    run = case.kernel.run
    launch = lambda args: run(4, 1, 1, 0, None, None, None, *chains, *args)  # noqa: E731
    case.check(launch)
    assert case.check(launch) == int(device.arch is not None)
    told = []
    chains[0].add(lambda metadata: told.append(("enter", metadata)))
    chains[1].add(lambda metadata: told.append(("exit", metadata)))
    both = lambda args: run(4, 1, 1, 0, None, None, "of it", *chains, *args)  # noqa: E731
    assert case.check(both) == int(device.arch is not None)
    assert told == [("enter", "of it"), ("exit", "of it")]


def test_keywords_and_other_integers(case):
    run = case.kernel.run
    named = {"function": None, "packed_metadata": None, "launch_metadata": None}
    named |= {"launch_enter_hook": None, "launch_exit_hook": None}
    grid = (np.int64(4), np.int32(1), 1)
    case.check(lambda args: run(*grid, 0, None, None, None, None, None, *args))
    out = case.device.to(np.zeros(case.SIZE, np.float32))
    with pytest.raises(TypeError):
        run(4, 1, 1, 0, None)
    with pytest.raises(TypeError):  # the kernel's arguments are missing
        run(grid_0=4, grid_1=1, grid_2=1, stream=0, **named)
    with pytest.raises(TypeError):
        run("4", 1, 1, 0, None, None, None, None, None, out, case.given, 1.5, case.SIZE)


def test_an_error_of_a_hook_is_raised_before_the_launch(case):
    chain = HookChain()
    chain.add(lambda metadata: 1 / 0)
    out = case.device.to(np.full(case.SIZE, np.nan, np.float32))
    args = (out, case.given, 1.5, case.SIZE)
    with pytest.raises(ZeroDivisionError):
        case.kernel.run(4, 1, 1, 0, None, None, None, chain, None, *args)
    assert np.isnan(case.device.numpy(out)).all()


def test_the_function_keeps_its_kernel_and_not_the_other_way_round(case):
    kernel = case.kernel.__reduce__()[0](*case.kernel.__reduce__()[1])  # of no cache in memory
    run, seen = kernel.run, weakref.ref(kernel)
    del kernel
    gc.collect()
    assert seen() is not None
    launch = lambda args: run(4, 1, 1, 0, None, None, None, None, None, *args)  # noqa: E731
    case.check(launch)
    run = launch = None
    gc.collect()
    assert seen() is None
