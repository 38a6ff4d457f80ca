"""Triton's import path of its type rules, which are the compiler's here."""


class TritonSemantic:
    """There is one meaning of the language, in the compiler: nothing to derive from."""

    def __init__(self, *_, **__):
        raise RuntimeError(
            "the language's rules are compiled in: a front end of one's own is not supported"
        )
