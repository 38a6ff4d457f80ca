"""Kernels in PTX for the emulated driver, some of whose accesses nothing orders.

A kernel has the arrays `from`, `to` and `flags`; each lane has loaded its element of `from` into `%r6`.
"""

import numpy as np
import pytest

RACE = "a race: .* nothing orders the two"

HEAD = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 from, .param .u64 to, .param .u64 flags)
.reqntid {threads}, 1, 1
{{
  .shared .align 1024 .b8 tile[16384];
  .reg .b32 %r<64>;
  .reg .f32 %f<64>;
  .reg .b64 %d<16>;
  .reg .pred %p<8>;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  ld.param.u64 %d3, [flags];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r2, 0;
  mul.wide.u32 %d4, %r1, 4;
  add.u64 %d5, %d1, %d4;
  add.u64 %d6, %d2, %d4;
  mov.u32 %r3, tile;
  shl.b32 %r4, %r1, 2;
  add.u32 %r4, %r3, %r4;
  xor.b32 %r5, %r4, 4;
  ld.global.u32 %r6, [%d5];
"""


def kernel(body, threads=32):
    return HEAD.format(threads=threads) + body + "  ret;\n}\n"


def run(driver, text, blocks=1, threads=32):
    values = np.random.default_rng().integers(1, 1 << 30, 256, dtype=np.uint32)
    zeros = np.zeros(256, np.uint32)
    made, _ = driver.run(text, "kernel", blocks, [values], [zeros, zeros.copy()], threads)
    return values, made


def fails(driver, text, message, blocks=1, threads=32):
    """The change is reported, whatever the order of the warps."""
    for _ in range(4):
        with pytest.raises(RuntimeError, match=message):
            run(driver, text, blocks, threads)


def changed(text, old, new):
    assert old in text, old
    return text.replace(old, new, 1)
