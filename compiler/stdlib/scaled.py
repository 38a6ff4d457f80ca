# Products of operands in formats of 4, 8 and 16 bits whose groups along K share a scale.


def _e2m1_parts(codes, to):
    # The numbers in the lower and in the upper four bits of each byte, divided by _e2m1_unit(to):
    # their exponents and fractions stand in the places of `to`, whose bias is larger. Two products
    # bring a byte into both halves of a word.
    word = codes.to(tl.uint32)
    if to == tl.bfloat16:
        magnitudes = (word * 0x00040040) & 0x01C001C0
    else:
        magnitudes = (word * 0x00200200) & 0x0E000E00
    bits = magnitudes | (word * 0x01001000) & 0x80008000
    low = bits.to(tl.uint16).to(to, bitcast=True)
    high = (bits >> 16).to(tl.uint16).to(to, bitcast=True)
    return low, high


def _e2m1_unit(to):
    # What the biases of e2m1, 1, and of bf16, 127, or of fp16, 15, differ by.
    return 2.0**126 if to == tl.bfloat16 else 2.0**14


def _between(even, odd, axis):
    # The elements of both in turn along `axis`.
    rank: tl.constexpr = len(even.shape)
    pairs = tl.join(even, odd)
    if axis == rank - 1:
        return tl.reshape(pairs, even.shape[:-1] + (2 * even.shape[-1],))
    if rank == 2:
        return tl.reshape(tl.permute(pairs, (0, 2, 1)), (2 * even.shape[0], even.shape[1]))
    turned = tl.permute(pairs, (0, 1, 3, 2))
    return tl.reshape(turned, (even.shape[0], 2 * even.shape[1], even.shape[2]))


def _scaled_values(x, format, axis, compute):
    # The numbers that `x` holds, unscaled; pairs of e2m1 lie along `axis`, and become `compute`.
    if format == "e2m1":
        tl.static_assert(x.dtype.primitive_bitwidth == 8, "e2m1 comes in pairs, as uint8")
        even, odd = _e2m1_parts(x.to(tl.uint8, bitcast=True), compute)
        return _between(even, odd, axis) * _e2m1_unit(compute)
    if format == "e4m3":
        return x.to(tl.float8e4nv, bitcast=True)
    if format == "e5m2":
        return x.to(tl.float8e5, bitcast=True)
    if format == "bf16":
        return x.to(tl.bfloat16, bitcast=True)
    tl.static_assert(format == "fp16", "the formats are e2m1, e4m3, e5m2, bf16 and fp16")
    return x.to(tl.float16, bitcast=True)


def _scale_values(scale, to):
    # e8m0 holds an exponent alone: 2 ** (e - 127), and 255 is NaN.
    if scale.dtype == tl.float8e4nv:
        return scale.to(to)
    if to == tl.bfloat16:
        exponent = scale.to(tl.uint8, bitcast=True).to(tl.uint16)
        bits = tl.maximum(exponent << 7, 0x0040).to(tl.uint16)
        return tl.where(exponent == 255, 0x7FC0, bits).to(tl.bfloat16, bitcast=True)
    exponent = scale.to(tl.uint8, bitcast=True).to(tl.uint32)
    bits = tl.where(exponent == 0, 0x00400000, exponent << 23)
    return tl.where(exponent == 255, 0x7FC00000, bits).to(tl.float32, bitcast=True)


def _scale_rows(x, scale, name, compute):
    # `x` times `scale`, one for each 32 (e8m0) or 16 (e4m3) neighbours of a row. bf16 holds each
    # scale, so that such a product is rounded once; halves do not.
    group: tl.constexpr = 16 if scale.dtype == tl.float8e4nv else 32
    groups: tl.constexpr = x.shape[-1] // group
    tl.static_assert(
        scale.shape == x.shape[:-1] + (groups,),
        "the scales have one row for each row and column of the product, one of them a group",
    )
    to: tl.constexpr = tl.bfloat16 if compute == tl.bfloat16 else tl.float32
    wide = tl.broadcast_to(tl.expand_dims(_scale_values(scale, to), -1), scale.shape + (group,))
    return x.to(to) * tl.reshape(wide, x.shape)


def _scaled_lhs(x, scale, format, k_pack, compute):
    rank: tl.constexpr = len(x.shape)
    values = _scaled_values(x, format, rank - 1 if k_pack else rank - 2, compute)
    if scale is None:
        return values.to(compute)
    return _scale_rows(values, scale, "lhs_scale", compute).to(compute)


def _scaled_rhs(x, scale, format, k_pack, compute):
    rank: tl.constexpr = len(x.shape)
    values = _scaled_values(x, format, rank - 2 if k_pack else rank - 1, compute)
    if scale is None:
        return values.to(compute)
    return tl.trans(_scale_rows(tl.trans(values), scale, "rhs_scale", compute)).to(compute)


def dot_scaled(
    lhs,
    lhs_scale,
    lhs_format,
    rhs,
    rhs_scale,
    rhs_format,
    acc=None,
    fast_math=False,
    lhs_k_pack=True,
    rhs_k_pack=True,
    out_dtype=tl.float32,
):
    tl.static_assert(out_dtype == tl.float32, "`dot_scaled` gives fp32")
    tl.static_assert(
        (lhs_k_pack or lhs_format == "e2m1") and (rhs_k_pack or rhs_format == "e2m1"),
        "only e2m1 can be packed along another dimension than K",
    )
    compute: tl.constexpr = (
        tl.float16 if lhs_format == "fp16" or rhs_format == "fp16" else tl.bfloat16
    )
    a = _scaled_lhs(lhs, lhs_scale, lhs_format, lhs_k_pack, compute)
    b = _scaled_rhs(rhs, rhs_scale, rhs_format, rhs_k_pack, compute)
    return tl.dot(a, b, acc, out_dtype=tl.float32)
