"""The functions that programs of JAX call."""

import importlib


def register():
    """Register with JAX's runtime what runs the kernels of programs that were compiled elsewhere.

    `call` does this itself. It is for a process that runs an executable or a `jax.export` of
    another one, and traces nothing. `jax.export` needs
    `disabled_checks=[jax.export.DisabledSafetyCheck.custom_call("pantile_call")]`.

    Raises
    ------
    ImportError
        If JAX is not installed, or older than 0.5.
    """
    from .primitive import register as register_targets

    _require_jax()
    register_targets()


def call(
    kernel,
    *args,
    out_shape,
    grid,
    name="",
    num_warps=None,
    num_stages=None,
    num_ctas=None,
    input_output_aliases=None,
    zeroed_outputs=(),
    **meta,
):
    """Run a kernel on arrays of JAX and return its outputs as new arrays.

    Works eagerly and under `jax.jit`, `jax.vmap` (the batch becomes an axis of the grid, or
    launches one after the other), `jax.shard_map` (a launch per device) and `jax.lax` control flow.
    Gradients are given by `jax.custom_vjp`. On GPUs the kernel is launched on XLA's stream, on the
    platform "cpu" it runs on the interpreter. What is compiled into the program is the kernel's
    code, so that JAX's caches and `jax.export` hold it.

    A kernel under `autotune` is measured at its first call with arrays of some shapes, also where
    they are traced: then on random numbers, and zeros for integers. On the CPU the first
    configuration runs.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        A function under `pantile.jit`, with its decorators.
    *args : jax.Array, numpy.ndarray, bool, int, float
        Values of the kernel's first parameters, in order. An array, traced or not, is a pointer to
        its elements in row-major order, one of no dimensions, too; a number is passed as such and
        compiled into the program, so that another one compiles again. Other parameters are given by
        name.
    out_shape : jax.ShapeDtypeStruct or a pytree of them
        Shape and dtype of each output. Their pointers are passed to the parameters that are left,
        in order; where there are as many left as outputs that are not in place, only those are
        passed.
    grid : int, tuple of int or callable
        Extents of the grid, one to three; a callable gets a dict of all arguments and options by
        name.
    name : str, optional
        Name of the machine code, as profilers show it; "_" takes the place of what no symbol may
        contain. Default: the function's.
    num_warps, num_stages, num_ctas : int, optional
        Options of the launch. Default: those of the kernel's launches, 4, 3 and 1.
    input_output_aliases : dict, optional
        Outputs in place: maps an input, by its parameter's name or its position among the arrays of
        `args`, to the position of an output of the same shape and dtype. The output begins with the
        input's elements; the input itself stays as it was, copied where JAX still needs it.
    zeroed_outputs : sequence of int or callable, optional
        Positions of outputs that are zero when the kernel begins, or a function of the grid's dict
        that returns them. The elements of other outputs that the kernel does not write are
        undefined.
    **meta : object
        Other parameters by name: arrays, numbers, and values of `tl.constexpr` parameters, which
        are Python's; and options of launches such as `maxnreg`, `arch` or `launch_pdl`.
        `compute_capability=90` means `arch="sm90"`.

    Returns
    -------
    jax.Array or a pytree of them
        The outputs, in the structure of `out_shape`.

    Raises
    ------
    ImportError
        If JAX is not installed, or older than 0.5.
    TypeError
        If an argument is missing, superfluous or of a type that kernels do not take; if a compile-
        time parameter is given a traced value or something that cannot be hashed.
    KeyError
        If a name is neither a parameter nor an option.
    ValueError
        If the grid, an alias or an output's shape is not valid; if the kernel writes to an input
        that is not in place; if JAX differentiates the call.
    NotImplementedError
        If a configuration of `autotune` has a `pre_hook`.
    """
    _require_jax()
    import jax

    from .primitive import primitive
    from .requests import Request

    given = {"num_warps": num_warps, "num_stages": num_stages, "num_ctas": num_ctas}
    meta |= {option: value for option, value in given.items() if value is not None}
    leaves, tree = jax.tree.flatten(out_shape)
    request = Request(kernel, args, meta, leaves, input_output_aliases or {})
    request.decorate(grid)
    launch, operands = request.launch(name, grid, zeroed_outputs)
    return jax.tree.unflatten(tree, primitive().bind(*operands, launch=launch))


def triton_call(*args, kernel, out_shape, grid, **keywords):
    """Run a kernel as `jax_triton.triton_call` does: `call` with the kernel as a keyword.

    Parameters
    ----------
    *args : jax.Array, numpy.ndarray, bool, int, float
        Values of the kernel's first parameters; outputs come after them.
    kernel : JITFunction, Autotuner or Heuristics
        The kernel.
    out_shape : jax.ShapeDtypeStruct or a pytree of them
        Shape and dtype of each output.
    grid : int, tuple of int or callable
        Extents of the grid, or a function of the dict of arguments.
    **keywords : object
        As of `call`, which lists the errors, too: `name`, `num_warps`, `num_stages`, `num_ctas`,
        `compute_capability`, `enable_fp_fusion`, `input_output_aliases`, `zeroed_outputs`, `debug`,
        and the kernel's other parameters.

    Returns
    -------
    jax.Array or a pytree of them
        The outputs, in the structure of `out_shape`.
    """
    return call(kernel, *args, out_shape=out_shape, grid=grid, **keywords)


def strides_from_shape(shape):
    """Return the strides, in elements, of an array in row-major order.

    Parameters
    ----------
    shape : sequence of int
        The extents.

    Returns
    -------
    tuple of int
        One stride per extent.
    """
    strides, inner = [], 1
    for extent in reversed(tuple(shape)):
        strides.append(inner)
        inner *= extent
    return tuple(reversed(strides))


def _require_jax():
    """Raise ImportError, saying what to install, where there is no `jax.ffi`."""
    try:
        importlib.import_module("jax.ffi")
    except ImportError as error:
        raise ImportError(
            "`pantile.jax` needs JAX 0.5 or later: `pip install jax`, with a GPU `jax[cuda12]`"
        ) from error
