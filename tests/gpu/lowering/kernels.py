"""Kernels of all other operations, and the list of all cases."""

from case import NUMPY, SCRATCH, Case, Kernel, float8_values, random_input, tile
from dots import dot_fma, dot_mma_sync, local_load, wgmma
from layouts import accumulator, blocked
from selection import selection_cases


def convert(name, element, source, target, warps):
    k = Kernel(name, warps, [("x", element), ("y", element)])
    x = k.load("x", element, source)
    y = k.value(
        f"tile.convert_layout {x} {{nv.scratch = 0 : i32}} : {tile(element, source)} -> {tile(element, target)}"
    )
    k.store("y", element, target, y)
    return Case(
        k,
        lambda np, rng: [random_input(np, rng, source.shape, element)],
        (source.shape, element),
        lambda np, x: x,
    )


COMBINE = {"add": ("arith.addf", "arith.addi"), "max": ("arith.maxnumf", "arith.maxsi")}


def region(kind, element):
    op = COMBINE[kind][element.startswith("i")]
    return (
        f"{{\n    ^bb0(%a: {element}, %b: {element}):\n      %s = {op} %a, %b : {element}\n"
        f"      tile.yield %s : {element}\n    }}"
    )


def reduce(name, element, layout, axis, warps, kind="add"):
    k = Kernel(name, warps, [("x", element), ("y", element)])
    x = k.load("x", element, layout)
    result = layout.remove(axis)
    scalar = not result.shape
    out_type = element if scalar else tile(element, result)
    y = k.value(
        f"tile.reduce ({x}), {axis} {region(kind, element)} {{nv.scratch = {SCRATCH} : i32}} : "
        f"({tile(element, layout)}) -> {out_type}"
    )
    if scalar:
        k.emit(f"tile.store %y, {y} : !tile.ptr<{element}>, {element}")
    else:
        k.store("y", element, result, y)
    return Case(
        k,
        lambda np, rng: [random_input(np, rng, layout.shape, element)],
        (result.shape or [1], element),
        lambda np, x: getattr(np, {"add": "sum", "max": "max"}[kind])(x, axis=axis),
        2e-5 if element == "f32" else 0.0,
    )


def argmax(name, layout, axis, warps):
    """Two operands, and a combination that is not commutative: the first of equals wins."""
    k = Kernel(name, warps, [("x", "i32"), ("i", "i32"), ("y", "i32")])
    x, i = k.load("x", "i32", layout), k.load("i", "i32", layout)
    result = layout.remove(axis)
    t, r = tile("i32", layout), tile("i32", result)
    k.emit(
        f"%m, %am = tile.reduce ({x}, {i}), {axis} {{\n    ^bb0(%a: i32, %ai: i32, %b: i32, %bi: i32):\n"
        "      %less = arith.cmpi slt, %a, %b : i32\n      %v = arith.select %less, %b, %a : i32\n"
        "      %vi = arith.select %less, %bi, %ai : i32\n      tile.yield %v, %vi : i32, i32\n    }"
        f" {{nv.scratch = {SCRATCH} : i32}} : ({t}, {t}) -> ({r}, {r})"
    )
    k.store("y", "i32", result, "%am")
    return Case(
        k,
        lambda np, rng: [
            np.broadcast_to(
                rng.permutation(layout.shape[axis]).astype("int32"), layout.shape
            ).copy()
            if axis == len(layout.shape) - 1
            else rng.permutation(layout.shape[0] * layout.shape[1])
            .reshape(layout.shape)
            .astype("int32"),
            np.indices(layout.shape)[axis].astype("int32"),
        ],
        (result.shape, "i32"),
        lambda np, x, i: np.argmax(x, axis=axis),
    )


def scan(name, element, layout, axis, warps, reverse=False):
    k = Kernel(name, warps, [("x", element), ("y", element)])
    x = k.load("x", element, layout)
    t = tile(element, layout)
    flag = ", reverse" if reverse else ""
    y = k.value(
        f"tile.scan ({x}), {axis} {region('add', element)} {{nv.scratch = 0 : i32{flag}}} : ({t}) -> {t}"
    )
    k.store("y", element, layout, y)

    def expected(np, x):
        return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)

    return Case(
        k,
        lambda np, rng: [random_input(np, rng, layout.shape, element)],
        (layout.shape, element),
        expected,
        1e-4 if element == "f32" else 0.0,
    )


