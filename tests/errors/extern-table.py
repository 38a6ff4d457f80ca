# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    y = tl.extern_elementwise("", "", [x], {(tl.float32,): "__nv_sinf"}, is_pure=True)
    z = tl.extern_elementwise("", "", [x], {(tl.float64,): ("__nv_sin", tl.float64)}, is_pure=True)
    tl.store(p, {"a": x})

# ERROR: extern-table.py:9:44: error: `arg_type_symbol_dict` is a dictionary from tuples of operand types to (symbol, result type)
# ERROR: extern-table.py:10:9: error: `extern_elementwise` takes `fp64`, got `fp32`
# ERROR: extern-table.py:11:17: error: a dictionary is not supported in a kernel
# ERROR-NOT: error:
