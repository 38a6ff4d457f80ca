"""Mistakes in PTX: what a lowering could get wrong.

A row: name, pattern, replacement ("" leaves out what matches), and one sentence on what is wrong then.
A number after `#` in the name is the match of a kernel that is meant, counted from 0; `@80` is for sm_80.
"""

from .mutant import Mutant, with_register

# fmt: off
SYNCHRONISATION = [
    ("bar-sync@80", r"bar\.sync.*", "", "no thread waits for another one"),
    ("bar-sync#0", r"bar\.sync.*", "", "the first barrier of a kernel is missing"),
    ("bar-sync#2", r"bar\.sync.*", "", "the third barrier of a kernel is missing"),
    ("bar-count", r"(bar\.sync\s+0, )(\d+)", "$1<$2-32>", "a barrier waits for one warp too few"),
    ("bar-warp-sync", r"bar\.warp\.sync.*", "", "lanes exchange without waiting for each other"),
    ("fence-proxy", r"fence\.proxy\.async.*", "", "wgmma and TMA may read what was not written"),
    ("fence-init", r"fence\.mbarrier_init.*", "", "mbarriers are used before they are seen"),
    ("atom-relaxed", r"(atom|red)\.acq_rel", "$1.relaxed", "an atomic orders nothing"),
    ("atom-no-release", r"atom\.release", "atom.relaxed", "a lock is given back before the writes"),
    ("atom-no-acquire", r"atom\.acquire", "atom.relaxed", "a lock is taken after the reads"),
    ("atom-cta", r"(atom\.\w+)\.gpu", "$1.cta", "an atomic is ordered for its own CTA alone"),
    ("fence-gpu", r"fence\.acq_rel\.gpu", "", "writes are not ordered before a flag"),
]

MBARRIERS = [
    ("try-wait#0", r"mbarrier\.try_wait.*", "setp.eq.b32 p, 0, 0", "the first wait for a circular buffer is skipped"),
    ("try-wait#1", r"mbarrier\.try_wait.*", "setp.eq.b32 p, 0, 0", "the second wait for a circular buffer is skipped"),
    ("parity#0", r"(mbarrier\.try_wait\S+ p, \[\S+\], )(\S+)", with_register("xor.b32 m, $2, 1", "$1m"), "a wait is for the other phase"),
    ("arrive#0", r"^@\S+ mbarrier\.arrive\.shared.*", "", "a stage is never released"),
    ("arrive-twice", r"^@\S+ mbarrier\.arrive\.shared.*", "$&; $&", "a stage is released twice"),
    ("init-count", r"(mbarrier\.init\S+ \[\S+\], )(\S+)", with_register("add.s32 m, $2, 1", "$1m"), "an mbarrier expects one arrival too many"),
    ("expect-tx", r"(mbarrier\.arrive\.expect_tx\S+ _, \[\S+\], )(\S+)", with_register("sub.s32 m, $2, 16", "$1m"), "a stage counts as full 16 bytes early"),
]

TMA = [
    ("tma-swapped", r"(tensor\.2d\.shared.*\{)(%\w+), (%\w+)\}", "$1$3, $2}", "a TMA load takes the row as the column"),
    ("tma-row", r"(.*tensor\.2d\.shared.*\{)(%\w+), (%\w+)\}(.*)", with_register("add.s32 m, $3, 1", "$1$2, m}$4"), "a TMA load begins one row too late"),
    ("tma-store#0", r"cp\.async\.bulk\.tensor\S+global\.shared.*", "", "a TMA store is missing"),
    ("bulk-wait", r"cp\.async\.bulk\.wait_group.*", "", "what TMA still reads is overwritten"),
    ("bulk-wait-late", r"(cp\.async\.bulk\.wait_group\S* )(\d+)", "$1<$2+1>", "a wait for TMA stores leaves one group too many"),
    ("bulk-commit", r"cp\.async\.bulk\.commit_group", "", "TMA stores belong to no group"),
]

WGMMA = [
    ("wgmma-fence", r"wgmma\.fence.*", "", "wgmma may read registers that were not written"),
    ("wgmma-commit", r"wgmma\.commit_group.*", "", "MMAs belong to no group"),
    ("wgmma-wait", r"wgmma\.wait_group.*", "", "accumulators are read while MMAs are in flight"),
    ("wgmma-wait-late", r"(wgmma\.wait_group\S* )(\d+)", "$1<$2+1>", "a wait leaves one MMA too many"),
    ("wgmma-step", r"(add\.s64 b, d, )(\d+)", "$1<$2+2>", "the descriptor steps too far along K"),
    ("wgmma-span", r"(mov\.b64 d, \{%\w+, )(\d+)", "$1<$2^1073741824>", "a descriptor has another swizzle"),
    ("wgmma-new-sum", r"setp\.ne\.b32 p, 1, 0", "setp.ne.b32 p, 0, 0", "the accumulator is forgotten"),
    ("wgmma-old-sum", r"setp\.ne\.b32 p, 0, 0", "setp.ne.b32 p, 1, 0", "the accumulator starts from registers"),
    ("wgmma#1", r"wgmma\.mma_async.*", "", "the second step along K is missing"),
]

COPIES = [
    ("cp-wait@80", r"cp\.async\.wait_group.*", "", "copies are read while they are in flight"),
    ("cp-wait-late@80", r"(cp\.async\.wait_group )(\d+)", "$1<$2+1>", "a wait leaves one group too many"),
    ("cp-commit@80", r"cp\.async\.commit_group", "", "copies belong to no group"),
    ("cp-guard@80", r"^@\S+ (cp\.async\.c\w\..*)", "$1", "a copy ignores its mask"),
    ("cp-negated@80", r"^@(%\w+ cp\.async\.c\w\..*)", "@!$1", "a copy takes the opposite of its mask"),
]