def float8_decode(name, kind, target):
    layout = blocked([256], [2], [32], [4], [0])
    k = Kernel(name, 4, [("x", "i8"), ("y", "f32")], target)
    x = k.load("x", "i8", layout)
    f8 = k.value(f"arith.bitcast {x} : {tile('i8', layout)} to {tile(kind, layout)}")
    k.store(
        "y",
        "f32",
        layout,
        k.value(f"arith.extf {f8} : {tile(kind, layout)} to {tile('f32', layout)}"),
    )

    def finite(np):
        return np.nonzero(np.isfinite(float8_values(np, kind)))[0]

    return Case(
        k,
        lambda np, rng: [np.resize(finite(np), 256).astype("uint8").astype("int8")],
        ([256], "f32"),
        lambda np, x: float8_values(np, kind)[x.astype("uint8")],
    )


def float8_encode(name, kind, target):
    """Every value, every midpoint of two neighbours, what lies just next to them, and too much."""
    layout = blocked([1024], [2], [32], [4], [0])
    k = Kernel(name, 4, [("x", "f32"), ("y", "i8")], target)
    x = k.load("x", "f32", layout)
    f8 = k.value(f"arith.truncf {x} : {tile('f32', layout)} to {tile(kind, layout)}")
    k.store(
        "y",
        "i8",
        layout,
        k.value(f"arith.bitcast {f8} : {tile(kind, layout)} to {tile('i8', layout)}"),
    )

    def positive(np):
        values = float8_values(np, kind)[:128]
        return values[np.isfinite(values)]

    def inputs(np, rng):
        values = positive(np)
        middles = (values[1:] + values[:-1]) / 2
        near = np.concatenate(
            [values, middles, middles * (1 + 1e-6), middles * (1 - 1e-6), [1e9, 1e-12]]
        )
        return [np.resize(np.concatenate([near, -near]), 1024).astype("float32")]

    def expected(np, x):
        values = positive(np)
        distance = np.abs(np.abs(x.astype("float64"))[:, None] - values[None, :])
        best = distance.min(axis=1, keepdims=True)
        code = np.argmax((distance == best) * (2 - np.arange(len(values)) % 2)[None, :], axis=1)
        return (code | np.where(np.signbit(x), 0x80, 0)).astype("uint8").astype("int8")

    return Case(k, inputs, ([1024], "i8"), expected)


def unary_math(name, op, numpy_name, tolerance, element="f32", low=0.1, high=4.0):
    layout = blocked([512], [4], [32], [4], [0])
    k = Kernel(name, 4, [("x", element), ("y", element)])
    t = tile(element, layout)
    k.store("y", element, layout, k.value(f"{op} {k.load('x', element, layout)} : {t}"))

    def expected(np, x):
        wide = x.astype("float64")
        if numpy_name == "erf":
            import math

            return np.array([math.erf(v) for v in wide])
        return {"rsqrt": lambda v: 1 / np.sqrt(v)}.get(numpy_name, getattr(np, numpy_name, None))(
            wide
        )

    return Case(
        k,
        lambda np, rng: [rng.uniform(low, high, 512).astype(NUMPY[element])],
        ([512], element),
        expected,
        tolerance,
    )


def divide(name, op, element, tolerance):
    layout = blocked([512], [4], [32], [4], [0])
    k = Kernel(name, 4, [("x", element), ("y", element), ("z", element)])
    x, y = k.load("x", element, layout), k.load("y", element, layout)
    k.store("z", element, layout, k.value(f"{op} {x}, {y} : {tile(element, layout)}"))
    return Case(
        k,
        lambda np, rng: [rng.uniform(1, 4, 512).astype(NUMPY[element]) for _ in range(2)],
        ([512], element),
        lambda np, x, y: x / y,
        tolerance,
    )


def shifts(name, op, expected):
    """Amounts beyond the width are defined."""
    layout = blocked([128], [1], [32], [4], [0])
    k = Kernel(name, 4, [("x", "i32"), ("y", "i32"), ("z", "i32")])
    x, y = k.load("x", "i32", layout), k.load("y", "i32", layout)
    k.store("z", "i32", layout, k.value(f"{op} {x}, {y} : {tile('i32', layout)}"))
    return Case(
        k,
        lambda np, rng: [
            rng.integers(-(2**31), 2**31, 128).astype("int32"),
            (np.arange(128) % 40).astype("int32"),
        ],
        ([128], "i32"),
        expected,
    )


