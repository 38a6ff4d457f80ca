"""Kernels as C files, ahead of time.

    python -m pantile.tools.compile kernel.py -n scale -s "*fp32:16, i32, 1024" -g "n / 1024, 1, 1"

writes a C file with the machine code and a launcher that needs nothing but the CUDA driver, and its
header. A signature names the type of each parameter: `:16` promises a multiple of 16, `:1` is the
constant 1, a literal is a compile-time value. The grid is three C expressions over the run-time
parameters. `python -m pantile.tools.link` joins the variants of a kernel.
"""

import argparse
import ast
import hashlib
import importlib.util
import sys
from pathlib import Path

_C_TYPES = {
    "i1": "int8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "fp32": "float",
    "fp64": "double",
}

_HEADER = """\
#ifndef TT_KERNEL_INCLUDES
#define TT_KERNEL_INCLUDES

#include <cuda.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#endif

void unload_{name}(void);
void load_{name}(void);
// tt-linker: {name}:{signature}:{algorithm}
CUresult {name}(CUstream stream{parameters});
"""

_SOURCE = """\
/* {described} */
#include <cuda.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

static const unsigned char {name}_cubin[{size}] = {{
{code}
}};

static CUmodule {name}_module;
static CUfunction {name}_function;
static CUresult {name}_status;

void unload_{name}(void) {{
  if ({name}_module)
    cuModuleUnload({name}_module);
  {name}_module = NULL;
  {name}_function = NULL;
}}

/* What fails here is returned by the next launch. */
void load_{name}(void) {{
  {name}_status = cuModuleLoadData(&{name}_module, {name}_cubin);
  if ({name}_status == CUDA_SUCCESS)
    {name}_status = cuModuleGetFunction(&{name}_function, {name}_module, "{symbol}");
  if ({name}_status == CUDA_SUCCESS && {shared} > 49152)
    {name}_status = cuFuncSetAttribute(
        {name}_function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {shared});
}}

CUresult {name}(CUstream stream{parameters}) {{
  if (!{name}_function)
    load_{name}();
  if ({name}_status != CUDA_SUCCESS)
    return {name}_status;
  unsigned int gX = {grid[0]};
  unsigned int gY = {grid[1]};
  unsigned int gZ = {grid[2]};
  CUdeviceptr global_scratch = 0, profile_scratch = 0;
  void *args[] = {{{addresses}&global_scratch, &profile_scratch}};
  if (gX == 0 || gY == 0 || gZ == 0)
    return CUDA_SUCCESS;
  return cuLaunchKernel({name}_function, gX, gY, gZ, {threads}, 1, 1, {shared}, stream, args, NULL);
}}
"""


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="the Python file that holds the kernel")
    parser.add_argument("--kernel-name", "-n", default="", help="the kernel's name in it")
    parser.add_argument("--target", "-t", help="backend:arch:warp_size, such as cuda:90:32")
    parser.add_argument("--num-warps", "-w", type=int, default=4)
    parser.add_argument("--num-stages", "-ns", type=int, default=3)
    parser.add_argument("--out-name", "-on", help="the name in C; default: the kernel's")
    parser.add_argument("--out-path", "-o", type=Path, help="where to write, without a suffix")
    parser.add_argument("--signature", "-s", required=True)
    parser.add_argument("--grid", "-g", required=True)
    return parser


def _load(path, name):
    """The jit function `name` of a file, or its only one."""
    from ..runtime.jit_function import JITFunction

    path = Path(path)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not name:
        kernels = [value for value in vars(module).values() if isinstance(value, JITFunction)]
        if len(kernels) != 1:
            raise SystemExit(f"{path} has {len(kernels)} jit functions: name one with -n")
        return kernels[0]
    kernel = getattr(module, name, None)
    while kernel is not None and not isinstance(kernel, JITFunction):
        kernel = getattr(kernel, "fn", None)
    if kernel is None:
        raise SystemExit(f"{path} has no jit function `{name}`")
    return kernel


