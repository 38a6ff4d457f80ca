"""What a kernel is compiled for."""

from .record import Record


class GPUTarget(Record):
    """A target as Triton names it: ("cuda", 90, 32); ours also: ("cpu", "cpu", 1).

    Parameters
    ----------
    backend : {"cuda", "cpu"}
        The backend: "cuda" or "cpu".
    arch : int or str
        The compute capability, major * 10 + minor, or the compiler's name of it ("sm_90a"); "cpu".
    warp_size : int
        Threads of a warp: 32, on the CPU 1.
    """

    __module__ = "pantile.backends.compiler"  # where Triton has it

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
