"""Block-scaled formats in torch tensors: e2m1 elements (MXFP4) and e8m0 scales. Needs torch."""

import math

# The eight codes without sign: exponent bias 1, one bit of mantissa, no infinity, no NaN.
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS = 127


class MXFP4Tensor:
    """Elements of e2m1, one code (0 to 15, the sign on top) in each uint8 of `data`.

    Made from values (rounded to the nearest, ties to an even code), or of a `size` to be filled by
    `random`.
    """

    def __init__(self, data=None, size=None, device=None):
        if data is None and size is None:
            raise ValueError("either data or a size is needed")
        self.device = device if device is not None or data is None else data.device
        self.size = tuple(data.shape) if data is not None else _shape(size)
        self.data = None if data is None else self._from_float(data)

    def random(self):
        """Fill with random codes; return the tensor."""
        import torch

        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """Return the values as a tensor of float32."""
        import torch

        if dtype != torch.float32:
            raise ValueError(f"values are given as float32, not as {dtype}")
        magnitudes = torch.tensor(_E2M1, dtype=torch.float32, device=self.data.device)
        values = magnitudes[(self.data & 7).long()]
        return torch.where((self.data & 8) != 0, -values, values)

    def _from_float(self, values):
        import torch

        table = torch.tensor(_E2M1, dtype=torch.float32, device=values.device)
        distance = (values.abs().float().unsqueeze(-1) - table).abs()
        # Among equals the even code: an odd one is moved away, by less than any difference.
        odd = torch.arange(8, device=values.device) % 2
        code = (distance + odd * 1e-6).argmin(dim=-1)
        negative = torch.signbit(values)
        return (code + negative * 8).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Return uint8 with two codes each along `dim`, the first in the low half."""
        import torch

        codes = self.data.movedim(dim, -1)
        if codes.shape[-1] % 2:
            codes = torch.nn.functional.pad(codes, (0, 1))
        pairs = codes.reshape(*codes.shape[:-1], -1, 2)
        return (pairs[..., 0] | pairs[..., 1] << 4).movedim(-1, dim)

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """Return the codes of what `to_packed_tensor` gave for a tensor of `original_shape`."""
        import torch

        packed = packed_tensor.movedim(dim, -1)
        codes = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2)
        return codes[..., : original_shape[dim]].movedim(-1, dim)


class MXScaleTensor:
    """Scales of e8m0: powers of two, biased by 127, one in each uint8 of `data`; 255 is NaN."""

    def __init__(self, data=None, size=None, device=None):
        if data is None and size is None:
            raise ValueError("either data or a size is needed")
        self.device = device if device is not None or data is None else data.device
        self.size = tuple(data.shape) if data is not None else _shape(size)
        self.data = None if data is None else self._from_float(data)

    def random(self, low=None, high=None):
        """Fill with random powers of two from `low` to `high`; return the tensor."""
        import torch

        first = 0 if low is None else max(0, int(math.log2(low)) + _BIAS)
        last = 254 if high is None else min(254, max(0, int(math.log2(high)) + _BIAS))
        if first > last:
            raise ValueError(f"there is no power of two from {low} to {high}")
        self.data = torch.randint(first, last + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """Return the scales as a tensor of float32."""
        import torch

        if dtype != torch.float32:
            raise ValueError(f"scales are given as float32, not as {dtype}")
        scales = torch.exp2(self.data.to(torch.float64) - _BIAS).float()
        return scales.masked_fill(self.data == 255, float("nan"))

    def _from_float(self, values):
        import torch

        exponent = torch.floor(torch.log2(values.double())) + _BIAS
        code = exponent.clamp(0, 254)
        return torch.where(torch.isfinite(values) & (values > 0), code, 255.0).to(torch.uint8)


def _shape(size):
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)
