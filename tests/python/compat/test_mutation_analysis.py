"""What a kernel writes, found out through the view of its IR that torch's analysis reads."""

import subprocess
import sys
from pathlib import Path

import pytest
from mutation_cases import CASES, FP, add, pointers_change_places, tl, triton
from pantile.backends.compiler import GPUTarget
from pantile.compiler.compiler import ASTSource, make_backend

TARGETS = [GPUTarget("cuda", 90, 32), GPUTarget("cuda", 80, 32), GPUTarget("cpu", "cpu", 1)]


def is_array(value):
    return isinstance(value, str) and value.startswith(("*", "tensordesc"))


def module_of(kernel, values, target=TARGETS[0], numbers_are_constants=False):
    """The view of a kernel, made by the calls that torch makes; numbers may be constants there."""
    signature, constants = {}, {}
    for name, value in values.items():
        is_number = value in ("i32", "fp32")
        if isinstance(value, tuple) or is_array(value):
            signature[name] = value
        elif is_number and not numbers_are_constants:
            signature[name] = value
        else:
            signature[name] = value if is_number else "constexpr"
            constants[name] = {"i32": 2, "fp32": 2.0}.get(value, value)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = triton._C.libtriton.ir.context()
    triton._C.libtriton.ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, signature, constants, {(0,): backend.parse_attr("D")})
    generators = backend.get_codegen_implementation(options)
    return source.make_ir(target, options, generators, backend.get_module_map(), context)


def ids(op, kind):
    count = getattr(op, f"get_num_{kind}s")()
    return [getattr(op, f"get_{kind}")(i).id() for i in range(count)]


WRITES = {"tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_store"}
LEAVES = {"scf.yield", "tt.reduce.return", "tt.scan.return"}


class Flow:
    """Which value reaches which, as a reader of Triton's IR has it.

    A variable of a loop is what the loop starts with; what an operation with regions gives is what
    the terminator of each of its blocks takes, one by one where they are as many.
    """

    def __init__(self, module):
        self.sources, self.written, self.arguments = {}, [], []
        self.name, self.blocks, self.last = None, {}, {}
        module.walk(self.visit)

    def visit(self, op):
        block = op.get_block()
        if block is None:
            assert op.get_name() == "builtin.module"
            return
        region = block.get_parent().id()
        arguments = [block.get_argument(i).id() for i in range(block.get_num_arguments())]
        if block.id() not in [b for b, _ in self.blocks.setdefault(region, [])]:
            self.blocks[region].append((block.id(), arguments))
        name, operands, results = op.get_name(), ids(op, "operand"), ids(op, "result")
        inner = [block for region in ids(op, "region") for block in self.blocks.get(region, [])]
        if name == "tt.func":
            self.name = op.get_str_attr("sym_name")
            (_, self.arguments), *others = inner
            assert not others
        elif inner:
            self.enclose(name, operands, results, inner)
        else:
            if name == "tt.elementwise_inline_asm" and not op.get_bool_attr("pure"):
                raise RuntimeError("assembly may do anything")
            if name in WRITES:
                self.written.append(operands[0])
            for result in results if name != "tt.load" else ():
                self.sources.setdefault(result, set()).update(operands)
            self.last[block.id()] = (name, operands)

    def enclose(self, name, operands, results, inner):
        starts = {
            "scf.for": [None, *operands[3:]],
            "scf.while": operands,
            "scf.if": [],
            "tt.reduce": operands * 2,
            "tt.scan": operands * 2,
        }[name]
        for block, arguments in inner:
            assert len(arguments) == len(starts)
            for argument, start in zip(arguments, starts):
                self.sources.setdefault(argument, set()).add(start)
            left, values = self.last[block]
            if left not in LEAVES:
                continue
            for i, result in enumerate(results):
                each = values[i : i + 1] if len(values) == len(results) else values
                self.sources.setdefault(result, set()).update(each)

    def origins(self, value):
        reached, new = set(), {value}
        while new:
            reached |= new
            new = {s for r in new for s in self.sources.get(r, ())} - reached
        return reached

    def written_arguments(self):
        reached = set().union(*map(self.origins, self.written)) if self.written else set()
        return [i for i, argument in enumerate(self.arguments) if argument in reached]


def launch_names(values, numbers_are_constants=False):
    """Names of the function's arguments; numbers are in brackets."""
    names = []
    for name, value in values.items():
        if isinstance(value, tuple):
            names += [f"{name}.{i}" for i in range(len(value))]
        elif isinstance(value, str) and value.startswith("tensordesc"):
            rank = value.count(",") + 1
            names += [
                name,
                *(f"{name} {part} {i}" for part in ("size", "stride") for i in range(rank)),
            ]
        elif is_array(value):
            names.append(name)
        elif value in ("i32", "fp32") and not numbers_are_constants:
            names.append(f"({name})")
    return names


def written_arrays(flow, names):
    """Offsets of pointers reach them too, so that numbers may be among the arguments."""
    assert len(flow.arguments) == len(names)
    written = {names[i] for i in flow.written_arguments()}
    return {name for name in written if not name.startswith("(")}


