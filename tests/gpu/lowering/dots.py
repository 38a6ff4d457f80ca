"""Kernels of dots, and of the buffers in shared memory that hold their operands."""

from case import Case, Kernel, random_input, tile
from layouts import accumulator, blocked, operand


def matmul(np, a, b):
    return a.astype("float64") @ b.astype("float64")


def matrices(m, n, depth, element):
    return lambda np, rng: [
        random_input(np, rng, (m, depth), element),
        random_input(np, rng, (depth, n), element),
    ]


def dot_registers(name, element, out, m, n, depth, layouts, warps, mma, tolerance, target="sm_90a"):
    lhs, rhs, acc = layouts
    k = Kernel(name, warps, [("a", element), ("b", element), ("c", out)], target)
    a, b = k.load("a", element, lhs), k.load("b", element, rhs)
    zero = k.zeros(out, acc)
    c = k.value(
        f"tile.dot {a}, {b}, {zero} {mma} : {tile(element, lhs)}, {tile(element, rhs)}, {tile(out, acc)}"
    )
    k.store("c", out, acc, c)
    return Case(k, matrices(m, n, depth, element), ([m, n], out), matmul, tolerance)


def dot_mma_sync(name, element, out, m, n, depth, warps, tolerance, target="sm_90a"):
    bits = {"f16": 16, "i8": 8, "f32": 32}[element]
    layouts = (
        operand([m, depth], warps, bits, 1),
        operand([depth, n], warps, bits, 0),
        accumulator([m, n], warps),
    )
    mma = f"mma<mma_sync, 16 x 8 x {256 // bits}, warps = {warps[0]} x {warps[1]}>"
    return dot_registers(
        name, element, out, m, n, depth, layouts, warps[0] * warps[1], mma, tolerance, target
    )


def buffer_type(shape, element, order, span, slots=1):
    return f"!nv.buffer<{slots} x [{shape[0]}, {shape[1]}] x {element}, #nv.swizzle<[{order[0]}, {order[1]}], {span}>>"


def span_of(shape, order, bits):
    row, span = shape[order[0]] * bits // 8, 128
    while span > row:
        span //= 2
    return span


