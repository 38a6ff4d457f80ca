# Kernels that must not be persistent: a remark says which rule each breaks.
# DEFINE: %{sig} = *fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16
# RUN: pantilec %s --kernel adds_atomically --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=ADDS-ATOMICALLY
# RUN: pantilec %s --kernel reads_volatile --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=READS-VOLATILE
# RUN: pantilec %s --kernel reads_fresh --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=READS-FRESH
# RUN: pantilec %s --kernel synchronises --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=SYNCHRONISES
# RUN: pantilec %s --kernel prints --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=PRINTS
# RUN: pantilec %s --kernel asserts --signature "%{sig}" --no-cache --debug --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=ASSERTS
# RUN: pantilec %s --kernel asks_the_machine --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=ASKS-THE-MACHINE
# RUN: pantilec %s --kernel asks_the_time --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=ASKS-THE-TIME
# RUN: pantilec %s --kernel swaps_atomically --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=SWAPS-ATOMICALLY
# RUN: pantilec %s --kernel has_assembly --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=HAS-ASSEMBLY
# RUN: pantilec %s --kernel differs_in_length --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=DIFFERS-IN-LENGTH
# RUN: pantilec %s --kernel reads_its_length --signature "*fp16:16, *fp16:16, *fp16:16, *i32, i32:16, i32:16" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=READS-ITS-LENGTH
# RUN: pantilec %s --kernel loops_itself --signature "%{sig}" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=LOOPS-ITSELF
# RUN: pantilec %s --kernel has_no_producer --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32" --no-cache --emit layout | pantile-opt -nv-stage-operands -nv-plan-programs 2>&1 | FileCheck %s --check-prefix=HAS-NO-PRODUCER
import pantile as triton
import pantile.language as tl

B: tl.constexpr = 64


@triton.jit
def matmul(a, b, m, n, begin, end, stride_am, stride_bk):
    within = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(begin, end, B):
        x = tl.load(a + (m * B + within)[:, None] * stride_am + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * stride_bk + (n * B + within)[None, :])
        acc += tl.dot(x, y)
    return acc


@triton.jit
def write(c, acc, m, n, stride_bk):
    within = tl.arange(0, B)
    tl.store(c + (m * B + within)[:, None] * stride_bk + (n * B + within)[None, :], acc.to(tl.float16))


