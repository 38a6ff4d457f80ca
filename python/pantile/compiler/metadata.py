"""What a launcher has to know of a compiled kernel, as a named tuple."""

from collections import namedtuple


def metadata_of(kernel, target, options):
    """Return the metadata of the extension module's kernel, for a GPUTarget and CUDAOptions.

    `num_warps` counts what is launched, which may be more than was asked for; `num_ctas` is 1.
    `persistent` says that a block runs several programs, so that fewer blocks than programs start.
    """
    import pantile

    fields = {
        **options._asdict(),
        "hash": kernel.hash,
        "target": target,
        "triton_version": pantile.__version__,
        "name": kernel.name,
        "num_warps": kernel.num_warps or options.num_warps,
        "num_ctas": 1,
        "cluster_dims": (1, 1, 1),
        "shared": kernel.shared,
        "persistent": kernel.persistent,
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
