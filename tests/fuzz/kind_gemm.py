"""GEMMs: grids of many programs, ways to address operands, and epilogues of every kind.

Needs: draft, pieces_*.
Gives: draw_gemm, draw_any_gemm, draw_scaled_gemm.
How:   one or two accumulators over one loop, or over two loops one after the other; rows and
       columns that end at the matrix are masked, wrapped by a remainder, or whole. Results may be
       scaled in each iteration.
"""

from dataclasses import dataclass

from .draft import HALVES, NAMES, Draft, launch_options
from .pieces_epilogue import Plane, epilogue
from .pieces_loops import Sweep, draw_sweep, sweep_loop
from .pieces_scales import Scales

BLOCKS = [(64, 64, 32), (64, 64, 64), (128, 64, 32), (64, 128, 32), (32, 32, 32), (128, 128, 32)]
BLOCKS += [(16, 64, 32), (64, 16, 16), (64, 32, 64), (128, 64, 64), (128, 32, 128)]

ANY_BLOCKS = [
    (128, 192, 64),
    (192, 96, 32),
    (64, 80, 48),
    (96, 64, 64),
    (48, 48, 32),
    (80, 112, 16),
]
ANY_BLOCKS += [(192, 128, 32), (128, 96, 96), (64, 176, 32), (24, 40, 48), (112, 16, 64)]
ANY_BLOCKS += [(192, 192, 32), (192, 96, 64), (128, 176, 64), (256, 80, 32), (320, 64, 32)]
ANY_BLOCKS += [(64, 88, 64), (128, 200, 32), (64, 320, 32), (64, 24, 32)]
SCALED_BLOCKS = [(64, 64, 64), (64, 64, 128), (128, 64, 64), (64, 128, 64), (64, 32, 32)]
SCALED_BLOCKS += [(64, 128, 128), (128, 128, 64)]


@dataclass
class Problem:
    """The sizes of a GEMM and how its programs are numbered."""

    dtype: str
    block: tuple
    tiles: tuple  # of rows and of columns
    extents: tuple  # M, N
    sweep: Sweep
    batches: int = 1
    is_scaled: bool = False


def draw_any_gemm(seed):
    """Blocks whose extents are no powers of two."""
    return draw_gemm(seed, ANY_BLOCKS)


def draw_scaled_gemm(seed):
    """Results of MMAs are scaled in each iteration, before they are added."""
    draft = Draft("scaled", seed)
    draft.tidy = draft.tidy or draft.chance(0.6)
    problem = _draw_problem(draft, draft.pick(SCALED_BLOCKS, SCALED_BLOCKS, BLOCKS, ANY_BLOCKS))
    problem.is_scaled = True
    if problem.dtype != "i8" and problem.block[2] % 32 == 0 and draft.chance(0.3):
        problem.dtype = "fp8e4nv"
    launch_options(draft)
    if draft.chance(0.4):  # few CTAs per SM: registers for a second result
        draft.case.options.update(num_stages=draft.pick(4, 5, 6))
        left_out = draft.case.options.get("disabled_passes", "")
        draft.case.options["disabled_passes"] = f"{left_out},occupancy-first".strip(",")
    return _draw_grid(draft, problem)


def draw_gemm(seed, blocks=BLOCKS):
    draft = Draft("gemm", seed)
    problem = _draw_problem(draft, blocks)
    launch_options(draft)
    return _draw_grid(draft, problem)


def _draw_grid(draft, problem):
    m, n = draft.number(problem.extents[0]), draft.number(problem.extents[1])
    if problem.batches == 1 and draft.odd(0.4):  # the text itself is persistent
        tiles = problem.tiles[0] * problem.tiles[1]
        draft.case.grid = (draft.rng.randint(1, 4),)
        flat = ", flatten=True" if draft.chance(0.3) else ""
        stop = draft.number(tiles)
        with draft.block(
            f"for tile in tl.range(tl.program_id(0), {stop}, tl.num_programs(0){flat}):"
        ):
            _tile_numbers(draft, problem, "tile")
            _one_tile(draft, problem, m, n)
    else:
        _grid(draft, problem)
        _one_tile(draft, problem, m, n)
    return draft.finish()


