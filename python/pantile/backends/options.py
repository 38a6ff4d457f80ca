"""The keywords of a launch that are no kernel parameters, with Triton's names and defaults.

Every keyword that Triton has is accepted. Those that nothing here depends on are kept, so that
`kernel.metadata` shows them; `num_ctas` is a hint, since one CTA runs a program.
"""

from typing import Any

from .. import knobs
from .record import Record


class CUDAOptions(Record):
    """How a kernel is compiled and launched: the keywords of a launch that are no parameters.

    `kernel[grid](..., num_warps=8)`, `warmup` and `compile` take them, `Config` some of them; None is
    the default. KeyError for another name.

    Attributes
    ----------
    num_warps : int, default 4
        Warps of a program, of 32 threads each, 1 to 32; ValueError otherwise.
    num_ctas : int, default 1
        A hint without effect: a power of two, 1 to 16; ValueError otherwise.
    num_stages : int, default 3
        Stages of software-pipelined loops: buffers in shared memory; ValueError below 0.
    warp_size : int, default 32
        Of Triton, without effect.
    maxnreg : int, default None
        Limit of 32-bit registers per thread, up to 255; None: no limit.
    ptx_version : int, default None
        Of Triton, without effect.
    ptx_options : str, default None
        More options for `ptxas`, with blanks between them.
    ir_override : str, default None
        Of Triton, without effect.
    enable_fp_fusion : bool, default True
        Contract `a * b + c` to one rounding.
    enable_reflect_ftz : bool, default True
        Of Triton, without effect.
    launch_cooperative_grid : bool, default False
        All CTAs run at once, or the launch fails.
    launch_pdl : bool, default False
        The kernel may start before the preceding one in the stream has ended.
    supported_fp8_dtypes, deprecated_fp8_dot_operand_dtypes : tuple of str
        Of Triton, set by the target, without effect.
    default_dot_input_precision : str, default "tf32"
        Of dots of fp32 without `input_precision`: "tf32", "tf32x3", "ieee", "bf16x3" or "bf16x6".
    allowed_dot_input_precisions : tuple of str
        Of Triton, without effect.
    max_num_imprecise_acc_default : int
        Of Triton, without effect.
    extern_libs : dict of str to str, default None
        Files of LLVM bitcode to link, by name.
    debug : bool, default False
        Compile `tl.device_assert` in, and checks that integers do not wrap around.
    backend_name : str
        "cuda"; no keyword of a launch.
    sanitize_overflow : bool, default True
        With `debug`: check that integers do not wrap around.
    arch : str or int, default None
        The GPU to compile for, as "sm90" or 90; None: that of the launch.
    instrumentation_mode : str
        Of Triton, without effect.
    disabled_passes : str or tuple of str, default None
        Passes of the compiler to leave out; in a str with commas.
    enabled_passes : str or tuple of str, default None
        Passes to run that are off by default.
    launch_abi : {"full", "triton", "auto"}, default None
        "triton": machine code that any launcher can start; "full": with tensor maps and more warps,
        where they help; "auto": "full", but for CTAs of several programs. None: the setting
        `runtime.launch_abi`, else "full", of `compile` "triton". ValueError for another name.
    """

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: int = None
    ptx_version: int = None
    ptx_options: str = None
    ir_override: str = None
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple = ("fp8e5", "fp8e4b15", "fp8e4nv")
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = None
    extern_libs: Any = None
    debug: bool = False
    backend_name: str = "cuda"
    sanitize_overflow: bool = True
    arch: str = None
    instrumentation_mode: str = ""
    disabled_passes: Any = None
    enabled_passes: Any = None
    launch_abi: str = None

    def hash(self):
        """Return a digest of all values."""
        text = "_".join(f"{name}-{value}" for name, value in sorted(vars(self).items()))
        import hashlib

        return hashlib.sha256(text.encode()).hexdigest()

    def _asdict(self):
        return dict(vars(self))


