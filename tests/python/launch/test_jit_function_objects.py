"""Jit functions as objects: keys, caches, hooks, preloading, binding."""

import json

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

OFFSET = tl.constexpr(3)


@triton.jit
def scaled(x, factor: tl.constexpr):
    return x * factor


@triton.jit
def shift(out, x, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr = 2):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, scaled(tl.load(x + i, mask=i < n), FACTOR) + OFFSET, mask=i < n)


def function_of(text, name="kernel", **namespace):
    """A function whose source `inspect` finds, as one written in a file."""
    import linecache

    path = f"<{name} {abs(hash(text))}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope = {"tl": tl, "triton": triton, "__name__": __name__, **namespace}
    exec(compile(text, path, "exec"), scope)
    return scope[name]


def fresh(fn=shift):
    """The same function without kernels of earlier launches."""
    return triton.jit(fn.fn)


def test_attributes():
    """A jit function has the names, parameters and source of its function."""
    assert shift.arg_names == ["out", "x", "n", "BLOCK", "FACTOR"]
    assert shift.constexprs == [3, 4] and [p.is_constexpr for p in shift.params] == [0, 0, 0, 1, 1]
    assert shift.params[4].has_default and shift.params[4].default == 2
    assert shift.src.startswith("def shift(out") and shift.module == __name__
    assert isinstance(shift, triton.KernelInterface) and shift.fn.__name__ == "shift"
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        shift(1, 2, 3, 4)
    assert shift.raw_src[0] == "@triton.jit\n" and shift.raw_src[1].startswith("def shift(out")


def test_source_that_is_assigned_is_compiled(device):
    kernel = triton.jit(function_of("def kernel(out):\n    tl.store(out, 1)\n"))
    out = device.to(np.zeros(1, np.int32))
    kernel[(1,)](out)
    kernel.src = kernel.src.replace("1)", "5)")
    kernel[(1,)](out)
    assert device.numpy(out)[0] == 5 and "5" in kernel.src
    kernel.raw_src = ["@triton.jit\n", "    def kernel(out):\n", "        tl.store(out, 8)\n"]
    kernel[(1,)](out)
    assert device.numpy(out)[0] == 8 and kernel.raw_src[0] == "@triton.jit\n"
    with pytest.raises(ValueError, match="hold a `def`"):
        kernel.raw_src = ["x = 1\n"]


def test_cache_key_is_a_content_hash():
    text = "def kernel(out):\n    tl.store(out, N)\n"
    one, two = (triton.jit(function_of(text, N=tl.constexpr(n))) for n in (1, 1))
    assert one.cache_key == two.cache_key and len(one.cache_key) == 64
    assert triton.jit(function_of(text, N=tl.constexpr(2))).cache_key != one.cache_key
    assert triton.jit(function_of("\n" + text, N=tl.constexpr(1))).cache_key != one.cache_key


def test_cache_key_follows_callees():
    text = "def kernel(out):\n    tl.store(out, helper(1))\n"
    keys = set()
    for body in ("x + 1", "x + 2", "x + other(x)"):
        inner = triton.jit(function_of("def other(x):\n    return x\n", "other"))
        helper = triton.jit(
            function_of(f"def helper(x):\n    return {body}\n", "helper", other=inner)
        )
        keys.add(triton.jit(function_of(text, helper=helper)).cache_key)
    assert len(keys) == 3


def test_cache_key_of_mutual_recursion():
    first = triton.jit(function_of("def first(n):\n    return second(n)\n", "first"))
    second = triton.jit(function_of("def second(n):\n    return first(n)\n", "second", first=first))
    first.fn.__globals__["second"] = second
    assert first.cache_key != second.cache_key


def test_unsafe_update_src(device):
    kernel = triton.jit(function_of("def kernel(out):\n    tl.store(out, 1)\n"))
    out = device.to(np.zeros(1, np.int32))
    kernel[(1,)](out)
    before = kernel.cache_key
    kernel._unsafe_update_src(kernel.src.replace("1)", "7)"))
    kernel.device_caches.clear()
    kernel[(1,)](out)
    assert kernel.cache_key != before and device.numpy(out)[0] == 7


