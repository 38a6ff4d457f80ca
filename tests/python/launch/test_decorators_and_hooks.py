"""Rare corners of Triton's host interface: decorators, tuning, hooks."""

import subprocess
import sys

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile import knobs

N = 1000


def scaled(out, x, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def accumulated(out, x, n, BLOCK: tl.constexpr, SQUARE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    old = tl.load(out + i, mask=i < n)
    tl.store(out + i, old + (value * value if SQUARE else value), mask=i < n)


def over_blocks(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


SIZES = [triton.Config({"BLOCK": size}, num_warps=warps) for size, warps in ((64, 2), (256, 4))]


def times_by(order):
    """A benchmark that runs the kernel once and takes the configurations in an order of our own."""
    seen = []

    def bench(call, quantiles):
        call()
        seen.append(len(seen))
        return [order[seen[-1] % len(order)]] * len(quantiles)

    return bench, seen


@pytest.mark.parametrize("order", [(1.0, 2.0), (2.0, 1.0)])
def test_tuning_restores_and_resets(device, order):
    bench, seen = times_by(order)
    for option in ("reset_to_zero", "restore_value"):
        tuned = triton.autotune(configs=SIZES, key=["n"], do_bench=bench, **{option: ["out"]})(
            triton.heuristics({"SQUARE": lambda args: args["n"] > 500})(triton.jit(accumulated))
        )
        x, start = random((N,), "fp32", 1), random((N,), "fp32", 2)
        out = device.to(start.copy())
        before = len(seen)
        tuned[over_blocks](out, device.to(x), N)
        assert len(seen) == before + 2
        assert tuned.best_config.kwargs["BLOCK"] == (64 if order[0] < order[1] else 256)
        expected = x * x + (0 if option == "reset_to_zero" else start)
        np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-6, atol=1e-6)
        tuned[over_blocks](out, device.to(x), N)
        assert len(seen) == before + 2


def test_tuning_prunes_and_hooks(device):
    told = []

    def prune(configs, named_args, **kwargs):
        told.append((len(configs), sorted(named_args), kwargs["factor"]))
        return configs[:2]

    configs = [
        triton.Config({"BLOCK": size}, pre_hook=lambda args: told.append(args["BLOCK"]))
        for size in (32, 128, 512)
    ]
    bench, seen = times_by((2.0, 1.0))
    tuned = triton.autotune(
        configs=configs,
        key=["n"],
        do_bench=bench,
        prune_configs_by={"early_config_prune": prune},
        post_hook=lambda args, exception: told.append(exception),
    )(triton.jit(scaled))
    x, out = random((N,), "fp32", 3), device.output(N, "fp32")
    tuned[over_blocks](out.array, device.to(x), n=N, factor=2.5)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(2.5))
    assert told[0] == (3, ["out", "x"], 2.5)
    # Once before each is compiled, on a GPU; before each measured run; before the launch.
    assert told.count(128) == told.count(32) + 1 and told[-1] == 128 and 512 not in told
    assert len(seen) == 2 and told.count(None) == 2


def summed(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def test_hooks_of_tuning_prepare_the_launch(device):
    """A hook of the user's that zeroes what the kernel adds to is called after the measured runs, too."""
    told = []

    def zero(args, reset_only=False):
        told.append((reset_only, args["BLOCK"]))
        clear(args["out"])

    clear = triton.jit(cleared).__getitem__((1,))
    bench, _ = times_by((2.0, 1.0))
    tuned = triton.autotune(configs=SIZES, key=["n"], do_bench=bench, pre_hook=zero)(
        triton.jit(summed)
    )
    x = np.ones(N, np.float32)
    out = device.to(np.full(1, 7, np.float32))
    tuned[over_blocks](out, device.to(x), N)
    assert device.numpy(out)[0] == N
    assert told == [(False, 64), (False, 256), (True, 256)]


def cleared(out):
    tl.store(out, 0.0)


def test_performance_model(device):
    bench, seen = times_by((1.0,))
    tuned = triton.autotune(
        configs=[triton.Config({"BLOCK": size}) for size in (32, 64, 128, 256)],
        key=[],
        do_bench=bench,
        prune_configs_by={"perf_model": lambda BLOCK, **rest: -BLOCK, "top_k": 1},
    )(triton.jit(scaled))
    x, out = random((N,), "fp32", 4), device.output(N, "fp32")
    tuned[over_blocks](out.array, device.to(x), N, 3.0)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(3))
    assert tuned.best_config.kwargs == {"BLOCK": 256}


def test_names_and_metadata_of_launches(device):
    told = []

    def name_of(specialization):
        return f"scaled_by_{specialization.constants['BLOCK']}"

    def metadata(grid, kernel, args):
        return {"bytes": int(8 * args["n"]), "grid": grid, "name": kernel.name}

    kernel = triton.jit(scaled, repr=name_of, launch_metadata=metadata)
    x, out = random((N,), "fp32", 5), device.output(N, "fp32")
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook = lambda lazy: told.append(lazy.get())
        knobs.runtime.launch_exit_hook = lambda lazy: told.append("exit")
        made = kernel[over_blocks](out.array, device.to(x), N, 2.0, BLOCK=128)
    np.testing.assert_array_equal(out.numpy(), x * 2)
    assert made.name == made.metadata.name == "scaled_by_128"
    assert told[1] == "exit" and told[0]["bytes"] == 8 * N and told[0]["name"] == "scaled_by_128"
    assert tuple(told[0]["grid"])[0] == 8


def test_specialization_of_arguments(device):
    plain = triton.jit(scaled)
    kept = triton.jit(scaled, do_not_specialize=["n"], do_not_specialize_on_alignment=["x"])
    x = random((N,), "fp32", 6)
    given = device.to(x)
    made = set()
    for n in (1, 16, 17):
        out = device.output(N, "fp32")
        kernel = kept[(8,)](out.array, given, n, 2.0, BLOCK=128)
        made.add(id(kernel))
        assert kernel.src.signature["n"] == "i32"
        plainly = plain[(8,)](device.output(N, "fp32").array, given, n, 2.0, BLOCK=128)
        assert plainly.src.signature["n"] == ("constexpr" if n == 1 else "i32")
    assert len(made) == 1


def test_forms_of_a_launch(device):
    kernel = triton.jit(scaled)
    x = random((N,), "fp32", 7)
    given = device.to(x)

    def check(launch):
        out = device.output(N, "fp32")
        launch(out.array)
        np.testing.assert_array_equal(out.numpy(), x * np.float32(1.5))

    check(lambda out: kernel[(8,)](out, given, N, 1.5, 128))
    check(lambda out: kernel[8, 1](out, x=given, n=N, factor=1.5, BLOCK=128, num_warps=8))
    check(lambda out: kernel[[8]](out, given, N, 1.5, BLOCK=triton.language.constexpr(128)))
    check(lambda out: kernel.run(out, given, N, 1.5, 128, grid=(8,), warmup=False))
    check(
        lambda out: kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), 1, 1)](
            out, given, N, 1.5, BLOCK=128, num_stages=2, debug=True
        )
    )
    made = kernel.warmup(given, given, N, 1.5, BLOCK=128, grid=(1,))
    check(lambda out: made[(8, 1, 1)](out, given, N, 1.5, 128))
    assert kernel.fn is scaled and kernel.__name__ == "scaled" and kernel.arg_names[-1] == "BLOCK"
    assert kernel.params[-1].is_constexpr and not kernel.params[0].is_constexpr
    with pytest.raises(RuntimeError, match="Cannot call @triton.jit'd outside of the scope"):
        kernel(given, given, N, 1.5, 128)


