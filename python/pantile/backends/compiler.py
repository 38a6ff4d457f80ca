"""What a kernel is compiled for, and what a back end answers about its options."""

from enum import Enum

from .attrs_descriptor import serve_imports_from
from .record import Record

serve_imports_from(__name__)


class GPUTarget(Record):
    """A target as Triton names it: ("cuda", 90, 32); ours besides: ("cpu", "cpu", 1).

    Parameters
    ----------
    backend : {"cuda", "cpu"}
        The backend: "cuda" or "cpu".
    arch : int or str
        The compute capability, major * 10 + minor, or the compiler's name of it ("sm_90a"); "cpu".
    warp_size : int
        Threads of a warp: 32, on the CPU 1.
    """

    backend: str
    arch: object
    warp_size: int

    @property
    def name(self):
        """The compiler's name of the target: "sm_90a", "cpu"."""
        if self.backend == "cpu":
            return "cpu"
        if isinstance(self.arch, str):
            return self.arch
        return f"sm_{self.arch}a" if self.arch >= 90 else f"sm_{self.arch}"


class Language(Enum):
    """The language that a kernel is written in."""

    TRITON = 0
    GLUON = 1


class BaseBackend:
    """A target's part of the compiler, with the interface that libraries use."""

    supports_native_tensor_specialization = True

    def __init__(self, target):
        if not self.supports_target(target):
            raise RuntimeError(f"{type(self).__name__} does not compile for {target}")
        self.target = target

    @staticmethod
    def supports_target(target):
        raise NotImplementedError

    def hash(self):
        """Return a text that differs where the target's output does."""
        raise NotImplementedError

    def parse_options(self, options):
        """Return the options object for launch keywords; those that are no options are left out."""
        raise NotImplementedError

    def pack_metadata(self, metadata):
        """Return (warps, CTAs of a cluster, shared bytes), which other launchers want."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    @staticmethod
    def parse_attr(desc):
        """Return the attributes that a letter of a specialisation stands for."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        """Return "D" for a multiple of 16 if `align` is set, "" otherwise."""
        return "D" if kwargs.get("align") and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        """Return "D" for an array at a multiple of 16 if `align` is set, "" otherwise."""
        from ..runtime.tensors import address_of

        return "D" if kwargs.get("align") and address_of(arg) % 16 == 0 else ""

    @classmethod
    def get_arg_specialization(cls, argument, ty, align=False, **_):
        """Return "D" where 16 divides an argument of the kind `ty`, "int" or "tensor", and it counts.

        "" otherwise; it counts if `align` is true.
        """
        kinds = {"int": cls.get_int_specialization, "tensor": cls.get_tensor_specialization}
        return kinds[ty](argument, align=align) if align and ty in kinds else ""

    def get_module_map(self):
        """Return the modules that names in kernels are looked up in, by Triton's name."""
        from ..language.extra import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def get_codegen_implementation(self, options):
        """Return {}: what a target generates is compiled in."""
        return {}

    def load_dialects(self, context):
        """Do nothing: the compiler's dialects are compiled in."""

    def add_stages(self, stages, options, language=None):
        """Name the stages in order; a stage's text comes from the compiled kernel."""
        for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
            stages[stage] = None
