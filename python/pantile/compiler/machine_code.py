"""What the library made of a kernel, in a form that another process can take up.

Libraries take a compiled kernel apart: they pickle its attributes one by one and put them into a new
object elsewhere. What stands here pickles as what means something there.
"""


class MachineCode:
    """The library's kernel, and the function that compiles it again up to another stage.

    Pickles as the bytes of an artifact: machine code, or on the CPU tile IR, with all that a launch
    needs. The function is left out: `compile_to` is None in what is restored, and RuntimeError says
    so where a stage is read that was not kept.
    """

    def __init__(self, kernel, compile_to=None):
        self.kernel, self.compile_to = kernel, compile_to
        self.direct_run = None  # what `CompiledKernel.run` tries first; made on access

    def compile(self, **observe):
        """Return the library's kernel again, up to the stage `stop_after`; see `_pantile.compile`."""
        if self.compile_to is None:
            raise RuntimeError(
                f"kernel `{self.kernel.name}` was restored from a pickle, which keeps its machine "
                "code and not what it was compiled from"
            )
        return self.compile_to(**observe)

    def __reduce__(self):
        kernel = self.kernel
        if not kernel.cubin and "tile" not in kernel.text:
            kernel = self.compile(stop_after="tile", use_cache=False)
        return (_restore, (kernel.to_bytes(),))


def _restore(artifact):
    from .. import _pantile

    return MachineCode(_pantile.Kernel.of_bytes(artifact))


class Handles(tuple):
    """(module, function, registers, spills, most threads of a CTA), of this process's driver.

    They mean nothing elsewhere: unpickled they are None, as of a kernel that is not loaded yet.
    """

    def __reduce__(self):
        return (type(None), ())
