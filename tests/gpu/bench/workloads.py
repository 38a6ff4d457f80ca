"""Workloads of the memory's speed: arrays, launches, the library's counterpart, the check.

A workload has `bytes` (what must be read and written once), `library` (a function, or None),
`launches(module)` (a function without arguments by configuration, for the kernels of `module`)
and `check()` (raises unless `out` holds the result within its bound of float64).
"""

import torch


def next_power_of_2(n):
    """The least power of two not below n."""
    return 1 << (n - 1).bit_length()


def randn(*shape, dtype=torch.float32):
    """Normal random numbers."""
    return torch.randn(*shape, dtype=dtype, device="cuda")


def compare(out, reference, relative, absolute):
    """Raise unless every element is within the bound of its float64 value, plus half a unit."""
    relative += torch.finfo(out.dtype).eps / 2
    error = (out.double() - reference).abs() - (relative * reference.abs() + absolute)
    if not (error <= 0).all():
        raise AssertionError(f"an element is beyond its bound by {error.max().item():.3g}")


class Workload:
    """What all have."""

    library = None

    def __init__(self, out, traffic):
        self.out = out
        self.bytes = sum(array.numel() * array.element_size() for array in traffic)

    def poison(self):
        """Overwrite the result, so that a check sees what was written since."""
        self.out.fill_(float("nan"))


