"""The element types as the compiler has them, without which Python names none.

Written by `scripts/dtype_table.py` from Dtypes.def.
"""

# The name of messages, that of signatures, that of `tl`, and bits.
ROWS = (
    ("int1", "i1", "int1", 1),
    ("int8", "i8", "int8", 8),
    ("int16", "i16", "int16", 16),
    ("int32", "i32", "int32", 32),
    ("int64", "i64", "int64", 64),
    ("uint8", "u8", "uint8", 8),
    ("uint16", "u16", "uint16", 16),
    ("uint32", "u32", "uint32", 32),
    ("uint64", "u64", "uint64", 64),
    ("fp8e5", "fp8e5", "float8e5", 8),
    ("fp8e4nv", "fp8e4nv", "float8e4nv", 8),
    ("fp8e4b15", "fp8e4b15", "float8e4b15", 8),
    ("fp8e4b8", "fp8e4b8", "float8e4b8", 8),
    ("fp8e5b16", "fp8e5b16", "float8e5b16", 8),
    ("fp16", "fp16", "float16", 16),
    ("bf16", "bf16", "bfloat16", 16),
    ("fp32", "fp32", "float32", 32),
    ("fp64", "fp64", "float64", 64),
    ("complex64", "c64", "complex64", 64),
)

# The names of signatures for what torch and NumPy call otherwise, as launches read them.
NAMES_OF_ARRAYS = {
    "bool": "i1",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16",
}
