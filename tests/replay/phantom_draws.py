"""Inputs of the cases of the field at full size: nothing is drawn but what tables hold.

Gives: `Draws`, `field_case.Arrays` whose floats are zeros that take no memory until they are read.
"""

import field_case
import ml_dtypes
import numpy as np

DTYPES = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
}


class Draws(field_case.Arrays):
    def __init__(self):
        super().__init__(DTYPES)

    def normal(self, shape, dtype="fp32", scale=1.0):
        return np.zeros(shape, DTYPES[dtype])