@pytest.mark.parametrize("numbers_are_constants", [False, True], ids=["numbers", "constants"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_written(case, numbers_are_constants):
    """The analysis finds the arrays that a kernel writes, and no others."""
    module = module_of(case.function, case.values, numbers_are_constants=numbers_are_constants)
    assert module.verify()
    flow = Flow(module)
    assert flow.name == case.function.__name__
    names = launch_names(case.values, numbers_are_constants)
    assert written_arrays(flow, names) == case.written


@pytest.mark.parametrize("target", TARGETS[1:], ids=lambda target: target.name)
def test_same_on_all_targets(target):
    for case in CASES:
        flow = Flow(module_of(case.function, case.values, target))
        assert written_arrays(flow, launch_names(case.values)) == case.written, case.name


@triton.jit
def impure_assembly(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.inline_asm_elementwise(
        "st.global.f32 [$1], $2; mov.u32 $0, 0;",
        "=r,l,f",
        [y + i, tl.load(x + i)],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


def test_impure_assembly_says_so():
    seen = []
    module = module_of(impure_assembly, {"x": FP, "y": FP, "N": 32})
    module.walk(lambda op: seen.append((op.get_name(), op.get_bool_attr("pure"))))
    assert ("tt.elementwise_inline_asm", False) in seen
    assert ("tt.load", None) in seen and ("tt.return", None) in seen


def test_walk_is_post_order():
    """Every value is a block's argument or the result of one operation; regions come before."""
    entered, results, uses, regions = set(), [], [], set()

    def visit(op):
        for region in ids(op, "region"):
            assert region in entered or op.get_name() == "scf.if"
            assert region not in regions, "of one operation only"
            regions.add(region)
        block = op.get_block()
        if block is not None:
            assert block.get_parent().id() not in regions, "its operation came before"
            entered.add(block.get_parent().id())
            results.extend(block.get_argument(i).id() for i in range(block.get_num_arguments()))
        results.extend(ids(op, "result"))
        uses.extend(ids(op, "operand"))
        names.append(op.get_name())

    for case in CASES:
        names = []
        entered, results, uses, regions = set(), [], [], set()
        module_of(case.function, case.values).walk(visit)
        assert names[-3:] == ["tt.return", "tt.func", "builtin.module"]
        if "desc" not in case.name:
            assert set(uses) <= set(results)


def test_names_are_tritons():
    names = set()
    for case in CASES:
        module_of(case.function, case.values).walk(lambda op: names.add(op.get_name()))
    prefixes = {name.partition(".")[0] for name in names}
    assert prefixes == {"tt", "scf", "arith", "math", "builtin", "gpu"}
    assert {"tt.func", "tt.load", "tt.addptr", "tt.get_program_id", "tt.dot", "scf.while"} <= names
    assert {"tt.reduce.return", "tt.scan.return", "tt.extern_elementwise"} <= names


def test_indices_are_checked():
    found = []
    module = module_of(add, CASES[0].values)
    module.walk(lambda op: found.append(op) if op.get_name() == "tt.store" else None)
    (store,) = found
    assert store.get_num_operands() == 3 and store.get_num_results() == 0
    for call in (store.get_operand, store.get_result, store.get_region):
        with pytest.raises(IndexError):
            call(3)
        with pytest.raises(IndexError):
            call(-1)
    assert store.get_str_attr("sym_name") is None
    assert store.get_flat_symbol_ref_attr("callee") is None


def test_exceptions_of_the_walk_pass():
    with pytest.raises(ZeroDivisionError):
        module_of(add, CASES[0].values).walk(lambda op: 1 // 0)


def test_mistakes_are_compilation_errors():
    @triton.jit
    def wrong(x):
        tl.store(x, tl.arange(3, 3))

    with pytest.raises(triton.CompilationError, match="end argument must be greater"):
        module_of(wrong, {"x": FP})


def test_module_prints():
    assert "func.func @pointers_change_places" in str(
        module_of(pointers_change_places, CASES[8].values)
    )


def test_what_is_not_there_says_so():
    """An absent name of libtriton's IR is an AttributeError that says what is there."""
    with pytest.raises(AttributeError, match="make_ir"):
        triton._C.libtriton.ir.builder


def test_torch_finds_the_same():
    pytest.importorskip("torch")
    script = Path(__file__).with_name("torch_mutations.py")
    command = [sys.executable, "-m", "pantile.compat", str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this torch has another analysis")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " kernels, 0 failed" in done.stdout


class AtAddress:
    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_specialization_of_an_argument(target):
    specialize = make_backend(target).get_arg_specialization
    assert [specialize(value, "int", align=True) for value in (48, 40, 0)] == ["D", "", "D"]
    assert specialize(AtAddress(4096), "tensor", align=True) == "D"
    assert specialize(AtAddress(4100), "tensor", align=True) == ""
    assert specialize(48, "int", align=False) == specialize(48, "int") == ""
    assert specialize(None, "none", align=True) == ""
