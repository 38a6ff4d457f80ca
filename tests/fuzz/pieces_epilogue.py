"""What a kernel does with an accumulator: arithmetic, conversion, and how it is stored.

Needs: draft, pieces_elements.
Gives: Plane, a tile's place in a matrix; `epilogue`.
How:   a result goes to one or two outputs: whole, masked, transposed, through a descriptor, added to
       what is there by an atomic or by reading it first, or reduced to a vector.
"""

from dataclasses import dataclass, replace

from .draft import NAMES
from .pieces_elements import change


@dataclass
class Plane:
    """A tile of fp32: its variable, the indices of rows and columns as text, and the matrix.

    `rows` and `columns` are variables with all indices; `row_count` and `column_count` the extents as
    text, or None where every index is inside. `row_first` and `column_first` are the first indices,
    for descriptors. `base` is an offset of the whole matrix, or "".
    """

    tile: str
    rows: str
    columns: str
    shape: tuple
    extents: tuple
    row_count: str = None
    column_count: str = None
    row_first: str = None
    column_first: str = None
    base: str = ""
    size: int = 0

    def mask(self):
        terms = []
        if self.row_count:
            terms.append(f"({self.rows}[:, None] < {self.row_count})")
        if self.column_count:
            terms.append(f"({self.columns}[None, :] < {self.column_count})")
        return " & ".join(terms)


def epilogue(draft, plane, outputs=None):
    """Finish a tile and store it."""
    for _ in range(draft.pick(0, 0, 1, 1, 2)):
        draft.line(f"{plane.tile} = {_arithmetic(draft, plane)}")
    for _ in range(outputs or draft.pick(1, 1, 1, 2)):
        draft.pick(*STORES)(draft, plane)


def _arithmetic(draft, plane):
    vectors = []
    if draft.chance(0.5):
        vectors.append(_vector(draft, plane, draft.chance(0.5)))
    others = [_residual(draft, plane)] if draft.chance(0.2) else []
    return change(draft, plane.tile, vectors, others)


def _vector(draft, plane, is_row):
    """A bias along rows or columns."""
    index, extent = (plane.rows, plane.extents[0]) if is_row else (plane.columns, plane.extents[1])
    count = plane.row_count if is_row else plane.column_count
    bias = draft.array("bias", draft.pick("fp32", "fp16"), extent, -4, 4)
    mask = f", mask={index} < {count}, other=0.0" if count else ""
    broadcast = "[:, None]" if is_row else "[None, :]"
    return f"tl.load({bias} + {index}{mask}).to(tl.float32){broadcast}"


def _masked(plane):
    mask = plane.mask()
    return f", mask={mask}" if mask else ""


def _residual(draft, plane):
    rest = draft.array("rest", draft.pick("fp32", "fp16"), plane.size, -4, 4)
    mask = _masked(plane)
    mask = f"{mask}, other=0.0" if mask else ""
    return f"tl.load({rest}{plane.base} + {_offsets(draft, plane, False)}{mask}).to(tl.float32)"


def _offsets(draft, plane, turned, gap=0):
    """Of rows, or with `turned` of columns, with so many elements between them."""
    pitch = draft.number(gap + (plane.extents[0] if turned else plane.extents[1]))
    if turned:
        return f"{plane.rows}[:, None] + {plane.columns}[None, :] * {pitch}"
    return f"{plane.rows}[:, None] * {pitch} + {plane.columns}[None, :]"


def _converted(draft, plane, dtype):
    value = plane.tile
    if dtype in ("i32", "i8"):
        return f"tl.minimum(tl.maximum({value}, -100.0), 100.0).to({NAMES[dtype]})"
    if dtype == "fp16":  # nothing overflows
        value = f"tl.minimum(tl.maximum({value}, -60000.0), 60000.0)"
    return f"{value}.to({NAMES[dtype]})" if dtype != "fp32" or draft.chance(0.2) else plane.tile


def store_plain(draft, plane):
    """In rows or in columns, which may be further apart than they are long."""
    dtype = draft.pick("fp16", "bf16", "fp32", "fp32", "i32", "i8")
    turned, gap = draft.chance(0.3), 0 if plane.base else draft.pick(0, 0, 0, 1, 4, 8, 12)
    out = draft.output(dtype, plane.size + gap * plane.extents[1 if turned else 0])
    offsets = _offsets(draft, plane, turned, gap)
    value = _converted(draft, plane, dtype)
    draft.line(f"tl.store({out}{plane.base} + {offsets}, {value}{_masked(plane)})")


def store_transposed(draft, plane):
    """The tile is transposed first."""
    dtype = draft.pick("fp16", "fp32")
    out = draft.output(dtype, plane.size)
    value = draft.let("turned", f"tl.trans({_converted(draft, plane, dtype)})")
    pitch = plane.extents[0]
    offsets = f"{plane.columns}[:, None] * {pitch} + {plane.rows}[None, :]"
    terms = []
    if plane.column_count:
        terms.append(f"({plane.columns}[:, None] < {plane.column_count})")
    if plane.row_count:
        terms.append(f"({plane.rows}[None, :] < {plane.row_count})")
    mask = f", mask={' & '.join(terms)}" if terms else ""
    draft.line(f"tl.store({out}{plane.base} + {offsets}, {value}{mask})")


