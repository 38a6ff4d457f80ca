"""A launch's kernel for one target: its arguments classified, compiled."""

from dataclasses import dataclass

from .parameters import Constant


class _Pointer:
    """Stands for an array whose address is decided later."""

    def __init__(self, dtype, is_aligned):
        self.dtype, self._is_aligned = dtype, is_aligned

    def data_ptr(self):
        return 0 if self._is_aligned else 1


@dataclass
class Prepared:
    """A kernel whose arguments are classified, for one target."""

    fn: object
    call: object
    snapshot: object
    specialization: object
    target: str
    name: str

    @property
    def options(self):
        return dict(self.call.options)

    @property
    def source(self):
        from ..compiler.source import ASTSource

        return ASTSource.of_specialization(self.fn, self.specialization, self.call.values)

    def kernel_name(self):
        """The name that the machine code gets; None for the function's."""
        from ..runtime.callables import symbol_of

        return symbol_of(self.name) or self.fn._kernel_name(self.source)

    def _compilation(self, program=None):
        """A function that compiles; its first arguments are program, specialisation and options."""
        from ..compiler.kernel import prepare

        program = program or self.snapshot.program(self.kernel_name())
        return prepare(program, self.specialization, self.target, self.options, self.source)

    def compile(self, program=None):
        """Return the library's kernel of `program`, by default the function's.

        One for the CPU has its tile IR, of which an artifact is made.
        """
        code = self._compilation(program)()._code
        self.fn._remember(self.snapshot)
        if code.kernel.cubin or "tile" in code.kernel.text:
            return code.kernel
        return code.compile(stop_after="tile", use_cache=False)

    def tile_ir(self):
        """Return the tile IR of the function, as text."""
        from .. import _pantile

        inputs = self._compilation().args[:3]
        return _pantile.compile(*inputs, stop_after="tile", use_cache=False).text["tile"]


def prepare_kernel(launch, dtype_of, target, is_aligned):
    """Classify the arguments of a launch.

    Parameters
    ----------
    launch : Launch
        What is launched.
    dtype_of : callable
        Gives the dtype of an Operand or a Result.
    target : str
        "cpu", or a GPU's name such as "sm_90a".
    is_aligned : callable
        Says of an Operand or a Result whether its address is a multiple of 16.
    """
    from .. import knobs
    from ..runtime.snapshot import Snapshot

    arguments = {
        name: source.value
        if isinstance(source, Constant)
        else _Pointer(str(dtype_of(source)), is_aligned(source))
        for name, source in launch.values
    }
    options = {name: option.value for name, option in launch.options}
    knobs.update_compile_settings()
    call = launch.fn.dispatcher.prepare(**arguments, **options)
    snapshot = Snapshot(launch.fn)
    specialization = call.specialization(snapshot.constant)
    return Prepared(launch.fn, call, snapshot, specialization, target, launch.name)
