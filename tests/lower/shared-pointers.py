# A thread's accesses at constant distances share a pointer where its element is accessed whenever theirs are. A mask that
# ends before an argument lets the first be that; one that begins after it does not. Before a loop each has its own.
# RUN: pantilec %s --kernel walk --signature "*bf16,*bf16,i32" -D FROM_START=1 --no-cache --emit ptx | FileCheck %s --check-prefix=LOOP
# RUN: pantilec %s --kernel walk --signature "*bf16,*bf16,i32" -D FROM_START=0 --no-cache --emit ptx | FileCheck %s --check-prefix=OWN
# RUN: pantilec %s --kernel before --signature "*bf16,*bf16,i32" --no-cache --emit ptx | FileCheck %s --check-prefix=BEFORE
import pantile
import pantile.language as tl


# LOOP: ld.global.b16 %{{rs[0-9]+}}, [%[[FROM:rd[0-9]+]]];
# LOOP: ld.global.b16 %{{rs[0-9]+}}, [%[[FROM]]+256];
# LOOP: ld.global.b16 %{{rs[0-9]+}}, [%[[FROM]]+512];
# LOOP: st.global.b16 [%[[TO:rd[0-9]+]]], %{{rs[0-9]+}};
# LOOP: st.global.b16 [%[[TO]]+256], %{{rs[0-9]+}};
# OWN-NOT: {{(ld|st).global.*[[]%rd[0-9]+[+]}}
# OWN: ld.global.b16
# OWN-NOT: {{(ld|st).global.*[[]%rd[0-9]+[+]}}
@pantile.jit
def walk(x_ptr, y_ptr, n, FROM_START: tl.constexpr):
    for start in range(0, n, 512):
        at = start + tl.arange(0, 512)
        mask = at < n if FROM_START else at >= n
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) * 2.0, mask=mask)


# BEFORE-NOT: ld.global.b16{{.*[[]%rd[0-9]+[+]}}
# BEFORE: ld.global.b16
# BEFORE: ld.global.b16
# BEFORE-NOT: ld.global.b16{{.*[[]%rd[0-9]+[+]}}
# BEFORE: bra
@pantile.jit
def before(x_ptr, y_ptr, n):
    at = tl.arange(0, 512)
    total = tl.load(x_ptr + at, mask=at < n, other=0.0)
    for _ in range(n):
        total = total * 2.0 + 1.0
    tl.store(y_ptr + at, total, mask=at < n)
