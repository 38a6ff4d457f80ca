"""The target that a kernel is compiled for, as compile-time values; on the host, the current device."""

from .names import Builtin

_NAMES = """
current_target is_cuda is_hip is_hip_cdna1 is_hip_cdna2 is_hip_cdna3 is_hip_cdna4 is_hip_rdna3 is_hip_rdna4
is_hip_gfx1250 cuda_capability_geq
""".split()


class TargetQuestion(Builtin):
    """A property of the target; of the current device when the host calls it."""

    def __call__(self, *args, _semantic=None):
        from ..runtime.device import active_device

        target = active_device().get_current_target()
        if self.__name__ == "current_target":
            return target
        if self.__name__ == "is_cuda":
            return target.backend == "cuda"
        if self.__name__ == "cuda_capability_geq":
            major, minor = (*args, 0)[:2]
            return target.backend == "cuda" and target.arch >= major * 10 + minor
        return False


globals().update({name: TargetQuestion(name, "target_info") for name in _NAMES})

__all__ = [*_NAMES]
