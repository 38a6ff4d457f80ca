"""Shortens a failing case: smaller launches and texts while it fails in the same way.

Needs: case; Python's `ast`.
Gives: reduce_case(case, fails, budget).
How:   statements are deleted in long runs first, loops and branches give way to their bodies,
       expressions to their operands. The model refuses what has no one result, such as a kernel
       whose barrier is gone, so every attempt is a program with a right answer.
"""

import ast
import copy
from dataclasses import replace

BODIES = ("body", "orelse")


def _kernel(tree):
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "kernel")


def _lists(tree):
    """Every list of statements within the kernel."""
    return [
        getattr(node, name)
        for node in ast.walk(_kernel(tree))
        for name in BODIES
        if isinstance(getattr(node, name, None), list) and getattr(node, name)
    ]


def _without_statements(tree):
    for which, statements in enumerate(_lists(tree)):
        run = max(1, len(statements) // 2)
        while run:
            for start in range(0, len(statements) - run + 1, run):
                smaller = copy.deepcopy(tree)
                found = _lists(smaller)[which]
                del found[start : start + run]
                if not found:
                    found.append(ast.Pass())
                yield smaller
            run //= 2


def _unwrapped(tree):
    for which, statements in enumerate(_lists(tree)):
        for i, statement in enumerate(statements):
            if isinstance(statement, (ast.For, ast.If, ast.While)):
                smaller = copy.deepcopy(tree)
                found = _lists(smaller)[which]
                inner = found[i]
                first = []
                if isinstance(inner, ast.For) and isinstance(inner.target, ast.Name):
                    first = [ast.Assign([inner.target], _first_of(inner.iter))]
                found[i : i + 1] = [*first, *inner.body]
                yield smaller


def _first_of(iterated):
    """What a loop counts first, or the first row of a tile."""
    if not isinstance(iterated, ast.Call):
        return ast.Subscript(iterated, ast.Constant(0))
    return iterated.args[0] if len(iterated.args) > 1 else ast.Constant(0)


def _operands(node):
    """What an expression may give way to."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", "")
        if name in ("where", "maximum", "minimum", "abs", "floor", "exp2"):
            return node.args[-2:]
        if name == "to":
            return [node.func.value]
    return []


class _Replace(ast.NodeTransformer):
    def __init__(self, number, choice):
        self.number, self.choice, self.count = number, choice, -1

    def visit(self, node):
        if _operands(node):
            self.count += 1
            if self.count == self.number:
                return _operands(node)[self.choice]
        return self.generic_visit(node)


def _simpler_expressions(tree):
    count = sum(bool(_operands(node)) for node in ast.walk(_kernel(tree)))
    for number in range(count):
        for choice in (0, 1):
            smaller = copy.deepcopy(tree)
            try:
                _Replace(number, choice).visit(_kernel(smaller))
            except IndexError:
                continue
            yield smaller


def _without_unused(case):
    """Arguments that the kernel does not name are dropped."""
    tree = ast.parse(case.source)
    kernel = _kernel(tree)
    used = {
        n.id for statement in kernel.body for n in ast.walk(statement) if isinstance(n, ast.Name)
    }
    keep = [a for a in kernel.args.args if a.arg in used]
    kernel.args.args = keep
    names = {a.arg for a in keep}
    views = {name: view for name, view in case.views.items() if name in names}
    arrays = {name for name, _ in views.values()}
    return replace(
        case,
        source=ast.unparse(ast.fix_missing_locations(tree)) + "\n",
        views=views,
        arrays={name: made for name, made in case.arrays.items() if name in arrays},
        scalars={name: n for name, n in case.scalars.items() if name in names},
        constants={name: n for name, n in case.constants.items() if name in names},
    )


def _simpler_launches(case):
    for axis, count in enumerate(case.grid):
        for fewer in {1, count // 2}:
            if 0 < fewer < count:
                grid = (*case.grid[:axis], fewer, *case.grid[axis + 1 :])
                yield replace(case, grid=grid)
    for name in ("disabled_passes", "enabled_passes"):
        if name in case.options:
            yield replace(case, options={k: v for k, v in case.options.items() if k != name})
    for name, value in (("num_stages", 1), ("num_stages", 2), ("num_warps", 1), ("num_warps", 4)):
        if case.options.get(name, 0) > value:
            yield replace(case, options={**case.options, name: value})
    for name, value in case.constants.items():
        yield _with_literal(case, name, value)
    for name, value in case.scalars.items():
        yield _with_literal(case, name, value)


def _with_literal(case, name, value):
    """A number is written out instead of passed."""

    class Writer(ast.NodeTransformer):
        def visit_Name(self, node):  # noqa: N802
            return ast.Constant(value) if node.id == name else node

    tree = ast.parse(case.source)
    kernel = _kernel(tree)
    kernel.body = [Writer().visit(statement) for statement in kernel.body]
    return _without_unused(
        replace(case, source=ast.unparse(ast.fix_missing_locations(tree)) + "\n")
    )


def _attempts(case):
    yield from _simpler_launches(case)
    tree = ast.parse(case.source)
    for smaller in (*_without_statements(tree), *_unwrapped(tree), *_simpler_expressions(tree)):
        text = ast.unparse(ast.fix_missing_locations(smaller)) + "\n"
        yield _without_unused(replace(case, source=text))


def reduce_case(case, fails, budget=400):
    """The smallest case found for which `fails` holds, within `budget` tries."""
    tried, progress, seen = 0, True, {case.text()}
    while progress and tried < budget:
        progress = False
        for smaller in _attempts(case):
            if tried >= budget:
                break
            if smaller.text() in seen:
                continue
            seen.add(smaller.text())
            tried += 1
            if fails(smaller):
                case, progress = smaller, True
                break
    return case
