"""Exact operations on the elements of fp32 tiles, and masks.

Needs: draft.
Gives: `change`, which draws an operation on a tile; `clamp`; `mask_of`.
How:   results stay multiples of a power of two and small, so that dots of them are exact.
"""


def clamp(low, high, x):
    return f"tl.minimum(tl.maximum({x}, {low}.0), {high}.0)"


def change(draft, x, vectors=(), others=(), masks=()):
    """An expression of fp32 tile `x`; `vectors` broadcast to it, `others` have its shape."""
    ways = ["scale", "relu", "abs", "clamp", "less", "square"]
    ways += (
        ["mask"] * 2 * bool(masks) + ["vector"] * 2 * bool(vectors) + ["other"] * 3 * bool(others)
    )
    ways += ["exp2"] * 2
    way = draft.pick(*ways)
    if way == "scale":
        return f"{x} * {draft.pick('0.5', '0.25', '0.125', '2.0')}"
    if way == "relu":
        return f"tl.maximum({x}, 0.0)"
    if way == "abs":
        return f"tl.abs({x})"
    if way == "clamp":
        return clamp(-draft.pick(3, 6, 8), draft.pick(2, 4, 8), x)
    if way == "less":
        return (
            f"tl.where({x} > {draft.pick('0.0', '2.0', '-3.0')}, {x}, {draft.pick('0.0', '1.0')})"
        )
    if way == "square":
        small = clamp(-4, 4, x)
        return f"{small} * {x}" if draft.chance(0.5) else f"{small} * {small}"
    if way == "mask":
        return f"tl.where({draft.pick(*masks)}, {x}, 0.0)"
    if way == "vector":
        return f"{x} {draft.pick('+', '-')} {draft.pick(*vectors)}"
    if way == "other":
        other = draft.pick(*others)
        small = clamp(-8, 8, other)
        ways = [f"{x} + {other}", f"{x} - {other}", f"tl.maximum({x}, {other})"]
        return draft.pick(*ways, f"{small} * {x}", f"{small} * {x}")
    return f"tl.exp2(tl.floor({clamp(-5, 3, x)}))"