def test_warmup_of_types():
    kernel = triton.jit(scaled)
    of = triton.runtime.MockTensor
    made = kernel.warmup(of(tl.float32), of(tl.float16), 7, 1.0, BLOCK=64, grid=(1,))
    assert made.src.signature["x"] == "*fp16" and made.src.signature["out"] == "*fp32"


def test_hooks_before_launches(device):
    told = []
    kernel = triton.jit(scaled)
    kernel.add_pre_run_hook(lambda *args, **kwargs: told.append(kwargs["BLOCK"]))
    x, out = random((N,), "fp32", 8), device.output(N, "fp32")
    for _ in range(2):
        kernel[(8,)](out.array, device.to(x), N, 2.0, BLOCK=128)
    assert told == [128, 128]
    np.testing.assert_array_equal(out.numpy(), x * 2)


def test_compile_hooks(device):
    told = []
    kernel = triton.jit(scaled)
    x, out = random((N,), "fp32", 9), device.output(N, "fp32")
    with knobs.runtime.scope():
        knobs.runtime.jit_post_compile_hook = lambda **given: told.append(given)
        kernel[(8,)](out.array, device.to(x), N, 4.0, BLOCK=128)
        kernel[(8,)](out.array, device.to(x), N, 4.0, BLOCK=128)
    np.testing.assert_array_equal(out.numpy(), x * 4)
    assert len(told) == 1 and told[0]["fn"].name.endswith("scaled")
    assert told[0]["compile"]["constants"] and not told[0]["is_manual_warmup"]


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0, "STEPS": lambda args: 2})
@triton.jit
def stepped(out, x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, STEPS: tl.constexpr):
    for step in tl.static_range(STEPS):
        i = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(out + i, tl.load(x + i) + 1)
        else:
            tl.store(out + i, tl.load(x + i, mask=i < n) + 2, mask=i < n)


