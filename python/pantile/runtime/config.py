"""One configuration of a kernel that is tuned."""

# Of other versions of Triton: how the producer of their warp specialisation is set up.
_FORMER_HINTS = frozenset(
    "num_buffers_warp_spec num_consumer_groups reg_dec_producer reg_inc_consumer num_ldmatrixes "
    "enable_warp_specialization enable_persistent".split()
)


def _joined(passes):
    return passes if passes is None or isinstance(passes, str) else ",".join(passes)


class Config:
    """One configuration: values of meta-parameters, and launch options.

    Parameters
    ----------
    kwargs : dict, optional
        Values of `tl.constexpr` parameters, by name; only `meta` may take its place.
    num_warps : int, default 4
        Warps of a program, of 32 threads each, 1 to 32.
    num_stages : int, default 3
        Stages of software-pipelined loops: buffers in shared memory.
    num_ctas : int, default 1
        A hint without effect: the compiler decides.
    maxnreg : int, optional
        Limit of 32-bit registers per thread; None: no limit.
    pre_hook : callable, optional
        Called with a dict of all arguments, by name, before each launch with this configuration.
    ir_override : str, optional
        Of Triton, and part of what is compared; nothing else.
    disabled_passes : tuple of str, or str, optional
        Passes of the compiler to leave out, by name; in a str with commas.
    enabled_passes : tuple of str, or str, optional
        Passes to run that are off by default.
    launch_abi : {"full", "triton", "auto"}, optional
        "triton": machine code that any launcher can start; "full": with tensor maps and more warps,
        where they help; "auto": "full", but for CTAs of several programs.
    former : by keyword
        `meta`, the oldest name of `kwargs`; hints of other versions' warp specialisation, without
        effect.

    Raises
    ------
    TypeError
        For another keyword, and without `kwargs`.
    """

    def __init__(
        self,
        kwargs=None,
        num_warps=4,
        num_stages=3,
        num_ctas=1,
        maxnreg=None,
        pre_hook=None,
        ir_override=None,
        disabled_passes=None,
        enabled_passes=None,
        launch_abi=None,
        **former,
    ):
        if kwargs is None:
            kwargs = former.pop("meta", None)
        unknown = sorted(set(former) - _FORMER_HINTS)
        if unknown or kwargs is None:
            raise TypeError(
                f"Config has no parameter `{unknown[0]}`"
                if unknown
                else "Config takes a dict of meta-parameters"
            )
        self.kwargs = kwargs
        self.num_warps, self.num_stages, self.num_ctas = num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override
        self.disabled_passes = _joined(disabled_passes)
        self.enabled_passes = _joined(enabled_passes)
        self.launch_abi = launch_abi

    def __setstate__(self, state):
        later = ("maxnreg", "ir_override", "pre_hook", "disabled_passes", "enabled_passes")
        self.__dict__.update({**dict.fromkeys((*later, "launch_abi")), **state})

    def all_kwargs(self):
        """Return everything that a launch with this configuration passes."""
        options = {
            "num_warps": self.num_warps,
            "num_ctas": self.num_ctas,
            "num_stages": self.num_stages,
            "maxnreg": self.maxnreg,
            "ir_override": self.ir_override,
            "disabled_passes": self.disabled_passes,
            "enabled_passes": self.enabled_passes,
            "launch_abi": self.launch_abi,
        }
        return {
            **self.kwargs,
            **{name: value for name, value in options.items() if value is not None},
        }

    def __str__(self):
        parts = [f"{name}: {value}" for name, value in self.kwargs.items()]
        parts += [
            f"num_warps: {self.num_warps}",
            f"num_ctas: {self.num_ctas}",
            f"num_stages: {self.num_stages}",
        ]
        parts.append(f"maxnreg: {self.maxnreg}")
        if self.disabled_passes:
            parts.append(f"disabled_passes: {self.disabled_passes}")
        if self.enabled_passes:
            parts.append(f"enabled_passes: {self.enabled_passes}")
        if self.launch_abi:
            parts.append(f"launch_abi: {self.launch_abi}")
        return ", ".join(parts)

    __repr__ = __str__

    def _identity(self):
        return (*sorted(self.all_kwargs().items(), key=lambda item: item[0]), self.pre_hook)

    def __hash__(self):
        return hash(self._identity())

    def __eq__(self, other):
        return isinstance(other, Config) and self._identity() == other._identity()