def atomic_scalar(name):
    """Every program takes a ticket; all threads see it."""
    layout = blocked([128], [1], [32], [4], [0])
    k = Kernel(name, 4, [("x", "i32"), ("y", "i32")])
    k.emit("%one = arith.constant 1 : i32")
    k.emit(
        "%t = tile.atomic_rmw add, acq_rel, gpu, %x, %one {nv.scratch = 0 : i32} : !tile.ptr<i32> -> i32"
    )
    t = k.value(f"tile.splat %t : {tile('i32', layout)}")
    index = k.value(f"tile.arange 0, 128 : {tile('i32', layout)}")
    k.store("y", "i32", layout, k.value(f"arith.addi {t}, {index} : {tile('i32', layout)}"))
    return Case(
        k,
        lambda np, rng: [np.array([41], "int32")],
        ([128], "i32"),
        lambda np, x: 41 + np.arange(128),
    )


def atomic_tile(name, element, layout, warps):
    """Adds a tile to memory, with replicated threads, and gives the old values."""
    k = Kernel(name, warps, [("x", element), ("y", element)])
    value = k.load("x", element, layout)
    size = layout.flat().shape[0]
    flat = f"tensor<{size}x{element}, {layout.flat().text()}>"
    ptr, ptrs = k.pointers("x", element, layout)
    op = "add" if element.startswith("i") else "fadd"
    k.emit("tile.barrier")
    old = k.value(
        f"tile.atomic_rmw {op}, relaxed, gpu, {ptr}, {value} {{nv.scratch = 0 : i32}} : {ptrs} -> {flat}"
    )
    k.emit("tile.barrier")
    now = k.load("x", element, layout)
    add = "arith.addi" if element.startswith("i") else "arith.addf"
    k.store("y", element, layout, k.value(f"{add} {now}, {old} : {flat}"))
    return Case(
        k,
        lambda np, rng: [random_input(np, rng, [size], element)],
        ([size], element),
        lambda np, x: 3 * x,
        1e-3,
    )


def cases():
    row, column = (1, 0), (0, 1)
    b64 = blocked([64, 64], [1, 4], [2, 16], [4, 1], [1, 0])
    t64 = blocked([64, 64], [4, 1], [16, 2], [1, 4], [0, 1])
    m64 = accumulator([64, 64], (2, 2))
    small = blocked([16, 16], [1, 4], [8, 4], [2, 2], [1, 0])
    long = blocked([4096], [4], [32], [4], [0])
    yield convert("convert_transposed_f32", "f32", b64, t64, 4)
    yield convert("convert_transposed_f16", "f16", b64, t64, 4)
    yield convert("convert_mma_f16", "f16", m64, b64, 4)
    yield convert("convert_mma_f32", "f32", m64, b64, 4)
    yield convert("convert_to_mma_i8", "i8", b64, m64, 4)
    yield convert("convert_i64", "i64", b64, t64, 4)
    yield convert(
        "convert_replicated", "f32", small, blocked([16, 16], [4, 1], [4, 8], [2, 2], [0, 1]), 4
    )
    lanes = [blocked([16, 16], [1, 2], [4, 8], [1, 1], order) for order in (row, column)]
    yield convert("convert_shuffled_lanes", "f32", *lanes, 1)
    sizes = [blocked([8, 8], size, [8, 4], [1, 1], row) for size in ([1, 2],)]
    sizes.append(blocked([8, 8], [2, 1], [4, 8], [1, 1], column))
    yield convert("convert_shuffled_registers", "f16", *sizes, 1)
    yield convert(
        "convert_wgmma_f16",
        "f16",
        accumulator([128, 128], (8, 1), 128),
        blocked([128, 128], [1, 8], [2, 16], [8, 1], [1, 0]),
        8,
    )
    for axis in (0, 1):
        yield reduce(f"reduce_blocked_{axis}", "f32", b64, axis, 4)
        yield reduce(f"reduce_transposed_{axis}", "i32", t64, axis, 4)
        yield reduce(f"reduce_mma_{axis}", "f32", m64, axis, 4, "max")
        yield reduce(f"reduce_small_{axis}", "i32", small, axis, 4)
        yield argmax(f"argmax_{axis}", b64, axis, 4)
        yield scan(f"scan_blocked_{axis}", "i32", b64, axis, 4)
        yield scan(f"scan_transposed_{axis}", "i32", t64, axis, 4, True)
        yield scan(f"scan_mma_{axis}", "i32", m64, axis, 4)
    yield reduce("reduce_long", "f32", long, 0, 4)
    yield reduce("reduce_long_i64", "i64", long, 0, 4)
    yield reduce("reduce_f16", "f16", m64, 1, 4, "max")
    yield scan("scan_long", "f32", long, 0, 4)
    yield scan("scan_long_reverse", "i32", long, 0, 4, True)
    yield from selection_cases(scan)
    yield dot_fma("dot_fma_f32", "f32", 32, 64, 64)
    yield dot_fma("dot_fma_f64", "f64", 32, 32, 64)
    yield dot_fma("dot_fma_narrow", "f32", 64, 32, 16)
    yield dot_mma_sync("mma_sync_f16", "f16", "f32", 64, 64, 32, (2, 2), 1e-3)
    yield dot_mma_sync("mma_sync_f16_f16", "f16", "f16", 32, 32, 16, (2, 1), 2e-2)
    yield dot_mma_sync("mma_sync_tf32", "f32", "f32", 64, 32, 32, (4, 1), 1e-2)
    yield dot_mma_sync("mma_sync_i8", "i8", "i32", 32, 64, 64, (2, 2), 0.0)
    for k_dim in (0, 1):
        for order in (row, column):
            yield local_load(f"ldmatrix_{k_dim}_{order[0]}", "f16", [64, 64], (2, 2), k_dim, order)
    yield local_load("ldmatrix_i8", "i8", [64, 64], (2, 2), 1, row)
    yield local_load("ldmatrix_tf32", "f32", [32, 32], (2, 2), 1, row)
    yield local_load("ldmatrix_narrow", "f16", [64, 16], (4, 1), 1, row)
    for a, ta in ((row, "k"), (column, "m")):
        for b, tb in ((column, "k"), (row, "n")):
            yield wgmma(f"wgmma_{ta}{tb}", "f16", "f32", 128, 128, 64, (4, 1), 128, (a, b))
            yield wgmma(
                f"wgmma_big_{ta}{tb}", "f16", "f32", 128, 256, 128, (8, 1), 256, (a, b), True
            )
            yield wgmma(f"wgmma_narrow_{ta}{tb}", "f16", "f32", 64, 32, 32, (4, 1), 32, (a, b))
            yield wgmma(f"wgmma_split_{ta}{tb}", "f16", "f32", 64, 128, 64, (4, 2), 64, (a, b))
            yield wgmma(f"wgmma_tiny_{ta}{tb}", "f16", "f32", 64, 16, 16, (4, 1), 16, (a, b))
            yield wgmma(f"wgmma_stepped_{ta}{tb}", "f16", "f32", 128, 64, 64, (4, 1), 32, (a, b))
    yield wgmma(
        "wgmma_f16_f16", "f16", "f16", 128, 128, 64, (8, 1), 128, (row, row), tolerance=3e-2
    )
    yield wgmma(
        "wgmma_registers", "f16", "f32", 128, 64, 64, (4, 1), 64, (row, row), lhs_registers=True
    )
    yield wgmma("wgmma_i8", "i8", "i32", 64, 64, 128, (4, 1), 64, (row, column), tolerance=0.0)
    yield wgmma("wgmma_tf32", "f32", "f32", 64, 64, 32, (4, 1), 64, (row, column), tolerance=1e-2)
    for kind in ("f8E4M3FN", "f8E5M2"):
        for target in ("sm_80", "sm_90a"):
            yield float8_decode(f"decode_{kind}_{target}", kind, target)
            yield float8_encode(f"encode_{kind}_{target}", kind, target)
    for name in (
        "exp",
        "exp2",
        "log",
        "log2",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "tanh",
        "erf",
        "floor",
        "ceil",
    ):
        yield unary_math(f"math_{name}", f"math.{name}", name, 2e-6)
    for name in ("exp", "log", "sqrt", "sin", "rsqrt"):
        yield unary_math(f"math_{name}_f64", f"math.{name}", name, 1e-14, "f64")
    yield unary_math("math_exp_f16", "math.exp", "exp", 1e-3, "f16")
    yield unary_math("math_precise_sqrt", "tile.precise_sqrt", "sqrt", 6e-8)
    yield divide("divide_f32", "arith.divf", "f32", 3e-7)
    yield divide("divide_f16", "arith.divf", "f16", 1e-3)
    yield divide("divide_precise", "tile.precise_div", "f32", 0.0)
    yield shifts(
        "shift_left", "arith.shli", lambda np, x, y: np.where(y < 32, x << np.minimum(y, 31), 0)
    )
    yield shifts("shift_right", "arith.shrsi", lambda np, x, y: x >> np.minimum(y, 31))
    yield atomic_scalar("atomic_ticket")
    yield atomic_tile("atomic_replicated", "i32", blocked([64], [1], [32], [4], [0]), 4)
    yield atomic_tile("atomic_plain", "f32", blocked([512], [4], [32], [4], [0]), 4)
    yield atomic_tile("atomic_half", "f16", blocked([512], [4], [32], [4], [0]), 4)
