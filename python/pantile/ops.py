"""`triton.ops` ended with Triton 2: an import fails and says so."""

raise ImportError(
    "`triton.ops` does not exist since Triton 3: its kernels (matmul, flash attention, "
    "cross entropy, block-sparse) live in the package triton-kernels and in the tutorials",
    name=__name__,
)
