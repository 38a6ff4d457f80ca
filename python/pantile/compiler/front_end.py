"""What libraries use of Triton's front end: checks of names, and the IR of a source."""

import keyword

from ..runtime.callables import JITCallable
from ..runtime.errors import CompilationError


def is_jit_callable(value):
    """Return whether `value` is a jit function or a constexpr function."""
    return isinstance(value, JITCallable)


def check_identifier_legality(name, type):
    """Return `name`; CompilationError, which names what it is for, if it is no identifier."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CompilationError(name, None, f"invalid {type} identifier: {name}")
    return name


def mangle_fn(name, arg_tys, caller_context=None):
    """Return a function's name together with the types of its arguments."""
    return f"{name}__{'_'.join(kind.mangle() for kind in arg_tys)}"


def ast_to_ttir(
    fn, src, context=None, options=None, codegen_fns=None, module_map=None, module=None
):
    """Return the tile IR of an ASTSource for the device at hand; see `ASTSource.make_ir`."""
    from ..backends.registry import make_backend
    from ..runtime.device import active_device

    target = active_device().get_current_target()
    options = options or make_backend(target).parse_options({})
    return src.make_ir(target, options, codegen_fns, module_map, context)