def staging(shape, bits, order, warps):
    """A layout of 16-byte vectors along the fast dimension."""
    fast, slow = order
    width = 128 // bits
    lanes, size, grid = [1, 1], [1, 1], [1, 1]
    size[fast] = width
    lanes[fast] = min(max(shape[fast] // width, 1), 8)
    lanes[slow] = 32 // lanes[fast]
    grid[slow] = warps
    return blocked(shape, size, lanes, grid, order)


class Staged(Kernel):
    """A kernel that puts operands into shared memory."""

    offset = 0

    def stage(self, argument, element, shape, order, bits, copy_async, most=128):
        """Memory holds the tile along `order`: a transposed one is loaded as its transpose."""
        layout = staging(shape, bits, order, self.warps)
        span = min(span_of(shape, order, bits), most)
        buffer = buffer_type(shape, element, order, span)
        alloc = self.value(f"nv.alloc at {self.offset} : {buffer}")
        self.offset += shape[0] * shape[1] * bits // 8
        stored = layout if order[0] == 1 else layout.map(shape[::-1], lambda b: b[::-1])
        if copy_async:
            ptr, ptrs = self.pointers(argument, element, stored)
            at = (
                f"tensor<{stored.shape[0]}x{stored.shape[1]}x!tile.ptr<{element}>, {stored.text()}>"
            )
            ptr = self.value(f"tile.reshape {ptr} : {ptrs} -> {at}")
            if order[0] == 0:
                turned = f"tensor<{shape[0]}x{shape[1]}x!tile.ptr<{element}>, {layout.text()}>"
                ptr = self.value(f"tile.trans {ptr} [1, 0] : {at} -> {turned}")
                at = turned
            self.emit(f"nv.copy_async {ptr}, {alloc} {{vectorBytes = 16 : i32}} : {at}, {buffer}")
            return alloc, buffer
        value = self.load(argument, element, stored)
        if order[0] == 0:
            value = self.value(
                f"tile.trans {value} [1, 0] : {tile(element, stored)} -> {tile(element, layout)}"
            )
        self.emit(f"nv.local_store {value}, {alloc} : {tile(element, layout)}, {buffer}")
        return alloc, buffer

    def settle(self, copy_async):
        if copy_async:
            self.emit("nv.commit")
            self.emit("nv.wait 0")
        self.emit("nv.fence_async")
        self.emit("nv.barrier")


def dot_fma(name, element, m, n, depth):
    """A dot on scalar FMA, of buffers."""
    acc = blocked([m, n], [1, 4], [4, 8], [2, 2], [1, 0])
    bits = {"f32": 32, "f64": 64}[element]
    k = Staged(name, 4, [("a", element), ("b", element), ("c", element)])
    a, a_type = k.stage("a", element, [m, depth], (1, 0), bits, False, 32)
    b, b_type = k.stage("b", element, [depth, n], (1, 0), bits, False)
    k.settle(False)
    t = tile(element, acc)
    c = k.value(f"nv.fma {a}, {b}, {k.zeros(element, acc)} : {a_type}, {b_type}, {t}")
    k.store("c", element, acc, c)
    return Case(k, matrices(m, n, depth, element), ([m, n], element), matmul, 1e-5)


def transposed_inputs(m, n, depth, element, orders):
    def make(np, rng):
        a = random_input(np, rng, (m, depth), element)
        b = random_input(np, rng, (depth, n), element)
        lhs = a if orders[0] == (1, 0) else np.ascontiguousarray(a.T)
        rhs = b if orders[1] == (1, 0) else np.ascontiguousarray(b.T)
        return [lhs, rhs]

    return make


def transposed_product(orders):
    def expected(np, a, b):
        a = a if orders[0] == (1, 0) else a.T
        b = b if orders[1] == (1, 0) else b.T
        return matmul(np, a, b)

    return expected


def wgmma(
    name,
    element,
    out,
    m,
    n,
    depth,
    warps,
    instr_n,
    orders,
    copy_async=False,
    lhs_registers=False,
    tolerance=1e-3,
):
    bits = {"f16": 16, "bf16": 16, "i8": 8, "f32": 32}[element]
    acc = accumulator([m, n], warps, instr_n)
    k = Staged(name, warps[0] * warps[1], [("a", element), ("b", element), ("c", out)])
    if lhs_registers:
        lhs_layout = operand([m, depth], warps, bits, 1)
        a, a_type = k.load("a", element, lhs_layout), tile(element, lhs_layout)
    else:
        a, a_type = k.stage("a", element, [m, depth], orders[0], bits, copy_async)
    b, b_type = k.stage("b", element, [depth, n], orders[1], bits, copy_async)
    k.settle(copy_async)
    zero = k.zeros(out, acc)
    t = tile(out, acc)
    mma = f"mma<wgmma, 64 x {instr_n} x {256 // bits}, warps = {warps[0]} x {warps[1]}>"
    c = k.value(f"nv.wgmma {a}, {b}, {zero} {mma} : {a_type}, {b_type}, {t}")
    held = f" holding {a} : {a_type}" if lhs_registers else ""
    c = k.value(f"nv.wgmma_wait 0, {c}{held} : ({t}) -> {t}")
    k.store("c", out, acc, c)
    inputs = transposed_inputs(m, n, depth, element, orders)
    return Case(k, inputs, ([m, n], out), transposed_product(orders), tolerance)


def local_load(name, element, shape, warps, k_dim, order):
    """Shared memory to an mma.sync operand (ldmatrix), and out again."""
    bits = {"f16": 16, "i8": 8, "f32": 32}[element]
    layout = operand(shape, warps, bits, k_dim)
    k = Staged(name, warps[0] * warps[1], [("a", element), ("c", element)])
    buffer, b_type = k.stage("a", element, shape, order, bits, False)
    k.settle(False)
    value = k.value(f"nv.local_load {buffer} : {b_type} -> {tile(element, layout)}")
    k.store("c", element, layout, value)
    stored = shape if order[0] == 1 else shape[::-1]
    return Case(
        k,
        lambda np, rng: [random_input(np, rng, stored, element)],
        (shape, element),
        lambda np, a: a if order[0] == 1 else a.T,
    )
