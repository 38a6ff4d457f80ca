"""Kernels that read globals of their module, which change between launches.

Needs: draft, pieces_*.
Gives: draw_host.
How:   a kernel reads constexprs of its module, directly, through a jit function, or through a
       constexpr_function; a function that it calls is bound to another one. Each launch has its own
       values, some of which come back, and all launches write to the same arrays.
"""

from .draft import Draft, launch_options


def draw_host(seed):
    draft = Draft("host", seed)
    launch_options(draft)
    count, programs = draft.pick(16, 64, 256), draft.pick(1, 3, 8)
    draft.case.grid = (programs,)
    source = draft.array("x", "i32", programs * count, -9, 9)
    out = draft.array("sums", "i32", programs * count * 2, 0, 9)
    draft.line(f"i = tl.program_id(0) * {count} + tl.arange(0, {count})")
    draft.line(f"x = tl.load({source} + i)")
    values = [draft.rng.randint(1, 5) for _ in range(draft.pick(2, 3))]
    values.append(values[0])
    names = {}
    for way in [
        draft.pick(_direct, _helper, _computed, _branch, _loop) for _ in range(draft.pick(1, 2, 3))
    ]:
        name = draft.fresh("SETTING")
        names[name] = [v + draft.rng.randint(0, 1) for v in values[:-1]]
        names[name].append(names[name][0])
        way(draft, name)
    draft.line(f"tl.atomic_add({out} + i, x)")
    first = {name: found[0] for name, found in names.items()}
    draft.helpers = [
        f"{name} = tl.constexpr({value})" for name, value in first.items()
    ] + draft.helpers
    draft.case.rebound = [
        {name: found[turn] for name, found in names.items()} for turn in range(len(values))
    ]
    return draft.finish()


def _direct(draft, name):
    draft.line(f"x = x * {name} + 1")


def _helper(draft, name):
    helper = draft.fresh("helper")
    draft.helpers += ["", "@triton.jit", f"def {helper}(x):", f"    return x + {name} * 2", ""]
    draft.line(f"x = {helper}(x)")


def _computed(draft, name):
    """A function that runs while the kernel is compiled."""
    helper = draft.fresh("computed")
    body = f"    return 2 * int({name}.value if hasattr({name}, 'value') else {name}) + 1"
    draft.helpers += ["", "@triton.constexpr_function", f"def {helper}():", body, ""]
    draft.line(f"x = x - {helper}()")


def _branch(draft, name):
    with draft.block(f"if {name} > {draft.rng.randint(1, 4)}:"):
        draft.line("x = x * 3")


def _loop(draft, name):
    with draft.block(f"for turn in {draft.pick('range', 'tl.static_range')}({name}):"):
        draft.line("x = x + turn")
