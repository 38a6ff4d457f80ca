"""Shortens a failing program: deletes statements while it fails in the same way.

Needs: program.
Gives: reduce_program(program, fails).
How:   deletes runs of statements, long runs first, in every block; a branch or loop may also give way
       to its body. A program that the model calls Undefined is not tried. Then one program, one warp.
"""

import copy

from .program import For, If, While
from .values import Undefined


def blocks(body):
    """Every list of statements, the outer ones first."""
    yield body
    for statement in body:
        if isinstance(statement, If):
            yield from blocks(statement.then)
            yield from blocks(statement.orelse)
        elif isinstance(statement, (For, While)):
            yield from blocks(statement.body)


def _defined(program):
    try:
        program.evaluate()
    except (Undefined, KeyError, ValueError, IndexError):
        return False
    return bool(program.body)


def _attempts(program):
    """Smaller programs, one change each."""
    count = len(list(blocks(program.body)))
    for which in range(count):
        size = len(list(blocks(program.body))[which])
        run = max(1, size // 2)
        while run:
            for start in range(0, size - run + 1, max(1, run)):
                smaller = copy.deepcopy(program)
                del list(blocks(smaller.body))[which][start : start + run]
                yield smaller
            run //= 2
    yield from _unwrapped(program, count)


def _unwrapped(program, count):
    for which in range(count):
        block = list(blocks(program.body))[which]
        for i, statement in enumerate(block):
            inner = {If: "then", For: "body", While: "body"}.get(type(statement))
            if inner:
                smaller = copy.deepcopy(program)
                target = list(blocks(smaller.body))[which]
                target[i : i + 1] = getattr(target[i], inner)
                yield smaller


def _simpler_launches(program):
    for field, value in (("grid", 1), ("num_warps", 1), ("num_warps", 4), ("num_stages", 1)):
        if getattr(program, field) > value:
            smaller = copy.deepcopy(program)
            setattr(smaller, field, value)
            yield smaller


def reduce_program(program, fails, budget=400):
    """The smallest program found for which `fails` holds, within `budget` tries."""
    tried = 0
    progress = True
    while progress and tried < budget:
        progress = False
        for smaller in [*_simpler_launches(program), *_attempts(program)]:
            if tried >= budget:
                break
            if not _defined(smaller):
                continue
            tried += 1
            if fails(smaller):
                program, progress = smaller, True
                break
    return program
