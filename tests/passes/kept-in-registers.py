# A left operand that a loop keeps is read from registers if asked for, and from a buffer else; one that is loaded in the loop goes by a
# ring, as the right ones do, and one that is read transposed by a buffer.
# RUN: pantilec %s --kernel keep --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline --enable-pass kept-in-registers -o - | FileCheck %s
# RUN: pantilec %s --kernel keep --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline -o - | FileCheck %s --check-prefix=BUFFER
# RUN: pantilec %s --kernel stream --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline --enable-pass kept-in-registers -o - | FileCheck %s --check-prefix=BUFFER
# RUN: pantilec %s --kernel turn --signature "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16" --target sm_90a --no-cache --emit pipeline --enable-pass kept-in-registers -o - | FileCheck %s --check-prefix=BUFFER
import pantile
import pantile.language as tl


# CHECK: %[[KEPT:.*]] = tile.convert_layout
# CHECK: scf.for
# CHECK: nv.wgmma %[[KEPT]], {{.*}} : tensor<64x64xf16, {{[^>]*}}>, <
# BUFFER: nv.wgmma %{{.*}} : !nv.buffer<
@pantile.jit
def keep(A, B, Out, stride, n):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        acc += tl.exp2(tl.dot(a, tl.trans(b)))
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


@pantile.jit
def stream(A, B, Out, stride, n):
    at = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        a = tl.load(A + at[:, None] * stride + start + at[None, :])
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)


@pantile.jit
def turn(A, B, Out, stride, n):
    at = tl.arange(0, 64)
    a = tl.load(A + at[:, None] * stride + at[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(0, n, 64):
        b = tl.load(B + (start + at)[:, None] * stride + at[None, :])
        acc += tl.exp2(tl.dot(tl.trans(a), b))
    tl.store(Out + at[:, None] * 64 + at[None, :], acc)
