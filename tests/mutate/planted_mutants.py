"""Mistakes that a pass makes, planted in the IR as it leaves it: see compiler/passes/testing/TestPlantError.cpp.

A row: kind, the pass that would make the mistake, the opportunities to make it at (counted from 0 in each kernel),
target, a pattern of the PTX of kernels that may have such an opportunity, and one sentence on what is wrong then.
"""

from .mutant import Mutant

BARRIERS, STAGES = "nv-insert-barriers", "nv-count-stages"
WAITS = r"mbarrier\.try_wait|cp\.async\.wait_group"
EXCHANGE = r"st\.shared|stmatrix|shfl\.sync\.idx"

# fmt: off
ROWS = [
    ("drop-barrier", BARRIERS, (0, 1, 2), "sm_90a", r"bar\.sync", "a barrier is not inserted"),
    ("drop-barrier", BARRIERS, (0,), "sm_80", r"bar\.sync", "a barrier is not inserted"),
    ("drop-fence", BARRIERS, (0,), "sm_90a", r"fence\.proxy", "a fence for wgmma is not inserted"),
    ("late-wait", BARRIERS, (0,), "sm_80", WAITS, "a wait leaves one group of copies too many"),
    ("late-mma-wait", BARRIERS, (0, 1), "sm_90a", r"wgmma", "a wait leaves one MMA too many"),
    ("missing-stage", "nv-schedule-loops", (0,), "sm_80", WAITS, "a circular buffer has one stage too few"),
    ("far-prefetch", "nv-schedule-loops", (0,), "sm_80", WAITS, "copies run an iteration too far ahead"),
    ("short-buffer", STAGES, (0, 1), "sm_90a", WAITS, "the last stage lies on what comes after the buffer"),
    ("early-release", BARRIERS, (0,), "sm_90a", r"wgmma", "a stage is released while MMAs read it"),
    ("drop-release", BARRIERS, (0,), "sm_90a", WAITS, "a stage is never released"),
    ("flipped-parity", BARRIERS, (1,), "sm_90a", WAITS, "a wait is for the other phase"),
    ("drop-load-mask", BARRIERS, (0, 1), "sm_90a", r"^@.*(ld\.global|cp\.async)", "a load loses its mask"),
    ("drop-store-mask", BARRIERS, (0,), "sm_90a", r"^@.*st\.global", "a store loses its mask"),
    ("wide-bound", "tile-assign-layouts", (0, 1, 2), "sm_90a", r"setp\.lt", "a mask reaches one too far"),
    ("free-conversion", BARRIERS, (0, 1), "sm_90a", EXCHANGE, "a layout conversion counts as free"),
    ("overlap-buffers", "nv-allocate-shared", (0, 1), "sm_90a", WAITS, "two buffers have one place"),
    ("overlap-scratch", "nv-allocate-shared", (0,), "sm_90a", EXCHANGE, "scratch lies on a buffer that lives"),
    ("moved-load", BARRIERS, (0,), "sm_90a", r"tensor\.\dd\.shared", "a TMA load begins one row too late"),
    ("moved-store", BARRIERS, (0,), "sm_90a", r"tensor\.\dd\.global", "a TMA store begins one row too late"),
    ("wide-tensor", BARRIERS, (0, 1), "sm_90a", r"cp\.async\.bulk\.tensor", "a tensor map has one row too many"),
]
# fmt: on


def mutants_of(row):
    """The mutants of a row of the table, one for each opportunity."""
    kind, place, opportunities, target, pattern, sentence = row
    suffix = "@80" if target == "sm_80" else ""
    in_text = kind != "wide-tensor"
    return [
        Mutant(f"{kind}-{at}{suffix}", sentence, pattern, "", at, target, kind, place, in_text)
        for at in opportunities
    ]


PLANTED_MUTANTS = [mutant for row in ROWS for mutant in mutants_of(row)]

__all__ = ["PLANTED_MUTANTS"]