@pytest.mark.parametrize("n", [1000, 1024])
def test_heuristics(device, n):
    """A heuristic sets a constant from the arguments."""
    x, out = random((n,), "fp32", 10), device.output(n, "fp32")
    stepped[(4,)](out.array, device.to(x), n, BLOCK=128)
    np.testing.assert_array_equal(out.numpy(), x + np.float32(1 if n == 1024 else 2))


def test_configurations_print():
    config = triton.Config({"BLOCK": 64, "K": 2}, num_warps=8, num_stages=4, maxnreg=128)
    assert str(config).startswith("BLOCK: 64, K: 2, num_warps: 8, num_ctas: 1, num_stages: 4")
    assert "maxnreg: 128" in str(config)
    assert config.all_kwargs()["num_warps"] == 8 and config.kwargs == {"BLOCK": 64, "K": 2}
    assert config == triton.Config({"BLOCK": 64, "K": 2}, num_warps=8, num_stages=4, maxnreg=128)


def test_arguments_that_tuning_sets(device):
    tuned = triton.autotune(configs=SIZES, key=[])(triton.jit(scaled))
    x = device.to(random((N,), "fp32", 11))
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        tuned[(1,)](x, x, N, 1.0, BLOCK=64)


def test_modules_that_are_there_without_an_import():
    """As attributes of what `import triton` gives, which libraries rely on."""
    text = """
import pantile as triton
assert triton.runtime.cache.default_cache_dir
assert triton.runtime.build.__name__ == "pantile.runtime.build"
assert triton.backends.nvidia.__name__ == "pantile.backends.nvidia"
assert triton.tools.disasm.get_sass
assert triton.errors.TritonError is triton.TritonError
assert triton._utils.find_paths_if
for module in (triton.runtime, triton.backends, triton.tools, triton):
    try:
        module.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=60)


def test_host_functions_of_constants():
    assert type(triton.cdiv(tl.constexpr(7), 2)) is int and triton.cdiv(tl.constexpr(7), 2) == 4
    assert triton.cdiv(7, tl.constexpr(2)) == 4 and triton.cdiv(-7, 2) == -3
    assert type(triton.next_power_of_2(tl.constexpr(5))) is int
    assert [triton.next_power_of_2(n) for n in (0, 1, 5, 2**33 + 1)] == [0, 1, 8, 2**34]


def test_the_name_of_a_kernel():
    assert triton.jit(scaled).repr(None) == f"{__name__}.scaled"
    assert triton.jit(scaled, repr=lambda _: "other").repr(None) == "other"
