# The scales of columns are equal in runs of 16: lanes of the warp that copies them hold whole runs, and copy the first of
# each. Those of rows are copied one by one. The producer keeps more registers, since two consumer warp groups can do without; next
# to three it keeps what their number of registers leaves.
# RUN: pantilec %S/../kernels/test_fp8_block_gemm.py --kernel block_scaled_kernel --signature "*fp8e4nv:16, *fp8e4nv:16, *bf16:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" -D BLOCK_M=128 -D BLOCK_N=128 -D BLOCK_K=128 -D GROUP_M=8 --num-warps 8 --num-stages 4 --no-cache --emit mma -o %t
# RUN: FileCheck %s --input-file %t
# RUN: FileCheck %s --input-file %t --check-prefix=REGISTERS
# RUN: pantilec %S/../kernels/test_fp8_block_gemm.py --kernel block_scaled_kernel --signature "*fp8e4nv:16, *fp8e4nv:16, *bf16:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" -D BLOCK_M=192 -D BLOCK_N=128 -D BLOCK_K=128 -D GROUP_M=8 --num-warps 12 --num-stages 3 --no-cache --emit mma -o - | FileCheck %s --check-prefix=TWELVE

# CHECK-DAG: #[[EACH:.*]] = #tile.layout<[128], reg = {{\[\[}}32], [64]], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = []>
# CHECK-DAG: #[[RUNS:.*]] = #tile.layout<[128], reg = {{\[\[}}1], [2], [4], [8]], lane = {{\[\[}}16], [32], [64], [0], [0]], warp = []>
# CHECK: nv.producer
# CHECK: nv.copy_async {{.*}} {vectorBytes = 4 : i32} : tensor<128x!tile.ptr<f32>, #[[EACH]]>
# CHECK: nv.producer
# CHECK: nv.copy_async {{.*}} {run = 16 : i64, vectorBytes = 4 : i32} : tensor<128x!tile.ptr<f32>, #[[RUNS]]>
# REGISTERS: registers = [168, 40, 232]
# TWELVE: registers = [128, 32, 160]
