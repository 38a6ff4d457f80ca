"""`triton.tools.LinearLayout`, against the definition of a map that is linear over bits."""

import itertools
import random

import pytest
from pantile.tools import LinearLayout


def drawn(rng, outs=None):
    """Random bases, and the sizes of the output dimensions."""
    outs = outs or {f"d{i}": 2 ** rng.randint(0, 3) for i in range(rng.randint(1, 2))}
    bases = [
        (f"i{k}", [[rng.randrange(s) for s in outs.values()] for _ in range(rng.randint(0, 3))])
        for k in range(rng.randint(1, 3))
    ]
    return LinearLayout.from_bases(bases, [*outs], [*outs.values()], False), outs


def indices(layout):
    sizes = {name: 1 << len(rows) for name, rows in layout.bases}
    for values in itertools.product(*map(range, sizes.values())):
        yield dict(zip(sizes, values))


def place_of(layout, index):
    """The definition: the exclusive or of the bases of the set bits."""
    place = [0] * layout.num_out_dims
    for name, rows in layout.bases:
        for bit, basis in enumerate(rows):
            if index[name] >> bit & 1:
                place = [a ^ b for a, b in zip(place, basis)]
    return dict(zip(layout.get_out_dim_names(), place))


@pytest.mark.parametrize("seed", range(40))
def test_maps(seed):
    """A layout maps each index as its definition says, and its properties are those of the map."""
    layout, outs = drawn(random.Random(seed))
    places = [tuple(place_of(layout, index).values()) for index in indices(layout)]
    for index in indices(layout):
        assert layout.apply(index) == place_of(layout, index)
    total = 1
    for size in outs.values():
        total *= size
    assert layout.is_injective() == (len(set(places)) == len(places))
    assert layout.is_surjective() == (len(set(places)) == total)
    assert layout.is_invertible() == (layout.is_injective() and layout.is_surjective())
    if layout.is_surjective():
        inverse = layout.pseudoinvert()
        for place in itertools.product(*map(range, outs.values())):
            index = inverse.apply(dict(zip(outs, place)))
            assert tuple(layout.apply(index).values()) == place
    else:
        with pytest.raises(ValueError, match="surjective"):
            layout.pseudoinvert()


@pytest.mark.parametrize("seed", range(40))
def test_products_and_compositions(seed):
    rng = random.Random(100 + seed)
    first, outs = drawn(rng)
    second, _ = drawn(rng, outs)
    both = first * second
    for inner in indices(first):
        for outer in indices(second):
            sizes = {name: len(rows) for name, rows in first.bases}
            index = {
                name: inner.get(name, 0) | outer.get(name, 0) << sizes.get(name, 0)
                for name in both.get_in_dim_names()
            }
            low, high = first.apply(inner), second.apply(outer)
            assert both.apply(index) == {d: low[d] | high[d] * size for d, size in outs.items()}
    outer, _ = drawn(rng)
    rows = [
        (name, [[rng.randrange(4)] for _ in range(size.bit_length() - 1)])
        for name, size in outs.items()
    ]
    outer = LinearLayout.from_bases(rows, ["z"], [4], False)
    composed = first.compose(outer)
    for index in indices(first):
        assert composed.apply(index) == outer.apply(first.apply(index))


def test_shapes_and_text():
    layout = LinearLayout.identity_1d(8, "reg", "x") * LinearLayout.strided_1d(4, 2, "lane", "y")
    assert layout.out_dims == [("x", 8), ("y", 8)] and layout.num_in_dims == 2
    assert str(layout) == (
        "\n - reg=1 -> (1, 0)\n   reg=2 -> (2, 0)\n   reg=4 -> (4, 0)\n"
        " - lane=1 -> (0, 2)\n   lane=2 -> (0, 4)\nwhere out dims are: [x (size 8), y (size 8)]"
    )
    swap = LinearLayout.from_bases([("a", [[2], [1]])], ["b"])
    assert swap.get_matrix_view() == [[0, 1], [1, 0]] and swap.invert().apply({"b": 1}) == {"a": 2}
    assert LinearLayout.zeros_1d(4, "a", "b").apply({"a": 3}) == {"b": 0}
    with pytest.raises(ValueError, match="power of two"):
        LinearLayout.identity_1d(6, "a", "b")
    with pytest.raises(ValueError, match="not surjective"):
        LinearLayout.from_bases([("a", [[2]])], ["b"], [4])
    with pytest.raises(ValueError, match="outside"):
        LinearLayout.from_bases([("a", [[4]])], ["b"], [4])


