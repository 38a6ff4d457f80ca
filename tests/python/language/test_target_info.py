"""Questions of a kernel about its target, answered while it compiles."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile.backends.compiler import GPUTarget
from pantile.compiler import ASTSource
from pantile.language import target_info
from pantile.language.target_info import cuda_capability_geq


@triton.jit
def asks(out):
    target: tl.constexpr = target_info.current_target()
    tl.static_assert((target.backend == "cuda") == tl.target_info.is_cuda())
    tl.static_assert(not target_info.is_hip() and not target_info.is_hip_cdna3())
    if target_info.is_cuda():
        tl.store(out, target.arch)
    else:
        tl.store(out, -target.warp_size)
    tl.store(out + 1, cuda_capability_geq(9) + 10 * cuda_capability_geq(8, 6))
    tl.store(out + 2, tl._log2(1025))


def test_on_the_device(device):
    out = device.output(3, "i32")
    asks[(1,)](out.array)
    arch, capability, log = out.numpy()
    assert log == 10
    if device.arch is None:
        assert (arch, capability) == (-1, 0)
    else:
        assert arch == device.arch
        assert capability == (arch >= 90) + 10 * (arch >= 86)


@pytest.mark.parametrize("arch, capability", [(80, 0), (86, 10), (89, 10), (90, 11), (100, 11)])
def test_ahead_of_time(arch, capability):
    target = GPUTarget("cuda", arch, 32)
    source = ASTSource(asks, {"out": "*i32"}, attrs={0: [["tt.divisibility", 16]]})
    text = triton.compile(source, target).asm["ttir"]
    assert f"arith.constant {arch} : i32" in text
    assert capability == 0 or f"arith.constant {capability} : i32" in text


def test_on_the_host():
    target = target_info.current_target()
    assert target_info.is_cuda() == (target.backend == "cuda") and not target_info.is_hip()
    assert np.isscalar(target_info.cuda_capability_geq(7, 5))
