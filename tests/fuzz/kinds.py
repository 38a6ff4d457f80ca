"""The kinds of programs, by name.

Needs: the kind_* modules, and generator for statements that are drawn one by one.
Gives: WEIGHTS, kind_of (which kind a number has), draw, check.
How:   a program is a Program of statements with a model of its own, or a Case, a whole kernel.
"""

import random

from .case import Case
from .checking import Report, check_case
from .generator import draw_any_extents, draw_program
from .kind_aliases import draw_aliases
from .kind_arrays import draw_arrays
from .kind_atomics import draw_atomics
from .kind_bounds import draw_bounds
from .kind_chained import draw_chained, draw_gradients
from .kind_complex import draw_complex
from .kind_far import draw_far
from .kind_gemm import draw_any_gemm, draw_gemm, draw_scaled_gemm
from .kind_host import draw_host
from .kind_loops import draw_loops
from .kind_packed import draw_packed
from .kind_phases import draw_phases
from .kind_producers import draw_producers
from .kind_repeated import draw_repeated
from .kind_rows import draw_rows
from .kind_runs import draw_runs
from .kind_scores import draw_scores
from .kind_scratch import draw_scratch
from .kind_weights import draw_weights
from .running import check_program

DRAWS = {
    "statements": draw_program,
    "gemm": draw_gemm,
    "chained": draw_chained,
    "gradients": draw_gradients,
    "scratch": draw_scratch,
    "phases": draw_phases,
    "rows": draw_rows,
    "atomics": draw_atomics,
    "host": draw_host,
    "far": draw_far,
    "loops": draw_loops,
    "aliases": draw_aliases,
    "any-extents": draw_any_extents,
    "any-gemm": draw_any_gemm,
    "complex": draw_complex,
    "scaled": draw_scaled_gemm,
    "weights": draw_weights,
    "repeated": draw_repeated,
    "arrays": draw_arrays,
    "bounds": draw_bounds,
    "producers": draw_producers,
    "packed": draw_packed,
    "runs": draw_runs,
    "scores": draw_scores,
}
WEIGHTS = {
    "statements": 4,
    "gemm": 3,
    "chained": 4,
    "gradients": 2,
    "scratch": 2,
    "phases": 2,
    "rows": 2,
    "atomics": 1,
    "host": 1,
    "far": 1,
    "loops": 2,
    "aliases": 2,
    "any-extents": 4,
    "any-gemm": 3,
    "complex": 3,
    "scaled": 2,
    "weights": 2,
    "repeated": 2,
    "arrays": 3,
    "bounds": 2,
    "producers": 2,
    "packed": 2,
    "runs": 2,
    "scores": 2,
}
"""How often each is drawn."""


def kinds_named(names):
    """The kinds of a list with commas; all if there is none."""
    chosen = [name for name in names.split(",") if name] or list(WEIGHTS)
    if unknown := [name for name in chosen if name not in DRAWS]:
        raise SystemExit(f"no kind `{unknown[0]}`; there are {', '.join(DRAWS)}")
    return chosen


def kind_of(kinds, seed):
    weights = [WEIGHTS[kind] for kind in kinds]
    return random.Random(f"kind {seed}").choices(kinds, weights)[0]


def draw(kind, seed):
    return DRAWS[kind](seed)


def check(program, options, name, devices, index):
    """The Report of a program of any kind."""
    if isinstance(program, Case):
        with_figures = index % options.figures_every == 0
        return check_case(program, options.out, name, devices, with_figures)
    every = options.compile_every
    return Report(check_program(program, options.out, name, devices, every, index))
