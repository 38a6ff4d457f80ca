"""The operation of JAX that `call` binds: its shapes, its batches and its lowering to a custom call."""

import functools

from .custom_calls import attributes_of

TARGETS = {"cpu": "pantile_call", "cuda": "pantile_call"}


@functools.cache
def register():
    """Register with JAX's runtime the functions that custom calls of Pantile run."""
    import jax

    from .. import _pantile

    jax.ffi.register_ffi_target(TARGETS["cpu"], _pantile.xla_call_on_host, platform="cpu")
    jax.ffi.register_ffi_target(TARGETS["cuda"], _pantile.xla_call_on_gpu, platform="CUDA")


@functools.cache
def primitive():
    """Return the primitive, made at its first use: it needs JAX."""
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir, xla

    register()
    made = Primitive("pantile_call")
    made.multiple_results = True
    made.def_impl(functools.partial(xla.apply_primitive, made))
    made.def_abstract_eval(_abstract)
    batching.primitive_batchers[made] = functools.partial(_batch, made)
    ad.primitive_jvps[made] = _refuse_gradient
    ad.primitive_transposes[made] = _refuse_gradient
    for platform in TARGETS:
        mlir.register_lowering(made, functools.partial(_lower, platform), platform=platform)
    return made


def _abstract(*operands, launch):
    """The outputs' shapes and dtypes. Within `shard_map` they vary where an operand does."""
    from jax.core import ShapedArray
    from jax.sharding import NamedSharding, PartitionSpec

    results = [((*launch.sizes, *shape), dtype) for shape, dtype in launch.outputs]
    varying = frozenset().union(*map(_varying, operands))
    if not varying:
        return [ShapedArray(*result) for result in results]
    model = next(operand for operand in operands if _varying(operand))
    where = {"sharding": NamedSharding(model.sharding.mesh, PartitionSpec())}
    if hasattr(model, "vma"):
        where["vma"] = varying
    else:
        where["manual_axis_type"] = model.manual_axis_type.update(varying=varying)
    return [ShapedArray(*result, **where) for result in results]


def _varying(operand):
    if hasattr(operand, "vma"):
        return operand.vma
    kind = getattr(operand, "manual_axis_type", None)
    return frozenset() if kind is None else kind.varying


def _batch(made, operands, axes, *, launch):
    """The launches of all elements as one operation, each array with the batch's axis first."""
    import jax.numpy as jnp

    extent = next(x.shape[axis] for x, axis in zip(operands, axes) if axis is not None)
    if not isinstance(extent, int):
        raise TypeError(
            f"a batch of kernel `{launch.fn.__name__}` has {extent} elements, expected a number that is "
            "known while JAX traces"
        )
    in_place = dict(launch.aliases)
    moved, has = [], []
    for i, (operand, axis) in enumerate(zip(operands, axes)):
        if axis is not None:
            operand = jnp.moveaxis(operand, axis, 0)
        elif i in in_place:  # each element writes to one of its own
            operand = jnp.broadcast_to(operand, (extent, *operand.shape))
        moved.append(operand)
        has.append(axis is not None or i in in_place)
    results = made.bind(*moved, launch=launch.batched(extent, has))
    return results, [0] * len(results)


def _refuse_gradient(*_, launch, **__):
    raise ValueError(
        f"JAX cannot differentiate kernel `{launch.fn.__name__}`: give its gradient by `jax.custom_vjp`"
    )


def _lower(platform, context, *operands, launch):
    import jax

    attributes = attributes_of(launch, context.avals_in, _target(platform, launch))
    rule = jax.ffi.ffi_lowering(
        TARGETS[platform], operand_output_aliases=dict(launch.aliases), has_side_effect=False
    )
    return rule(context, *operands, **attributes)


def _target(platform, launch):
    """The compiler's name of what a platform of JAX runs on."""
    from .. import _pantile

    if platform == "cpu":
        return "cpu"
    if any(name == "arch" for name, _ in launch.options):
        return "sm_80"  # in place of which the option comes
    if _pantile.device_count() == 0:
        raise RuntimeError(
            f"kernel `{launch.fn.__name__}` is lowered for CUDA where there is no GPU: name one by "
            '`arch="sm90"`'
        )
    return _pantile.device_info(0)["target"]