OPTION_NAMES = frozenset(CUDAOptions.__match_args__) - {"backend_name"}


def parse_options(keywords, debug=None, **fixed):
    """Return the CUDAOptions for launch keywords; None leaves a default, of the knobs."""
    given = {
        name: value
        for name, value in keywords.items()
        if name in OPTION_NAMES and value is not None
    }
    defaults = {"enable_fp_fusion": knobs.language.default_fp_fusion}
    defaults["debug"] = knobs.runtime.debug if debug is None else bool(debug)
    defaults["sanitize_overflow"] = knobs.runtime.sanitize_overflow
    if knobs.language.fp32_default:
        defaults["default_dot_input_precision"] = knobs.language.fp32_default
    return CUDAOptions(**{**defaults, **fixed, **given})


def check_names(keywords):
    """Raise KeyError, with Triton's text, for a keyword that is no option."""
    for name in keywords:
        if name not in OPTION_NAMES:
            import difflib

            near = difflib.get_close_matches(name, OPTION_NAMES, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise KeyError(f"Keyword argument {name} was specified but unrecognised{hint}")


def library_options(target, options):
    """Return the extension module's Options for a target's name ("sm_90a", "cpu")."""
    from .. import _pantile
    from ..compiler.launch_abi import library_abi

    _check_counts(options)
    result = _pantile.Options()
    result.target = target
    result.num_warps, result.num_stages = options.num_warps, options.num_stages
    result.maxnreg = options.maxnreg or 0
    result.enable_fp_fusion, result.debug = bool(options.enable_fp_fusion), bool(options.debug)
    result.sanitize_overflow = bool(options.sanitize_overflow)
    if words := _assembler_options(options):
        result.ptx_options = words
    result.line_info = not knobs.compilation.disable_line_info
    result.input_precision = options.default_dot_input_precision
    result.extern_libs = {
        str(name): str(path) for name, path in dict(options.extern_libs or {}).items()
    }
    passes = pass_names(options.disabled_passes)
    if options.launch_cooperative_grid or options.launch_pdl:
        passes |= {"nv-make-persistent", "nv-split-over-cluster"}  # such programs have a CTA each
    if options.launch_abi == "auto":
        passes |= {"nv-pack-programs"}  # less than a launch by the static launcher saves
    result.disabled_passes = passes
    result.enabled_passes = pass_names(options.enabled_passes)
    # What the host gives the variables of a library is given to one module of a kernel, so that
    # there must be one for all arguments: tensor maps need two.
    has_library = any(name != "libdevice" for name in result.extern_libs)
    result.launch_abi = "triton" if has_library else library_abi(options.launch_abi)
    return result


def pass_names(passes):
    """Return the set of names in `passes`: a text with commas, a collection, or None."""
    return set(passes.split(",") if isinstance(passes, str) else passes or ()) - {""}


def _assembler_options(options):
    words = [knobs.nvidia.ptxas_options or "", options.ptx_options or ""]
    if knobs.nvidia.disable_ptxas_opt:
        words.insert(0, "--opt-level 0")
    return " ".join(word for word in words if word)


class OptionError(ValueError, AssertionError):
    """A compile option is out of range; Triton asserts it."""


def _check_counts(options):
    for name in ("num_warps", "num_stages", "num_ctas"):
        if not hasattr(getattr(options, name), "__index__"):
            raise TypeError(f"{name} must be an integer, not {getattr(options, name)!r}")
    from .. import _pantile

    warps, (least, most) = options.num_warps, _pantile.option_limits()["num_warps"]
    if not least <= warps <= most:
        raise OptionError(f"num_warps must be from {least} to {most}, not {warps}")
    if options.num_stages < 0:
        raise ValueError(f"num_stages must not be negative, but is {options.num_stages}")
    ctas = options.num_ctas
    if not 1 <= ctas <= 16 or ctas & (ctas - 1):
        raise OptionError(f"num_ctas must be a power of 2 from 1 to 16, not {ctas}")
