"""LoRA: the GEMM with A shrinks to the rank in parts along K, that with B expands and adds."""

import importlib

from field_case import Case, cases_of

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")
ROWS = 32  # of a block, all of one adapter


@triton.jit
def shrink_kernel(
    x_ptr, a_ptr, adapter_ptr, part_ptr, tokens, depth, RANK: tl.constexpr, ROWS: tl.constexpr,
    BLOCK_K: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """part[z] = x A^T over every PARTS-th block of K; A of a block's adapter is (RANK, depth)."""
    z = tl.program_id(1)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    rank, k = tl.arange(0, RANK), z * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptr += tl.load(adapter_ptr + tl.program_id(0)).to(tl.int64) * RANK * depth
    inside = row < tokens
    acc = tl.zeros((ROWS, RANK), tl.float32)
    for start in range(z * BLOCK_K, depth, PARTS * BLOCK_K):
        left = k < depth
        x_mask = inside[:, None] & left[None, :]
        x = tl.load(x_ptr + row[:, None] * depth + k[None, :], mask=x_mask, other=0.0)
        a = tl.load(a_ptr + rank[None, :] * depth + k[:, None], mask=left[:, None], other=0.0)
        acc = tl.dot(x, a, acc)
        k += PARTS * BLOCK_K
    at = (z * tokens + row[:, None]) * RANK + rank[None, :]
    tl.store(part_ptr + at, acc, mask=inside[:, None])


@triton.jit
def expand_kernel(
    part_ptr, b_ptr, adapter_ptr, y_ptr, tokens, width, scale, RANK: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """y += scale (sum of parts) B^T; B of a block's adapter is (width, RANK)."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    rank = tl.arange(0, RANK)
    b_ptr += tl.load(adapter_ptr + tl.program_id(0)).to(tl.int64) * RANK * width
    inside = row < tokens
    low = tl.zeros((ROWS, RANK), tl.float32)
    for z in tl.static_range(PARTS):
        at = (z * tokens + row[:, None]) * RANK + rank[None, :]
        low += tl.load(part_ptr + at, mask=inside[:, None], other=0.0)
    b_mask = (col < width)[None, :]
    b = tl.load(b_ptr + col[None, :] * RANK + rank[:, None], mask=b_mask, other=0.0)
    y_ptrs = y_ptr + row[:, None] * width + col[None, :]
    mask = inside[:, None] & b_mask
    y = tl.load(y_ptrs, mask=mask, other=0.0).to(tl.float32)
    y += tl.dot(low.to(b.dtype), b) * scale
    tl.store(y_ptrs, y, mask=mask)


def of_tokens(xp, matrices, adapter, tokens):
    """The matrices of each block of tokens, with the block's rows."""
    for block in range(-(-tokens // ROWS)):
        rows = slice(block * ROWS, min((block + 1) * ROWS, tokens))
        yield rows, xp.wide(matrices[int(adapter[block])])


class LoraShrink(Case):
    full = dict(tokens=2048, depth=8192, rank=16, adapters=8, parts=8)
    small = dict(tokens=70, depth=200, rank=16, adapters=3, parts=2)
    bounds = {"part": (1e-3, 1e-2)}

    def inputs(self, draw, tokens, depth, rank, adapters, parts):
        return {
            "x": draw.normal((tokens, depth), "bf16"),
            "a": draw.normal((adapters, rank, depth), "bf16", 0.1),
            "adapter": draw.integers(-(-tokens // ROWS), 0, adapters),
        }

    def outputs(self, tokens, depth, rank, adapters, parts):
        return {"part": ((parts, tokens, rank), "fp32")}

    def launch(self, a, tokens, depth, rank, adapters, parts):
        shrink_kernel[(triton.cdiv(tokens, ROWS), parts)](
            a.x, a.a, a.adapter, a.part, tokens, depth, RANK=rank, ROWS=ROWS,
            BLOCK_K=64, PARTS=parts, num_stages=3,
        )  # fmt: skip

    def expected(self, xp, a, tokens, depth, rank, adapters, parts):
        x, turn = xp.wide(a.x), xp.f.arange(depth) // 64 % parts
        planes = []
        for z in range(parts):
            mine = x * (turn == z)
            blocks = of_tokens(xp, a.a, a.adapter, tokens)
            planes.append(xp.f.concatenate([mine[rows] @ m.T for rows, m in blocks]))
        return {"part": xp.f.stack(planes)}


class LoraExpand(Case):
    full = dict(tokens=2048, width=8192, rank=16, adapters=8, parts=8)
    small = dict(tokens=70, width=200, rank=16, adapters=3, parts=2)
    updated = ("y",)
    bounds = {"y": (1.6e-2, 2e-2)}

    def inputs(self, draw, tokens, width, rank, adapters, parts):
        return {
            "part": draw.normal((parts, tokens, rank)),
            "b": draw.normal((adapters, width, rank), "bf16", 0.1),
            "adapter": draw.integers(-(-tokens // ROWS), 0, adapters),
            "y": draw.normal((tokens, width), "bf16"),
        }

    def launch(self, a, tokens, width, rank, adapters, parts):
        expand_kernel[(triton.cdiv(tokens, ROWS), triton.cdiv(width, 128))](
            a.part, a.b, a.adapter, a.y, tokens, width, 0.5, RANK=rank, ROWS=ROWS, COLS=128,
            PARTS=parts,
        )  # fmt: skip

    def expected(self, xp, a, tokens, width, rank, adapters, parts):
        low = xp.wide(a.part).sum(axis=0)
        blocks = of_tokens(xp, a.b, a.adapter, tokens)
        return {"y": xp.wide(a.y) + 0.5 * xp.f.concatenate([low[r] @ m.T for r, m in blocks])}


CASES = cases_of(dict(globals()))