def test_device_caches():
    kernel = fresh()
    x = random(64, seed=1)
    out = np.empty_like(x)
    assert len(kernel.device_caches) == 0
    kernel[(1,)](out, x, 64, 64)
    kernel[(1,)](out, x, 64, 64)
    assert len(kernel.device_caches[0][0]) == 1
    kernel[(1,)](out, x, 63, 64)
    kernels = kernel.device_caches[0][0]
    assert len(kernels) == 2 and all(k.name == "shift" for k in kernels.values())
    kernel.device_caches[0][0].clear()
    assert len(kernel.device_caches[0][0]) == 0


def test_binder():
    """The binder returns arguments, signature and options."""
    kernels, keys, target, backend, binder = shift.create_binder()
    assert backend.supports_target(target)
    x = random(64)
    bound, signature, options = binder(x, x, 17, BLOCK=64, num_warps=8)
    assert list(bound) == shift.arg_names and bound["FACTOR"] == 2
    assert signature == ["*fp32", "*fp32", "i32", "constexpr", "constexpr"]
    assert options == {"num_warps": 8}


@pytest.mark.parametrize(
    "value, kind, attrs",
    [
        (1, "constexpr", None),
        (2, "i32", None),
        (16, "i32", 16),
        (-32, "i32", 16),
        (2**31 - 1, "i32", None),
        (2**31, "i64", 16),
        (-(2**40) - 1, "i64", None),
        (2**63, "u64", 16),
        (2**64 - 1, "u64", None),
        (True, "i1", None),
        (1.0, "fp32", None),
        (None, "constexpr", None),
    ],
)
def test_specialisation_of_scalars(value, kind, attrs):
    kernel = triton.jit(function_of("def kernel(out, n):\n    pass\n"))
    compiled = kernel.warmup(tl.float32, value, grid=(1,))
    assert compiled.src.signature["n"] == kind
    assert compiled.src.attrs.get((1,)) == (attrs and [["tt.divisibility", attrs]])
    assert ((1,) in compiled.src.constants) == (kind == "constexpr")


@pytest.mark.parametrize("by", ["n", 1])
def test_do_not_specialize(by):
    """By name or position: one kernel for all values, and alignment apart from the value 1."""
    fn = function_of("def kernel(out, n):\n    pass\n")
    kernel = triton.jit(fn, do_not_specialize=[by])
    for value in (1, 16, 3):
        compiled = kernel.warmup(tl.float32, value, grid=(1,))
        assert compiled.src.signature["n"] == "i32" and (1,) not in compiled.src.attrs
    assert len(kernel.device_caches[0][0]) == 1
    aligned = triton.jit(fn, do_not_specialize_on_alignment=[by])
    assert aligned.warmup(tl.float32, 16, grid=(1,)).src.attrs == {(0,): [["tt.divisibility", 16]]}
    assert aligned.warmup(tl.float32, 1, grid=(1,)).src.signature["n"] == "constexpr"


def test_annotations_fix_types():
    text = "def kernel(out, n: tl.int64, x: 'fp64', p: tl.const, b: tl.uint8):\n    pass\n"
    kernel = triton.jit(function_of(text))
    compiled = kernel.warmup(tl.float32, 1, 2.0, tl.float16, 3, grid=(1,))
    kinds = ["*fp32", "i64", "fp64", "*kfp16", "u8"]
    assert list(compiled.src.signature.values()) == kinds


def test_tuples_are_specialised_recursively():
    kernel = triton.jit(function_of("def kernel(out, pair):\n    pass\n"))
    compiled = kernel.warmup(tl.float32, (16, (1, 2.5)), grid=(1,))
    assert compiled.src.signature["pair"] == ("i32", ("constexpr", "fp32"))
    assert compiled.src.constants == {(1, 1, 0): 1}
    assert compiled.src.attrs[1, 0] == [["tt.divisibility", 16]]