MATRICES = [
    ("ldmatrix-trans", r"(ldmatrix\S+x4)\.trans", "$1", "an operand is not transposed"),
    ("ldmatrix-order", r"(ldmatrix\S+ \{)(%\w+), (%\w+)", "$1$3, $2", "two 8x8 matrices change places"),
    ("stmatrix-order", r"(stmatrix.*\{)(%\w+), (%\w+)", "$1$3, $2", "two 8x8 matrices change places"),
    ("mma-b-order@80", r"(mma\.sync.*\{)(%\w+), (%\w+)(\}, \{[^}]*\})$", "$1$3, $2$4", "registers of B change places"),
    ("mma-new-sum@80", r"(mma\.sync\S+f32 .*, )\{%\w+, %\w+, %\w+, %\w+\}$", "$1{0f00000000, 0f00000000, 0f00000000, 0f00000000}", "the accumulator is forgotten"),
    ("mma#1@80", r"mma\.sync.*", "", "the second step of a dot is missing"),
]

SHARED_MEMORY = [
    ("swizzle", r"(xor\.b32\s+%\w+, %\w+, )(\d+)", "$1<$2^16>", "a swizzle moves 16 bytes elsewhere"),
    ("shared-store", r"(st\.shared\S*\s+\[%\w+\+)(\d+)", "$1<$2+16>", "a store to shared memory lies 16 bytes too far"),
    ("shared-load", r"(ld\.shared.*\[%\w+\+)(\d+)", "$1<$2+16>", "a load from shared memory lies 16 bytes too far"),
    ("shared-guard", r"^@\S+ (st\.shared.*)", "$1", "all threads write what one should"),
    ("mapa", r"(mapa\S+\s+%\w+, %\w+, )(%\w+)", with_register("mov.b32 m, 0", "$1m"), "every peer CTA is the first one"),
    ("cluster-wait", r"barrier\.cluster\.\w+\.aligned", "", "CTAs of a cluster do not wait for each other"),
]

REGISTERS = [
    ("shfl-distance", r"(shfl\.sync\.bfly.*, )1, 31", "$1 2, 31", "lanes exchange at another distance"),
    ("shfl-missing", r"shfl\.sync\.bfly\.b32\s+(%\w+), (%\w+), 16, .*", "mov.b32 $1, $2", "a step of a reduction is missing"),
    ("shfl-lane", r"shfl\.sync\.idx\.b32\s+(%\w+), (%\w+), (%\w+), 31, -1", with_register("xor.b32 m, $3, 1", "shfl.sync.idx.b32 $1, $2, m, 31, -1"), "a value comes from the lane next to it"),
    ("max-min", r"max\.f32", "min.f32", "a maximum is a minimum"),
    ("max-nan", r"(max|min)\.NaN", "$1", "a maximum drops NaN"),
    ("select", r"(selp\.f32\s+%\w+, )(\S+), (\S+), ", "$1$3, $2, ", "a select takes the other value"),
    ("round-f16", r"cvt\.rn\.f16x2\.f32", "cvt.rz.f16x2.f32", "results are cut off instead of rounded"),
    ("round-tf32", r"cvt\.rna\.tf32\.f32", "mov.b32", "operands of tf32 are cut off instead of rounded"),
    ("pack-order", r"(cvt\.rn\.f16x2\.f32\s+%\w+, )(%\w+), (%\w+)", "$1$3, $2", "two packed numbers change places"),
    ("field", r"(bfe\.u32\s+%\w+, %\w+, \d+, )(\d+)", "$1<$2-1>", "a part of the thread's number loses a bit"),
    ("magic", r"(mul\.hi\.u32\s+%\w+, %\w+, )(-?\d+)", "$1<$2+1>", "a division by a constant multiplies by another"),
    ("unsigned-offset", r"mul\.wide\.s32", "mul.wide.u32", "negative offsets count as large ones"),
]

GLOBAL_MEMORY = [
    ("load-guard", r"^@\S+ (ld\.global.*)", "$1", "a load ignores its mask"),
    ("store-guard", r"^@\S+ (st\.global.*)", "$1", "a store ignores its mask"),
    ("atom-guard", r"^@\S+ ((atom|red)\..*)", "$1", "threads that hold one element all add it"),
    ("less-or-equal", r"setp\.lt\.s32", "setp.le.s32", "a bound is one too far"),
    ("or-mask#0", r"and\.pred", "or.pred", "a mask of two conditions takes either"),
    ("load-order", r"(ld\.global\.v\d\S*\s+\{)(%\w+), (%\w+)", "$1$3, $2", "two loaded registers change places"),
    ("cas-order", r"(atom\S*\.cas\S+ %\w+, \[\S+\], )(%\w+), (%\w+)", "$1$3, $2", "an exchange compares with the new value"),
]
# fmt: on

GROUPS = {
    "synchronisation": SYNCHRONISATION,
    "mbarriers of circular buffers": MBARRIERS,
    "TMA": TMA,
    "wgmma": WGMMA,
    "cp.async": COPIES,
    "matrices": MATRICES,
    "shared memory": SHARED_MEMORY,
    "registers": REGISTERS,
    "global memory": GLOBAL_MEMORY,
}


def mutant_of(row):
    """The mutant of a row of these tables."""
    name, pattern, replacement, sentence = row
    plain, _, capability = name.partition("@")
    number = plain.partition("#")[2]
    which = int(number) if number else None
    return Mutant(name, sentence, pattern, replacement, which, f"sm_{capability or '90a'}")


PTX_MUTANTS = [mutant_of(row) for rows in GROUPS.values() for row in rows]

__all__ = ["GROUPS", "PTX_MUTANTS"]
