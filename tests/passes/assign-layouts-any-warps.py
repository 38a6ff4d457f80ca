# Memory accesses in 6 and 12 warps: three parts of the slowest dimension that lets them, else a power of two of warps and replicas.
# DEFINE: %{copy} = pantilec %s --kernel copy --no-cache --signature "*fp32:16, *fp32:16"
# RUN: %{copy} -D M=1 -D N=1536 --num-warps 6 --emit mma -o - | FileCheck %s --check-prefix=PARTS
# RUN: %{copy} -D M=96 -D N=64 --num-warps 12 --emit mma -o - | FileCheck %s --check-prefix=ROWS
# RUN: %{copy} -D M=8 -D N=1152 --num-warps 3 --emit mma -o - | FileCheck %s --check-prefix=LESS
# RUN: %{copy} -D M=1 -D N=1024 --num-warps 6 --remarks --emit mma -o - 2>&1 | FileCheck %s --check-prefix=REPLICAS
# RUN: %{copy} -D M=1 -D N=1024 --num-warps 6 --emit ptx -o - | FileCheck %s --check-prefix=ONE-OWNER
# RUN: %{copy} -D M=1 -D N=1536 --num-warps 6 --emit ptx -o - | FileCheck %s --check-prefix=ALL
import pantile as triton
import pantile.language as tl

# PARTS: #tile.layout<[1, 1536], {{.*}} warp = {{\[\[}}0, 128], [0, 512], [0, 1024]], warps = 6>
# PARTS-NOT: tile.convert_layout

# ROWS: warp = {{.*}}[32, 0], [64, 0]], warps = 12>

# The last of the three parts is a smaller one.
# LESS: warp = {{\[\[}}0, 512], [0, 1024]], warps = 3>

# REPLICAS: remark: load uses 4 of 6 warps: no extent of the tile divides into 3 equal powers of two
# REPLICAS: warp = {{\[\[}}0, 128], [0, 256], [0, 0]], warps = 6>

# Warps 0 to 3, of which bit 7 of the thread is zero, store; a loop has nothing to do with it.
# ONE-OWNER: .reqntid 192
# ONE-OWNER: ld.global.v4
# ONE-OWNER: @{{.*}} st.global.v4

# No thread is outside: neither loads nor stores have a predicate.
# ALL: .reqntid 192
# ALL-COUNT-2: {{^[[:space:]]*}}ld.global.v4
# ALL-COUNT-2: {{^[[:space:]]*}}st.global.v4


@triton.jit
def copy(out_ptr, x_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)
