"""Kernels of exchanges, gathers and histograms, and of scans whose layouts mix lanes and warps."""

from case import SCRATCH, Case, Kernel, random_input, tile
from layouts import Builder, accumulator, blocked


def exchange(name, element, layout, axis, distance, warps):
    k = Kernel(name, warps, [("x", element), ("y", element)])
    x = k.load("x", element, layout)
    y = k.value(
        f"tile.exchange {x}, {axis}, {distance} {{nv.scratch = {SCRATCH} : i32}} : {tile(element, layout)}"
    )
    k.store("y", element, layout, y)

    def expected(np, x):
        return np.take(x, np.arange(x.shape[axis]) ^ distance, axis)

    return Case(
        k,
        lambda np, rng: [random_input(np, rng, layout.shape, element)],
        (layout.shape, element),
        expected,
    )


def gather(name, element, source, index, axis, warps):
    k = Kernel(name, warps, [("x", element), ("i", "i32"), ("y", element)])
    x, i = k.load("x", element, source), k.load("i", "i32", index)
    y = k.value(
        f"tile.gather {x}, {i}, {axis} {{nv.scratch = {SCRATCH} : i32}} : "
        f"{tile(element, source)}, {tile('i32', index)} -> {tile(element, index)}"
    )
    k.store("y", element, index, y)
    return Case(
        k,
        lambda np, rng: [
            random_input(np, rng, source.shape, element),
            rng.integers(0, source.shape[axis], index.shape).astype("int32"),
        ],
        (index.shape, element),
        lambda np, x, i: np.take_along_axis(x, i, axis),
    )


def histogram(name, layout, bins, warps):
    k = Kernel(name, warps, [("x", "i32"), ("y", "i32")])
    result = blocked([bins], [1], [32], [warps], [0])
    x = k.load("x", "i32", layout)
    y = k.value(
        f"tile.histogram {x} {{nv.scratch = {SCRATCH} : i32}} : {tile('i32', layout)} -> {tile('i32', result)}"
    )
    k.store("y", "i32", result, y)
    return Case(
        k,
        lambda np, rng: [rng.integers(-5, bins + 5, layout.shape).astype("int32")],
        ([bins], "i32"),
        lambda np, x: np.bincount(x[(x >= 0) & (x < bins)], minlength=bins),
    )


def mixed(size):
    """From the lightest bit: a register, a warp, the lanes, a warp, registers."""
    b = Builder([size])
    b.regs(0, 2)
    b.give(b.warp, 0, 2)
    b.give(b.lane, 0, 32)
    b.give(b.warp, 0, 2)
    b.repeat(0)
    return b.done()


def selection_cases(scan):
    rows = blocked([16, 64], [1, 4], [2, 16], [4, 1], [1, 0])
    long = blocked([2048], [4], [32], [4], [0])
    for distance in (1, 3, 8, 64, 128, 1024, 2047):
        yield exchange(f"exchange_{distance}", "i32", long, 0, distance, 4)
    yield exchange("exchange_rows", "f16", rows, 0, 15, 4)
    yield exchange("exchange_mma", "i8", accumulator([64, 64], (2, 2)), 1, 63, 4)
    yield exchange("exchange_replicated", "i64", blocked([16], [1], [32], [4], [0]), 0, 15, 4)
    yield gather("gather_shuffled", "f32", rows, rows, 1, 4)
    yield gather("gather_columns", "i64", rows, rows, 0, 4)
    yield gather("gather_mma", "f16", *[accumulator([64, 64], (4, 1))] * 2, 1, 4)
    picks = blocked([16, 128], [1, 2], [1, 32], [2, 2], [1, 0])
    yield gather("gather_other_layout", "f16", rows, picks, 1, 4)
    yield gather("gather_few", "f32", long, blocked([8], [1], [32], [4], [0]), 0, 4)
    yield histogram("histogram", long, 64, 4)
    yield histogram("histogram_replicated", blocked([32], [1], [32], [4], [0]), 8, 4)
    yield histogram("histogram_many_bins", blocked([2048], [4], [32], [8], [0]), 1024, 8)
    for reverse in (False, True):
        yield scan(f"scan_mixed_{reverse}", "i32", mixed(1024), 0, 4, reverse)