def test_a_changed_global_is_noticed(device):
    kernel = triton.jit(function_of("def kernel(out):\n    tl.store(out, N)\n", N=tl.constexpr(5)))
    out = device.to(np.zeros(1, np.int32))
    kernel[(1,)](out)
    assert device.numpy(out)[0] == 5
    ((name, _),) = kernel.used_global_vals
    assert name == "N"
    kernel.fn.__globals__["N"] = tl.constexpr(6)
    with pytest.raises(RuntimeError, match="Global variable N has value constexpr"):
        kernel[(1,)](out)


def test_zero_size_grids_launch_nothing(device):
    out = device.to(np.zeros(1, np.int32))
    kernel = triton.jit(function_of("def kernel(out):\n    tl.store(out, 9)\n"))
    for grid in [(0,), (3, 0), (1, 1, 0), 0, lambda meta: (0,)]:
        assert kernel[grid](out) is not None
    assert device.numpy(out)[0] == 0
    kernel[1,](out)
    assert device.numpy(out)[0] == 9


def test_unknown_keywords():
    x = random(64)
    for name in ("warps", "device", "device_type", "stream"):
        with pytest.raises(
            KeyError, match=f"Keyword argument {name} was specified but unrecognised"
        ):
            fresh()[(1,)](x, x, 64, 64, **{name: 1})


def test_all_of_tritons_options_are_accepted(device):
    options = {
        "num_warps": 2,
        "num_ctas": 1,
        "num_stages": 2,
        "warp_size": 32,
        "maxnreg": None,
        "ptx_version": None,
        "ptx_options": None,
        "ir_override": None,
        "enable_fp_fusion": False,
        "enable_reflect_ftz": True,
        "launch_cooperative_grid": False,
        "launch_pdl": False,
        "supported_fp8_dtypes": ("fp8e5",),
        "deprecated_fp8_dot_operand_dtypes": (),
        "default_dot_input_precision": "ieee",
        "allowed_dot_input_precisions": ("ieee",),
        "max_num_imprecise_acc_default": 0,
        "extern_libs": {},
        "debug": False,
        "sanitize_overflow": False,
        "arch": None,
        "instrumentation_mode": "",
    }
    x = random(64, seed=2)
    out = device.output(64, "fp32")
    compiled = fresh()[(1,)](out.array, device.to(x), 64, 64, **options)
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) * 2 + 3, rtol=1e-6)
    assert compiled.metadata.num_warps == 2 and compiled.metadata.enable_fp_fusion is False
    with pytest.raises(ValueError, match="num_warps must be from 1 to 32"):
        fresh().warmup(tl.float32, tl.float32, 64, 64, num_warps=0, grid=(1,))


def test_pre_run_hooks():
    kernel, seen = fresh(), []
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((len(args), kwargs)))
    x = random(64)
    kernel[(1,)](x.copy(), x, 64, BLOCK=64)
    assert seen == [(3, {"BLOCK": 64})]
    with pytest.raises(TypeError, match="callable"):
        kernel.add_pre_run_hook("hook")


def test_repr_names_the_kernel():
    def name(specialization):
        return f"shift_{specialization.constants['BLOCK']}_{specialization.signature['x']}"

    kernel = triton.jit(shift.fn, repr=name)
    compiled = kernel.warmup(tl.float32, tl.float16, 64, BLOCK=32, grid=(1,))
    assert compiled.name == compiled.metadata.name == "shift_32__fp16"


@pytest.mark.parametrize(
    "name, expected", [("norm of rows", "norm_of_rows"), ("2d<fp32>", "_2d_fp32_"), ("min", "min")]
)
def test_repr_names_what_is_launched(device, name, expected):
    x = random(100, seed=3)
    kernel = triton.jit(shift.fn, repr=lambda _: name)
    out = device.output(100, "fp32")
    compiled = kernel[(2,)](out.array, device.to(x), 100, BLOCK=64)
    assert compiled.name == expected
    if device.arch:
        assert f".entry {expected}(" in compiled.asm["ptx"]
    np.testing.assert_allclose(out.numpy(), 2 * x.astype(np.float64) + 3, rtol=1e-6)


