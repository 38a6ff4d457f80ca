"""`triton.profiler` is Proton, another program: this says so to whoever imports it."""

raise ImportError(
    "`triton.profiler` (Proton) is not part of Pantile: `knobs.runtime.launch_enter_hook` tells "
    "of every launch, and nsys and ncu see the kernels under their names",
    name=__name__,
)
