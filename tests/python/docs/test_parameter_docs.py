"""Every parameter of a public function is documented: what editors, `help` and the pages show."""

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from command_line import pantilec_path
from pantile import _pantile, _utils
from pantile.backends.compiler import BaseBackend
from pantile.backends.options import CUDAOptions, library_options
from pantile.language import reference
from pantile.language.dtypes import TYPES
from pantile.language.stubs import stubs
from pantile.runtime.jit import native_specialize_impl

ROOT = Path(__file__).resolve().parents[3]
FRONTEND = ROOT / "compiler/frontend"
# What the library calls inside, and what has no name of its own in Triton.
FUNCTIONS = [f for f in reference.functions() if f.space != "lib" and not f.name.startswith("_")]


def load_file(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)  # scripts import their neighbours
        spec.loader.exec_module(module)
    return module


def parameter_names(docstring):
    """Names in the section `Parameters` of a docstring, with the text after the colon."""
    section = re.search(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w|\Z)", docstring, re.S | re.M
    )
    text, found = section[1] if section else "", {}
    for names, kind in re.findall(r"^([*\w, ]+) : (.+)\n +\S", text, re.M):
        found.update({name.strip(" *"): kind for name in names.split(",")})
    return found


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.space}.{f.name}")
def test_parameters_of_the_language(function):
    """Each has a type and a meaning, and the table of parameters names them in order."""
    arguments = ast.parse(f"def f({function.signature}): pass").body[0].args
    stars = [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
    names = [a.arg for a in (*arguments.args, *arguments.kwonlyargs)] + stars
    assert sorted(name for name, _, _ in function.parameters) == sorted(names)
    missing = [name for name, kind, meaning in function.parameters if not kind or not meaning]
    assert not missing, f"{missing} want a row of BuiltinDocs.def"


def test_the_pages_need_every_parameter(monkeypatch):
    """`scripts/reference.py` names those without type or meaning."""
    script = load_file(ROOT / "scripts/reference.py", "reference_pages")
    assert not script.undocumented()
    rows = [
        script.Row(name, "tl", "x, y", "", False, parameters=[("x", "tile", ""), ("y", "int", "b")])
        for name in ("f", "_hidden")
    ]
    monkeypatch.setattr(script, "builtin_rows", lambda: rows)
    assert script.undocumented() == ["tl.f: x"]


def test_rows_of_the_table_name_what_there_is():
    """No row is left over from a function or parameter that is gone."""
    known = {
        f"{f.space}.{f.name}": {name for name, _, _ in f.parameters} for f in reference.functions()
    }
    text = (FRONTEND / "BuiltinDocs.def").read_text()
    rows = re.findall(r'^(TYPES|ERRORS|PARAMETER)\("([^"]+)", "(\w+)?', text, re.M)
    assert len(rows) > 300
    seen = set()
    for kind, functions, parameter in rows:
        for function in functions.split(" "):
            function = function if "." in function else f"tl.{function}"
            assert function in known, f"{kind} of an unknown function {function}"
            key = (kind, function, parameter if kind == "PARAMETER" else "")
            assert key not in seen, f"{key} stands twice"
            seen.add(key)
            if kind == "PARAMETER":
                assert parameter in known[function], f"{function} has no parameter {parameter}"


def package_names():
    """(name, object) of what docs/python-reference.md lists, and of the methods of its classes."""
    page = load_file(ROOT / "scripts/python_page.py", "python_page")
    for path, names in page.SECTIONS.values():
        module = importlib.import_module(path)
        for name in names.split():
            thing = getattr(module, name)
            yield f"{path}.{name}", thing, name in page.MADE_BY_CALLS
            if inspect.isclass(thing) and not issubclass(thing, (BaseException, tuple)):
                for method, member in vars(thing).items():
                    function = getattr(member, "__func__", member)
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{path}.{name}.{method}", function, False


PACKAGE = [row for row in package_names() if not row[2]]


@pytest.mark.parametrize("name, thing", [row[:2] for row in PACKAGE], ids=[r[0] for r in PACKAGE])
def test_parameters_of_the_package(name, thing):
    """Each has a type, a meaning, and what is taken without it; classes of values list fields."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return
    parameters = inspect.signature(thing).parameters
    fields = getattr(thing, "__match_args__", ()) if "values" in parameters else ()
    documented = parameter_names(inspect.getdoc(thing) or "")
    for parameter in [parameters[p] for p in parameters] if not fields else ():
        if parameter.name == "self" or parameter.name.startswith("_"):
            continue
        if parameter.name == "cls" and "." in thing.__qualname__:
            continue
        kind = documented.get(parameter.name)
        assert kind, f"`{parameter.name}` of {name} has no type"
        if parameter.default not in (inspect.Parameter.empty, None):
            known = re.search(r"default (.+)$", kind)
            same = known and known[1] == repr(parameter.default).replace("'", '"')
            assert same or kind.endswith("optional"), f"`{parameter.name}` of {name}: its default"
        elif parameter.default is None:
            assert "optional" in kind or "None" in kind, f"`{parameter.name}` of {name}: optional"
    assert not [field for field in fields if not documented.get(field)]
    for field in fields:
        known = re.search(r"default (.+)$", documented[field])
        if known:
            assert ast.literal_eval(known[1]) == getattr(thing, field), field


def raised_in(function):
    """Names of the errors that the body itself raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield getattr(node.exc.func, "id", getattr(node.exc.func, "attr", ""))


@pytest.mark.parametrize("name, thing", [row[:2] for row in PACKAGE], ids=[r[0] for r in PACKAGE])
def test_errors_of_the_package(name, thing):
    """What a function, or making an object, raises is named in the docstring."""
    function = vars(thing).get("__init__") if inspect.isclass(thing) else thing
    if inspect.isfunction(function) and not hasattr(thing, "__dataclass_fields__"):
        text = inspect.getdoc(thing)
        assert not [error for error in raised_in(function) if error not in text]


def documented_functions(tree, owner=""):
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from documented_functions(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            yield f"{owner}{node.name}", node


@pytest.mark.parametrize("path", sorted(stubs()))
def test_stubs_carry_parameters(path):
    """What an editor shows has every parameter with type, default and meaning."""
    for name, node in documented_functions(ast.parse(stubs()[path])):
        if name in ("constexpr_function", "_log2"):
            continue
        arguments = node.args
        names = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)} - {"self", "_semantic"}
        names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
        documented = parameter_names(ast.get_docstring(node))
        assert set(documented) == names, name
        for argument, default in zip(reversed(arguments.args), reversed(arguments.defaults)):
            shown = documented[argument.arg].rpartition(", default ")[2]
            if not isinstance(default, ast.Constant) or default.value is not ...:
                assert ast.literal_eval(shown) == ast.literal_eval(default), name


