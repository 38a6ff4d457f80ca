"""The keywords of a launch that are no kernel parameters."""

from .. import knobs

# Accepted because kernels in the field pass them; what they ask for is what happens anyway, or is a hint.
_HINTS = frozenset(
    "warp_size ptx_version ptx_options ir_override enable_reflect_ftz launch_cooperative_grid launch_pdl "
    "supported_fp8_dtypes deprecated_fp8_dot_operand_dtypes allowed_dot_input_precisions "
    "max_num_imprecise_acc_default sanitize_overflow arch instrumentation_mode".split()
)
_DIRECT = ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "debug", "disabled_passes")


def make_options(target, keywords, debug=None):
    """Return the compiler's options for launch keywords; KeyError for one that nobody knows."""
    from .. import _pantile

    options = _pantile.Options()
    options.target = target
    options.enable_fp_fusion = knobs.language.default_fp_fusion
    options.debug = knobs.runtime.debug if debug is None else bool(debug)
    options.line_info = not knobs.compilation.disable_line_info
    if knobs.language.fp32_default:
        options.input_precision = knobs.language.fp32_default
    for name, value in keywords.items():
        if name in _HINTS or name == "extern_libs":
            continue
        if name not in _DIRECT and name not in ("maxnreg", "default_dot_input_precision"):
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
        if name == "disabled_passes" and value is not None:
            value = set(value.split(",") if isinstance(value, str) else value)
        if value is not None:
            setattr(
                options, "input_precision" if name == "default_dot_input_precision" else name, value
            )
    _check_counts(options)
    return options


def _check_counts(options):
    warps = options.num_warps
    if not 1 <= warps <= 32 or warps & (warps - 1):
        raise ValueError(f"num_warps must be a power of two from 1 to 32, not {warps}")
    if options.num_stages < 0:
        raise ValueError(f"num_stages must not be negative, but is {options.num_stages}")
    if options.num_ctas != 1:
        raise ValueError(f"num_ctas must be 1, not {options.num_ctas}: clusters are not supported")
