"""What a launcher needs of a compiled kernel, as a named tuple."""

from collections import namedtuple

from ..release import __version__


def metadata_of(kernel, target, options):
    """Return the metadata of the extension module's kernel, for a GPUTarget and CUDAOptions.

    `num_warps` counts what is launched, which may be more than was requested; `num_ctas` counts the
    CTAs of a program, whatever was requested: a launch starts as many along the grid's first axis.
    `persistent` says that a CTA runs several programs, so that fewer CTAs than programs start.
    `launch_abi` is "triton" if any launcher can start the kernel, whatever it was compiled for.
    """
    fields = {
        **options._asdict(),
        "hash": kernel.hash,
        "target": target,
        "triton_version": __version__,
        "name": kernel.name,
        "num_warps": kernel.num_warps or options.num_warps,
        "num_ctas": kernel.blocks_per_program,
        "cluster_dims": (kernel.blocks_per_program, 1, 1),
        "shared": kernel.shared,
        "persistent": kernel.persistent,
        "launch_abi": "full" if kernel.needs_beyond_arguments else "triton",
        "tmem_size": 0,
        "global_scratch_size": 0,
        "global_scratch_align": 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tensordesc_meta": [],
    }
    return _class_of(tuple(sorted(fields)))(**fields)


_classes = {}


def _class_of(names):
    if names not in _classes:
        made = namedtuple("KernelMetadata", names)
        made.__reduce__ = lambda self: (_restore, (names, tuple(self)))
        _classes[names] = made
    return _classes[names]


def _restore(names, values):
    return _class_of(names)(*values)
