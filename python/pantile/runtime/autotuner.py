"""Choosing among configurations by measuring them: `@autotune`.

A choice is kept for the values of the key arguments, the dtypes of all arrays and the kind of GPU. On the CPU nothing is measured
unless PANTILE_TUNE_CPU=1: the first configuration left after pruning runs, and a line says so, once per kernel.
"""

import functools
import inspect
import sys
import warnings

from .. import knobs
from . import tuned_arrays
from .config import Config
from .errors import AutotunerError, CompileTimeAssertionFailure, OutOfResources, PTXASError
from .heuristics import Heuristics, heuristics, require_kernel
from .jit_function import JITFunction
from .kernel_interface import FirstLaunchers, KernelInterface, RunLaunchers
from .tensors import MockTensor

__all__ = [
    "Autotuner",
    "AutotunerError",
    "Config",
    "Heuristics",
    "OutOfResources",
    "PTXASError",
    "autotune",
    "heuristics",
]


@functools.cache
def _kind_of(device):
    """What a key begins with: nothing for the first GPU and others like it."""
    from .tuning_cache import device_name

    return () if device >= 0 and device_name(device) == device_name(0) else (device_name(device),)


class Autotuner(KernelInterface):
    """A kernel with several configurations; `autotune` makes it.

    `best_config` is what the last launch took, `cache` has the choices by key, `configs_timings`
    milliseconds of each configuration at quantiles 0.5, 0.2 and 0.8, and `bench_time` how many seconds
    the last tuning took.

    Parameters
    ----------
    fn : JITFunction, Autotuner or Heuristics
        The kernel.
    arg_names : list of str
        Its parameters, in order.
    configs : list of Config, or SearchSpace
        What to choose from; an empty list is one default Config.
    key : list of str
        Parameters whose values matter for the choice.
    reset_to_zero, restore_value : list of str, optional
        Arrays that are zeroed before, or restored after, each measured run.
    pre_hook, post_hook : callable, optional
        Called around each measured run, as of `autotune`.
    prune_configs_by : dict, optional
        `early_config_prune`, `perf_model` and `top_k`, as of `autotune`.
    warmup, rep : int, optional
        Milliseconds of `do_bench`; deprecated.
    use_cuda_graph : bool, default False
        Measure by `do_bench_cudagraph`; deprecated.
    do_bench : callable, optional
        Called as `do_bench(kernel_call, quantiles=(0.5, 0.2, 0.8))`; returns milliseconds.
    cache_results : bool, default False
        Keep the times on disk in any case.

    Raises
    ------
    TypeError
        For a configuration that is no Config.
    ValueError
        For a search space with an axis that is no parameter of the kernel.
    """

    def __init__(
        self,
        fn,
        arg_names,
        configs,
        key,
        reset_to_zero=None,
        restore_value=None,
        pre_hook=None,
        post_hook=None,
        prune_configs_by=None,
        warmup=None,
        rep=None,
        use_cuda_graph=False,
        do_bench=None,
        cache_results=False,
    ):
        self.fn, self.arg_names = fn, arg_names
        self.keys = [key] if isinstance(key, str) else list(key)
        self.keep = getattr(configs, "keep", None)  # of a search space
        if self.keep is not None:
            configs.require_parameters(fn.arg_names, fn.__name__)
        self.configs = list(configs) or [Config({})]
        for config in self.configs:
            if not hasattr(config, "all_kwargs"):
                raise TypeError(f"autotune takes a list of `Config`, got a {type(config).__name__}")
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.user_defined_pre_hook, self.user_defined_post_hook = bool(pre_hook), bool(post_hook)
        self._pre_hook, self._post_hook = pre_hook, post_hook
        prune = prune_configs_by or {}
        self.perf_model, self.configs_top_k = prune.get("perf_model"), prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench
        self.cache_results = cache_results
        self.cache, self.nargs = {}, None
        self._saved = {}
        self.best_config, self.configs_timings, self.bench_time = None, {}, None
        self.configs_errors = {}
        self._said_untuned = self._said_unranked = False
        self._launchers = FirstLaunchers(self)
        if (warmup, rep) != (None, None) or use_cuda_graph:
            warnings.warn(
                "warmup, rep and use_cuda_graph of `autotune` are deprecated: pass `do_bench`",
                DeprecationWarning,
                stacklevel=3,
            )
        # These stay at the end: they are what callers of `functools.wraps` look for.
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn) and hasattr(self.base_fn, "fn"):
            self.base_fn = self.base_fn.fn
        self.__name__ = self.base_fn.__name__
        self.__doc__ = self.base_fn.__doc__

    @property
    def do_bench(self):
        """The function that measures: `do_bench(call, quantiles=...)`."""
        return self._do_bench_on(cpu=False)

    def _do_bench_on(self, cpu, device=None):
        """The caller's measuring function, or ours for the processor that the kernel runs on."""
        if self._do_bench is not None:
            return self._do_bench
        from ..testing.bench import do_bench_cudagraph, in_use

        given = {"warmup": self.num_warmups, "rep": self.num_reps}
        options = {name: value for name, value in given.items() if value is not None}
        if self.use_cuda_graph and not cpu:
            options.pop("warmup", None)
            return functools.partial(do_bench_cudagraph, device=device, **options)
        return functools.partial(in_use("do_bench"), on_host=cpu, device=device, **options)

    def _make_launchers(self):
        """Return launchers that remember choices, where these can launch without Python."""
        if type(self.fn) is not JITFunction or type(self).run is not Autotuner.run:
            return RunLaunchers(self)
        # A launcher would pass the default of such a parameter, not the configuration's value.
        at_run_time = {param.name for param in self.fn.params if not param.is_constexpr}
        if any(at_run_time & set(config.kwargs) for config in self.configs):
            return RunLaunchers(self)
        from .. import _pantile

        names = self.fn.arg_names
        table = _pantile.TunedTable([names.index(key) for key in self.keys if key in names])
        return _pantile.Launchers(self, self.fn.dispatcher, table)

    def __copy__(self):
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._launchers = FirstLaunchers(copy)
        return copy

    def __getitem__(self, grid):
        return self._launchers[grid]

    def _launch(self, grid, args, kwargs):
        """Tune if need be, and launch; return the kernel and what settled its configuration.

        The latter, (choices, key, configuration, keywords), holds while `choices[key]` is the
        configuration; None if a configuration has to be prepared for each launch.
        """
        kernel = self.run(*args, grid=grid, warmup=False, **kwargs)
        named = {**dict(zip(self.arg_names, args)), **kwargs}
        key, choices = (), {(): self.configs[0]}
        if len(self.configs) > 1:
            key, choices = self._key_of(named), self.cache
        config = choices.get(key)
        if config is None or config.pre_hook is not None:
            return kernel, None
        # The dict's own key: launches find it by its identity, without comparing what is in it.
        key = next(known for known in choices if known == key)
        return kernel, (choices, key, config, config.all_kwargs())

    def run(self, *args, **kwargs):
        """Choose a configuration, and run the kernel with it.

        Parameters
        ----------
        args, kwargs : arguments
            Of the kernel, `grid` and `warmup` among them, and the keywords of a launch.

        Raises
        ------
        AutotunerError
            If no configuration works, or a stream is being captured.
        ValueError
            If the call gives what the configurations set.
        """
        self.nargs = dict(zip(self.arg_names, args))
        try:
            config = self._choose(args, kwargs)
            self.best_config = config
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            return self.fn.run(*args, **kwargs, **config.all_kwargs())
        finally:
            self.nargs = None

    def warmup(self, *args, **kwargs):
        """Compile every configuration left after pruning, side by side; return the kernels.

        Parameters
        ----------
        args, kwargs : arguments
            Of the kernel, `grid` among them; a dtype stands for an array of it.
        """
        from .tuning import compile_all

        self.nargs = dict(zip(self.arg_names, args))
        try:
            configs = self.prune_configs(kwargs)
            compile_all(self, configs, tuple(map(MockTensor.wrap_dtype, args)), kwargs)
            return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in configs]
        finally:
            self.nargs = None

    def _key_of(self, named):
        """What a choice is kept for: values of the key arguments, dtypes of arrays, the processor."""
        key = [named[name] for name in self.keys if name in named]
        key += [
            str(value.dtype)
            for name, value in named.items()
            if name in self.arg_names and hasattr(value, "dtype")
        ]
        # Libraries look their own keys up, which are those of the first GPU and its like.
        return (*_kind_of(self._device_of(named)), *key)

    def _choose(self, args, kwargs):
        self._check_clash(kwargs, self.configs[0])
        if len(self.configs) == 1:
            return self.configs[0]
        named = {**self.nargs, **kwargs}
        key = self._key_of(named)
        if key not in self.cache:
            configs = self.prune_configs(kwargs)
            wants_times = knobs.autotuning.tune_cpu or self._do_bench is not None
            unmeasured = self._device_of(named) < 0 and not wants_times
            self.cache[key] = (
                self._first(configs) if unmeasured else self._best(configs, args, kwargs, key)
            )
        return self.cache[key]

    def _device_of(self, named):
        """The GPU that a launch with these arguments goes to; -1 for the CPU."""
        from .. import _pantile

        return _pantile.device_of([named[name] for name in self.arg_names if name in named])

    def _first(self, configs):
        if not self._said_untuned:
            self._said_untuned = True
            print(
                f"pantile: {self.__name__} is not tuned on the CPU: taking the first of {len(configs)} "
                f"configurations ({configs[0]}); PANTILE_TUNE_CPU=1 measures them",
                file=sys.stderr,
            )
        return configs[0]

    def _best(self, configs, args, kwargs, key):
        """The fastest of `configs`: as another rank chose, as measured before and written down, or measured now."""
        if len(configs) == 1:
            return configs[0]
        from .choosing import Question

        named = {**self.nargs, **kwargs}
        device = self._device_of(named)
        plain_key = key[len(_kind_of(device)) :]
        choice = Question(self, configs, args, kwargs, plain_key, device).choice()
        self.configs_timings = {c: choice.timings.get(c, [float("inf")] * 3) for c in configs}
        self.configs_errors = {c: str(choice.failures[c]) for c in configs if c in choice.failures}
        best, is_measured = choice.best, choice.seconds is not None
        if best is None:
            raise AutotunerError(
                f"none of the {len(configs)} configurations of `{self.__name__}` runs"
                + "".join(f"\n{config}: {why}" for config, why in self.configs_errors.items())
            )
        if is_measured:
            self.bench_time = choice.seconds
            self.pre_hook({**named, **best.all_kwargs()}, reset_only=True)
        if knobs.autotuning.print:
            from .tuning import print_choice

            print_choice(self, best, key, is_measured)
        return best

    def _store(self, key, device):
        """Where times are kept: by default those that our own clock takes on a GPU."""
        on_cpu = device < 0
        wanted = self.cache_results or knobs.autotuning.cache
        if not wanted and (on_cpu or self._do_bench is not None or not knobs.autotuning.store):
            return None
        from .tuning_cache import TuningStore

        return TuningStore(self, key, device)

    def _measure(self, configs, args, kwargs, device):
        """Measure `configs` now, on GPU `device` or the CPU (-1); return ({config: times}, {config: error})."""
        from .tuning import compile_all, race

        for config in configs:
            self._check_clash(kwargs, config)
        errors = {} if device < 0 else compile_all(self, configs, args, kwargs)
        configs = [config for config in configs if config not in errors]
        if self._do_bench is None and not self.use_cuda_graph and self.num_reps is None:
            timings, more = race(self, configs, args, kwargs, device)
            return timings, {**errors, **more}
        self.configs_errors = errors
        timings = {config: self._bench(*args, config=config, **kwargs) for config in configs}
        return {c: times for c, times in timings.items() if c not in errors}, errors

    def _first_that_fits(self, configs, args, kwargs):
        """The first configuration that compiles: what is chosen where nothing may be measured."""
        from .tuning import FAILURES

        for config in configs:
            try:
                self.fn.run(*args, **{**kwargs, "warmup": True}, **config.all_kwargs())
                return config
            except FAILURES:
                continue
        raise AutotunerError(f"none of the {len(configs)} configurations of `{self.__name__}` runs")

    def _check_clash(self, meta, config):
        clash = meta.keys() & config.all_kwargs().keys()
        if clash:
            raise ValueError(
                f"`{min(clash)}` is set by the configurations of `{self.__name__}` and by the call "
                f'(Triton: "Conflicting meta-parameters: {", ".join(sorted(clash))}.")'
            )

    def pre_hook(self, args, reset_only=False):
        """Before a measured run: zero arrays, keep those to be restored, call the user's hook.

        Parameters
        ----------
        args : dict
            All arguments, by name.
        reset_only : bool, default False
            The runs are over: the caller's own launch follows, which finds arrays zeroed, and by the
            user's hook, which gets `reset_only=True`, as it does before a measured run.
        """
        for name in self.reset_to_zero:
            tuned_arrays.fill_zero(args[name])
        if reset_only:
            if self._pre_hook is not None:
                self._pre_hook(args, reset_only=True)
            return
        self._saved = {name: tuned_arrays.copy(args[name]) for name in self.restore_value}
        if self._pre_hook is not None:
            self._pre_hook(args)

    def post_hook(self, args, exception=None):
        """After a measured run: restore arrays, call the user's hook.

        Parameters
        ----------
        args : dict
            All arguments, by name.
        exception : Exception, optional
            What the run ended in.
        """
        for name, value in self._saved.items():
            tuned_arrays.assign(args[name], value)
        self._saved = {}
        if self._post_hook is not None:
            self._post_hook(args, exception=exception)

    def _bench(self, *args, config, **meta):
        """Times of `config` at quantiles 0.5, 0.2 and 0.8; infinite where it does not fit."""
        full = {**self.nargs, **meta, **config.all_kwargs()}

        def call():
            if config.pre_hook is not None:
                config.pre_hook(full)
            self.pre_hook(full)
            try:
                self.fn.run(*args, **meta, **config.all_kwargs())
            except Exception as error:
                self.post_hook(full, exception=error)
                raise
            self.post_hook(full, exception=None)

        try:
            device = self._device_of({**self.nargs, **meta})
            measure = self._do_bench_on(device < 0, max(device, 0))
            return measure(call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as error:
            self.configs_errors[config] = error
            return [float("inf")] * 3

    def prune_configs(self, kwargs):
        """Return the configurations worth measuring for the arguments at hand.

        Parameters
        ----------
        kwargs : dict
            The keywords of the launch.

        Raises
        ------
        AutotunerError
            If none is left.
        TypeError
            If `top_k` is neither an int nor a float of at most 1.0.
        """
        from .pruning import worth_measuring

        return worth_measuring(self, kwargs)


def autotune(
    configs,
    key,
    prune_configs_by=None,
    reset_to_zero=None,
    restore_value=None,
    pre_hook=None,
    post_hook=None,
    warmup=None,
    rep=None,
    use_cuda_graph=False,
    do_bench=None,
    cache_results=False,
):
    """Measure `configs` for each new value of the arguments named in `key` and launch the fastest.

    Stands above `jit`; the kernel that it gives launches as any other, and keeps the choice in
    `best_config`. On the CPU the first configuration is taken, unless PANTILE_TUNE_CPU=1. An
    AutotunerError says that no configuration works, or that a stream is being captured.

    Parameters
    ----------
    configs : list of Config, or SearchSpace
        What to choose from; an empty list is one default Config. Of a large `search_space` a model
        keeps the best, before any is compiled.
    key : list of str
        Parameters whose values matter for the choice; dtypes of arrays always do.
    prune_configs_by : dict, optional
        `early_config_prune(configs, named_args, **kwargs)` drops configurations;
        `perf_model(**args)` estimates a time and `top_k` (a number, or a fraction) says how many of
        the best are measured.
    reset_to_zero, restore_value : list of str, optional
        Arrays that the kernel changes: zeroed before, or restored after, each measured run.
    warmup, rep : int, optional
        Milliseconds of `do_bench`; deprecated in favour of it.
    use_cuda_graph : bool, default False
        Measure by `do_bench_cudagraph`; deprecated in favour of `do_bench`.
    do_bench : callable, optional
        Called as `do_bench(kernel_call, quantiles=(0.5, 0.2, 0.8))`.
    pre_hook, post_hook : callable, optional
        Called around each measured run: `pre_hook(args)`, `post_hook(args, exception=None)`; after the
        last one `pre_hook(args, reset_only=True)` prepares the launch.
    cache_results : bool, default False
        Keep the times on disk in any case. Without it those are kept that our own clock takes on a
        GPU, unless PANTILE_STORE_TUNING=0; those of `do_bench`, or of the CPU, are not.
    """

    def decorate(fn):
        require_kernel(fn, "autotune")
        return Autotuner(
            fn,
            fn.arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return decorate