def test_preload_of_what_a_hook_saw(device):
    told = []
    x = random(100, seed=4)
    first, second = fresh(), fresh()
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_cache_hook = lambda **info: told.append(info)
        compiled = first[(2,)](device.to(x.copy()), device.to(x), 100, BLOCK=64, num_warps=2)
    (info,) = told
    assert info["fn"].name == "shift" and info["fn"].jit_function is first
    assert info["already_compiled"] is False and info["is_manual_warmup"] is False
    data = json.loads(info["compile"]["specialization_data"])
    assert data["name"].endswith(":shift")
    loaded = second.preload(info["compile"]["specialization_data"])
    assert loaded.hash == compiled.hash and len(second.device_caches[0][0]) == 1
    out = device.output(100, "fp32")
    assert second[(2,)](out.array, device.to(x), 100, BLOCK=64, num_warps=2) is loaded
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) * 2 + 3, rtol=1e-6)


def test_preload_refuses_another_kernel():
    told = []
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_cache_hook = lambda **info: told.append(info)
        fresh().warmup(tl.float32, tl.float32, 64, 64, grid=(1,))
    other = triton.jit(function_of("def kernel(out):\n    pass\n"))
    with pytest.raises(RuntimeError, match="Specialization data is for"):
        other.preload(told[0]["compile"]["specialization_data"])


def test_a_cache_hook_can_forbid_compiling():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.jit_cache_hook = lambda **info: True
        assert fresh().warmup(tl.float32, tl.float32, 64, 64, grid=(1,)) is None


def test_async_compilation(device):
    from concurrent.futures import ThreadPoolExecutor

    kernel = fresh()
    x = random(256, seed=5)
    with ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
        futures = [
            kernel.warmup(device.to(x), device.to(x), 256, BLOCK=block, grid=(1,))
            for block in (32, 64, 128, 32)
        ]
        assert all(isinstance(future, triton.FutureKernel) for future in futures)
        assert futures[0] is futures[3]
    assert len(kernel.device_caches[0][0]) == 3
    out = device.output(256, "fp32")
    kernel[(8,)](out.array, device.to(x), 256, BLOCK=32)
    np.testing.assert_allclose(out.numpy(), x.astype(np.float64) * 2 + 3, rtol=1e-6)
    assert len(kernel.device_caches[0][0]) == 3


def test_async_errors():
    from concurrent.futures import ThreadPoolExecutor

    wrong = triton.jit(function_of("def kernel(out):\n    tl.store(out, missing)\n"))
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(triton.CompilationError, match="missing"):
            with triton.AsyncCompileMode(pool):
                wrong.warmup(tl.float32, grid=(1,))
        with triton.AsyncCompileMode(pool, ignore_errors=True):
            wrong.warmup(tl.float32, grid=(1,))


def test_the_oldest_form_of_meta_parameters_is_explained():
    kernel = triton.jit(function_of("def kernel(out, **META):\n    tl.store(out, META['N'])\n"))
    with pytest.raises(TypeError, match="as in Triton 1.*tl.constexpr"):
        kernel[(1,)](np.zeros(1, np.int32), N=3)


@triton.jit
def bits_of(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.int32, bitcast=True) ^ 5)


def test_reinterpret(device):
    """A reinterpreted array has the other type, and the same bits."""
    x = random(64, seed=11)
    out = device.output(64, "i32")
    view = device.to(x.view(np.int32))[0:64]
    kernel = bits_of[(1,)](out.array, triton.reinterpret(view, tl.float32), 64)
    assert kernel.src.signature["x"] == "*fp32"
    np.testing.assert_array_equal(out.numpy(), x.view(np.int32) ^ 5)
    wrapped = triton.reinterpret(view, tl.float32)
    assert isinstance(wrapped, triton.TensorWrapper) and wrapped.stride(0) == 1
    assert triton.reinterpret(wrapped, tl.int8).base is view
    with pytest.raises(TypeError, match="Cannot reinterpret"):
        triton.reinterpret([1, 2], tl.int8)