# Others see an atomic at once.
# ADDS-ATOMICALLY: the kernel is not persistent: programs synchronise, or are observed while they run
# ADDS-ATOMICALLY: @adds_atomically
# ADDS-ATOMICALLY-NOT: nv.programs
@triton.jit
def adds_atomically(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    tl.atomic_add(c + m, 1.0)
    write(c, matmul(a, b, m, n, 0, depth, stride_am, stride_bk), m, n, stride_bk)


# What is read may change while programs run.
# READS-VOLATILE: the kernel is not persistent: programs synchronise, or are observed while they run
# READS-VOLATILE: @reads_volatile
# READS-VOLATILE-NOT: nv.programs
@triton.jit
def reads_volatile(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    write(c, acc * tl.load(c, volatile=True), m, n, stride_bk)


# The same, said by a cache operator.
# READS-FRESH: the kernel is not persistent: programs synchronise, or are observed while they run
# READS-FRESH: @reads_fresh
# READS-FRESH-NOT: nv.programs
@triton.jit
def reads_fresh(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    write(c, acc * tl.load(c, cache_modifier=".cv"), m, n, stride_bk)


# The author counts on the threads of one program.
# SYNCHRONISES: the kernel is not persistent: programs synchronise, or are observed while they run
# SYNCHRONISES: @synchronises
# SYNCHRONISES-NOT: nv.programs
@triton.jit
def synchronises(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    tl.debug_barrier()
    write(c, acc, m, n, stride_bk)


# The print says which CTA it comes from.
# PRINTS: the kernel is not persistent: programs synchronise, or are observed while they run
# PRINTS: @prints
# PRINTS-NOT: nv.programs
@triton.jit
def prints(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    tl.device_print("at", m)
    write(c, acc, m, n, stride_bk)


# So does the assertion.
# ASSERTS: the kernel is not persistent: programs synchronise, or are observed while they run
# ASSERTS: @asserts
# ASSERTS-NOT: nv.programs
@triton.jit
def asserts(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    tl.device_assert(m < 100)
    write(c, acc, m, n, stride_bk)


# The answer would be of several programs.
# ASKS-THE-MACHINE: the kernel is not persistent: programs synchronise, or are observed while they run
# ASKS-THE-MACHINE: @asks_the_machine
# ASKS-THE-MACHINE-NOT: nv.programs
@triton.jit
def asks_the_machine(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    write(c, acc, tl.extra.cuda.smid(), n, stride_bk)


# Clocks measure one program.
# ASKS-THE-TIME: the kernel is not persistent: programs synchronise, or are observed while they run
# ASKS-THE-TIME: @asks_the_time
# ASKS-THE-TIME-NOT: nv.programs
@triton.jit
def asks_the_time(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    start = tl.extra.cuda.globaltimer()
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    write(c, acc + (tl.extra.cuda.globaltimer() - start).to(tl.float32), m, n, stride_bk)


# Programs may wait for each other.
# SWAPS-ATOMICALLY: the kernel is not persistent: programs synchronise, or are observed while they run
# SWAPS-ATOMICALLY: @swaps_atomically
# SWAPS-ATOMICALLY-NOT: nv.programs
@triton.jit
def swaps_atomically(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    write(c, matmul(a, b, m, n, 0, depth, stride_am, stride_bk), m, n, stride_bk)
    tl.atomic_cas(a.to(tl.pointer_type(tl.int32)), 0, 1)


# The effects of assembly are unknown.
# HAS-ASSEMBLY: the kernel is not persistent: programs synchronise, or are observed while they run
# HAS-ASSEMBLY: @has_assembly
# HAS-ASSEMBLY-NOT: nv.programs
@triton.jit
def has_assembly(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    acc = matmul(a, b, m, n, 0, depth, stride_am, stride_bk)
    at = tl.inline_asm_elementwise("mov.u32 $0, %nsmid;", "=r,r", [n], dtype=tl.int32, is_pure=False, pack=1)
    write(c, acc, m, at, stride_bk)


# A static schedule would leave some CTAs with the long ones.
# DIFFERS-IN-LENGTH: the kernel is not persistent: programs differ in length
# DIFFERS-IN-LENGTH: @differs_in_length
# DIFFERS-IN-LENGTH-NOT: nv.programs
@triton.jit
def differs_in_length(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    write(c, matmul(a, b, m, n, 0, (m + 1) * B, stride_am, stride_bk), m, n, stride_bk)


# The length is not known before the program runs.
# READS-ITS-LENGTH: the kernel is not persistent: programs differ in length
# READS-ITS-LENGTH: @reads_its_length
# READS-ITS-LENGTH-NOT: nv.programs
@triton.jit
def reads_its_length(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    write(c, matmul(a, b, m, n, 0, tl.load(depth), stride_am, stride_bk), m, n, stride_bk)


# Its author has made it persistent.
# LOOPS-ITSELF: the kernel is not persistent: its own loop is over programs
# LOOPS-ITSELF: @loops_itself
# LOOPS-ITSELF-NOT: nv.programs
@triton.jit
def loops_itself(a, b, c, depth, stride_am, stride_bk):
    within = tl.arange(0, B)
    best = tl.zeros((B, B), tl.float32)
    for m in range(tl.program_id(0), depth, tl.num_programs(0)):
        best = tl.maximum(best, matmul(a, b, m, 0, 0, depth, stride_am, stride_bk))
    write(c, best, tl.program_id(0), 0, stride_bk)


# Without a producer warp there is nothing to overlap.
# HAS-NO-PRODUCER: remark: warps are not specialised: its rows are not known to begin at multiples of 16 bytes
# HAS-NO-PRODUCER-NOT: the kernel is not persistent
# HAS-NO-PRODUCER: @has_no_producer
# HAS-NO-PRODUCER-NOT: nv.programs
@triton.jit
def has_no_producer(a, b, c, depth, stride_am, stride_bk):
    m, n = tl.program_id(0), tl.program_id(1)
    write(c, matmul(a + n * n, b, m, n, 0, depth, stride_am, stride_bk), m, n, stride_bk)