@pytest.mark.parametrize("seed", range(20))
def test_conversions_between_layouts(seed):
    rng = random.Random(300 + seed)
    source, outs = drawn(rng)
    target, _ = drawn(rng, outs)
    if not target.is_surjective():
        return
    between = source.invert_and_compose(target)
    for index in indices(source):
        assert target.apply(between.apply(index)) == source.apply(index)


def test_views_of_registers():
    """The texts are Triton 3.6's."""
    bases = [("register", [[0, 1]]), ("lane", [[0, 2], [1, 0]]), ("warp", [[2, 0]]), ("block", [])]
    layout = LinearLayout.from_bases(bases, ["row", "col"])
    assert layout.get_distributed_view(False) == (
        "[[T0:0, T0:1, T1:0, T1:1]\n[ T2:0, T2:1, T3:0, T3:1]\n"
        "[ T4:0, T4:1, T5:0, T5:1]\n[ T6:0, T6:1, T7:0, T7:1]]\n"
    )
    assert layout.get_distributed_view(True) == (
        "Warp0:\n(0,0), (0,2), (1,0), (1,2)\n(0,1), (0,3), (1,1), (1,3)\n"
        "Warp1:\n(2,0), (2,2), (3,0), (3,2)\n(2,1), (2,3), (3,1), (3,3)\n"
    )
    bases = [("register", []), ("lane", [[1], [0]]), ("warp", [[0], [2]]), ("block", [[4]])]
    assert LinearLayout.from_bases(bases, ["x"]).get_distributed_view(False) == (
        "[ B0:T0:0| B0:T2:0| B0:T4:0| B0:T6:0,  B0:T1:0| B0:T3:0| B0:T5:0| B0:T7:0, "
        " B0:T8:0|B0:T10:0|B0:T12:0|B0:T14:0,  B0:T9:0|B0:T11:0|B0:T13:0|B0:T15:0, "
        " B1:T0:0| B1:T2:0| B1:T4:0| B1:T6:0,  B1:T1:0| B1:T3:0| B1:T5:0| B1:T7:0, "
        " B1:T8:0|B1:T10:0|B1:T12:0|B1:T14:0,  B1:T9:0|B1:T11:0|B1:T13:0|B1:T15:0]\n"
    )


def test_views_of_shared_memory():
    """The texts are Triton 3.6's."""
    bases = [("offset", [[0, 1, 0], [0, 0, 1], [1, 1, 0]]), ("block", [])]
    layout = LinearLayout.from_bases(bases, ["a", "b", "c"])
    assert layout.get_shared_view(False) == (
        "[[[(0:0:0),(0:1:0)]\n[  (0:0:1),(0:1:1)]]\n[[ (1:1:0),(1:0:0)]\n[  (1:1:1),(1:0:1)]]]\n"
    )
    text = LinearLayout.from_bases([("offset", [[1], [2], [4]]), ("block", [[8]])], ["x"])
    assert text.get_shared_view(True) == "".join(
        f"Block: {block}:\n"
        + "".join(f"Offset: {i} -> ({str(8 * block + i).rjust(2)})\n" for i in range(8))
        for block in range(2)
    )
    with pytest.raises(ValueError, match="the view needs the input dimensions"):
        layout.get_distributed_view(False)
    with pytest.raises(ValueError, match="the view needs the input dimensions"):
        LinearLayout.from_bases([("register", [[1]])], ["x"]).get_shared_view(True)


@pytest.mark.parametrize("seed", range(10))
def test_every_element_has_its_holder(seed):
    rng = random.Random(seed)
    size = 1 << rng.randint(3, 6)
    steps = [[1 << bit] for bit in range(size.bit_length() - 1)]
    rng.shuffle(steps)
    names = ["register", "lane", "warp", "block"]
    bases = {name: [] for name in names}
    for step in steps:
        bases[rng.choice(names[:3])].append(step)
    layout = LinearLayout.from_bases(list(bases.items()), ["x"])
    holders = layout.get_distributed_view(False).strip("[]\n").split(", ")
    lanes = 1 << len(bases["lane"])
    for place, holder in enumerate(holders):
        thread, register = map(int, holder.strip().lstrip("T").split(":"))
        index = {"register": register, "lane": thread % lanes, "warp": thread // lanes, "block": 0}
        assert layout.apply(index) == {"x": place}
    assert len(holders) == size