def _draw_problem(draft, blocks):
    dtype = draft.pick("i8", "fp32") if draft.odd(0.3) else draft.pick(*HALVES)
    block = draft.pick(*blocks)
    if dtype == "i8":
        block = (*block[:2], max(32, block[2]))
    most = 24 if block[0] * block[1] <= 4096 else 10
    down, across = draft.pick((1, 1), (1, 3), (3, 1), (2, 2), (3, 3), (5, 2), (2, 7), (4, 6))
    while down * across > most:
        down, across = max(1, down - 1), max(1, across - 1)
    m, n = down * block[0], across * block[1]
    if draft.chance(0.4):
        m -= draft.rng.randint(1, block[0] - 1)
    if draft.chance(0.4):
        n -= draft.pick(8, 16, draft.rng.randint(1, block[1] - 1)) % block[1]
        n = max(16, n // 16 * 16) if draft.tidy else n
    sweep = draw_sweep(draft, block[2], 6)
    batches = draft.pick(1, 1, 1, 2, 3) if down * across < 7 else 1
    return Problem(dtype, block, (down, across), (m, n), sweep, batches)


def _tile_numbers(draft, problem, tile):
    """The block of rows and of columns of a tile's number."""
    down, across = problem.tiles
    across_text, down_text = draft.number(across), draft.number(down)
    way = draft.pick("rows", "columns", "groups")
    if way == "rows":
        draft.line(f"pid_m = {tile} // {across_text}")
        draft.line(f"pid_n = {tile} % {across_text}")
    elif way == "columns":
        draft.line(f"pid_n = {tile} // {down_text}")
        draft.line(f"pid_m = {tile} % {down_text}")
    else:
        group = draft.pick(1, 2, 3, 4, 8)
        draft.line(f"width = {group} * {across_text}")
        draft.line(f"first = {tile} // width * {group}")
        draft.line(f"height = {draft.pick('min', 'tl.minimum')}({down_text} - first, {group})")
        draft.line(f"pid_m = first + {tile} % width % height")
        draft.line(f"pid_n = {tile} % width // height")


def _grid(draft, problem):
    down, across = problem.tiles
    way = draft.pick("line", "line", "plane", "turned plane")
    if way == "line":
        draft.case.grid = (down * across, problem.batches)
        draft.line("tile = tl.program_id(0)")
        _tile_numbers(draft, problem, "tile")
        batch_axis = 1
    else:
        order = (0, 1) if way == "plane" else (1, 0)
        draft.case.grid = (*((down, across)[axis] for axis in order), problem.batches)
        draft.line(f"pid_m = tl.program_id({order[0]})")
        draft.line(f"pid_n = tl.program_id({order[1]})")
        batch_axis = 2
    if problem.batches > 1:
        draft.line(f"batch = tl.program_id({batch_axis})")
    if draft.odd(0.15) and down * across > 1:
        with draft.block(f"if pid_m * {across} + pid_n == {draft.rng.randrange(down * across)}:"):
            draft.line("return")


def _edge(draft, index, extent, count):
    """How indices beyond the matrix are met: the index of loads, and its mask or None."""
    if count is None:
        return index, None
    way = draft.pick("remainder", "where", "minimum") if draft.odd(0.6) else "mask"
    if way == "mask":
        return index, f"{index} < {count}"
    text = {
        "remainder": f"{index} % {count}",
        "where": f"tl.where({index} < {count}, {index}, 0)",
        "minimum": f"tl.minimum({index}, {count} - 1)",
    }[way]
    return draft.let("safe", text), None


def _one_tile(draft, problem, m, n):
    block, (rows, columns) = problem.block, problem.extents
    row_count = m if rows != problem.tiles[0] * block[0] else None
    column_count = n if columns != problem.tiles[1] * block[1] else None
    draft.line(f"rm = pid_m * {block[0]} + tl.arange(0, {block[0]})")
    draft.line(f"rn = pid_n * {block[1]} + tl.arange(0, {block[1]})")
    draft.line(f"rk = tl.arange(0, {block[2]})")
    count = draft.pick(1, 1, 1, 2)
    out = "i32" if problem.dtype == "i8" and not problem.is_scaled else "fp32"
    for i in range(count):
        zero = "0" if out == "i32" else "0.0"
        start = draft.pick(f"tl.zeros(({block[0]}, {block[1]}), {NAMES[out]})")
        if draft.chance(0.1):
            start = f"tl.full(({block[0]}, {block[1]}), {draft.pick(zero, '3')}, {NAMES[out]})"
        draft.line(f"acc{i} = {start}")
    sweeps = [problem.sweep]
    if draft.chance(0.15):
        sweeps.append(draw_sweep(draft, block[2], 3, 0))
    operands = _Operands(draft, problem, row_count, column_count)
    operands.deepest = max(sweep.lo + sweep.trips * sweep.step for sweep in sweeps)
    shared = operands.draw("a", True) if count == 2 and draft.chance(0.6) else None
    scales = Scales(draft, block, problem.tiles, operands.deepest) if problem.is_scaled else None
    for sweep in sweeps:
        operands.sweep = sweep
        _loop(draft, problem, operands, (count, scales), shared)
    if scales:
        _store_peaks(draft, problem, scales)
    size = problem.batches * rows * columns
    base = f" + batch * {draft.number(rows * columns)}" if problem.batches > 1 else ""
    for i in range(count):
        if out == "i32":
            draft.line(f"acc{i} = acc{i}.to(tl.float32) * {draft.pick('1.0', '0.5')}")
    if count == 2 and draft.chance(0.6):
        draft.line(f"acc0 = {draft.pick('acc0 + acc1', 'acc0 - acc1', 'tl.maximum(acc0, acc1)')}")
        count = 1
    for i in range(count):
        plane = Plane(
            f"acc{i}", "rm", "rn", block[:2], (rows, columns), row_count, column_count,
            f"pid_m * {block[0]}", f"pid_n * {block[1]}", base, size,
        )  # fmt: skip
        epilogue(draft, plane, 1 if count == 2 else None)


def _store_peaks(draft, problem, scales):
    """The largest elements of each row that the iterations found."""
    rows = problem.tiles[0] * problem.block[0]
    for peak in scales.carried:
        out = draft.array("peaks", "i32", rows, -3, 3)
        value = f"tl.minimum({peak}, 1000.0).to(tl.int32)"
        draft.line(f"tl.atomic_max({out} + rm, {value})")


def _loop(draft, problem, operands, added, shared):
    before, loop = draft.place(), operands.sweep
    dtype, (count, scales) = problem.dtype, added
    with sweep_loop(draft, loop) as first:
        operands.first, operands.before = first, before
        if scales:
            scales.begin(first, before)
        x = operands.load(shared) if shared else None
        for i in range(count):
            a = x or operands.load(operands.draw("a", True))
            if draft.odd(0.2) and dtype in ("fp16", "bf16", "fp32"):
                changed = draft.pick("{0} * 0.5", "tl.maximum({0}, 0.0)", "{0} + 1.0")
                a = draft.let("x", f"({changed.format(f'{a}.to(tl.float32)')}).to({NAMES[dtype]})")
            b = operands.load(operands.draw("b", False))
            precision = ""
            if dtype == "fp32":
                precision = draft.pick("", ", input_precision='ieee'", ", input_precision='tf32'")
            if scales:
                scales.add(f"acc{i}", (a, b), precision, "i32" if dtype == "i8" else "fp32")
            elif draft.chance(0.6):
                draft.line(f"acc{i} = tl.dot({a}, {b}, acc{i}{precision})")
            else:
                scale = draft.pick("", "", " * 0.5") if dtype != "i8" else ""
                draft.line(f"acc{i} += tl.dot({a}, {b}{precision}){scale}")
        for text in operands.advances:
            draft.line(text)
        operands.advances.clear()


@dataclass
class _Operand:
    """An array and how it is read: `along` is the stride of K."""

    name: str
    is_left: bool
    index: str
    mask: str
    across: int
    along: int
    turned: bool
    length: int
    offset: str = ""  # of the matrix or the first row, from memory or not
    sign: str = "+"


class _Operands:
    """Draws operands and their loads."""

    def __init__(self, draft, problem, row_count, column_count):
        self.draft, self.problem, self.sweep = draft, problem, problem.sweep
        self.counts, self.advances = (row_count, column_count), []
        self.edges, self.before, self.deepest = {}, None, 0

    def draw(self, prefix, is_left):
        draft, axis = self.draft, 0 if is_left else 1
        extent = self.problem.extents[axis]
        if axis not in self.edges:  # the index is made before the loop
            index, mask = self._edge(axis, extent, self.before)
            self.edges[axis] = index, mask
        index, mask = self.edges[axis]
        depth = draft.padded(self.deepest)
        rows_first = is_left != draft.odd(0.6) if draft.chance(0.7) else draft.chance(0.5)
        across, along = (depth, 1) if rows_first else (1, draft.padded(extent))
        length = (extent + 32) * depth
        high = 1 if self.problem.dtype != "i8" else 3
        name = draft.array(prefix, self.problem.dtype, length * self.problem.batches, -high, high)
        operand = _Operand(name, is_left, index, mask, across, along, draft.odd(0.25), length)
        if draft.chance(0.3):
            with draft.at(self.before or draft.place()):
                draft.pick(self._table, self._expert, self._start, self._backwards)(operand)
        return operand

    def _table(self, operand):
        """Rows are numbered by a table in memory."""
        draft, axis = self.draft, 0 if operand.is_left else 1
        index, extent = ("rm", "rn")[axis], self.problem.extents[axis]
        table = draft.array("table", "i32", extent, 0, extent - 1, "permutation")
        count = self.counts[axis]
        mask = f", mask={index} < {count}, other=0" if count else ""
        operand.index = draft.let("rows", f"tl.load({table} + {index}{mask})")
        if not count or draft.chance(0.5):
            operand.mask = f"{index} < {count}" if count else None

    def _expert(self, operand):
        """Which of three matrices it is stands in memory."""
        draft, tiles = self.draft, self.problem.tiles
        table = draft.array("experts", "i32", max(tiles), 0, 2)
        made = draft.case.arrays[operand.name]
        draft.case.arrays[operand.name] = (made[0], made[1] * 3, *made[2:])
        which = draft.let("expert", f"tl.load({table} + {draft.pick('pid_m', 'pid_n')})")
        if draft.chance(0.4):
            which = f"{which}.to(tl.int64)"
        batches = self.problem.batches
        operand.offset = f" + {which} * {draft.number(operand.length * batches)}"

    def _start(self, operand):
        """The first row of the tile stands in memory."""
        draft, axis = self.draft, 0 if operand.is_left else 1
        block, extent = self.problem.block[axis], self.problem.extents[axis]
        if extent < block or self.counts[axis]:
            return
        starts = draft.array("starts", "i32", max(self.problem.tiles), 0, extent - block)
        first = draft.let("start", f"tl.load({starts} + {('pid_m', 'pid_n')[axis]})")
        operand.index = draft.let("rows", f"{first} + tl.arange(0, {block})")

    def _backwards(self, operand):
        """Rows follow each other by a negative stride."""
        extent = self.problem.extents[0 if operand.is_left else 1]
        operand.offset = f" + {self.draft.number((extent - 1) * operand.across)}"
        operand.sign = "-"

    def _edge(self, axis, extent, place):
        draft, index, count = self.draft, ("rm", "rn")[axis], self.counts[axis]
        with draft.at(place or draft.place()):
            return _edge(draft, index, extent, count)

    def load(self, operand):
        draft, block = self.draft, self.problem.block
        outer, inner = (
            ("[None, :]", "[:, None]") if not operand.is_left else ("[:, None]", "[None, :]")
        )
        if operand.turned:
            outer, inner = inner, outer
        base = operand.name
        if self.problem.batches > 1:
            base += f" + batch * {operand.length}"
        strides = [draft.number(s) if s > 1 else "1" for s in (operand.across, operand.along)]
        term = [f" * {s}" if s != "1" or draft.chance(0.1) else "" for s in strides]
        whole = self.sweep.is_whole
        masks = [f"({operand.mask}){outer}"] if operand.mask else []
        if not whole:
            end = draft.number(self.sweep.hi)
            inside = draft.pick(f"{self.first} + rk < {end}", f"rk < {end} - {self.first}")
            masks.append(f"({inside}){inner}")
        base += operand.offset
        address = f"{base} {operand.sign} {operand.index}{outer}{term[0]} + "
        if draft.counts_up and draft.chance(0.45):
            with draft.at(self.before):
                name = draft.let("p", f"{address}(rk + {self.sweep.lo}){inner}{term[1]}")
            self.advances.append(f"{name} += {block[2]}{term[1]}")
            address = name
        else:
            address += f"({self.first} + rk){inner}{term[1]}"
        mask = f", mask={' & '.join(masks)}, other=0.0" if masks else ""
        if self.problem.dtype == "i8":
            mask = mask.replace("0.0", "0")
        value = draft.let("t", f"tl.load({address}{mask})")
        return draft.let("u", f"tl.trans({value})") if operand.turned else value
