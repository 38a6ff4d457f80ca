"""`pantilec run`: kernels on arrays from files and on random ones."""

import numpy as np
import pytest
from command_line import pantilec
from device_arrays import DTYPES

KERNELS = """
import pantile as triton
import pantile.language as tl

@triton.jit
def axpy(x_ptr, y_ptr, out_ptr, n, factor, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask).to(tl.float32)
    tl.store(out_ptr + offsets, x * factor + y, mask=mask)

@triton.jit
def ignore(x_ptr, out_ptr):
    tl.store(out_ptr, 1)

@triton.jit
def places(out_ptr):
    at = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0)
    tl.store(out_ptr + at + tl.program_id(0), at + tl.program_id(0) + 1)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(KERNELS)
    return tmp_path


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64", "i8", "u16"])
@pytest.mark.parametrize("where", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_arrays_from_files(folder, dtype, where, request):
    if where == "gpu":
        request.getfixturevalue("gpu")
    n, kind = 1000, DTYPES[dtype]
    rng = np.random.default_rng()
    x, y = (rng.normal(size=n) * 20 for _ in range(2))
    if np.dtype(kind).kind in "iu":
        x, y = np.abs(x) % 20, np.abs(y) % 20
    x, y = x.astype(kind), y.astype(kind)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    given = f"{dtype}@" if dtype == "bf16" else "@"
    text = pantilec(
        *("run", "k.py", "--kernel", "axpy", "--device", where, "--no-time"),
        *("--arg", f"x_ptr={given}x.npy", "--arg", f"y_ptr={given}y.npy"),
        *("--arg", f"out_ptr=zeros:fp32[{n}]", "--arg", f"n={n}", "--arg", "factor=2.5"),
        *("--grid", "cdiv(n, BLOCK)", "--out", "out_ptr=out.npy"),
        cwd=folder,
    )
    out = np.load(folder / "out.npy")
    expected = x.astype(np.float64) * 2.5 + y.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-5)
    assert "grid 16 x 1 x 1" in text
    assert f"out_ptr fp32[{n}]: mean {expected.mean():.3g}"[:20] in text
    assert "x_ptr" not in text, "what did not change is not told"


def test_random_numbers_are_rounded_to_nearest_even(folder):
    """The same seed gives the same numbers in every type; ml_dtypes and NumPy round them too."""
    written = {}
    for dtype in ("fp64", "fp32", "fp16", "bf16", "fp8e5", "fp8e4nv", "fp8e4b8", "fp8e5b16"):
        pantilec(
            *("run", "k.py", "--kernel", "ignore", "--no-time", "--device", "cpu"),
            *("--arg", f"x_ptr=random:{dtype}[4099]", "--arg", "out_ptr=zeros:i32[1]"),
            *("--out", f"x_ptr={dtype}.npy", "--seed", "7"),
            cwd=folder,
        )
        written[dtype] = np.load(folder / f"{dtype}.npy")
    exact = written["fp64"]
    assert abs(exact.mean()) < 0.1 and abs(exact.std() - 1) < 0.1
    for dtype, values in written.items():
        expected = exact.astype(DTYPES[dtype])
        assert (values.view(DTYPES[dtype]) == expected).all(), dtype


def test_grids_and_shapes(folder):
    text = pantilec(
        *("run", "k.py", "--kernel", "places", "--arg", "out_ptr=zeros:i32[4, 3, 5]"),
        *("--grid", "min(7, 10 // 2), (2 + 4) // 2, max(4, 3 % 2)", "--out", "out_ptr=out.npy"),
        *("--device", "cpu", "--time-ms", "1"),
        cwd=folder,
    )
    out = np.load(folder / "out.npy")
    assert out.shape == (4, 3, 5) and (out.ravel() == np.arange(1, 61)).all()
    assert "grid 5 x 3 x 4" in text and "time: " in text


@pytest.mark.parametrize(
    "words, message",
    [
        (["--arg", "out_ptr=zeros:i32[3"], "is neither `@FILE.npy` nor like"),
        (["--arg", "out_ptr=zeros:i33[3]"], "there is no array of `i33`"),
        (["--arg", "out_ptr=twos:i32[3]"], "`twos` is none of random, zeros, ones, arange"),
        (["--arg", "out_ptr=@none.npy"], "cannot read `none.npy`"),
        (["--arg", "out_ptr=@k.py"], "`k.py` is no .npy file"),
        (["--arg", "out_ptr"], "expected `--arg NAME=value`"),
        (["--arg", "out_ptr=zeros:i32[1]", "--grid", "n"], "`n` has no value"),
        (["--arg", "out_ptr=zeros:i32[1]", "--grid", "1 2"], "grid `1 2`:"),
        (["--arg", "out_ptr=zeros:i32[1]", "--grid", "1 // 0"], "division by zero"),
        (["--arg", "out_ptr=zeros:i32[1]", "--grid", "4 / 2"], "extent 0 is no integer"),
        (["--arg", "out_ptr=zeros:i32[1]", "--grid", "1, 2, 3, 4"], "has 4 extents"),
        (["--arg", "out_ptr=zeros:i32[1]", "--out", "x=y"], "with the name of an array"),
        ([], "the signature has no type for parameter `out_ptr`"),
    ],
)
def test_wrong_words_of_a_run(folder, words, message):
    """Wrong words of a run are refused with their reason."""
    text = pantilec(
        *("run", "k.py", "--kernel", "places", "--device", "cpu", "--no-time", *words),
        cwd=folder,
        status=2,
    )
    assert message in text
