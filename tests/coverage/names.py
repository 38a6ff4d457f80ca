"""The names that have to be covered.

Needs: compiler/frontend/Libdevice.def.
Gives: LANGUAGE, what `triton.language` exports in release 3.6; BEYOND, what later or earlier releases
       and Pantile add; libdevice_names().
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LANGUAGE = """
PropagateNan TRITON_MAX_TENSOR_NUMEL abs add advance arange argmax argmin assume associative_scan atomic_add atomic_and
atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor bfloat16 bitonic_merge block_type broadcast
broadcast_to cast cat cdiv ceil clamp condition const constexpr constexpr_type cos cumprod cumsum debug_barrier
device_assert device_print div_rn dot dot_scaled dtype erf exp exp2 expand_dims extra fdiv flip float16 float32 float64
float8e4b15 float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full gather histogram inline_asm_elementwise int1 int16
int32 int64 int8 interleave item join load load_tensor_descriptor log log2 make_block_ptr make_tensor_descriptor
map_elementwise math max max_constancy max_contiguous maximum min minimum mul multiple_of num_programs
pair_uniform_to_normal permute philox philox_impl pi32_t pointer_type program_id rand rand4x randint randint4x randn
randn4x range ravel reduce reduce_or reshape rsqrt sigmoid sin slice softmax sort split sqrt sqrt_rn static_assert
static_print static_range store store_tensor_descriptor sub sum swizzle2d target_info tensor tensor_descriptor topk
trans tuple uint16 uint32 uint64 uint8 uint_to_uniform_float umulhi view void where xor_sum zeros zeros_like
""".split()

BEYOND = """
to_tensor extern_elementwise get_int_dtype atomic_load atomic_poll atomic_store expect_zero pad roll
squeeze stack unsqueeze
""".split()


def libdevice_names():
    """The functions of `tl.extra.libdevice`, from the compiler's table."""
    text = (ROOT / "compiler/frontend/Libdevice.def").read_text()
    return sorted(re.findall(r"^LIBDEVICE\((\w+),", text, re.M))


# Classes for the host, which no kernel can use.
HOST_ONLY = frozenset(["constexpr_type"])
