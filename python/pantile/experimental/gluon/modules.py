"""The modules below `gluon`: their names, of which those of `triton.language` are that language's.

Layouts and other classes can be made, compared and hashed, since programs make them where they
define their kernels; functions cannot be called.
"""

import importlib.machinery
import sys
import types

from ...language.aggregate import aggregate
from .runtime import refuse

_LANGUAGE = """
allocate_shared_memory assume bank_conflicts convert_layout distributed_type dot_fma fp4_to_fp full_like num_ctas
num_warps set_auto_layout shared_memory_descriptor shared_memory_descriptor_type thread_barrier to_linear_layout
warp_specialize AutoLayout BlockedLayout CoalescedLayout DistributedLayout DistributedLinearLayout DotOperandLayout
NVMMADistributedLayout NVMMASharedLayout PaddedSharedLayout SharedLayout SharedLinearLayout SliceLayout
SwizzledSharedLayout aggregate barrier
"""
_BARRIERS = "MBarrierLayout init invalidate wait arrive expect allocate_mbarrier"
_TMA = """
async_copy_global_to_shared async_copy_shared_to_global store_wait tensor_descriptor tensor_descriptor_type
make_tensor_descriptor async_gather async_scatter
"""
_COPIES = "async_copy_global_to_shared mbarrier_arrive commit_group wait_group"
_BUFFERS = """
buffer_load buffer_store buffer_atomic_max buffer_atomic_min buffer_atomic_add buffer_atomic_and
buffer_atomic_or buffer_atomic_xor buffer_atomic_xchg
"""
_MODULES = {
    "language": _LANGUAGE,
    "language._core": _LANGUAGE + "builtin",
    "language._layouts": _LANGUAGE,
    "language.extra": "",
    "language.nvidia": "",
    "language.nvidia.ampere": "mma_v2",
    "language.nvidia.ampere.async_copy": _COPIES,
    "language.nvidia.ampere.mbarrier": _BARRIERS,
    "language.nvidia.hopper": """mma_v2 fence_async_shared warpgroup_mma warpgroup_mma_accumulator
        warpgroup_mma_accumulator_type warpgroup_mma_init warpgroup_mma_wait""",
    "language.nvidia.hopper.async_copy": _COPIES,
    "language.nvidia.hopper.mbarrier": _BARRIERS,
    "language.nvidia.hopper.tma": _TMA,
    "language.nvidia.blackwell": """mma_v2 fence_async_shared TensorMemoryLayout TensorMemoryScalesLayout
        get_tmem_reg_layout tensor_memory_descriptor tensor_memory_descriptor_type allocate_tensor_memory
        tcgen05_copy tcgen05_mma tcgen05_mma_scaled tcgen05_commit""",
    "language.nvidia.blackwell.async_copy": _COPIES,
    "language.nvidia.blackwell.float2": "Float2Tensor pack2 unpack2 pack unpack full_like fma",
    "language.nvidia.blackwell.mbarrier": _BARRIERS,
    "language.nvidia.blackwell.tma": _TMA,
    "language.amd": "AMDMFMALayout AMDWMMALayout",
    "language.amd.cdna3": _BUFFERS + "mfma",
    "language.amd.cdna4": _BUFFERS + "mfma mfma_scaled get_mfma_scale_layout",
    "language.amd.cdna4.async_copy": """global_load_to_shared buffer_load_to_shared commit_group wait_group
        load_shared_relaxed""",
    "language.amd.gfx1250": "buffer_load buffer_store wmma wmma_scaled get_wmma_scale_layout",
    "language.amd.gfx1250.async_copy": "commit_group wait_group global_to_shared mbarrier_arrive",
    "language.amd.gfx1250.mbarrier": _BARRIERS,
    "language.amd.gfx1250.tdm": """tensor_descriptor_type tensor_descriptor make_tensor_descriptor async_load
        async_store async_wait""",
    "language.amd.rdna3": "wmma",
    "language.amd.rdna4": "wmma",
    "nvidia": "",
    "nvidia.hopper": "TensorDescriptor",
    "nvidia.blackwell": "TensorDescriptor",
    "amd": "",
    "amd.gfx1250": "TensorDescriptor",
}


class GluonFunction:
    """A function of Gluon's language, which cannot be called here."""

    def __init__(self, name, module):
        self.__name__ = self.__qualname__ = name
        self.__module__ = module

    def __call__(self, *args, **kwargs):
        refuse(f"gluon.{self.__name__}")

    def __repr__(self):
        return f"<Gluon's {self.__name__}>"


class GluonObject:
    """An object of one of Gluon's classes, such as a layout: what it was made of."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def __eq__(self, other):
        return type(self) is type(other) and (self.args, self.kwargs) == (other.args, other.kwargs)

    def __hash__(self):
        return hash(repr(self))

    def __repr__(self):
        shown = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_class(name):
    return name[0].isupper() or name.endswith(("_type", "_descriptor", "_accumulator"))


_classes = {}


def _member(name, module):
    if name == "aggregate":
        return aggregate
    if not _is_class(name):
        return GluonFunction(name, module)
    if name not in _classes:
        _classes[name] = type(name, (GluonObject,), {"__module__": module})
    return _classes[name]


def _own_names(name, tl):
    if name in ("language", "language._core"):
        return {known: getattr(tl, known) for known in tl.__all__ if hasattr(tl, known)}
    return {"libdevice": tl.extra.libdevice} if name == "language.extra" else {}


def make_modules(package, tl):
    """Make all modules below `package`, and return its own: language, nvidia and amd.

    `tl` is the module of Triton's language, whose names Gluon's has too.
    """
    for name, names in _MODULES.items():
        path = f"{package}.{name}"
        made = types.ModuleType(path, "Names of Gluon, which is not compiled here.")
        made.__spec__ = importlib.machinery.ModuleSpec(path, None, is_package=True)
        made.__path__ = []
        vars(made).update(_own_names(name, tl))
        vars(made).update({each: _member(each, path) for each in names.split()})
        sys.modules[path] = made
        parent, _, last = path.rpartition(".")
        if parent != package:
            setattr(sys.modules[parent], last, made)
    return tuple(sys.modules[f"{package}.{name}"] for name in ("language", "nvidia", "amd"))