def store_descriptor(draft, plane):
    if plane.row_first is None or plane.base or plane.extents[1] % 8:
        return store_plain(draft, plane)
    dtype = draft.pick("fp16", "fp32")
    out = draft.output(dtype, plane.size)
    rows, columns = plane.row_count or plane.extents[0], plane.column_count or plane.extents[1]
    at = draft.let(
        "window",
        f"tl.make_tensor_descriptor({out}, [{rows}, {columns}], [{plane.extents[1]}, 1], "
        f"[{plane.shape[0]}, {plane.shape[1]}])",
    )
    value = _converted(draft, plane, dtype)
    value = value if value != plane.tile else f"{value}.to(tl.float32)"
    draft.line(f"{at}.store([{plane.row_first}, {plane.column_first}], {value})")
    return None


def store_atomic(draft, plane):
    out = draft.array("sum", "fp32", plane.size, -3, 3)
    name = draft.pick("add", "add", "add", "max")
    sem = draft.pick("", "", ", sem='relaxed'")
    offsets = _offsets(draft, plane, draft.chance(0.2))
    if name == "max":
        out = draft.array("most", "i32", plane.size, -3, 3)
        value = f"tl.minimum(tl.maximum({plane.tile}, -1000.0), 1000.0).to(tl.int32)"
    else:
        value = plane.tile
    mask = _masked(plane)
    draft.line(f"tl.atomic_{name}({out}{plane.base} + {offsets}, {value}{mask}{sem})")


def update_in_place(draft, plane):
    """Read, change and write back."""
    dtype = draft.pick("fp32", "fp32", "fp16")
    out = draft.output(dtype, plane.size, "inout")
    at = draft.let("at", f"{out}{plane.base} + {_offsets(draft, plane, draft.chance(0.3))}")
    mask = _masked(plane)
    other = ", other=0.0" if mask else ""
    old = draft.let("old", f"tl.load({at}{mask}{other}).to(tl.float32)")
    scale = draft.pick("", " * 0.5", " * 2.0")
    value = f"tl.minimum(tl.maximum({plane.tile}{scale} + {old}, -60000.0), 60000.0)"
    draft.line(f"tl.store({at}, {value}.to({NAMES[dtype]}){mask})")


def store_reduced(draft, plane):
    """Sums or largest elements of rows or columns; only where the other axis is one tile."""
    axis = draft.rng.randint(0, 1)
    index = (plane.columns, plane.rows)[axis]
    count = (plane.column_count, plane.row_count)[axis]
    mask = plane.mask()
    tile = f"tl.where({mask}, {plane.tile}, 0.0)" if mask else plane.tile
    extent = plane.extents[1 - axis]
    mask = f", mask={index} < {count}" if count else ""
    if draft.chance(0.5):
        out = draft.array("sum", "fp32", extent, -3, 3)
        draft.line(f"tl.atomic_add({out} + {index}, tl.sum({tile}, {axis}){mask})")
    else:
        out = draft.array("most", "i32", extent, -3, 3)
        most = f"tl.max({tile}, {axis})"
        value = f"tl.minimum(tl.maximum({most}, -1000.0), 1000.0).to(tl.int32)"
        draft.line(f"tl.atomic_max({out} + {index}, {value}{mask})")


def store_halves(draft, plane):
    """Even and odd columns apart."""
    if plane.column_count or plane.base or plane.column_first is None:
        return store_plain(draft, plane)
    rows, columns = plane.shape
    out = draft.output("fp32", plane.size)
    even, odd = draft.fresh("even"), draft.fresh("odd")
    draft.line(f"{even}, {odd} = tl.split(tl.reshape({plane.tile}, ({rows}, {columns // 2}, 2)))")
    index = draft.let("half", f"{plane.column_first} + tl.arange(0, {columns // 2}) * 2")
    mask = f", mask={plane.rows}[:, None] < {plane.row_count}" if plane.row_count else ""
    for part, shift in ((f"{even} + {odd}", ""), (f"{even} - {odd}", " + 1")):
        at = f"{plane.rows}[:, None] * {plane.extents[1]} + {index}[None, :]{shift}"
        draft.line(f"tl.store({out} + {at}, {part}{mask})")
    return None


def store_parts(draft, plane):
    """The two halves, or every other row or column, apart."""
    if any(extent & (extent - 1) for extent in plane.shape):
        return store_plain(draft, plane)
    axis = draft.rng.randint(0, 1)
    half = plane.shape[axis] // 2
    for bounds in draft.pick(
        (f":{half}", f"{half}:"), ("::2", "1::2"), (f"{half - 1}::-1", f"{half}:")
    ):
        name = ("rows", "columns")[axis]
        part = {
            "tile": draft.let("part", f"{plane.tile}[{':, ' * axis}{bounds}]"),
            name: draft.let(name, f"{getattr(plane, name)}[{bounds}]"),
            "shape": (half, plane.shape[1]) if axis == 0 else (plane.shape[0], half),
        }
        smaller = replace(plane, row_first=None, column_first=None, **part)
        draft.pick(store_plain, store_plain, store_transposed, update_in_place)(draft, smaller)


STORES = [store_plain] * 4 + [
    store_transposed,
    store_descriptor,
    store_descriptor,
    store_atomic,
    update_in_place,
    update_in_place,
    store_reduced,
    store_halves,
    store_parts,
]