def test_help_of_a_function():
    """`help` shows default, legal values and errors; a method leaves its object out."""
    text = inspect.getdoc(tl.load)
    assert "mask : tile or scalar of bool, default None" in text and '".ca"' in text
    assert re.search(r"^Raises\n-+\nCompilationError\n    ", text, re.M)
    assert "out_dtype : dtype, default tl.float32" in inspect.getdoc(tl.dot)
    assert "CompileTimeAssertionFailure" in inspect.getdoc(tl.xor_sum)
    assert "\n    As for `tl.load_tensor_descriptor`." in reference.documentation_of("desc.load")
    assert "input" not in parameter_names(reference.documentation_of("sum", is_method=True))
    assert "x : tile or scalar of fp32, fp64" not in inspect.getdoc(tl.exp)
    assert "arg0 : tile or scalar of fp32, fp64" in inspect.getdoc(tl.extra.libdevice.tanh)


REFUSED = """
tl.program_id(3)
tl.program_id(n)
tl.arange(4, 4)
tl.arange(0, n)
tl.arange(0, 1 << 32)
tl.full((0,), 1, tl.int32)
tl.full((1 << 21,), 1, tl.int32)
tl.full((4,), x, tl.int32)
tl.cast(x, tl.int64, bitcast=True)
tl.cast(x, tl.int8, fp_downcast_rounding="up")
tl.get_int_dtype(24, True)
tl.broadcast(x, tl.arange(0, 8))
tl.expand_dims(x, 2)
tl.squeeze(x, 0)
tl.reshape(x, (8,))
tl.permute(x, (0, 0))
tl.trans(x)
tl.split(x)
tl.item(x)
tl.cat(x, tl.arange(0, 8))
tl.cat((x, x[:, None]))
tl.stack((x, x[:3]))
tl.pad(x, (1, 1), mode="edge")
tl.pad(x, 0, mode="edge")
tl.pad(x, -1)
tl.gather(x, x.to(tl.float32), 0)
tl.gather(x, x, 1)
tl.flip(x, 1)
tl.roll(x, 1, axis=1)
tl.load(n)
tl.load(out, other=1)
tl.load(out, cache_modifier=".wb")
tl.load(out, eviction_policy="last")
tl.load(out, boundary_check=(0,))
tl.load(out, padding_option="zero")
tl.store(out, x)
tl.store(out, 1, mask=x > 0)
tl.store(out, 1, cache_modifier=".ca")
tl.atomic_add(out, 1, sem="seq_cst")
tl.atomic_add(out, 1, scope="cluster")
tl.atomic_load(out, sem="release")
tl.atomic_store(out, 1, sem="acquire")
tl.atomic_poll(out, 1, sem="acq_rel")
tl.atomic_poll(out, 1, timeout_ns=-1)
tl.atomic_poll(out, 1, timeout_ns=x)
tl.make_block_ptr(out, (4, 4), (4, 1), (0,), (4,), (0,))
tl.make_block_ptr(out, (4,), (1,), (0,), (4,), (1,))
tl.advance(out, (1,))
tl.make_tensor_descriptor(out, (4,), (2,), (4,))
tl.make_tensor_descriptor(out, (4,), (1,), (2,))
tl.make_tensor_descriptor(out, (4,), (1,), (4,), padding_option="one")
tl.make_tensor_descriptor(out, (4,), (1,), (4,), padding_option="nan")
tl.make_tensor_descriptor(out, (4,), (1,), (4,)).load([0, 0])
tl.make_tensor_descriptor(out, (4,), (1,), (4,)).store([0], tl.arange(0, 8))
tl.make_tensor_descriptor(out, (4,), (1,), (4,)).gather(x, 0)
tl.dot(x, x)
tl.dot(tl.zeros((16, 8), tl.float16), tl.zeros((8, 16), tl.float16))
tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))
tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float16), input_precision="fp32")
tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float16), out_dtype=tl.bfloat16)
tl.where(x > 0, x, tl.arange(0, 8))
tl.fdiv(x, x)
tl.fdiv(f, f, approx=True, ieee_rounding=True)
tl.fma(x, x, x)
tl.div_rn(x, x)
tl.sqrt_rn(f.to(tl.float16))
tl.exp(x)
tl.sin(f.to(tl.bfloat16))
tl.umulhi(x.to(tl.int16), x.to(tl.int16))
tl.map_elementwise(helper, n)
tl.map_elementwise(helper, x, pack=3)
tl.extern_elementwise("", "", [f], {(tl.int8,): ("__nv_fabsf", tl.float32)}, is_pure=True)
tl.reduce(x, 1, helper)
tl.reduce((x, tl.arange(0, 8)), 0, helper)
tl.associative_scan(x, None, helper)
tl.xor_sum(f)
tl.reduce_or(f, 0)
tl.cumsum(x, None)
tl.sort(x, dim=1)
tl.sort(x, dim=-2)
tl.topk(x, 8)
tl.topk(x, 0)
tl.topk(x, 1, dim=1)
tl.bitonic_merge(x, dim=1)
tl.histogram(f, 4)
tl.histogram(x, 0)
tl.histogram(x[:, None], 4)
tl.philox(1, x.to(tl.int16), 0, 0, 0)
tl.rand(1, x, n_rounds=n)
tl.multiple_of(x, n)
tl.multiple_of(x, 0)
tl.multiple_of(n, -16)
tl.multiple_of(x, (4, 4))
tl.max_contiguous(x, 0)
tl.max_constancy(x, 1 << 31)
tl.assume(x > 0)
tl.static_assert(n > 0)
tl.static_assert(False)
tl.device_print(n)
[i for i in tl.static_range(0, n)]
tl.minimum(x, "a")
tl.dot_scaled(x, None, "fp4", x, None, "fp4")
len(n)
min()
pow(n, 2)
sorted((n, 1))
sum(x)
isinstance(x, 1)
getattr(x, "colour")
divmod(f, f)
zip(n)
triton.next_power_of_2(n)
math.log2(n)
tl.target_info.cuda_capability_geq(n)
tl.extra.cuda.convert_custom_float8_sm80(f, tl.float16)
""".strip().split("\n")


