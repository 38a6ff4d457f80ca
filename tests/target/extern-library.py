# A user's bitcode is linked and inlined; what the file holds is part of the cache's key; a call with
# other types than the definition has is an error.
# RUN: llvm-as %S/Inputs/own-functions.ll -o %t.bc
# RUN: sed "s@LIBRARY@%t.bc@" %s > %t.py
# RUN: pantilec %t.py --kernel kernel --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=TWO
# RUN: sed "s/2[.]0/5.0/" %S/Inputs/own-functions.ll | llvm-as -o %t.bc
# RUN: pantilec %t.py --kernel kernel --signature "*fp32:16, *fp32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=FIVE
# RUN: not pantilec %t.py --kernel wrong --signature "*fp32:16" --target sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=WRONG
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(out, x):
    i = tl.arange(0, 128)
    y = tl.extern_elementwise(
        "own",
        "LIBRARY",
        [tl.load(x + i), i],
        {(tl.float32, tl.int32): ("twice_plus", tl.float32)},
        is_pure=True,
    )
    z = tl.extern_elementwise(
        "own",
        "LIBRARY",
        [x + 0 * i, i],
        {(tl.pointer_type(tl.float32), tl.int32): ("first_of", tl.float32)},
        is_pure=False,
    )
    tl.store(out + i, y + z)


@triton.jit
def wrong(out):
    i = tl.arange(0, 128)
    y = tl.extern_elementwise(
        "own", "LIBRARY", [i, i], {(tl.int32, tl.int32): ("twice_plus", tl.float32)}, is_pure=True
    )
    tl.store(out + i, y)


# TWO-NOT: call
# TWO: fma.rn.f32 {{.*}}, 0f40000000,
# TWO: st.global
# FIVE: fma.rn.f32 {{.*}}, 0f40A00000,
# WRONG: `twice_plus` is `float (float, i32)`, and is called as `float (i32, i32)`
