#!/usr/bin/env python3
"""Writes docs/python-reference.md: the names of the host side, from their docstrings.

Needs: pantile on PYTHONPATH, as a build has it.
Gives: the page; with --check status 1 if it would change. In any case a line, and status 1, for each
       name in `__all__` of a public module that is neither on the page nor left out with a reason.
How:   docstrings are in NumPy's form: a summary, paragraphs, and sections of names with an indented
       text each, which become lists.
"""

import importlib
import inspect
import re
import sys
import types
from pathlib import Path

from generated_page import finish

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/python-reference.md"

INTRODUCTION = """# Python API reference

Written by `scripts/python_page.py` from the docstrings. [The Python package](python.md) shows how these names go together; what kernels call is in the [reference of the language](reference/README.md), and settings are in a [table](knobs.md).
"""

SECTIONS = {  # title: (module, names)
    "Kernels": ("pantile", "jit constexpr_function aggregate reinterpret cdiv next_power_of_2"),
    "Kernels as objects": (
        "pantile",
        "KernelInterface JITFunction Autotuner Heuristics SearchSpace MockTensor TensorWrapper "
        "must_use_result set_allocator",
    ),
    "Options of launches": ("pantile.backends.options", "CUDAOptions"),
    "Tuning": ("pantile", "autotune search_space Config heuristics"),
    "What the compiler did": ("pantile.compiler.remarks", "Remark Pass list_passes"),
    "Compiling without a launch": (
        "pantile.compiler",
        "compile ASTSource IRSource CompiledKernel LazyDict make_backend get_cache_key max_shared_mem",
    ),
    "Targets": ("pantile.backends", "GPUTarget Backend BaseBackend DriverBase"),
    "Many compilations at once": ("pantile", "AsyncCompileMode FutureKernel"),
    "Descriptors": ("pantile.tools.tensor_descriptor", "TensorDescriptor"),
    "Layouts": ("pantile.tools", "LinearLayout"),
    "Measuring and comparing": (
        "pantile.testing",
        "do_bench do_bench_cudagraph perf_report Benchmark Mark assert_close allclose "
        "assert_allclose assert_almost_equal get_dram_gbps "
        "get_max_tensorcore_tflops get_max_simd_tflops set_gpu_clock nvsmi cuda_memcheck",
    ),
    "Profiling": (
        "pantile.profiler",
        "start deactivate activate finalize profile scope cpu_timed_scope enter_scope exit_scope state "
        "enter_state exit_state",
    ),
    "Hooks of the profiler": ("pantile.profiler.hooks", "Hook HookManager LaunchHook"),
    "Peak rates of GPUs": ("pantile.profiler.specs", "max_flops max_bps"),
    "Modes of the profiler": (
        "pantile.profiler.mode",
        "BaseMode PCSampling InstrumentationMode Default MMA",
    ),
    "Open scopes": ("pantile.profiler.context", "depth"),
    "Chains of hooks": ("pantile.knobs", "HookChain"),
    "Programs of JAX": ("pantile.jax", "call triton_call register strides_from_shape"),
    "The process": ("pantile.runtime", "stats info release_workspaces"),
    "Standing in for triton": ("pantile.compat", "install uninstall is_installed"),
    "Errors": (
        "pantile.runtime.errors",
        "TritonError CompilationError UnsupportedLanguageConstruct CompileTimeAssertionFailure "
        "LaunchError InterpreterError OutOfResources PTXASError DriverError "
        "AutotunerError InternalError",
    ),
}


# The modules whose names users import: each name in `__all__` stands on the page. Settings
# (`pantile.knobs`) have their own page, as have what kernels call (`pantile.language`).
PUBLIC = """
pantile pantile.runtime pantile.compiler pantile.backends pantile.testing pantile.tools pantile.profiler
pantile.profiler.context pantile.profiler.hooks pantile.profiler.mode pantile.profiler.specs pantile.jax
pantile.errors
""".split()
LEFT_OUT = {  # name: why it is not on the page
    "pantile.backends.Language": "an enumeration: what takes it is BaseBackend.add_stages",
    "pantile.backends.backends": "a dict of Backend by name, which its module describes",
    "pantile.profiler.DEFAULT_PROFILE_NAME": "a text: the default that `start` names",
    "pantile.profiler.mode.Optimize": "an enumeration: InstrumentationMode takes its names",
    "pantile.profiler.mode.buffer_strategies": "a dict, with InstrumentationMode",
    "pantile.profiler.mode.buffer_types": "a dict, with InstrumentationMode",
    "pantile.profiler.mode.granularities": "a dict, with InstrumentationMode",
    "pantile.profiler.mode.metric_types": "a dict, with InstrumentationMode",
    "pantile.profiler.mode.optimizations": "a dict, with InstrumentationMode",
    "pantile.profiler.mode.sampling_strategies": "a dict, with InstrumentationMode",
    "pantile.runtime.RedisRemoteCacheBackend": "of Triton's cache managers, which kernels do not go through",
    "pantile.runtime.RemoteCacheBackend": "of Triton's cache managers, which kernels do not go through",
    "pantile.runtime.driver": "an object: `active` is a DriverBase",
}

