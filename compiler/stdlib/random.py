# Random numbers from counters: Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
# SC 2011), bit for bit as other implementations give them.


# One product of twice the width is one instruction on a GPU, its halves apart are two.
def _both_halves(word, factor: tl.constexpr):
    if word.dtype.primitive_bitwidth == 32:
        product = tl.mul(word.to(tl.uint64), factor, sanitize_overflow=False)
        return product.to(tl.uint32), (product >> 32).to(tl.uint32)
    return tl.mul(word, factor, sanitize_overflow=False), tl.umulhi(word, factor)


# One round multiplies two of the four words by constants and mixes the halves with the key.
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = 10):
    wide: tl.constexpr = c0.dtype.primitive_bitwidth == 64
    factor_a: tl.constexpr = 0xD2E7470EE14C6C93 if wide else 0xD2511F53
    factor_b: tl.constexpr = 0xCA5A826395121157 if wide else 0xCD9E8D57
    step_a: tl.constexpr = 0x9E3779B97F4A7C15 if wide else 0x9E3779B9
    step_b: tl.constexpr = 0xBB67AE8584CAA73B if wide else 0xBB67AE85
    for _ in tl.static_range(n_rounds):
        low_a, high_a = _both_halves(c0, factor_a)
        low_b, high_b = _both_halves(c2, factor_b)
        c0, c1, c2, c3 = high_b ^ c1 ^ k0, low_b, high_a ^ c3 ^ k1, low_a
        k0 = tl.add(k0, step_a, sanitize_overflow=False)
        k1 = tl.add(k1, step_b, sanitize_overflow=False)
    return c0, c1, c2, c3


# The first counter decides between words of 32 and of 64 bits.
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = 10):
    key = tl.to_tensor(seed).to(tl.uint64)
    first = tl.to_tensor(c0)
    bits: tl.constexpr = first.dtype.primitive_bitwidth
    tl.static_assert(bits == 32 or bits == 64, "`philox` takes counters of 32 or 64 bits")
    word: tl.constexpr = tl.uint32 if bits == 32 else tl.uint64
    low = key.to(word)
    high = (key >> 32).to(word) if bits == 32 else tl.full([], 0, word)
    second = tl.to_tensor(c1).to(word)
    third = tl.to_tensor(c2).to(word)
    fourth = tl.to_tensor(c3).to(word)
    return philox_impl(first.to(word), second, third, fourth, low, high, n_rounds)


def randint4x(seed, offset, n_rounds: tl.constexpr = 10):
    counter = tl.to_tensor(offset)
    low = counter.to(tl.uint32)
    zero = low * 0
    if counter.dtype.primitive_bitwidth > 32:
        return philox(seed, low, (counter >> 32).to(tl.uint32), zero, zero, n_rounds)
    return philox(seed, low, zero, zero, zero, n_rounds)


def randint(seed, offset, n_rounds: tl.constexpr = 10):
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


# The scales lie a little below 2**-31 and 2**-63, so that the result stays below 1.
def uint_to_uniform_float(x):
    narrow: tl.constexpr = x.dtype.primitive_bitwidth == 32
    signed = x.to(tl.int32 if narrow else tl.int64, bitcast=True)
    scale: tl.constexpr = 4.6566127342e-10 if narrow else 1.0842020432385337e-19
    return tl.where(signed < 0, -signed - 1, signed) * scale


def rand(seed, offset, n_rounds: tl.constexpr = 10):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed, offsets, n_rounds: tl.constexpr = 10):
    i1, i2, i3, i4 = randint4x(seed, offsets, n_rounds)
    return (
        uint_to_uniform_float(i1),
        uint_to_uniform_float(i2),
        uint_to_uniform_float(i3),
        uint_to_uniform_float(i4),
    )


# Box and Muller's method.
def pair_uniform_to_normal(u1, u2):
    radius = tl.sqrt(-2.0 * tl.log(tl.maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * tl.cos(angle), radius * tl.sin(angle)


def randn(seed, offset, n_rounds: tl.constexpr = 10):
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))
    return first


def randn4x(seed, offset, n_rounds: tl.constexpr = 10):
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