class _Signature:
    """A signature as text, split by parameter: types, promises and constants."""

    def __init__(self, kernel, text):
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != len(kernel.params):
            raise SystemExit(
                f"the signature has {len(parts)} types, "
                f"`{kernel.__name__}` {len(kernel.params)} parameters"
            )
        self.types, self.constants, self.attrs, self.suffix = {}, {}, {}, ""
        for i, (name, part) in enumerate(zip(kernel.arg_names, parts)):
            kind, _, promise = part.partition(":")
            value = _literal(kind)
            mark = ""
            if value is not None or promise == "1":
                self.constants[i,] = 1 if promise == "1" else value
                kind, mark = "constexpr", "c" if promise == "1" else ""
            elif promise == "16":
                self.attrs[i,] = [["tt.divisibility", 16]]
                mark = "d"
            elif promise:
                raise SystemExit(f"`{part}`: a promise is :16 or :1")
            elif not kind.startswith("*") and kind not in _C_TYPES:
                raise SystemExit(f"`{kind}` is no type that C has")
            self.types[name] = kind
            # Constants of the code are no parameters in C; those equal to 1 are.
            if kind != "constexpr" or mark == "c":
                self.suffix += f"{i}{mark}"

    def parameters(self):
        """(C type, name, whether the kernel takes it) of each parameter in C."""
        for i, (name, kind) in enumerate(self.types.items()):
            if kind == "constexpr":
                if self.constants[i,] == 1 and f"{i}c" in self.suffix:
                    yield "int32_t", name, False
                continue
            yield ("CUdeviceptr" if kind.startswith("*") else _C_TYPES[kind]), name, True


def _literal(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None


def _target(text):
    from ..backends.target import GPUTarget
    from ..runtime.driver import driver

    if not text:
        return driver.active.get_current_target()
    backend, arch, warp_size = text.split(":")
    return GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(warp_size))


def _bytes_in_c(code):
    lines = (code[i : i + 16] for i in range(0, len(code), 16))
    return "\n".join("  " + " ".join(f"0x{byte:02x}," for byte in line) for line in lines)


def compile_kernel(options):
    """Compile as the parsed command line says; return the paths of the header and the C file."""
    from ..compiler.ahead_of_time import compile
    from ..compiler.source import ASTSource

    kernel = _load(options.path, options.kernel_name)
    signature = _Signature(kernel, options.signature)
    grid = [extent.strip() for extent in options.grid.split(",")]
    if len(grid) != 3:
        raise SystemExit(f"the grid has {len(grid)} extents instead of 3")
    target = _target(options.target)
    if target.backend != "cuda":
        raise SystemExit("there is no GPU here: give a target, such as `-t cuda:90:32`")
    source = ASTSource(kernel, signature.types, signature.constants, signature.attrs)
    choices = {"num_warps": options.num_warps, "num_stages": options.num_stages}
    choices["launch_abi"] = "triton"
    compiled = compile(source, target, choices)
    algorithm = f"warps{options.num_warps}xstages{options.num_stages}"
    constants = [
        str(v) for p, v in signature.constants.items() if f"{p[0]}c" not in signature.suffix
    ]
    algorithm = "_".join([*("x".join(constants).split()), algorithm])
    parameters = list(signature.parameters())
    c_signature = ", ".join(f"{kind} {name}" for kind, name, _ in parameters)
    digest = hashlib.sha256(f"{algorithm} {signature.types}".encode()).hexdigest()[:8]
    name = f"{options.out_name or kernel.__name__}_{digest}_{signature.suffix}"
    values = {
        "name": name,
        "symbol": compiled.name,
        "signature": c_signature,
        "parameters": "".join(f", {kind} {name}" for kind, name, _ in parameters),
        "addresses": "".join(f"&{name}, " for _, name, taken in parameters if taken),
        "algorithm": "".join(c if c.isalnum() or c in "_-." else "_" for c in algorithm),
        "described": f"{kernel.__name__}: {options.signature.replace('*/', '* /')}, {target.name}",
        "size": len(compiled.asm["cubin"]),
        "code": _bytes_in_c(compiled.asm["cubin"]),
        "shared": compiled.metadata.shared,
        "threads": 32 * compiled.metadata.num_warps,
        "grid": grid,
    }
    out = options.out_path or Path.cwd() / (options.out_name or kernel.__name__)
    paths = [Path(f"{out}.{digest}_{signature.suffix}.{kind}") for kind in ("h", "c")]
    for path, template in zip(paths, (_HEADER, _SOURCE)):
        path.write_text(template.format(**values))
    return paths


if __name__ == "__main__":
    for written in compile_kernel(_parser().parse_args()):
        print(written)
