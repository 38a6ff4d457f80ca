"""What a launch does in a process that records: compile for every target, and run or not.

Gives: `record_compilations`, which lets programs run on the CPU and records each kernel that they
       compile; `record_launches`, after which a launch records and nothing runs.
How:   of a tuned kernel every configuration is recorded, though one of them runs.
"""

import functools
from types import SimpleNamespace


def record_compilations(recorder, suite_of):
    """`suite_of()` names what runs at the moment."""
    from pantile.runtime.autotuner import Autotuner
    from pantile.runtime.jit import JITFunction

    compile_here, run_here = JITFunction._compile, Autotuner.run

    def record_and_compile(function, call, *args, **kwargs):
        recorder.record(suite_of(), function, call)
        return compile_here(function, call, *args, **kwargs)

    def compile_all_and_run(tuner, *args, **kwargs):
        tuner.nargs = named = dict(zip(tuner.arg_names, args))
        for config in tuner.prune_configs(kwargs):
            keywords = {**kwargs, **config.all_kwargs()}
            if config.pre_hook is not None:
                config.pre_hook({**named, **keywords})
            tuner.fn.run(*args, **{**keywords, "warmup": True})
        return run_here(tuner, *args, **kwargs)

    JITFunction._compile, Autotuner.run = record_and_compile, compile_all_and_run


def record_launches(recorder, suite):
    """Nothing is launched: results are what they were, and a kernel is an object without code."""
    from pantile.runtime.autotuner import Autotuner
    from pantile.runtime.jit import JITFunction

    def record(function, grid, args, kwargs, warmup=False):
        recorder.record(suite, function, function.dispatcher.prepare(*args, **kwargs))
        return SimpleNamespace()

    def record_configurations(tuner, *args, **kwargs):
        for config in tuner.configs:
            tuner.fn[1,](*args, **{**kwargs, **config.all_kwargs()})

    JITFunction._launch = record
    Autotuner.__getitem__ = lambda tuner, grid: functools.partial(record_configurations, tuner)
