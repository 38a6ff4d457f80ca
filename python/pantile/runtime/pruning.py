"""The configurations of a search space that are worth compiling for a launch.

Which these are follows from the kernel's text, the values of all numbers among the arguments, the
grid, the kind of GPU and the space. So all ranks find the same, and what was found is kept in the
cache of kernels, as times are: another process neither predicts nor compiles.
"""

import hashlib
import json
import sys

from .. import _pantile, knobs
from ..language.constexpr import constexpr
from ..language.dtypes import dtype
from .cache import triton_key
from .errors import AutotunerError

_OF_LAUNCHES = ("grid", "warmup")  # keywords that are neither arguments nor options


def most_promising(tuner, configs, kwargs):
    """Return `tuner.keep` of `configs`, those first that are expected to be fast.

    Parameters
    ----------
    tuner : Autotuner
        Its `nargs` are the arguments of the launch.
    configs : list of Config
        More than are kept.
    kwargs : dict
        The keywords of the launch, `grid` among them.

    Raises
    ------
    CompilationError, OutOfResources
        Where no configuration compiles up to its plan: that of the first.
    """
    from .plan_ranking import rank

    options = {name: value for name, value in kwargs.items() if name not in _OF_LAUNCHES}
    named = {**tuner.nargs, **options}
    device = tuner._device_of(named)
    entry = _entry(tuner, configs, named, kwargs.get("grid"), device)
    kept = _load(entry, configs, tuner.keep)
    if kept is not None:
        return kept
    ranking = rank(tuner, configs, named, kwargs.get("grid"))
    kept = ranking.order[: tuner.keep]
    _say(tuner, configs, ranking, kept)
    if entry is not None and not ranking.unknown:
        found = {"kernel": tuner.__name__, "kept": [configs.index(config) for config in kept]}
        _pantile.cache_store(entry, json.dumps(found), "tuning")
    return kept


def _entry(tuner, configs, named, grid, device):
    """The key of what is kept; None where nothing is, or a part of it cannot be named."""
    from .tuning_cache import device_name, hook_identity, kernel_of

    hooks = [hook_identity(config.pre_hook) for config in configs]
    if device < 0 or None in hooks or tuner._store((), device) is None:
        return None
    try:
        kernel = kernel_of(tuner)
        described = [f"{name}={_described(value)}" for name, value in named.items()]
        first = {**named, **configs[0].all_kwargs()}
        extents = grid(first) if callable(grid) else grid
    except (AttributeError, TypeError, KeyError):
        return None
    parts = ["pantile search space 1", triton_key(), kernel.cache_key, device_name(device)]
    parts += [str(len(described)), *described, str(extents), str(tuner.keep)]
    for config, hook in zip(configs, hooks):
        parts += [str(config), str(config.ir_override), hook]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _described(value):
    """A number by its value, an array by its type and alignment; TypeError for what has neither."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_described, value))})"
    if hasattr(value, "block_shape"):
        return f"descriptor {_described(value.base)} {value.shape} {value.strides}"
    is_number = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
    if isinstance(value, (int, float, str, type(None), dtype, constexpr)) or is_number:
        return repr(value)
    if hasattr(value, "cache_key"):
        return value.cache_key
    if not hasattr(value, "dtype"):
        raise TypeError(f"a {type(value).__name__} has no description that other processes share")
    address = value.data_ptr() if hasattr(value, "data_ptr") else 0
    return f"{value.dtype} {address % 16 == 0}"


def _load(entry, configs, keep):
    payload = _pantile.cache_load(entry) if entry else None
    try:
        kept = [configs[place] for place in json.loads(payload)["kept"]] if payload else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return kept if kept and len(kept) <= keep else None


def _say(tuner, configs, ranking, kept):
    """Print predictions where that is requested, and once per kernel that none was possible."""
    if ranking.unknown and not tuner._said_unranked:
        tuner._said_unranked = True
        print(
            f"pantile: {tuner.__name__}: the {len(configs)} configurations of the search space are not "
            f"ranked: {ranking.unknown}; the first {len(kept)} that fit are taken",
            file=sys.stderr,
        )
    if not knobs.autotuning.print:
        return
    print(
        f"pantile: {tuner.__name__}: {len(kept)} of {len(configs)} configurations are compiled; "
        f"{len(ranking.predictions)} were planned, {len(ranking.refused)} cannot run"
    )
    for config in kept:
        prediction = ranking.predictions.get(config)
        if prediction is not None and not prediction.unknown:
            spilled = ", spilled" if prediction.spills else ""
            print(
                f"expected: {config}: {prediction.cycles:.0f} cycles, "
                f"{prediction.ctas_per_sm} per SM{spilled}"
            )


def best_by_model(tuner, configs, kwargs):
    """Return the `top_k` configurations for which `perf_model` gives the least."""
    count = tuner.configs_top_k
    if isinstance(count, float) and count <= 1.0:
        count = int(len(tuner.configs if tuner.keep is None else configs) * count)
    elif not isinstance(count, int):
        raise TypeError(
            "Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int"
        )
    if len(configs) <= count:
        return configs
    estimate = {c: tuner.perf_model(**{**tuner.nargs, **kwargs, **c.all_kwargs()}) for c in configs}
    return sorted(estimate, key=estimate.get)[: max(count, 1)]


def worth_measuring(tuner, kwargs):
    """Return the configurations that the author's pruning, the plan and the author's model leave."""
    configs = tuner.configs
    if tuner.early_config_prune:
        configs = list(tuner.early_config_prune(configs, tuner.nargs, **kwargs))
        if not configs:
            raise AutotunerError(
                f"no configuration of `{tuner.__name__}` is left after pruning "
                '(Triton: "No valid autotuner configs after pruning.")'
            )
    if tuner.keep is not None and len(configs) > tuner.keep:
        configs = most_promising(tuner, configs, kwargs)
    return best_by_model(tuner, configs, kwargs) if tuner.perf_model else configs
