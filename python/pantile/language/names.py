"""The names of the language, as objects that mean something only inside a kernel."""

import importlib
import sys


class OutsideKernelError(RuntimeError, ValueError):
    """An operation of kernels was called on the host; Triton raises a ValueError."""


class Builtin:
    """A name such as `tl.load`. The compiler finds it by `reference`; on the host it cannot be called."""

    def __init__(self, name, module="language"):
        self.__name__ = name
        self.__module__ = "pantile.language"
        self.reference = name if module == "language" else f"{module}.{name}"
        self.__qualname__ = f"tl.{self.reference}"

    @property
    def __doc__(self):
        from .reference import documentation_of

        return documentation_of(self.reference)

    @property
    def __signature__(self):
        from .reference import signature_of

        return signature_of(self.reference)

    def __reduce__(self):
        return (language_object, (self.reference,))

    @property
    def _pantile_key(self):
        return f"builtin:{self.reference}"

    def __call__(self, *args, **kwargs):
        raise OutsideKernelError(
            f"`{self.__qualname__}` means something only inside a kernel: call it from a function "
            'with @triton.jit (Triton: "Did you forget to add @triton.jit ?")'
        )

    def __repr__(self):
        return f"<builtin {self.__qualname__}>"


class LanguageClass(type):
    """The class of classes such as `tl.tensor`: the compiler finds each by `reference`."""

    @property
    def reference(cls):
        return cls.__name__

    @property
    def _pantile_key(cls):
        return f"builtin:{cls.__name__}"


class Enumeration:
    """A name such as `tl.PropagateNan` whose attributes are builtins."""

    def __init__(self, name, members):
        self.__name__ = name
        self.reference = name
        for member in members:
            setattr(self, member, Builtin(member, name))


LANGUAGE = """
program_id num_programs arange full zeros zeros_like to_tensor cast cat
broadcast broadcast_to expand_dims squeeze unsqueeze reshape view ravel permute trans join split interleave item flip gather
stack pad roll
dot dot_scaled load store make_block_ptr advance aggregate_replace
make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor
atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas
atomic_load atomic_store atomic_poll
where add sub mul minimum maximum clamp cdiv sigmoid softmax swizzle2d
umulhi exp exp2 log log2 cos sin sqrt sqrt_rn rsqrt erf floor ceil abs fdiv div_rn fma
inline_asm_elementwise extern_elementwise map_elementwise
reduce associative_scan sum max min argmax argmin xor_sum reduce_or cumsum cumprod sort topk bitonic_merge histogram
_log2 logical_and logical_or
multiple_of max_contiguous max_constancy assume expect_zero debug_barrier
static_print static_assert device_print device_assert range static_range condition
philox_impl philox randint randint4x rand rand4x randn randn4x uint_to_uniform_float pair_uniform_to_normal
""".split()

# Names that are methods too, with the tile as first argument.
TENSOR_METHODS = """
abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_load atomic_max atomic_min atomic_or
atomic_poll atomic_store atomic_xchg atomic_xor broadcast_to cast cdiv ceil cos cumprod cumsum erf exp exp2 expand_dims
flip floor gather histogram item log log2 logical_and logical_or max min permute ravel reduce reduce_or reshape roll rsqrt
sigmoid sin softmax sort split sqrt sqrt_rn squeeze store sum to trans unsqueeze view xor_sum
""".split()
DESCRIPTOR_METHODS = """
load store gather scatter atomic_add atomic_and atomic_max atomic_min atomic_or atomic_xor
""".split()

MATH = """
umulhi exp exp2 fma log log2 cos rsqrt sin sqrt sqrt_rn abs fdiv div_rn erf floor ceil cdiv
""".split()

LIBDEVICE = """
abs acos acosh add_rd add_rn add_ru add_rz asin asinh atan atan2 atanh brev byte_perm cbrt ceil clz copysign cos cosh
cospi cyl_bessel_i0 cyl_bessel_i1 div_rd div_rn div_ru div_rz double2float_rd double2float_rn double2float_ru
double2float_rz double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2ll_rd double2ll_rn
double2ll_ru double2ll_rz double2loint double2uint_rd double2uint_rn double2uint_ru double2uint_rz double2ull_rd
double2ull_rn double2ull_ru double2ull_rz double_as_longlong erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1
fast_cosf fast_dividef fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_powf fast_sinf fast_tanf fast_tanhf
fdim ffs finitef float2int_rd float2int_rn float2int_ru float2int_rz float2ll_rd float2ll_rn float2ll_ru float2ll_rz
float2uint_rd float2uint_rn float2uint_ru float2uint_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz
float_as_int float_as_uint floor fma fma_rd fma_rn fma_ru fma_rz fmod hadd hiloint2double hypot ilogb int2double_rn
int2float_rd int2float_rn int2float_ru int2float_rz int_as_float isfinited isinf isnan j0 j1 jn ldexp lgamma
ll2double_rd ll2double_rn ll2double_ru ll2double_rz ll2float_rd ll2float_rn ll2float_ru ll2float_rz llrint llround log
log10 log1p log2 logb longlong_as_double mul24 mul_rd mul_rn mul_ru mul_rz mulhi nearbyint nextafter norm3d norm4d
normcdf normcdfinv popc pow rcbrt rcp64h rcp_rd rcp_rn rcp_ru rcp_rz remainder rhadd rhypot rint rnorm3d rnorm4d round
rsqrt rsqrt_rn sad saturatef scalbn signbit sin sinh sinpi sqrt sqrt_rd sqrt_rn sqrt_ru sqrt_rz sub_rd sub_rn sub_ru
sub_rz tan tanh tgamma trunc uint2double_rn uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float
ull2double_rd ull2double_rn ull2double_ru ull2double_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz y0 y1 yn
""".split()

CUDA = """
globaltimer smid num_threads num_warps gdc_wait gdc_launch_dependents
convert_custom_float8_sm70 convert_custom_float8_sm80
""".split()


# The compiler's names of the modules. They are imported on access; the first of a name stands for it.
_MODULES = {
    "pantile.language": "tl.",
    "pantile.language.namespace": "tl.",
    "pantile.language.core": "tl.",
    "pantile.language.standard": "tl.",
    "pantile.language.random": "tl.",
    "pantile.language.math": "tl.math.",
    "pantile.language.target_info": "tl.target_info.",
    "pantile.language.extra": "tl.extra.",
    "pantile.language.extra.cuda": "tl.extra.cuda.",
    "pantile.language.extra.cuda.gdc": "tl.extra.cuda.",
    "pantile.language.extra.cuda.utils": "tl.extra.cuda.",
    "pantile.language.extra.libdevice": "tl.extra.libdevice.",
    "pantile.language.extra.cuda.libdevice": "tl.extra.libdevice.",
}


def module_name(module):
    """Return the compiler's name of one of the language's modules, None for any other."""
    name = module.__name__
    return _MODULES.get(name) if sys.modules.get(name) is module else None


def language_object(reference):
    """Return the host's object for the compiler's name of it: "load", "libdevice.tanh", "tl.math."."""
    paths = [path for path, name in _MODULES.items() if name == reference]
    found = importlib.import_module(paths[0] if paths else "pantile.language")
    if paths:
        return found
    for part in reference.split("."):
        found = getattr(found.extra if part in ("libdevice", "cuda") else found, part)
    return found
