"""GEMMs by cuBLAS, which benchmarks take from Triton's extension module; through torch."""


class CublasLt:
    """cuBLAS with a workspace; torch has one of its own."""

    def __init__(self, workspace):
        self.workspace = workspace

    @staticmethod
    def _product(a, b, dtype):
        import torch

        if a.element_size() > 1:
            return torch.matmul(a, b.T).to(dtype)
        one = torch.ones((), dtype=torch.float32, device=a.device)
        return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=dtype)

    def matmul(self, a, b, c):
        """Write `a @ b.T` into `c`."""
        c.copy_(self._product(a, b, c.dtype))

    def gemm(self, a, b, c, d, alpha, beta):
        """Write `alpha * a @ b.T + beta * c` into `d`."""
        d.copy_(alpha * self._product(a, b, d.dtype) + beta * c)
