"""Modes of a backend, as `start(mode=...)` takes them: CUPTI has only its default one here."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class BaseMode:
    """A mode, by its name."""

    name: str


@dataclass(frozen=True)
class PCSampling(BaseMode):
    """Samples of program counters, one each `interval` cycles; `start` refuses it.

    ValueError if the interval is not positive.
    """

    name: str = field(default="pcsampling", init=False)
    interval: int = 1000

    def __post_init__(self):
        if self.interval <= 0:
            raise ValueError(f"the interval is {self.interval}, but must be positive")

    def __str__(self):
        return f"{self.name}:interval={self.interval}"
