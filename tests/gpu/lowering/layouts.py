"""The layouts of compiler/layout/LayoutFragments.cpp, for kernels written as tile IR.

A layout is the coordinate that each bit of register, lane and warp adds (XOR).
"""


class Layout:
    """Bases of registers, lanes and warps over a tile of `shape`."""

    def __init__(self, shape, reg, lane, warp):
        self.shape, self.reg, self.lane, self.warp = list(shape), reg, lane, warp

    def text(self):
        def bases(name, rows):
            return f"{name} = [{', '.join(str(list(row)) for row in rows)}]"

        parts = [bases("reg", self.reg), bases("lane", self.lane), bases("warp", self.warp)]
        return f"#tile.layout<{self.shape}, {', '.join(parts)}>"

    def map(self, shape, fn):
        return Layout(shape, *([fn(b) for b in rows] for rows in (self.reg, self.lane, self.warp)))

    def flat(self):
        def flatten(basis):
            index = 0
            for extent, coordinate in zip(self.shape, basis):
                index = index * extent + coordinate
            return [index]

        size = 1
        for extent in self.shape:
            size *= extent
        return self.map([size], flatten)

    def remove(self, dim):
        out = self.map(
            [e for d, e in enumerate(self.shape) if d != dim],
            lambda b: [c for d, c in enumerate(b) if d != dim],
        )
        kept = []
        for basis in out.reg:
            if any(basis) and basis not in kept:
                kept.append(basis)
        out.reg = kept
        return out


class Builder:
    """Hands out the bits of each dimension from the lowest up."""

    def __init__(self, shape):
        self.shape, self.next = shape, [1] * len(shape)
        self.reg, self.lane, self.warp = [], [], []

    def unit(self, dim):
        basis = [0] * len(self.shape)
        basis[dim] = self.next[dim]
        return basis

    def give(self, rows, dim, count, drop=False):
        while count > 1:
            inside = self.next[dim] < self.shape[dim]
            if inside or not drop:
                rows.append(self.unit(dim) if inside else [0] * len(self.shape))
            self.next[dim] *= 2
            count //= 2

    def regs(self, dim, count):
        self.give(self.reg, dim, count, drop=True)

    def repeat(self, dim):
        self.regs(dim, max(self.shape[dim] // self.next[dim], 1))

    def done(self):
        return Layout(self.shape, self.reg, self.lane, self.warp)


def blocked(shape, size, lanes, warps, order):
    b = Builder(shape)
    for rows, counts in ((b.reg, size), (b.lane, lanes), (b.warp, warps)):
        for dim in order:
            b.give(rows, dim, counts[dim], drop=rows is b.reg)
    for dim in order:
        b.repeat(dim)
    return b.done()


def accumulator(shape, warps, n=8):
    """Of mma.sync (n = 8), or of wgmma with instructions of n columns."""
    b = Builder(shape)
    b.regs(1, 2)
    b.give(b.lane, 1, 4)
    b.give(b.lane, 0, 8)
    b.regs(0, 2)
    b.regs(1, n // 8)
    b.give(b.warp, 0, warps[0])
    b.give(b.warp, 1, warps[1])
    b.repeat(1)
    b.repeat(0)
    return b.done()


def operand(shape, warps, bits, k):
    """Of mma.sync; `k` is the dimension that is summed over."""
    b, other = Builder(shape), 1 - k
    b.regs(k, 32 // bits)
    b.give(b.lane, k, 4)
    b.give(b.lane, other, 8)
    if other == 0:
        b.regs(0, 2)
    b.regs(k, 2)
    for dim in (0, 1):
        if dim == k:
            b.warp += [[0, 0]] * (warps[dim].bit_length() - 1)
        else:
            b.give(b.warp, dim, warps[dim])
    b.repeat(k)
    b.repeat(other)
    return b.done()
