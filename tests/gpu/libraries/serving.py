"""Torch references and random inputs for kernels of vLLM and SGLang."""

import torch


def normal(*shape, dtype=torch.float16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def ints(values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def starts(lengths):
    """The running sums of lengths, from 0."""
    return ints([sum(lengths[:i]) for i in range(len(lengths) + 1)])


def attention(q, k, v, scale, causal=True):
    """Attention of one sequence, whose queries are the last ones: q[m, h, d], k and v[n, g, d]."""
    q, k, v = q.float(), k.float(), v.float()
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
    scores = torch.einsum("mhd,nhd->hmn", q, k) * scale
    if causal:
        m, n = q.shape[0], k.shape[0]
        rows = torch.arange(m, device="cuda")[:, None] + n - m
        scores = scores.masked_fill(torch.arange(n, device="cuda") > rows, float("-inf"))
    return torch.einsum("hmn,nhd->mhd", scores.softmax(-1), v)


class PagedCache:
    """Keys and values of sequences in shuffled pages: `keys[page, slot, head, d]`."""

    def __init__(self, lengths, heads, d, page=16, dtype=torch.float16):
        pages = [-(-n // page) for n in lengths]
        order = torch.randperm(sum(pages)).tolist()
        self.lengths, self.page = lengths, page
        self.keys = normal(sum(pages), page, heads, d, dtype=dtype)
        self.values = normal(sum(pages), page, heads, d, dtype=dtype)
        self.table = [[order.pop() for _ in range(n)] + [0] * (max(pages) - n) for n in pages]

    def slots(self, i):
        """Where the tokens of a sequence are, in a cache without pages."""
        return [
            self.table[i][t // self.page] * self.page + t % self.page
            for t in range(self.lengths[i])
        ]

    def sequence(self, i):
        """Return keys and values of a sequence, [n, heads, d]."""
        where = torch.tensor(self.slots(i), device="cuda")
        return self.keys.flatten(0, 1)[where], self.values.flatten(0, 1)[where]


def align(experts, count, block):
    """Order pairs of token and expert by expert, each expert's padded to whole blocks.

    Gives (pairs, with the number of pairs as padding; expert of each block; [padded length]).
    """
    flat = experts.flatten().tolist()
    pairs, blocks = [], []
    for e in range(count):
        own = [i for i, expert in enumerate(flat) if expert == e]
        own += [len(flat)] * (-len(own) % block)
        pairs += own
        blocks += [e] * (len(own) // block)
    return ints(pairs), ints(blocks), ints([len(pairs)])


def groups(x, size):
    """Largest magnitudes of groups in rows."""
    return x.float().view(*x.shape[:-1], -1, size).abs().amax(-1)


def delta_rule(q, k, v, g, beta, scale):
    """The gated delta rule, token by token: [b, t, h, d] and [b, t, h]."""
    q, k, v, g, beta = (x.float() for x in (q, k, v, g, beta))
    state = torch.zeros(*k[:, 0].shape, v.shape[-1], device="cuda")
    out = []
    for t in range(q.shape[1]):
        state = state * g[:, t].exp()[..., None, None]
        seen = torch.einsum("bhk,bhkv->bhv", k[:, t], state)
        change = (v[:, t] - seen) * beta[:, t][..., None]
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, t], change)
        out.append(torch.einsum("bhk,bhkv->bhv", q[:, t] * scale, state))
    return torch.stack(out, 1)


def selective_scan(x, dt, a, b, c, d):
    """Mamba-2 of one sequence: x[t, h, p], dt[t, h], a[h], b and c[t, g, n], d[h]."""
    x, dt, b, c = (value.float() for value in (x, dt, b, c))
    repeat = x.shape[1] // b.shape[1]
    b, c = b.repeat_interleave(repeat, 1), c.repeat_interleave(repeat, 1)
    state = torch.zeros(x.shape[1], x.shape[2], b.shape[2], device="cuda")
    out = []
    for t in range(x.shape[0]):
        update = (dt[t][:, None] * x[t])[..., None] * b[t][:, None, :]
        state = state * (dt[t] * a).exp()[:, None, None] + update
        out.append((state * c[t][:, None, :]).sum(-1) + d[:, None] * x[t])
    return torch.stack(out)
