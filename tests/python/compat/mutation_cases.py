"""Kernels, and the arguments that each of them writes, listed by hand."""

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import pantile as triton
import pantile.language as tl
from pantile.language import core

TESTS = Path(__file__).resolve().parents[2]


class Case(NamedTuple):
    """`values`: types of arrays ("*fp32"), of descriptors and of numbers, and constants."""

    name: str
    function: object
    values: dict
    written: set


CASES = []


def case(written="", **values):
    """Register a jit function with its values and the names of what it writes."""

    def register(kernel):
        CASES.append(Case(kernel.__name__, kernel, values, set(written.split())))
        return kernel

    return register


FP, INT = "*fp32", "*i32"


@case("out", x=FP, y=FP, out=FP, n="i32", N=64)
@triton.jit
def add(x, y, out, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@case("x", x=FP, y=FP, N=64)
@triton.jit
def add_in_place(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) + tl.load(y + i))


@case("", x=FP, n="i32", N=64)
@triton.jit
def only_load(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.device_assert(tl.sum(tl.load(x + i, mask=i < n)) >= 0, "negative")


@case("count cell", x=INT, count=INT, cell=INT, out=INT, N=32)
@triton.jit
def atomics(x, count, cell, out, N: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(count + i, tl.load(x + i))
    tl.device_print("old", old + tl.load(out))
    while tl.atomic_cas(cell, 0, 1) == 1:
        pass
    tl.atomic_xchg(cell, 0)


@case("a b", a=FP, b=FP, c=FP, flag=INT, N=16)
@triton.jit
def choose(a, b, c, flag, N: tl.constexpr):
    i = tl.arange(0, N)
    p = a if tl.load(flag) > 3 else b
    tl.store(p + i, tl.load(c + i))


@case("a b", a=FP, b=FP, c=FP, d=FP, flag=INT, N=16)
@triton.jit
def branch_of_pairs(a, b, c, d, flag, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.load(flag) > 3:
        to, of = a, c
    else:
        to, of = b, d
    tl.store(to + i, tl.load(of + i))


@case("y", x=FP, y=FP, flag=INT, N=16)
@triton.jit
def store_in_branch(x, y, flag, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.load(flag) == 1:
        tl.store(y + i, tl.load(x + i))


@case("y", x=FP, y=FP, ends=INT, N=16)
@triton.jit
def pointers_advance(x, y, ends, N: tl.constexpr):
    p, q = x + tl.arange(0, N), y + tl.arange(0, N)
    for _ in range(tl.load(ends)):
        tl.store(q, 2 * tl.load(p))
        p += N
        q += N


@case("x y", x=FP, y=FP, ends=INT, N=16)
@triton.jit
def pointers_change_places(x, y, ends, N: tl.constexpr):
    p, q = x, y
    for _ in range(tl.load(ends)):
        tl.store(p + tl.arange(0, N), tl.load(q + tl.arange(0, N)))
        p, q = q, p


@case("x y", x=FP, y=FP, ends=INT, N=16)
@triton.jit
def places_change_in_while(x, y, ends, N: tl.constexpr):
    p, q, n = x, y, tl.load(ends)
    while n > 0:
        tl.store(p + tl.arange(0, N), tl.load(q + tl.arange(0, N)))
        p, q = q, p
        n -= 1


@case("x y z", x=FP, y=FP, z=FP, w=FP, ends=INT, N=16)
@triton.jit
def pointers_rotate(x, y, z, w, ends, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = x + i, y + i, z + i
    for _ in range(tl.load(ends)):
        for _ in range(tl.load(ends + 1)):
            a, b, c = b, c, a
        tl.store(b, tl.load(w + i))


@case("x y", x=FP, y=FP, ends=INT, N=16)
@triton.jit
def after_a_loop_that_may_not_run(x, y, ends, N: tl.constexpr):
    p = x
    for _ in range(tl.load(ends)):
        p = y
    tl.store(p + tl.arange(0, N), 1.0)


@case("y", x=FP, y=FP, ends=INT, N=16)
@triton.jit
def leave_early(x, y, ends, N: tl.constexpr):
    p, q = x, y
    for k in range(tl.load(ends)):
        if k == tl.load(ends + 1):
            break
        if k == tl.load(ends + 2):
            continue
        tl.store(q + tl.arange(0, N), tl.load(p + tl.arange(0, N)))
        p += N
        q += N
    if tl.load(ends + 3) == 0:
        return
    tl.store(q + tl.arange(0, N), 0.0)


@case("y", x=FP, y=FP, n="i32", N=16)
@triton.jit
def block_pointers(x, y, n, N: tl.constexpr):
    of = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (N, N), (1, 0))
    to = tl.make_block_ptr(y, (n, n), (n, 1), (0, 0), (N, N), (1, 0))
    for _ in range(0, n, N):
        tl.store(to, tl.load(of, boundary_check=(0, 1)), boundary_check=(0, 1))
        of = tl.advance(of, (0, N))
        to = tl.advance(to, (0, N))


@case("y", x=FP, y=FP, sizes=INT, N=16)
@triton.jit
def made_descriptors(x, y, sizes, N: tl.constexpr):
    rows, columns = tl.load(sizes), tl.load(sizes + 1)
    of = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [N, N])
    to = tl.make_tensor_descriptor(y, [rows, columns], [columns, 1], [N, N])
    to.store([0, N], of.load([N, 0]))


@case("y total", x=FP, y=FP, total=FP, rows=INT, n="i32", N=16)
@triton.jit
def scattered_rows(x, y, total, rows, n, N: tl.constexpr):
    of = tl.make_tensor_descriptor(x, [n, n], [n, 1], [1, N])
    to = tl.make_tensor_descriptor(y, [n, n], [n, 1], [1, N])
    sums = tl.make_tensor_descriptor(total, [n, n], [n, 1], [N, N])
    r = tl.load(rows + tl.arange(0, N))
    found = of.gather(r, 0)
    to.scatter(found, r, 0)
    sums.atomic_add([0, 0], found)


@case("to", of="tensordesc<fp32[16, 16]>", to="tensordesc<fp32[16, 16]>", n="i32")
@triton.jit
def host_descriptors(of, to, n):
    for k in range(0, n, 16):
        to.store([k, 0], of.load([0, k]))


@case("y", desc="tensordesc<fp32[32]>", y=FP)
@triton.jit
def sizes_of_a_descriptor(desc, y):
    i = tl.arange(0, 32)
    tl.store(y + i * desc.strides[0] + desc.shape[0], desc.load([0]))


@case("y", x=FP, y=FP, N=32)
@triton.jit
def pure_assembly(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    z = tl.inline_asm_elementwise(
        "neg.f32 $0, $1;", "=f,f", [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(y + i, z)


@case("y", x=FP, y=FP, N=32)
@triton.jit
def library_function(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.extra.libdevice.erf(tl.load(x + i)) + tl.exp(tl.load(x + i)))


@core.extern
def put_word(to, value, _semantic=None):
    return core.extern_elementwise(
        "",
        "",
        [to, value],
        {
            (tl.pointer_type(tl.float32), tl.float32): ("put_word", tl.int32),
            (tl.int64, tl.float32): ("put_word_at", tl.int32),
        },
        is_pure=False,
        _semantic=_semantic,
    )


@case("y", x=FP, y=FP, N=32)
@triton.jit
def external_store(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    put_word(y + i, tl.load(x + i))


@case("y", x=FP, y=FP, N=32)
@triton.jit
def external_store_by_number(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    put_word((y + i).to(tl.int64), tl.load(x + i))


@triton.jit(noinline=True)
def put(to, value, N: tl.constexpr):
    tl.store(to + tl.arange(0, N), value)


@triton.jit
def take(of, N: tl.constexpr):
    return tl.load(of + tl.arange(0, N)), of + N


@case("y", x=FP, y=FP, N=32)
@triton.jit
def calls(x, y, N: tl.constexpr):
    first, x = take(x, N)
    second, x = take(x, N)
    put(y, first + second, N)


@case("out.0 out.1", out=(FP, FP, FP), x=FP, N=16)
@triton.jit
def tuple_of_pointers(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i) + tl.load(out[2] + i)
    for k in tl.static_range(2):
        tl.store(out[k] + i, value)


@case("y", x=FP, y=FP, N=32)
@triton.jit
def pair_of_pointers(x, y, N: tl.constexpr):
    pair = (x, y)
    i = tl.arange(0, N)
    tl.store(pair[1] + i, tl.load(pair[0] + i))


@case("value at", x=FP, value=FP, at=INT, sums=FP, N=32)
@triton.jit
def reductions(x, value, at, sums, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + i[None, :])
    most, where = tl.max(tile, axis=1, return_indices=True)
    tl.store(value + i, most + tl.load(sums + i))
    tl.store(at + i, where)


@triton.jit
def later(left, left_is, right, right_is):
    return tl.where(right_is > 0, right, left), left_is + right_is


@case("out bins", x=FP, ids=INT, out=FP, bins=INT, N=32)
@triton.jit
def scans(x, ids, out, bins, N: tl.constexpr):
    i = tl.arange(0, N)
    k = tl.load(ids + i)
    filled, _ = tl.associative_scan((tl.load(x + i), k), 0, later)
    tl.store(out + i, tl.sort(tl.cumsum(filled, 0)))
    tl.store(bins + i, tl.histogram(k, N))


@triton.jit
def steps(value):
    count = 0
    while value > 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        count += 1
    return count


@case("y", x=INT, y=INT, N=32)
@triton.jit
def mapped(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.map_elementwise(steps, tl.load(x + i)))


@case("y", x=FP, y=FP, N=32)
@triton.jit
def numbers_as_pointers(x, y, N: tl.constexpr):
    at = y.to(tl.int64)
    for _ in range(3):
        at += 4 * N
    p = at.to(tl.pointer_type(tl.float32))
    tl.store(p + tl.arange(0, N), tl.load(x + tl.arange(0, N)))


@case("y", x=FP, y=FP, N=32)
@triton.jit
def other_element_type(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    bits = tl.load(x.to(tl.pointer_type(tl.int32), bitcast=True) + i)
    tl.store(y.to(tl.pointer_type(tl.int32), bitcast=True) + i, bits ^ 1)


@case("", table="*i64", x=FP, N=32)
@triton.jit
def table_of_pointers(table, x, N: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(p + tl.arange(0, N), tl.load(x + tl.arange(0, N)))


@case("out", src=FP, where=INT, out=FP, N=32)
@triton.jit
def gathered_rows(src, where, out, N: tl.constexpr):
    i = tl.arange(0, N)
    w = tl.load(where + i)
    tl.store(out + tl.load(where + w), tl.gather(tl.load(src + w), w, 0))


@case("c", a="*fp16", b="*fp16", c=FP, bias=FP, K="i32", N=32)
@triton.jit
def matmul(a, b, c, bias, K, N: tl.constexpr):
    i = tl.arange(0, N)
    left, right = a + i[:, None] * K + i[None, :], b + i[:, None] * N + i[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for _ in range(0, K, N):
        acc = tl.dot(tl.load(left), tl.load(right), acc)
        left += N
        right += N * N
    if bias is not None:
        acc += tl.load(bias + i)[None, :]
    tl.store(c + i[:, None] * N + i[None, :], acc)


@case("y", x=FP, y=FP, z=None, N=32, KEEPS=False)
@triton.jit
def left_out(x, y, z, N: tl.constexpr, KEEPS: tl.constexpr):
    i = tl.arange(0, N)
    if KEEPS:
        tl.store(x + i, 0.0)
    if z is not None:
        tl.store(z + i, 0.0)
    tl.store(y + i, tl.load(x + i))


@case("done", flag=INT, done=INT, x=FP)
@triton.jit
def atomic_accesses(flag, done, x):
    tl.atomic_poll(flag, 1)
    if tl.load(x) > 0:
        tl.atomic_store(done + tl.atomic_load(flag), 1)


@case("clock", x=FP, clock="*i64")
@triton.jit
def counters(x, clock):
    tl.debug_barrier()
    tl.store(clock, tl.extra.cuda.globaltimer())


def _module(path):
    if str(TESTS / "python") not in sys.path:
        sys.path.append(str(TESTS / "python"))  # what tests import
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _add_others(place, load):
    """Kernels of other files: rows (file, kernel, types in order, constants, written)."""
    for file, name, types, constants, written in place:
        kernel = load(file, name)
        arguments = dict(zip(kernel.arg_names, types.split()))
        values = {arg: arguments.get(arg, constants.get(arg, "i32")) for arg in kernel.arg_names}
        CASES.append(Case(f"{file}:{name}", kernel, values, set(written.split())))


_KERNELS = [
    ("layer_norm", "_layer_norm_fwd", "*fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32 i32 fp32",
     {"BLOCK_SIZE": 128}, "Y Mean Rstd"),
    ("layer_norm", "_layer_norm_bwd_dx", "*fp16 *fp16 *fp32 *fp32 *fp16 *fp16 *fp32 *fp32 *i32",
     {"GROUP_SIZE_M": 4, "BLOCK_SIZE_N": 64}, "DX DW DB Lock"),
    ("flash_attention", "_flash_forward", "*fp16 *fp16 *fp16 *fp16 *fp32 fp32",
     {"GROUP": 1, "HEAD_DIM": 64, "BLOCK_M": 64, "BLOCK_N": 32, "CAUSAL": True, "WINDOW": 0},
     "Out Lse"),
    ("cache_update", "copy_to_slots_kernel", "*fp16 *fp16 *fp16 *fp16 *i32",
     {"HEADS": 2, "DIM": 64, "PAGE": 16, "TILE": 128}, "key_cache_ptr value_cache_ptr"),
    ("sampling", "sample_kernel", "*fp32 *fp32 *i32 *fp32 *fp32 *i32 *i32", {"WIDTH": 64},
     "token_ptr kept_ptr"),
    ("across_programs", "locked_argmax_kernel", "*fp32 *i32 *fp32 *i32", {"BLOCK": 64},
     "lock_ptr best_ptr where_ptr"),
    ("block_pointer_attention", "padded_copy_kernel", "*fp16 *fp16",
     {"ROWS": 16, "COLS": 32, "PADDING": "zero"}, "Y"),
    ("optimizer_step", "lion_kernel", "*fp32 *fp32 *fp32 fp32 fp32 fp32 fp32", {"BLOCK": 64},
     "p_ptr m_ptr"),
]  # fmt: skip

_TUTORIALS = [
    ("02-fused-softmax", "softmax_kernel", "*fp32 *fp32", {"BLOCK_SIZE": 64, "ROWS": 2},
     "output_ptr"),
    ("03-matrix-multiplication", "matmul_kernel", "*fp16 *fp16 *fp16",
     {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 4,
      "ACTIVATION": "leaky_relu"}, "c_ptr"),
]  # fmt: skip


def _of_tests(file, name):
    return getattr(_module(TESTS / "kernels" / f"test_{file}.py"), name)


def _of_tutorial(file, name):
    found = runpy.run_path(str(TESTS.parent / "tutorials" / f"{file}.py"))[name]
    return getattr(found, "fn", found) if isinstance(found, triton.Autotuner) else found


_add_others(_KERNELS, _of_tests)
_add_others(_TUTORIALS, _of_tutorial)
