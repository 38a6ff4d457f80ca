"""Where a compilation's time went, as torch counts it."""

import torch._dynamo.utils as counted

# Waiting for the compiler of kernels, and timing what it made. None nests in another.
IN_TRITON = (
    "async_compile.wait",
    "async_compile.precompile",
    "CachingAutotuner.benchmark_all_configs",
    "CachingAutotuner.coordinate_descent_tuning",
    "reload_kernel_in_parent",
)
TEMPLATES = ("_template_precompiling", "_template_autotuning")
COUNTED = ("graph_break", "inductor", "aot_autograd", "unimplemented")


def of_compilation(waited):
    """`triton_s`, all phases in seconds, and torch's counters, by name; `waited` is no phase's."""
    phases = {name: sum(times) for name, times in counted.compilation_time_metrics.items()}
    of_triton = sum(s for name, s in phases.items() if name in IN_TRITON or _of_template(name))
    counters = {
        f"{group}: {str(name)[:120]}": count
        for group in COUNTED
        for name, count in counted.counters.get(group, {}).items()
    }
    return {
        "triton_s": max(0.0, of_triton - waited),
        "phases": {name: round(s, 3) for name, s in phases.items() if s >= 0.005},
        "counters": counters,
    }


def _of_template(name):
    return name.endswith(TEMPLATES)
