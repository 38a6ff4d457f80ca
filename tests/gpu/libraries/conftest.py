"""What the tests of libraries share: random tensors, and a comparison with float references."""

import os

import pytest
import torch

TOLERANCE = {torch.float32: 5e-3, torch.float16: 1e-2, torch.bfloat16: 2e-2}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


@pytest.fixture
def agrees():
    """Compare with a reference: the root of the mean square error over that of the reference."""

    def check(found, expected, dtype=torch.float32):
        assert found.shape == expected.shape
        if os.environ.get("WITHOUT_GPU") == "compile":
            return
        found, expected = found.detach().double(), expected.detach().double()
        assert torch.isfinite(found).all()
        error = (found - expected).square().mean().sqrt()
        size = expected.square().mean().sqrt()
        # A gradient that is zero in exact arithmetic is one of rounding errors.
        assert error <= TOLERANCE[dtype] * (size if size > 1e-6 else 1.0)

    return check
