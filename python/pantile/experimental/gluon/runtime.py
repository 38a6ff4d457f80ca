"""`@gluon.jit`: functions that may be defined and handed around, not launched."""

from ...compiler.source import ASTSource
from ...runtime.callables import constexpr_function
from ...runtime.errors import UnsupportedLanguageConstruct
from ...runtime.jit_function import JITFunction

__all__ = ["GluonASTSource", "GluonJITFunction", "constexpr_function", "jit"]


def refuse(name):
    """Raise the error that a use of Gluon ends in."""
    raise UnsupportedLanguageConstruct(
        f"`{name}` is Gluon, a language with layouts and shared memory written out, which Pantile "
        "does not compile: write the kernel with `triton.jit` and `triton.language`"
    )


class GluonASTSource(ASTSource):
    """A Gluon function with the types of its parameters; there is no compiler for it."""

    def __init__(self, fn, *_, **__):
        refuse(fn.__name__)


class GluonJITFunction(JITFunction):
    """A function of Gluon. Whatever would compile it raises UnsupportedLanguageConstruct."""

    def is_gluon(self):
        """Return True: of other jit functions, False."""
        return True

    def __getitem__(self, grid):
        refuse(self.__name__)

    def run(self, *args, grid=None, warmup=False, **kwargs):
        refuse(self.__name__)

    def warmup(self, *args, grid=None, **kwargs):
        refuse(self.__name__)

    def preload(self, specialization_data):
        refuse(self.__name__)

    def create_binder(self):
        refuse(self.__name__)


def jit(fn=None, **options):
    """Make a function of Gluon of a Python function; `options` are those of `triton.jit`.

    Raises nothing itself: launching or compiling the result raises UnsupportedLanguageConstruct.
    """
    if fn is None:
        return lambda function: GluonJITFunction(function, **options)
    return GluonJITFunction(fn, **options)
