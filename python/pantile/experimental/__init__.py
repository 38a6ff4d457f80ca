"""`triton.experimental` holds Gluon, another language: this says so to whoever imports it."""

raise ImportError(
    "`triton.experimental.gluon` is another language, with layouts written out; Pantile compiles "
    "`triton.language`",
    name=__name__,
)
