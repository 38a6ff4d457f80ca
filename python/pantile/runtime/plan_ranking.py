"""Ranking configurations by what the compiler plans for them, before any is compiled.

Two steps: an estimate from the tiles of each configuration, which takes the front end and a
millisecond; then, for the best of these, the plan of the passes. Neither makes code. Both are the
compiler's (`pantile/Prediction.h`), as is the order that follows (`rankCandidates` of
`pantile/Tuner.h`), and no rule is specific to one kind of kernel.
"""

import functools
import warnings
from concurrent.futures import ThreadPoolExecutor

from .errors import CompilationError, InternalError, OutOfResources
from .heuristics import Heuristics
from .jit_function import JITFunction
from .tensors import MockTensor
from .tuning import Progress, _cores

# What rules a configuration out. Where all are, the first of these is the caller's.
_REFUSALS = (CompilationError, OutOfResources, InternalError)

_OF_VARIANTS = {"num_warps", "num_stages"}  # options that tiles do not depend on


class Ranking:
    """What was found: `order`, the configurations from the best on, with all that can run.

    `predictions` has those of the second look, `refused` {configuration: error}. `unknown` says why
    nothing could be predicted; then `order` is that of the caller.
    """

    def __init__(self, order, predictions=None, refused=None, unknown=""):
        self.order, self.unknown = order, unknown
        self.predictions, self.refused = predictions or {}, refused or {}


def rank(tuner, configs, named, grid):
    """Return the Ranking of `configs` for a launch.

    Parameters
    ----------
    tuner : Autotuner
        Above the kernel, or above `heuristics` of it.
    configs : list of Config
        What to rank; equal ones stay in this order.
    named : dict
        Arguments and options of the launch by name, without those of the configurations.
    grid : tuple, int or callable
        Of the launch; None: it is not known.
    """
    if grid is None:
        return Ranking(configs, unknown="the grid is not known")
    progress = Progress(f"predicting {tuner.__name__}", len(configs))
    try:
        with ThreadPoolExecutor(min(_cores(), len(configs))) as pool:
            predictor = Predictor(tuner.fn, named, grid, pool, progress)
            return _rank(predictor, configs, tuner.keep)
    except _NotPredictable as error:
        return Ranking(configs, unknown=str(error))
    finally:
        progress.close()


def _rank(predictor, configs, keep):
    from .. import _pantile

    planned = {}

    def by_tiles(numbers):
        found = predictor.of_tiles([configs[number] for number in numbers])
        return [found.get(configs[number]) for number in numbers]

    def by_plans(numbers):
        found = predictor.of_plans([configs[number] for number in numbers])
        planned.update(found)
        return [found.get(configs[number]) for number in numbers]

    tiles = [repr(config.kwargs) for config in configs]
    order, unknown = _pantile.rank_candidates(tiles, by_tiles, by_plans, keep)
    if not order:
        raise next(iter(predictor.refused.values()))
    return Ranking([configs[number] for number in order], planned, predictor.refused, unknown)


class _NotPredictable(Exception):
    """There is nothing to predict from; the text says why."""


class Predictor:
    """Has the compiler predict launches of one kernel; `refused` are {configuration: error}."""

    def __init__(self, fn, named, grid, pool, progress):
        from .snapshot import Snapshot

        self.fn, self.named, self.grid, self.pool, self.progress = fn, named, grid, pool, progress
        self.kernel = _kernel_under(fn)
        self.snapshot = Snapshot(self.kernel)
        self.refused = {}

    def of_plans(self, configs):
        """Return {configuration: prediction} by what the passes plan, without those that cannot run."""
        from .. import _pantile

        parts = [self._launch(config) for config in configs]
        program = self.snapshot.program()
        futures = [self.pool.submit(_pantile.predict, program, *part) for part in parts]
        found = {}
        for config, future in zip(configs, futures):
            found.update(self._result([config], future, lambda prediction: [prediction]))
        return found

    def of_tiles(self, configs):
        """Return the same by the tiles alone, which warps and stages do not change."""
        from .. import _pantile

        groups = self._groups(configs)
        parts = [self._launch(group[0]) for group in groups]
        program = self.snapshot.program()
        futures = [
            self.pool.submit(
                _pantile.predict_tiles, program, *part, [(c.num_warps, c.num_stages) for c in group]
            )
            for group, part in zip(groups, parts)
        ]
        found = {}
        for group, future in zip(groups, futures):
            found.update(self._result(group, future))
        return found

    def _result(self, group, future, many=list):
        try:
            found = dict(zip(group, many(future.result())))
        except _REFUSALS as error:
            self.refused.update(dict.fromkeys(group, error))
            found = {}
            if isinstance(error, InternalError):
                warnings.warn(f"{group[0]} is left out: {error}", RuntimeWarning, stacklevel=2)
        for _ in group:
            self.progress.step()
        return found

    def _groups(self, configs):
        """Lists of configurations that differ in warps and stages, where nothing of the kernel reads these."""
        reads = self.fn is not self.kernel or _OF_VARIANTS & set(self.kernel.arg_names)
        groups = {}
        for config in configs:
            given = config.all_kwargs()
            key = repr([item for item in given.items() if reads or item[0] not in _OF_VARIANTS])
            groups.setdefault((key, config.pre_hook), []).append(config)
        return list(groups.values())

    def _launch(self, config):
        """Return what the compiler needs of a launch: specialisation, options, call, grid, SMs."""
        from ..compiler.options import make_options

        full = {**self.named, **config.all_kwargs()}
        if config.pre_hook is not None:
            config.pre_hook(dict(full))
        full = _with_mocks(self.kernel, _with_heuristics(self.fn, full))
        call = self.kernel.dispatcher.prepare(**full)
        if call.target == "cpu":
            raise _NotPredictable("the kernel runs on the CPU")
        options = make_options(call.target, call.options, self.kernel.debug)
        grid = self.grid
        extents = grid({**call.options, **call.named()}) if callable(grid) else grid
        specialization = call.specialization(self.snapshot.constant)
        return specialization, options, call, extents, _sms(call.device)


@functools.cache
def _sms(device):
    from .. import _pantile

    return _pantile.device_info(device)["multiprocessor_count"]


def _kernel_under(fn):
    while isinstance(fn, Heuristics):
        fn = fn.fn
    if type(fn) is not JITFunction:
        raise _NotPredictable(f"a `{type(fn).__name__}` is no kernel whose source is known")
    return fn


def _with_mocks(kernel, named):
    """Dtypes may stand for arrays, as in `warmup`."""
    for param in kernel.params:
        if not param.is_constexpr and param.name in named:
            named[param.name] = MockTensor.wrap_dtype(named[param.name])
    return named


def _with_heuristics(fn, named):
    while isinstance(fn, Heuristics):
        for name, heuristic in fn.values.items():
            named[name] = heuristic(named)
        fn = fn.fn
    return named
