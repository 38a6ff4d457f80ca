"""Modes of a backend, as `start(mode=...)` takes them: CUPTI has only its default one here.

Modes of instrumentation can be made and printed; `start` refuses them.
"""

from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "MMA",
    "BaseMode",
    "Default",
    "InstrumentationMode",
    "Optimize",
    "PCSampling",
    "buffer_strategies",
    "buffer_types",
    "granularities",
    "metric_types",
    "optimizations",
    "sampling_strategies",
]


def _named(name, **values):
    """An enumeration that prints as "NAME.MEMBER"."""
    return Enum(name, values, module=__name__)


_Metric = _named("METRIC_TYPE", CYCLE=0)
_Strategy = _named("BUFFER_STRATEGY", CIRCULAR=0, FLUSH=1)
_Buffer = _named("BUFFER_TYPE", SHARED=1, GLOBAL=2)
_Sampling = _named("SAMPLING_STRATEGY", NONE=0, SELECTIVE=1)
_Granularity = _named(
    "GRANULARITY",
    WARP=1,
    WARP_2=2,
    WARP_4=3,
    WARP_8=4,
    CTA=5,
    WARP_GROUP=6,
    WARP_GROUP_2=7,
    WARP_GROUP_4=8,
    WARP_GROUP_8=9,
)


class Optimize(Enum):
    """What may be done to instrumented code, by a name that `InstrumentationMode` takes."""

    TIMESHIFT = "time_shift"
    SCHED_STORES = "sched_stores"
    SCHED_BARRIERS = "sched_barriers"
    CLOCK32 = "clock32"

    def __str__(self):
        return self.value


def _by_name(kind):
    return {member.name.lower(): member for member in kind}


metric_types = _by_name(_Metric)
buffer_strategies = _by_name(_Strategy)
buffer_types = _by_name(_Buffer)
sampling_strategies = _by_name(_Sampling)
granularities = _by_name(_Granularity)
optimizations = {member.value: member for member in Optimize}

_LOOKUPS = {
    "metric_type": metric_types,
    "sampling_strategy": sampling_strategies,
    "granularity": granularities,
    "buffer_strategy": buffer_strategies,
    "buffer_type": buffer_types,
}


@dataclass(frozen=True)
class BaseMode:
    """A mode, by its name.

    Parameters
    ----------
    name : str
        What `start(mode=...)` takes before the first colon.
    """

    name: str


@dataclass(frozen=True)
class PCSampling(BaseMode):
    """Samples of program counters; `start` refuses it.

    Parameters
    ----------
    interval : int, default 1000
        Cycles between two samples.

    Raises
    ------
    ValueError
        If the interval is not positive.
    """

    name: str = field(default="pcsampling", init=False)
    interval: int = 1000

    def __post_init__(self):
        if self.interval <= 0:
            raise ValueError(f"the interval is {self.interval}, but must be positive")

    def __str__(self):
        return f"{self.name}:interval={self.interval}"


@dataclass(frozen=True)
class InstrumentationMode(BaseMode):
    """Measurements inside of kernels; `start` refuses them.

    Parameters
    ----------
    name : str
        Of the mode.
    metric_type : str or enumeration, optional
        What is measured, a key of `metric_types`: by default "cycle".
    sampling_strategy : str or enumeration, optional
        Of which warps, a key of `sampling_strategies`: by default "none", all.
    sampling_options : str, default ""
        The warps of a selective strategy.
    granularity : str or enumeration, optional
        What one measurement is of, a key of `granularities`: by default "warp".
    buffer_strategy : str or enumeration, optional
        What happens when the buffer is full, a key of `buffer_strategies`: by default "circular".
    buffer_type : str or enumeration, optional
        Where it is kept, a key of `buffer_types`: by default "shared".
    buffer_size : int, default 0
        Bytes; 0 leaves it to the profiler.
    optimizations : list of Optimize, or str, optional
        Of a str the names are between commas; by default none.

    Raises
    ------
    ValueError
        If a name is unknown.
    """

    metric_type: object = _Metric.CYCLE
    sampling_strategy: object = _Sampling.NONE
    sampling_options: str = ""
    granularity: object = _Granularity.WARP
    buffer_strategy: object = _Strategy.CIRCULAR
    buffer_type: object = _Buffer.SHARED
    buffer_size: int = 0
    optimizations: list = field(default_factory=list)

    def __post_init__(self):
        for name, members in _LOOKUPS.items():
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, _member(name, members, value))
        if isinstance(self.optimizations, str):
            names = [name.strip() for name in self.optimizations.split(",") if name.strip()]
            chosen = [_member("optimization", optimizations, name) for name in names]
            object.__setattr__(self, "optimizations", chosen)

    def __str__(self):
        parts = [f"{name}={getattr(self, name)}" for name in _SHOWN]
        return ":".join(
            [self.name, *parts, f"optimizations={','.join(map(str, self.optimizations))}"]
        )


_SHOWN = (
    "metric_type",
    "sampling_strategy",
    "sampling_options",
    "granularity",
    "buffer_strategy",
    "buffer_type",
    "buffer_size",
)


def _member(what, members, name):
    if name not in members:
        raise ValueError(f"Unknown {what}: {name}")
    return members[name]


@dataclass(frozen=True)
class Default(InstrumentationMode):
    """Instrumentation of what the kernel marks; the parameters are those of InstrumentationMode.

    Parameters
    ----------
    metric_type, sampling_strategy, granularity : str or enumeration, optional
        What is measured, of which warps, and what one measurement is of.
    sampling_options : str, default ""
        The warps of a selective strategy.
    buffer_strategy, buffer_type : str or enumeration, optional
        What happens when the buffer is full, and where it is.
    buffer_size : int, default 0
        Bytes; 0 leaves it to the profiler.
    optimizations : list of Optimize, or str, optional
        What may be done to the code.

    Raises
    ------
    ValueError
        If a name is unknown.
    """

    name: str = field(default="default", init=False)


@dataclass(frozen=True)
class MMA(InstrumentationMode):
    """Instrumentation of MMAs; the parameters are those of InstrumentationMode.

    Parameters
    ----------
    metric_type, sampling_strategy, granularity : str or enumeration, optional
        What is measured, of which warps, and what one measurement is of.
    sampling_options : str, default ""
        The warps of a selective strategy.
    buffer_strategy, buffer_type : str or enumeration, optional
        What happens when the buffer is full, and where it is.
    buffer_size : int, default 0
        Bytes; 0 leaves it to the profiler.
    optimizations : list of Optimize, or str, optional
        What may be done to the code.

    Raises
    ------
    ValueError
        If a name is unknown.
    """

    name: str = field(default="mma", init=False)
