"""What a kernel is compiled for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GPUTarget:
    """A target as Triton names it: ("cuda", 90, 32); ours besides: ("cpu", "cpu", 1)."""

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
