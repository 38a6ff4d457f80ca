"""Functions that are compiled when they are launched: `kernel[grid](...)`.

`kernel[grid]` is an object of the extension module (`_pantile.Launcher`), kept by grid. Its call binds arguments, finds
the kernel by what they are and launches it. What is below runs for the first launch of a kind, which may compile, and
where hooks are set.
"""

import functools
import inspect
from collections import namedtuple

from .. import knobs
from ._async_compile import FutureKernel, active_mode
from .callables import JITCallable, symbol_of
from .kernel_cache import DeviceCaches, KernelCache
from .kernel_interface import FirstLaunchers, KernelInterface
from .parameters import parameters_of
from .uses import GlobalUse, HostUse

JitFunctionInfo = namedtuple(
    "JitFunctionInfo", ["module", "name", "jit_function"], module="pantile.runtime.jit"
)
_SpecializationProxy = namedtuple("_SpecializationProxy", ["constants", "signature"])


class JITFunction(JITCallable, KernelInterface):
    """A function of the kernel language. As a kernel it is launched; from other kernels it is called.

    `JITFunction.cache_hook` and `compiled_hook`, which old programs assign to, are called where
    `knobs.runtime` has no hook of the kind.

    Libraries take one apart to pickle it: they assign None to `fn`, `__globals__`,
    `used_global_vals` and `_hash_lock`, and another `repr`. What they restore elsewhere describes
    the function, and launches kernels that were compiled from it, but compiles none.

    Parameters
    ----------
    fn : function
        The Python function, which must be defined by `def` in a file.
    version : any, optional
        Kept as an attribute.
    do_not_specialize, do_not_specialize_on_alignment : list of int or str, optional
        Parameters whose values, or whose divisibility by 16, make no kernels of their own.
    debug : bool, optional
        Compile `tl.device_assert` in, where a launch does not say otherwise.
    noinline : bool, optional
        A hint to keep calls of the function.
    repr : callable, optional
        Gives the kernel's name from its specialisation.
    launch_metadata : callable, optional
        `launch_metadata(grid, metadata, args) -> dict` adds to the argument of launch hooks.

    Raises
    ------
    ValueError
        For a function that is not defined by `def` in a file.
    """

    __module__ = "pantile.runtime.jit"  # where Triton has it
    cache_hook = compiled_hook = None
    _hash_lock = None  # of Triton's, for libraries that replace it
    _hides_uses = False

    def __init__(
        self,
        fn,
        version=None,
        do_not_specialize=None,
        do_not_specialize_on_alignment=None,
        debug=None,
        noinline=None,
        repr=None,
        launch_metadata=None,
    ):
        super().__init__(fn)
        self.version, self.debug, self.noinline = version, debug, noinline
        self.do_not_specialize = do_not_specialize or []
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment or []
        self.launch_metadata = launch_metadata
        self._repr = repr
        self.signature = inspect.signature(fn)
        self.params = parameters_of(fn, do_not_specialize, do_not_specialize_on_alignment)
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self._pre_run_hooks = []
        self.kernel, self.hash = None, None
        self._uses = {}  # what kernels took from Python, by the key of the use
        self.held_snapshots = []  # of kernels that call constexpr functions
        self._launchers = FirstLaunchers(self)

    @functools.cached_property
    def dispatcher(self):
        from .. import _pantile

        dispatcher = _pantile.Dispatcher(self.__name__, [p.for_dispatcher() for p in self.params])
        dispatcher.set_pre_run_hooks(self._pre_run_hooks)
        return dispatcher

    def _make_launchers(self):
        from .. import _pantile

        return _pantile.Launchers(self, self.dispatcher)

    def __getitem__(self, grid):
        return self._launchers[grid]

    @property
    def pre_run_hooks(self):
        """The functions that are called with the arguments of every launch, before it: a list."""
        return self._pre_run_hooks

    @pre_run_hooks.setter
    def pre_run_hooks(self, hooks):
        self._pre_run_hooks[:] = hooks

    @property
    def device_caches(self):
        return DeviceCaches(self)

    def _forget_kernels(self):
        self.device_caches.clear()

    def _cache_of_device(self):
        return (KernelCache(self.dispatcher), *self.create_binder()[1:])

    @property
    def used_global_vals(self):
        """The constants that kernels read: {(name, id of namespace): (value, namespace)}.

        Assigning a dict has launches check no other ones; None stands until another assignment and
        changes nothing.
        """
        if self._hides_uses:
            return None
        return {
            use.key: (use.value, use.namespace)
            for use in self._uses.values()
            if isinstance(use, GlobalUse) and not isinstance(use.value, KernelInterface)
        }

    @used_global_vals.setter
    def used_global_vals(self, kept):
        self._hides_uses = kept is None
        if kept is not None:
            dropped = [key for key in self.used_global_vals if key not in kept]
            for key in dropped:
                del self._uses[key]
            if dropped:
                self._watch()

    def is_gluon(self):
        """Return whether this is a function of Gluon, another language."""
        return False

    def add_pre_run_hook(self, hook):
        """Have `hook` called with the arguments of every launch, before it.

        Parameters
        ----------
        hook : callable
            Takes what the launch is given, in order and by keyword.

        Raises
        ------
        TypeError
            If it cannot be called.
        """
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not a {type(hook).__name__}")
        self.pre_run_hooks.append(hook)

    def repr(self, specialization=None):
        """Return the name of the kernel that is compiled for a specialisation, by default the function's.

        Parameters
        ----------
        specialization : object, optional
            What the function `repr` of `@jit` takes, with `.constants` and `.signature` by parameter.
        """
        if self._repr:
            return self._repr(specialization)
        return f"{self.module}.{self.__qualname__}"

    def create_binder(self):
        """Return (kernels, keys, target, back end, binder); the binder maps a call's arguments.

        `binder(*args, **kwargs)` gives (arguments by name, signature types, options).
        """
        from ..backends.registry import make_backend
        from .device import active_device

        target = active_device().get_current_target()
        return {}, {}, target, make_backend(target), self._bind

    def _bind(self, *args, **kwargs):
        call = self.dispatcher.prepare(*args, **kwargs)
        source = self._source_of_call(call)
        return call.named(), list(source.signature.values()), call.options

    def run(self, *args, grid, warmup, **kwargs):
        """Launch, or with `warmup` only compile, the kernel; return the CompiledKernel.

        Parameters
        ----------
        args, kwargs : arguments
            Of the kernel, and the keywords of a launch.
        grid : int, tuple of int, or callable
            As in `kernel[grid]`.
        warmup : bool
            Whether the kernel is only compiled.
        """
        if not warmup:
            return self[grid](*args, **kwargs)
        return self._launch(grid, args, kwargs, warmup=True)

    def _launch(self, grid, args, kwargs, warmup=False):
        """Find or compile the kernel and, unless this is a warm-up, launch it; return the kernel."""
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        call = self.dispatcher.prepare(*args, **kwargs)
        if call.kernel is None and knobs.update_compile_settings():
            call = self.dispatcher.prepare(*args, **kwargs)  # there may be one of these settings
        kernel = call.kernel
        self._check_uses()
        if kernel is None:
            kernel = self._compile(call, warmup)
            if kernel is None or warmup:
                return kernel
            if isinstance(kernel, FutureKernel):
                kernel = kernel.result()
                call.use(kernel, kernel._kernel)
        if warmup:
            return kernel
        if grid is None:
            raise TypeError(f"kernel `{self.__name__}` has no grid")
        if callable(grid):
            grid = grid({**call.options, **call.named()})
        self._check_arguments(call)
        hooks = knobs.runtime
        if hooks.launch_enter_hook or hooks.launch_exit_hook:
            self._launch_with_hooks(call, grid, kernel)
        else:
            call.launch(grid)
        return kernel

    def _check_arguments(self, call):
        if knobs.runtime.checks("overlap"):
            from .overlap import warn_of_overlaps

            warn_of_overlaps(call, self.__name__)

    def _launch_with_hooks(self, call, grid, kernel):
        from .device import active_device

        stream = active_device().get_current_stream(call.device) if call.target != "cpu" else 0
        metadata = kernel.launch_metadata(_triple(grid), stream, *call.values)
        if knobs.runtime.launch_enter_hook:
            knobs.runtime.launch_enter_hook(metadata)
        call.launch(grid)
        if knobs.runtime.launch_exit_hook:
            knobs.runtime.launch_exit_hook(metadata)

    def _source_of_call(self, call):
        from ..compiler.source import ASTSource
        from .snapshot import Snapshot

        specialization = call.specialization(Snapshot(self).constant)
        return ASTSource.of_specialization(self, specialization, call.values)

    def _compile(self, call, warmup):
        """Compile what a call needs and keep it; None if a hook forbids it."""
        from ..compiler.kernel import prepare
        from ..compiler.source import ASTSource
        from .snapshot import Snapshot

        snapshot = Snapshot(self)
        specialization = call.specialization(snapshot.constant)
        source = ASTSource.of_specialization(self, specialization, call.values)
        hook = knobs.runtime.jit_cache_hook or JITFunction.cache_hook
        if hook and self._call_hook(hook, source, call, warmup):
            return None
        name = self._kernel_name(source)
        compile_fn = prepare(
            snapshot.program(name), specialization, call.target, call.options, source
        )

        def keep(kernel):
            self._remember(snapshot)
            call.adopt(kernel, kernel._kernel)
            told = knobs.runtime.jit_post_compile_hook or JITFunction.compiled_hook
            if told:
                self._call_hook(told, source, call, warmup)

        mode = active_mode.get()
        if mode is not None:
            return mode.submit((self._pantile_key, call.key), compile_fn, keep)
        kernel = compile_fn()
        keep(kernel)
        return kernel

    def _kernel_name(self, source):
        if self._repr is None:
            return None
        constants = {
            self.arg_names[path[0]]: value
            for path, value in source.constants.items()
            if len(path) == 1
        }
        return symbol_of(self._repr(_SpecializationProxy(constants, source.signature)))

    def _remember(self, snapshot):
        for use in snapshot.uses:
            if isinstance(known := self._uses.get(use.key), HostUse):
                known.add(use)
            else:
                self._uses.setdefault(use.key, use)
        self._watch()

    def _check_uses(self):
        """Raise RuntimeError if something that a kernel took from Python is another value now."""
        if any([use.check() for use in self._uses.values()]):
            self._watch()

    def _watch(self):
        self.dispatcher.watch([place for use in self._uses.values() for place in use.places])

    def _call_hook(self, hook, source, call, warmup):
        from .preload import serialize

        described = ", ".join(f"{name}: {kind}" for name, kind in source.signature.items())
        options = {
            "num_warps": 4,
            "num_ctas": 1,
            "num_stages": 3,
            "enable_fp_fusion": True,
            "launch_cooperative_grid": False,
            "extern_libs": None,
            **call.options,
        }
        return hook(
            key=call.key,
            repr=f"{self.__name__}[{', '.join(f'{k}={v}' for k, v in options.items())}]({described})",
            fn=JitFunctionInfo(self.module, self.__name__, self),
            compile={
                "signature": source.signature,
                "device": call.device,
                "constants": source.constants,
                **options,
                "configs": [source.attrs],
                "specialization_data": serialize(self, source, call.options, call.target, call.key),
                "is_warmup": warmup,
                "key": call.key,
            },
            is_manual_warmup=warmup,
            already_compiled=False,
        )

    def preload(self, specialization_data):
        """Compile what a `jit_cache_hook` got as `specialization_data`, keep it and return it.

        Parameters
        ----------
        specialization_data : str
            JSON, made by a process that has the same function.

        Raises
        ------
        RuntimeError
            If it is of another function, or of another version of this one.
        """
        from ..compiler.kernel import prepare
        from .preload import deserialize
        from .snapshot import Snapshot

        source, options, target, key = deserialize(self, specialization_data)
        snapshot = Snapshot(self)
        specialization = source.specialization(snapshot.constant)
        name = self._kernel_name(source)
        compile_fn = prepare(snapshot.program(name), specialization, target, options, source)

        def keep(kernel):
            self._remember(snapshot)
            self.dispatcher.install(key, kernel, kernel._kernel)

        mode = active_mode.get()
        if mode is not None:
            return mode.submit((self._pantile_key, key), compile_fn, keep)
        kernel = compile_fn()
        keep(kernel)
        return kernel

    def __reduce__(self):
        from .preload import find_function
        from .restored import restore, state_of

        if self.fn is None:
            return (restore, (type(self), state_of(self)))
        return (find_function, (f"{self.module}:{self.__qualname__}",))

    def __copy__(self):
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.pop("dispatcher", None)
        copy._launchers = FirstLaunchers(copy)
        copy._pre_run_hooks, copy._uses = list(self._pre_run_hooks), {}
        copy.held_snapshots = []
        copy._hash_lock = None
        return copy

    def __deepcopy__(self, memo):
        from .restored import restore, state_of

        # Inductor copies a function that it took apart, and pickles the copy when the function is whole.
        if self.fn is None:
            return restore(type(self), state_of(self))
        # Source and name are the same in any case; a second one would only compile again.
        return self

    def __call__(self, *args, **kwargs):
        name = self.__name__
        raise RuntimeError(
            f"`{name}` is a kernel, `{name}[grid](...)` launches it: "
            "Cannot call @triton.jit'd outside of the scope of a kernel"
        )

    def __repr__(self):
        return f"JITFunction({self.module}:{self.__qualname__})"


def _triple(grid):
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    return (*grid, 1, 1)[:3]


def builtin(fn):
    """Make a library's function callable from kernels, which inline it without `_semantic`."""
    return JITFunction(fn)
