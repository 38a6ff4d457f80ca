"""Arguments that the tensor maps of a compiled GEMM cannot describe, and specialisations that have none: all give the right numbers."""

import numpy as np
import pantile as triton
import pytest
from conftest import check_gemm, random
from test_matmul_shapes import matmul

BLOCK = (64, 64, 32)
M, N, K, PITCH = 144, 112, 80, 160


def launch(a, strides_a, b, strides_b, out, shape, *strides_c, wraps=False):
    rows, columns, depth = shape
    grid = (triton.cdiv(columns, BLOCK[1]), triton.cdiv(rows, BLOCK[0]))
    numbers = (*shape, *strides_a, *strides_b, *strides_c)
    return matmul[grid](a, b, out, *numbers, *BLOCK, WRAPS=wraps, PLANE=True)


class Operands:
    """Matrices with room around them, and what of them is multiplied: as arrays, and as first elements and strides."""

    def __init__(self, device):
        self.left, self.right = random((M, PITCH), "fp16", 41), random((K, PITCH), "fp16", 42)
        self.device_left, self.device_right = device.to(self.left), device.to(self.right)
        self.a, self.b = self.left[:, :K], self.right[:, :N]
        self.first_a, self.strides_a = self.device_left, (PITCH, 1)
        self.first_b, self.strides_b = self.device_right, (PITCH, 1)

    def rows_from_the_end(self):
        self.a = self.a[::-1]
        self.first_a, self.strides_a = self.device_left[M - 1 :], (-PITCH, 1)

    def depth_from_the_end(self):
        self.b = self.b[::-1]
        self.first_b, self.strides_b = self.device_right[K - 1 :], (-PITCH, 1)

    def one_row_for_all(self):
        self.a = np.broadcast_to(self.a[:1], self.a.shape)
        self.strides_a = (0, 1)

    def rows_far_apart(self):
        """More than a tensor map's strides can be; there is one row."""
        self.a, self.strides_a = self.a[:1], (1 << 40, 1)

    def columns_from_the_end(self):
        self.b = self.right[:, N - 1 :: -1]
        self.first_b, self.strides_b = self.device_right[:, N - 1 :], (PITCH, -1)

    def starts_off_16_bytes(self):
        self.a, self.first_a = self.left[:, 3 : 3 + K], self.device_left[:, 3:]

    def odd_pitch(self):
        whole = self.left.reshape(-1)[: (M - 1) * (PITCH - 1)].reshape(-1, PITCH - 1)
        self.a, self.strides_a = whole[:, :K], (PITCH - 1, 1)

    def every_second_column(self):
        self.b, self.strides_b = self.right[:, : 2 * 72 : 2], (PITCH, 2)

    def every_second_row(self):
        """Raised like any other."""
        self.a, self.strides_a = self.left[::2, :K], (2 * PITCH, 1)

    def columns_apart(self):
        """Both operands turned, each at a distance."""
        self.a, self.strides_a = self.left[:K, :N].T, (1, PITCH)
        self.b, self.strides_b = self.right[:K, :K].T, (1, PITCH)


def multiply(device, operands, **options):
    rows, columns = operands.a.shape[0], operands.b.shape[1]
    out = device.output((rows, columns), "fp16")
    kernel = launch(
        operands.first_a,
        operands.strides_a,
        operands.first_b,
        operands.strides_b,
        out.array,
        (rows, columns, operands.a.shape[1]),
        *(columns, 1),
        **options,
    )
    check_gemm(out.numpy(), operands.a, operands.b)
    return kernel


def is_raised(kernel):
    return any("load is converted to TMA" in remark.message for remark in kernel.remarks)


UNLIKE_THE_MAPS = ["rows_from_the_end", "depth_from_the_end", "one_row_for_all"]
# The second and the last are found not to fit either.
RAISED = ("every_second_row", "rows_far_apart", "columns_apart", "odd_pitch")


@pytest.mark.parametrize("wraps", [False, True])
@pytest.mark.parametrize("change", UNLIKE_THE_MAPS)
def test_the_same_kernel(device, change, wraps):
    """Compiled for tensor maps, which the host finds not to fit: the other variant runs, and the next launch is as before."""
    usual, changed = Operands(device), Operands(device)
    getattr(changed, change)()
    kernel = multiply(device, usual, wraps=wraps)
    assert multiply(device, changed, wraps=wraps) is kernel or device.arch is None
    assert multiply(device, usual, wraps=wraps) is kernel or device.arch is None
    if device.arch == 90:
        assert is_raised(kernel)


@pytest.mark.parametrize("change", [
    "rows_far_apart", "columns_from_the_end", "starts_off_16_bytes", "odd_pitch", "every_second_column",
    "every_second_row", "columns_apart",
])  # fmt: skip
def test_another_specialisation(device, change):
    operands = Operands(device)
    getattr(operands, change)()
    kernel = multiply(device, operands)
    if device.arch == 90:
        assert is_raised(kernel) == (change in RAISED)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1, 112, 16), (144, 1, 16), (65, 63, 31), (64, 64, 0)], ids=str
)
def test_thin_shapes(device, shape):
    """Rows of one element, and no depth at all: sums of nothing are zero."""
    rows, columns, depth = shape
    a, b = random((rows, max(depth, 1)), "fp16", 43), random((max(depth, 1), columns), "fp16", 44)
    out = device.output((rows, columns), "fp16")
    for wraps in (False, True):
        launch(
            device.to(a),
            (max(depth, 1), 1),
            device.to(b),
            (columns, 1),
            out.array,
            shape,
            columns,
            1,
            wraps=wraps,
        )
        check_gemm(out.numpy(), a[:, :depth], b[:depth])