MADE_BY_CALLS = ("CompiledKernel", "FutureKernel", "LazyDict")
WITH_MEMBERS = (
    *MADE_BY_CALLS,
    *"TensorDescriptor KernelInterface JITFunction Autotuner Heuristics SearchSpace".split(),
    *"MockTensor TensorWrapper".split(),
    *"IRSource BaseBackend DriverBase LinearLayout Mark Hook HookManager LaunchHook HookChain".split(),
)


def signature_of(thing):
    """The parameters as text; without those that begin with `_` and without annotations."""
    if inspect.isclass(thing) and "__init__" not in vars(thing) and thing.__annotations__:
        return f"({', '.join(thing.__annotations__)})"
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    kept = [
        parameter.replace(annotation=parameter.empty)
        for parameter in signature.parameters.values()
        if not parameter.name.startswith("_")
    ]
    text = str(signature.replace(parameters=kept, return_annotation=signature.empty))
    return re.sub(r"=<object object at 0x[0-9a-f]+>", "=None", text)


def rendered(docstring):
    """A docstring as Markdown."""
    lines, out = docstring.split("\n"), []
    section = False
    for line, following in zip(lines, [*lines[1:], ""]):
        if following and set(following) == {"-"}:
            section = True
            out += [f"{line}:", ""]
        elif section and line and set(line) == {"-"}:
            continue
        elif section and line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            end = ":" if following.startswith(" ") else ""
            names = ", ".join(f"`{name}`" for name in names.split(", "))
            out.append(f"- {names}" + (f" ({kind})" if kind else "") + end)
        elif section and line:
            out.append(f"  {line.strip()}")
        else:
            out.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def members(cls):
    """Rows of the documented properties and methods, then the methods that take something."""
    rows, methods = [], []
    for name, member in vars(cls).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        function = getattr(function, "__func__", function)
        text = inspect.getdoc(function) if inspect.isfunction(function) else None
        if name.startswith("_") or not text:
            continue
        is_call = inspect.isfunction(getattr(member, "__func__", member))
        summary = " ".join(text.split("\n\n")[0].split())
        rows.append(f"| `{name}{'()' if is_call else ''}` | {summary} |")
        if "Parameters\n--" in text:
            call = f"{name}{signature_of(function)}".replace("(self, ", "(")
            methods += ["", f"`{call}`:", "", rendered(text[text.index("Parameters\n--") :])]
    return ["", "| member | meaning |", "|---|---|", *rows, *methods] if rows else []


def entry(module, name):
    """The part of the page on one name."""
    thing = getattr(module, name)
    text = rendered(inspect.getdoc(thing))
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        base = thing.__mro__[1].__name__
        return [f"- `{name}` ({base}): {' '.join(text.split())}"]
    call = name if name in MADE_BY_CALLS else name + signature_of(thing)
    lines = [f"### {name}", "", f"`{call}`", "", text]
    return [*lines, *(members(thing) if name in WITH_MEMBERS else []), ""]


def page():
    """The text of the page."""
    parts = [INTRODUCTION]
    for title, (path, names) in SECTIONS.items():
        module = importlib.import_module(path)
        parts += [f"## {title}", "", f"In `{path}`.", ""]
        for name in names.split():
            parts += entry(module, name)
        if parts[-1]:
            parts.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def listed():
    """The objects on the page, by id."""
    modules = [(importlib.import_module(path), names) for path, names in SECTIONS.values()]
    return {id(getattr(module, name)) for module, names in modules for name in names.split()}


def differences():
    """A line for each public name that the page lacks, and each that is left out in vain."""
    known, used = listed(), set()
    for path in PUBLIC:
        module = importlib.import_module(path)
        for name in module.__all__:
            thing, full = getattr(module, name), f"{path}.{name}"
            if full in LEFT_OUT:
                used.add(full)
            if isinstance(thing, types.ModuleType):
                continue
            if (id(thing) in known) == (full in LEFT_OUT):
                state = "on the page and left out" if full in LEFT_OUT else "not on the page"
                yield f"`{full}` is {state}: see SECTIONS and LEFT_OUT of scripts/python_page.py"
    for full in sorted(set(LEFT_OUT) - used):
        yield f"`{full}` is left out and not public"


def main():
    """Write the page, or say that it would change."""
    return finish(PAGE, page(), differences())


if __name__ == "__main__":
    sys.exit(main())