@pytest.mark.parametrize("statement", REFUSED)
def test_documented_errors(statement, tmp_path):
    """What the table calls an error is one, at the launch, with the line."""
    path = tmp_path / "refused.py"
    path.write_text(
        "import math\nimport pantile as triton\nimport pantile.language as tl\n\n\n"
        "@triton.jit\ndef helper(a, b):\n    return a + b\n\n\n"
        "@triton.jit\ndef kernel(out, n):\n    x = tl.arange(0, 4)\n    f = x.to(tl.float32)\n"
        f"    y = {statement}\n"
    )
    kernel = load_file(path, "refused").kernel
    with pytest.raises(triton.compiler.errors.CompilationError, match="refused.py"):
        kernel[(1,)](np.zeros(16, np.int32), 5)


def test_cpp_headers():
    """Every function, parameter and member of the public headers has a meaning; the page is current."""
    command = [sys.executable, ROOT / "scripts/cpp_page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


HEADER = """//===- X.h - a header ---===//
// Said.
//===--===//
#pragma once
#define TWICE(x) \\
  x x
namespace pantile {

/// A record.
struct Outer {
  /// A number,
  /// in two lines.
  int first = 0, second = 1;
  std::map<int, Result<int>> third; ///< behind it
                                    ///< and below
  enum class Kind { A, B } kind = Kind::A;
  Outer() = default;
  explicit operator bool() const { return first; }
  /// Of `a` and `call`.
  Result<int> get(int a, const std::function<Result<int>(int b)> &call = {}) const {
    return a;
  }
private:
  int hidden = 0;
};
enum class Stage {
  One, ///< the first
  Two
};
struct Forward;
/// With `x`.
API Result<void> run(std::span<const int> x = {}, int y = f(1, 2));

} // namespace pantile
"""


@pytest.fixture
def cpp(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("cpp_headers"), importlib.import_module("cpp_page")


def test_declarations_of_a_header(cpp):
    outer, stage, _, run = cpp[0].read(HEADER)
    assert [(m.kind, m.name, m.doc) for m in outer.members] == [
        ("field", "first", "A number, in two lines."),
        ("field", "third", "behind it and below"),
        ("field", "kind", ""),
        ("function", "operator bool", ""),
        ("function", "get", "Of `a` and `call`."),
    ]
    assert outer.members[4].parameters == ["a", "call"]
    assert [(m.name, m.doc) for m in stage.members] == [("One", "the first"), ("Two", "")]
    assert (run.name, run.parameters, run.kind) == ("run", ["x", "y"], "function")


def test_what_a_header_does_not_say(cpp):
    assert list(cpp[1].undocumented(cpp[0].read(HEADER))) == [
        "Outer::kind",
        "Stage",
        "Stage::Two",
        "run: y",
    ]


def test_command_line():
    """Every flag of every command has a meaning; the page is what `--help` says."""
    command = [sys.executable, ROOT / "scripts/cli_page.py", "--check"]
    environment = {**os.environ, "PANTILEC": str(pantilec_path())}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def table(name):
    text = (ROOT / "compiler/include/pantile" / name).read_text(encoding="utf-8")
    return re.findall(r"^(\w+)\((.*)\)$", text, re.M)


def test_stages_have_one_source():
    """The stages of the binding, of the compiler's README and of `kernel.asm` are those of Stages.def, in order."""
    rows = [re.findall(r'"(.*?)"', cells) for _, cells in table("Stages.def")]
    names = [name for name, _ in rows]
    assert _pantile.stage_names() == names and names[0] == "ast" and names[-1] == "cubin"
    readme = (ROOT / "compiler/README.md").read_text(encoding="utf-8")
    section = readme.partition("## The stages' names")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M) == [tuple(row) for row in rows]


def test_options_have_one_source():
    """The extension module has the members of Options.def, with their defaults and meanings."""
    options = _pantile.Options()
    rows = [cells for macro, cells in table("Options.def") if macro == "OPTION"]
    assert len(rows) == 15
    for cells in rows:
        key, meaning = re.search(r', "(\w+)", .*?, ("(?:.*)")$', cells).groups()
        assert getattr(type(options), key).__doc__ == ast.literal_eval(meaning)
    assert (options.num_warps, options.num_stages, options.maxnreg) == (4, 3, 0)
    assert options.launch_abi == "full" and options.disabled_passes == set()
    options.launch_abi = "triton"
    options.extern_libs = {"a": "b"}
    assert options.launch_abi == "triton" and options.extern_libs == {"a": "b"}
    with pytest.raises(ValueError, match="no launch ABI `x`"):
        options.launch_abi = "x"


def test_launch_options_are_those_of_the_library():
    """`CUDAOptions` has the defaults, the least, the most and the choices that Options.def has."""
    options, limits = _pantile.Options(), _pantile.option_limits()
    of_launches = CUDAOptions()
    for name in ("num_warps", "num_stages", "enable_fp_fusion", "debug", "sanitize_overflow"):
        assert getattr(of_launches, name) == getattr(options, name)
    assert of_launches.default_dot_input_precision == options.input_precision
    assert of_launches.allowed_dot_input_precisions == limits["input_precision"]
    assert limits["launch_abi"] == ("full", "triton")
    least, most = limits["num_warps"]
    for warps in (least - 1, most + 1):
        with pytest.raises(ValueError, match=f"num_warps must be from {least} to {most}, not"):
            library_options("sm_90a", CUDAOptions(num_warps=warps))


def test_dtypes_have_one_source():
    """`tl` has the types of Dtypes.def, with the same names and bits."""
    columns = r'\w+, "(\w+)", "(\w+)", "(\w+)", (\d+), "'
    rows = [re.match(columns, cells).groups() for _, cells in table("Dtypes.def")]
    assert len(rows) == 19
    for name, short, long, bits in rows:
        dtype = getattr(tl, long)
        assert (dtype.name, dtype.short_name) == (name, short)
        assert dtype.primitive_bitwidth == int(bits)
    assert {row[2] for row in rows} | {"void", "pi32_t"} == set(TYPES)


def test_names_of_dtypes_have_one_source():
    """Python's table is what `scripts/dtype_table.py` writes, and each name is read from it alone."""
    script = load_file(ROOT / "scripts/dtype_table.py", "dtype_table")
    assert script.MODULE.read_text(encoding="utf-8") == script.module()
    for name, short in {
        **script.names_of_arrays(),
        **{row[2]: row[1] for row in script.rows()},
    }.items():
        short = "u1" if short == "i1" else short
        assert _utils.canonicalize_dtype(f"torch.{name}") == short
        array = triton.MockTensor(f"torch.{name}")
        assert native_specialize_impl(BaseBackend, array, False, False, False)[0] == f"*{short}"
    for name in ("float9", "pi32_t", ""):
        with pytest.raises(KeyError):
            _utils.canonicalize_dtype(name)
