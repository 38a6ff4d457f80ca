"""Machine code as text."""


def get_sass(kernel):
    """Return the SASS of a compiled kernel; needs nvdisasm."""
    return kernel.asm["sass"]
