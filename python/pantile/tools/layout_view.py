"""Linear layouts as text: the holders of each element of a tensor, or the elements of each holder.

Needs: layouts whose input dimensions are `register`, `lane`, `warp` and `block` (distributed), or
`offset` and `block` (shared memory).
Gives: the strings of `LinearLayout.get_distributed_view` and `get_shared_view`.
How:   a view of the tensor is an array of strings in row-major order; a view of the hardware lists
       coordinates.
"""

import itertools
import math

__all__ = ["distributed_view", "shared_view"]


def distributed_view(layout, by_hardware):
    """Return the text of a layout of registers; see `LinearLayout.get_distributed_view`."""
    sizes = _sizes(layout, ("register", "lane", "warp", "block"))
    return _of_threads(layout, sizes) if by_hardware else _of_elements(layout, sizes)


def shared_view(layout, by_hardware):
    """Return the text of a layout of shared memory; see `LinearLayout.get_shared_view`."""
    sizes = _sizes(layout, ("offset", "block"))
    shape = [size for _, size in layout.out_dims]
    # The offsets of a CTA's part of the tensor: further ones repeat them.
    sizes["offset"] = max(1, math.prod(shape) // sizes["block"])
    if by_hardware:
        return _of_offsets(layout, sizes)
    texts = [_coordinates(layout, index, ":") for index in _every_index(sizes)]
    return _array(texts[: math.prod(shape)], shape, ",")


def _sizes(layout, needed):
    sizes = {name: 1 << len(rows) for name, rows in layout.bases}
    if set(sizes) != set(needed):
        raise ValueError(f"the view needs the input dimensions {list(needed)}, got {list(sizes)}")
    return {name: sizes[name] for name in needed}


def _every_index(sizes):
    """All indices, the first dimension the fastest."""
    names = list(sizes)[::-1]
    for index in itertools.product(*(range(sizes[name]) for name in names)):
        yield dict(zip(names, index))


def _coordinates(layout, index, separator):
    """The place of an index, "( 3, 12)": numbers as wide as the largest of their dimension."""
    place = layout.apply(index)
    numbers = [str(place[name]).rjust(len(str(size - 1))) for name, size in layout.out_dims]
    return f"({separator.join(numbers)})"


def _of_elements(layout, sizes):
    shape = [size for _, size in layout.out_dims]
    holders = [[] for _ in range(math.prod(shape))]
    for index in _every_index(sizes):
        at = 0
        for (_, size), place in zip(layout.out_dims, layout.apply(index).values()):
            at = at * size + place
        thread = index["lane"] + index["warp"] * sizes["lane"]
        block = f"B{index['block']}:" if sizes["block"] > 1 else ""
        holders[at].append(f"{block}T{thread}:{index['register']}")
    width = max(len(name) for names in holders for name in names)
    texts = ["|".join(name.rjust(width) for name in names) for names in holders]
    return _array(texts, shape, ", ")


def _of_threads(layout, sizes):
    lines = []
    for block in range(sizes["block"]):
        lines += [f"Block{block}:"] if sizes["block"] > 1 else []
        for warp in range(sizes["warp"]):
            lines.append(f"Warp{warp}:")
            for register in range(sizes["register"]):
                row = [
                    {"register": register, "lane": lane, "warp": warp, "block": block}
                    for lane in range(sizes["lane"])
                ]
                lines.append(", ".join(_coordinates(layout, index, ",") for index in row))
    return "\n".join(lines) + "\n"


def _of_offsets(layout, sizes):
    lines = []
    for block in range(sizes["block"]):
        lines.append(f"Block: {block}:")
        for offset in range(sizes["offset"]):
            index = {"offset": offset, "block": block}
            lines.append(f"Offset: {offset} -> {_coordinates(layout, index, ',')}")
    return "\n".join(lines) + "\n"


def _array(texts, shape, separator):
    """Strings in the brackets of a nested list, a row per line."""
    columns, rank = shape[-1], len(shape)
    rows = [texts[at : at + columns] for at in range(0, len(texts), columns)]
    lines = []
    for number, row in enumerate(rows):
        opened = 1 + _complete(number, shape[:-1])
        closed = 1 + _complete(number + 1, shape[:-1])
        lines.append(f"{('[' * opened).ljust(rank)}{separator.join(row)}{']' * closed}\n")
    return "".join(lines)


def _complete(number, shape):
    """How many of the innermost dimensions of `shape` begin with a row, or end before it."""
    count = 0
    for size in reversed(shape):
        if number % size:
            break
        number, count = number // size, count + 1
    return count
