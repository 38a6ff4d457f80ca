"""Spaces of configurations, of which the tuner compiles those that a model finds best: `search_space`."""

import inspect
import itertools

from .config import Config

_OPTIONS = frozenset(inspect.signature(Config).parameters) - {"kwargs", "former"}


class SearchSpace(list):
    """The configurations of a space, and `keep`: how many of them the tuner compiles.

    It is a list, for whatever reads the configurations of a tuner; `search_space` makes it.

    Parameters
    ----------
    configs : list of Config
        The configurations, in the order of the space.
    keep : int
        How many are compiled and measured, at most.
    """

    def __init__(self, configs, keep):
        super().__init__(configs)
        self.keep = keep

    def require_parameters(self, names, kernel):
        """Check that each axis is a parameter or an option.

        Parameters
        ----------
        names : list of str
            The kernel's parameters.
        kernel : str
            Its name, for the message.

        Raises
        ------
        ValueError
            If an axis is neither.
        """
        for config in self[:1]:
            for axis in config.kwargs:
                if axis not in names:
                    raise ValueError(
                        f"the search space has an axis `{axis}`, but `{kernel}` has no such parameter"
                    )


def _choices(axis, values):
    """The values of an axis; of a single one a list of it."""
    try:
        choices = [values] if isinstance(values, (str, bytes)) else list(values)
    except TypeError:
        choices = [values]
    if not choices:
        raise ValueError(f"the axis `{axis}` of a search space has no values")
    return choices


def search_space(*, keep=10, **axes):
    """Return all combinations of the axes' values, for `autotune(configs=...)`.

    `search_space(BLOCK_M=range(64, 257, 16), num_warps=[4, 8])` is a list of 26 configurations.

    Of a space with more than `keep` configurations only `keep` are compiled and measured. For each
    new value of the tuner's key a model chooses them: the front end and the passes are run for the
    arguments and the grid of the launch, and what they plan for a configuration (CTAs per SM, cycles
    per iteration, programs of the last wave, registers) gives the time that it is expected to take.
    Configurations that cannot run are left out; those whose registers would be spilled come last.
    `prune_configs_by` applies as well: `early_config_prune` to the whole space, `perf_model` and
    `top_k` to what the model kept. PANTILE_PRINT_AUTOTUNING=1 prints what was predicted.

    What runs as often as memory says cannot be predicted, nor can anything on the CPU: there the
    first `keep` configurations stay, in the order of the space, and a line on standard error says so.

    Parameters
    ----------
    keep : int, default 10
        Configurations that are compiled and measured, at most; at least 1.
    axes : by keyword
        Values of the kernel's `tl.constexpr` parameters, by name, and of the options of `Config`, such
        as `num_warps` and `num_stages`: an iterable of values, or a single one. Text is one value, so
        that `enabled_passes=[None, "nv-stream-k"]` has two. The last axis varies fastest.

    Returns
    -------
    SearchSpace
        A list of `Config`.

    Raises
    ------
    ValueError
        For an axis without values, and a `keep` below 1; `autotune` raises it for an axis that is no
        parameter of the kernel.
    TypeError
        For a `keep` that is no int.
    """
    if not isinstance(keep, int) or isinstance(keep, bool):
        raise TypeError(f"`keep` is a number of configurations, not a {type(keep).__name__}")
    if keep < 1:
        raise ValueError(f"`keep` is {keep}: a search space keeps 1 configuration at least")
    choices = {axis: _choices(axis, values) for axis, values in axes.items()}
    configs = []
    for values in itertools.product(*choices.values()):
        named = dict(zip(choices, values))
        options = {name: named.pop(name) for name in _OPTIONS & named.keys()}
        configs.append(Config(named, **options))
    return SearchSpace(configs, keep)
