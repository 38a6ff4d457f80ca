"""What a kernel is compiled for, and what a back end answers about its options."""

from enum import Enum

from .attrs_descriptor import serve_imports_from
from .target import GPUTarget  # noqa: F401

serve_imports_from(__name__)


class Language(Enum):
    """The language that a kernel is written in: `TRITON`, or `GLUON`, which is not compiled."""

    TRITON = 0
    GLUON = 1


class BaseBackend:
    """A target's part of the compiler, with the interface that libraries use.

    Parameters
    ----------
    target : GPUTarget
        What it compiles for.

    Raises
    ------
    RuntimeError
        For a target of another back end.
    """

    supports_native_tensor_specialization = True

    def __init__(self, target):
        if not self.supports_target(target):
            raise RuntimeError(f"{type(self).__name__} does not compile for {target}")
        self.target = target

    @staticmethod
    def supports_target(target):
        """Return whether the back end compiles for a target.

        Parameters
        ----------
        target : GPUTarget
            The target.

        Raises
        ------
        NotImplementedError
            Where a subclass does not say.
        """
        raise NotImplementedError

    def hash(self):
        """Return a text that differs where the target's output does; NotImplementedError without one."""
        raise NotImplementedError

    def parse_options(self, options):
        """Return the options object for launch keywords; those that are no options are left out.

        Parameters
        ----------
        options : dict
            The keywords of a launch.

        Raises
        ------
        NotImplementedError
            Where a subclass has no options.
        """
        raise NotImplementedError

    def pack_metadata(self, metadata):
        """Return (warps, CTAs of a cluster, shared bytes), which other launchers want.

        Parameters
        ----------
        metadata : named tuple
            A compiled kernel's.
        """
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    @staticmethod
    def parse_attr(desc):
        """Return the attributes that a letter of a specialisation stands for.

        Parameters
        ----------
        desc : str
            "D" where 16 divides, else "".
        """
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        """Return "D" for a multiple of 16 if `align` is set, "" otherwise.

        Parameters
        ----------
        arg : int
            The argument.
        kwargs : by keyword
            `align`, a bool: whether multiples of 16 are distinguished.
        """
        return "D" if kwargs.get("align") and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        """Return "D" for an array at a multiple of 16 bytes if `align` is set, "" otherwise.

        Parameters
        ----------
        arg : array
            The argument.
        kwargs : by keyword
            `align`, a bool: whether multiples of 16 are distinguished.
        """
        from ..runtime.tensors import address_of

        return "D" if kwargs.get("align") and address_of(arg) % 16 == 0 else ""

    @classmethod
    def get_arg_specialization(cls, argument, ty, align=False, **_):
        """Return "D" where 16 divides an argument and that counts, "" otherwise.

        Parameters
        ----------
        argument : int or array
            The argument.
        ty : str
            Its kind, "int" or "tensor"; "" is returned for another one.
        align : bool, default False
            Whether multiples of 16 count.
        """
        kinds = {"int": cls.get_int_specialization, "tensor": cls.get_tensor_specialization}
        return kinds[ty](argument, align=align) if align and ty in kinds else ""

    def get_module_map(self):
        """Return the modules that names in kernels are looked up in, by Triton's name."""
        from ..language.extra import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def get_codegen_implementation(self, options):
        """Return {}: what a target generates is compiled in.

        Parameters
        ----------
        options : options object
            Of `parse_options`, without effect.
        """
        return {}

    def load_dialects(self, context):
        """Do nothing: the compiler's dialects are compiled in.

        Parameters
        ----------
        context : any
            Of Triton, without effect.
        """

    def add_stages(self, stages, options, language=None):
        """Name the stages in order; a stage's text comes from the compiled kernel.

        Parameters
        ----------
        stages : dict
            Gets the stages' names, with None.
        options : options object
            Of `parse_options`, without effect.
        language : Language, optional
            Without effect.
        """
        for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
            stages[stage] = None