class Add(Workload):
    """x + y, fp32 or what is asked."""

    def __init__(self, n, dtype=torch.float32):
        self.x, self.y = randn(n, dtype=dtype), randn(n, dtype=dtype)
        super().__init__(torch.empty_like(self.x), [self.x] * 3)
        self.library = lambda: torch.add(self.x, self.y, out=self.out)

    def launches(self, module):
        def make(block, warps):
            grid = (-(-self.x.numel() // block),)
            return lambda: module.add_kernel[grid](
                self.x,
                self.y,
                self.out,
                self.x.numel(),
                BLOCK=block,
                num_warps=warps,
                **module.OPTIONS,
            )

        return {(b, w): make(b, w) for b, w in ((1024, 4), (1024, 8), (2048, 4), (4096, 8))}

    def check(self):
        compare(self.out, self.x.double() + self.y.double(), 0, 0)


class Dropout(Workload):
    """Seeded dropout."""

    def __init__(self, n):
        self.x = randn(n)
        super().__init__(torch.empty_like(self.x), [self.x] * 2)
        self.library = lambda: torch.nn.functional.dropout(self.x, 0.3)

    def launches(self, module):
        def make(block, warps):
            grid = (-(-self.x.numel() // block),)
            return lambda: module.dropout_kernel[grid](
                self.x,
                self.out,
                self.x.numel(),
                0.3,
                1234,
                BLOCK=block,
                num_warps=warps,
                **module.OPTIONS,
            )

        return {(b, w): make(b, w) for b, w in ((1024, 4), (2048, 8))}

    def check(self):
        kept = self.out != 0
        share = kept.double().mean().item()
        if abs(share - 0.7) > 4 * (0.21 / self.x.numel()) ** 0.5:
            raise AssertionError(f"a share of {share} was kept")
        compare(self.out, torch.where(kept, self.x.double() / 0.7, 0.0), 1e-6, 0)


class Softmax(Workload):
    """Softmax of each row, a program a row or programs that walk."""

    def __init__(self, rows, cols, walks=False):
        self.x, self.walks = randn(rows, cols), walks
        super().__init__(torch.empty_like(self.x), [self.x] * 2)
        self.library = lambda: torch.softmax(self.x, 1, out=self.out)

    def launches(self, module):
        rows, cols = self.x.shape
        block = next_power_of_2(cols)

        def walk(warps, grid, stages):
            return lambda: module.softmax_walk_kernel[(min(grid, rows),)](
                self.out, self.x, cols, cols, rows, cols,
                BLOCK=block, STAGES=stages, num_warps=warps, **module.OPTIONS,
            )  # fmt: skip

        def one(warps):
            return lambda: module.softmax_kernel[(rows,)](
                self.out, self.x, cols, cols, cols, BLOCK=block, num_warps=warps, **module.OPTIONS
            )

        warps = [w for w in (1, 2, 4, 8, 16, 32) if 128 <= block // w <= 8192]
        if not self.walks:
            return {w: one(w) for w in warps[-5:]}
        warps = warps[-4:] if block > 2048 else warps[:4]
        grids = {w: 132 * max(1, min(2048 // (32 * w), 49152 // block, 32)) for w in warps}
        # Few enough that L2 has room for the next rows of all.
        few = {w: min(grid, 132 * max(1, 16384 // block)) for w, grid in grids.items()}
        # Of that many programs or a few less, all walk over as many rows.
        even = {w: -(-rows // -(-rows // grid)) for w, grid in grids.items()}
        return {
            (w, grid, s): walk(w, grid, s)
            for w in warps[:3]
            for grid in {grids[w], even[w], few[w], min(even[w], 2048)}
            for s in ((1, 2) if block > 2048 else (2, 4))
        }

    def check(self):
        compare(self.out, torch.softmax(self.x.double(), 1), 5e-6, 1e-9)


class LayerNorm(Workload):
    """Layer norm of fp16 rows, forward, a row held at once or walked over three times."""

    def __init__(self, rows, cols, walks=False):
        half = torch.float16
        self.x, self.walks = randn(rows, cols, dtype=half), walks
        self.w, self.b = randn(cols, dtype=half), randn(cols, dtype=half)
        self.mean, self.rstd = randn(rows), randn(rows)
        super().__init__(torch.empty_like(self.x), [self.x] * 2)
        self.library = lambda: torch.nn.functional.layer_norm(self.x, (cols,), self.w, self.b, 1e-5)

    def launches(self, module):
        rows, cols = self.x.shape
        whole = next_power_of_2(cols)

        def walk(block, warps):
            return lambda: module.layer_norm_walks_kernel[(rows,)](
                self.x, self.out, self.w, self.b, self.mean, self.rstd, cols, cols, 1e-5,
                BLOCK=block, num_warps=warps, **module.OPTIONS,
            )  # fmt: skip

        def one(warps):
            return lambda: module.layer_norm_kernel[(rows,)](
                self.x, self.out, self.w, self.b, cols, cols, 1e-5,
                BLOCK=whole, num_warps=warps, **module.OPTIONS,
            )  # fmt: skip

        def several(count, warps):
            return lambda: module.layer_norm_rows_kernel[(-(-rows // count),)](
                self.x, self.out, self.w, self.b, cols, rows, cols, 1e-5,
                ROWS=count, BLOCK=whole, num_warps=warps, **module.OPTIONS,
            )  # fmt: skip

        if not self.walks:
            warps = (1, 2, 4, 8, 16)
            launches = {(1, w): one(w) for w in warps if 512 <= whole // w <= 2048}
            for count in (2, 4):
                launches |= {
                    (count, w): several(count, w)
                    for w in warps
                    if 512 <= count * whole // w <= 2048 and count * whole <= 16384
                }
            return launches
        warps = min(max(whole // 256, 1), 8)
        return {(b, w): walk(b, w) for b, w in ((whole, warps), (whole, 2 * warps), (1024, 4))}

    def check(self):
        x = self.x.double()
        mean, variance = x.mean(1, keepdim=True), x.var(1, keepdim=True, unbiased=False)
        y = (x - mean) / (variance + 1e-5).sqrt() * self.w.double() + self.b.double()
        compare(self.out, y, 1e-3, 1e-3)


class LayerNormBackward(Workload):
    """dx of layer norm, and shares of dw and db that are summed over the programs."""

    def __init__(self, rows, cols):
        half = torch.float16
        self.x, self.dy = randn(rows, cols, dtype=half), randn(rows, cols, dtype=half)
        self.w = randn(cols, dtype=half)
        wide = self.x.float()
        self.mean = wide.mean(1)
        self.rstd = (wide.var(1, unbiased=False) + 1e-5).rsqrt()
        self.dw, self.db = randn(1056, cols), randn(1056, cols)
        self.programs = 0  # of the last launch
        super().__init__(torch.empty_like(self.x), [self.x] * 3)
        bias = randn(cols, dtype=half)
        mean, rstd = self.mean[:, None], self.rstd[:, None]
        self.library = lambda: torch.ops.aten.native_layer_norm_backward(
            self.dy, self.x, [cols], mean, rstd, self.w, bias, [True, True, True]
        )

    def launches(self, module):
        rows, cols = self.x.shape

        def make(programs, warps, ahead):
            def launch():
                self.programs = programs
                module.layer_norm_dx_kernel[(programs,)](
                    self.out, self.dy, self.dw, self.db, self.x, self.w, self.mean, self.rstd, cols,
                    rows, cols, BLOCK=next_power_of_2(cols), AHEAD=ahead, num_warps=warps,
                    **module.OPTIONS,
                )  # fmt: skip

            return launch

        shapes = ((132, 8), (264, 4), (264, 8), (528, 4), (528, 8))
        return {(p, w, a): make(p, w, a) for p, w in shapes for a in (False, True)}

    def check(self):
        x, dy, w = self.x.double(), self.dy.double(), self.w.double()
        normal = (x - self.mean.double()[:, None]) * self.rstd.double()[:, None]
        wdy = w * dy
        c1, c2 = (normal * wdy).mean(1, keepdim=True), wdy.mean(1, keepdim=True)
        compare(self.out, (wdy - normal * c1 - c2) * self.rstd.double()[:, None], 1e-3, 1e-3)
        dw, db = (share[: self.programs].double().sum(0).float() for share in (self.dw, self.db))
        compare(dw, (dy * normal).sum(0), 1e-3, 1e-2)
        compare(db, dy.sum(0), 1e-3, 1e-2)


class ColumnSum(Workload):
    """Sums along axis 0 of an fp32 matrix."""

    axis, kernel = 0, "column_sum_kernel"
    blocks = ((32, 64, 4), (64, 32, 4), (128, 32, 8))

    def __init__(self, rows, cols):
        self.x = randn(rows, cols)
        super().__init__(randn((cols, rows)[self.axis]), [self.x])
        self.library = lambda: torch.sum(self.x, self.axis, out=self.out)

    def launches(self, module):
        rows, cols = self.x.shape

        def make(block):
            grid = (-(-(cols, rows)[self.axis] // block[1 - self.axis]),)
            return lambda: getattr(module, self.kernel)[grid](
                self.x,
                self.out,
                rows,
                cols,
                ROWS=block[0],
                COLS=block[1],
                num_warps=block[2],
                **module.OPTIONS,
            )

        return {block: make(block) for block in self.blocks}

    def check(self):
        compare(self.out, self.x.double().sum(self.axis), 1e-4, 1e-2)


class RowSum(ColumnSum):
    """Sums along axis 1."""

    axis, kernel = 1, "row_sum_kernel"
    blocks = ((1, 4096, 4), (4, 1024, 4), (8, 512, 8))


class Transpose(Workload):
    """The transpose of an fp32 or fp16 matrix, stored row by row."""

    def __init__(self, rows, cols, dtype=torch.float32):
        self.x = randn(rows, cols, dtype=dtype)
        super().__init__(torch.empty(cols, rows, dtype=dtype, device="cuda"), [self.x] * 2)
        self.library = lambda: self.out.copy_(self.x.T)

    def launches(self, module):
        rows, cols = self.x.shape

        def make(r, c, warps):
            grid = (-(-rows // r), -(-cols // c))
            return lambda: module.transpose_kernel[grid](
                self.x, self.out, rows, cols, ROWS=r, COLS=c, num_warps=warps, **module.OPTIONS
            )

        return {b: make(*b) for b in ((32, 32, 4), (64, 64, 4), (64, 64, 8), (128, 64, 8))}

    def check(self):
        compare(self.out, self.x.T.double(), 0, 0)


class BiasGelu(Workload):
    """gelu(x + bias) of an fp16 matrix."""

    def __init__(self, rows, cols):
        self.x = randn(rows, cols, dtype=torch.float16)
        self.bias = randn(cols, dtype=torch.float16)
        super().__init__(torch.empty_like(self.x), [self.x] * 2)

    def launches(self, module):
        rows, cols = self.x.shape

        def make(r, c, warps):
            grid = (-(-rows // r), -(-cols // c))
            return lambda: module.bias_gelu_kernel[grid](
                self.x,
                self.bias,
                self.out,
                rows,
                cols,
                ROWS=r,
                COLS=c,
                num_warps=warps,
                **module.OPTIONS,
            )

        return {b: make(*b) for b in ((8, 256, 4), (16, 128, 4), (4, 1024, 8))}

    def check(self):
        x = self.x.double() + self.bias.double()
        compare(self.out, x / (1 + torch.exp(-1.702 * x)), 1e-3, 1e-3)


def workloads():
    """Makers of all workloads, by name."""
    half = torch.float16
    makers = {f"add 2^{p}": lambda n=1 << p: Add(n) for p in (20, 24, 27, 28)}
    makers["add fp16 2^27"] = lambda: Add(1 << 27, half)
    makers["dropout 2^26"] = lambda: Dropout(1 << 26)
    for cols in (128, 256, 781, 1024, 4096, 8192, 12672, 16384, 32768, 65536):
        rows = min(8192, (1 << 28) // cols)
        makers[f"softmax {cols}"] = lambda r=rows, c=cols: Softmax(r, c)
    for cols in (256, 781, 1024, 4096, 8192, 12672):
        makers[f"walk {cols}"] = lambda c=cols: Softmax(8192, c, walks=True)
    for cols in (1024, 4096, 8192, 16384):
        makers[f"norm {cols}"] = lambda c=cols: LayerNorm(8192, c)
        makers[f"norm walks {cols}"] = lambda c=cols: LayerNorm(8192, c, walks=True)
    for cols in (1024, 4096, 8192):
        makers[f"norm backward {cols}"] = lambda c=cols: LayerNormBackward(8192, c)
    makers["column sum"] = lambda: ColumnSum(4096, 16384)
    makers["row sum"] = lambda: RowSum(16384, 4096)
    makers["transpose fp32"] = lambda: Transpose(8192, 8192)
    makers["transpose fp16"] = lambda: Transpose(8192, 8192, half)
    makers["bias gelu"] = lambda: BiasGelu(16384, 4096)
    return makers
