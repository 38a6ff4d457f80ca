"""Attention: ours, the same source on Triton, and the one over descriptors (Triton's tutorial 06).

Every contestant is tuned over the same configurations at each length, as the tuner does; each
configuration's result is compared with float64 first; then the contestants run interleaved. The
table has medians in TFLOP/s; a causal dot counts half.

Of gradients there are two kernels: one program for keys and queries (`pointers`), and programs of keys
that add to the gradient of queries (`sums`, with clearing and rounding it). cuDNN runs next to them, through torch: its gradients by autograd, which keeps what the forward pass
saved. It is left out with `--only`.

Usage: attention.py [--heads 64 128] [--lengths 1024 4096 16384] [--causal 0 1] [--backward]
                    [--only pantile] [--variants] [--rounds 5] [--any-extent]
`--variants` also runs ours with the variants of `VARIANTS` all of whose passes are among `--passes`:
without passes that make it fast, and with those that are off by default. Lines `cfg` have each
configuration's TFLOP/s.
"""

import argparse
import sys

import attention_kernels
import torch
from attention_kernels import ANY_EXTENT, BACKWARD, FORWARD, SUMS
from finals import final, in_turn
from matmul import Timer

VARIANTS = {  # the options of a launch, each with the names of passes
    "": {},
    " cp.async": {"disabled_passes": "nv-specialise-warps"},
    " no overlap": {"disabled_passes": "nv-overlap-dots"},
    " waits at once": {"disabled_passes": "nv-defer-waits"},
    " barriers within": {"disabled_passes": "barriers-before-loops"},
    " stored again": {"disabled_passes": "nv-share-operands"},
    " producer": {"disabled_passes": "occupancy-first"},
    " uncarried": {"disabled_passes": "carried-accumulators"},
    " apart": {"disabled_passes": "nv-overlap-iterations"},
    " together": {"disabled_passes": "nv-ping-pong"},
}
PASSES = set()
ANY = " any extent"  # a variant whose configurations are others


def batch(length):
    """Heads times batch, so that every length keeps the GPU busy for about as long."""
    return max(32, min(128, 2**19 // length))


class Problem:
    """Inputs of one shape and the float64 results, those of a few heads."""

    def __init__(self, head, length, causal):
        self.head, self.length, self.causal = head, length, causal
        self.shape = (batch(length), length, head)
        self.scale = head**-0.5
        self.q, self.k, self.v, self.do = (
            torch.randn(self.shape, dtype=torch.float16, device="cuda") for _ in range(4)
        )
        self.flops = 4.0 * self.shape[0] * length * length * head * (0.5 if causal else 1)
        self.checked = sorted({0, self.shape[0] // 2, self.shape[0] - 1})
        self.references = {head: self.reference(head) for head in self.checked}

    def reference(self, index):
        """O, log2 of the sums, and the gradients of one head in float64."""
        q, k, v, do = (x[index].double() for x in (self.q, self.k, self.v, self.do))
        s = q @ k.T * self.scale
        if self.causal:
            s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu_(1), float("-inf"))
        lse = torch.logsumexp(s, 1, keepdim=True)
        p = s.sub_(lse).exp_()
        o = p @ v
        ds = p * (do @ v.T - (o * do).sum(1, keepdim=True)) * self.scale
        return {
            "O": o,
            "dQ": ds @ k,
            "dK": ds.T @ q,
            "dV": p.T @ do,
            "LSE": lse[:, 0] / 0.6931471805599453,
        }

    def check(self, name, result):
        """Raise if an element of the checked heads is off by more than fp16 probabilities explain."""
        for index, reference in self.references.items():
            want = reference[name]
            limit = 4e-3 * want.abs() + 4e-3 * max(1.0, want.abs().max().item() / 4)
            worst = ((result[index].double() - want).abs() / limit).nan_to_num(nan=1e9).max().item()
            if worst > 1:
                raise AssertionError(
                    f"{name} of head {index} is off by {worst:.2f} times the bound"
                )


def forward(package, kind, problem, config, passes):
    """A function without arguments that computes O; checked."""
    module = MODULES[package]
    m, n, stages, warps = config
    heads, length, head = problem.shape
    o = torch.full_like(problem.q, float("nan"))
    lse = torch.full((heads, length), float("nan"), device="cuda")
    sizes = {"HEAD": head, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": problem.causal}
    options = {"num_stages": stages, "num_warps": warps, **passes}
    grid = (length // m, heads)
    if kind == "descriptors":
        make = DESCRIPTORS[package]
        rows = heads * length
        views = [
            make(x, [rows, head], [head, 1], [block, head])
            for x, block in ((problem.q, m), (problem.k, n), (problem.v, n), (o, m))
        ]

        def launch():
            module.descriptor_kernel[grid](*views, lse, problem.scale, length, **sizes, **options)

    else:
        q, k, v = problem.q, problem.k, problem.v

        def launch():
            module.pointer_kernel[grid](
                q, k, v, o, lse, problem.scale, length * head, head, length, **sizes, **options
            )

    launch()
    problem.check("O", o)
    problem.check("LSE", lse)
    return launch


def save_forward(module, problem):
    """Keeps what the forward pass leaves for the backward pass: O, log2 of the sums, scaled keys."""
    heads, length, head = problem.shape
    o, lse = torch.empty_like(problem.q), torch.empty((heads, length), device="cuda")
    module.pointer_kernel[(length // 64, heads)](
        problem.q, problem.k, problem.v, o, lse, problem.scale, length * head, head, length,
        HEAD=head, BLOCK_M=64, BLOCK_N=64, CAUSAL=problem.causal,
    )  # fmt: skip
    problem.saved = (o, lse, (problem.k.float() * (problem.scale * 1.4426950408889634)).half())


def gradients_of(package, problem, config, grads, options):
    """A launch of one program for keys and queries, which computes seven dots per tile."""
    module, (m, n), (heads, length, head) = MODULES[package], config[:2], problem.shape
    o, lse, k = problem.saved
    delta = torch.empty_like(lse)
    sizes = {"BLOCK_M1": m, "BLOCK_N1": n, "BLOCK_M2": n, "BLOCK_N2": m, "SLICES": 2}

    def launch():
        module.delta_kernel[(heads * length // 128,)](o, problem.do, delta, BLOCK=128, HEAD=head)
        module.backward_kernel[(length // n, heads)](
            problem.q, k, problem.v, problem.scale, problem.do, *grads, lse, delta, length * head,
            head, length, **sizes, HEAD=head, CAUSAL=problem.causal, **options,
        )  # fmt: skip

    return launch


def summed_gradients_of(package, problem, config, grads, options):
    """A launch of programs of keys that add to the gradient of queries, which is cleared before and
    rounded after it: five dots per tile."""
    module, (m, n), (heads, length, head) = MODULES[package], config[:2], problem.shape
    o, lse, _ = problem.saved
    delta, sums = torch.empty_like(lse), torch.empty(problem.shape, device="cuda")
    dq, dk, dv = grads

    def launch():
        module.delta_kernel[(heads * length // 128,)](o, problem.do, delta, BLOCK=128, HEAD=head)
        sums.zero_()
        module.summed_gradients_kernel[(length // n, heads)](
            problem.q, problem.k, problem.v, problem.do, lse, delta, sums, dk, dv, length,
            problem.scale, CAUSAL=bool(problem.causal), DEPTH=head, M=m, N=n, **options,
        )  # fmt: skip
        torch.mul(sums, problem.scale, out=dq)

    return launch


def backward(package, kind, problem, config, passes):
    """A function without arguments that computes dQ, dK and dV; checked."""
    if not hasattr(problem, "saved"):
        save_forward(MODULES["pantile"] if "pantile" in MODULES else MODULES[package], problem)
    grads = [torch.full_like(problem.q, float("nan")) for _ in range(3)]
    make = summed_gradients_of if kind == "sums" else gradients_of
    options = {"num_stages": config[2], "num_warps": config[3], **passes}
    launch = make(package, problem, config, grads, options)
    launch()
    for name, grad in zip(("dQ", "dK", "dV"), grads, strict=True):
        problem.check(name, grad)
    return launch


def cudnn(arguments, problem):
    """A function without arguments that computes the same by cuDNN; checked."""
    from torch.nn.attention import SDPBackend, sdpa_kernel  # the replay has a stand-in for torch

    inputs = [x.unsqueeze(0) for x in (problem.q, problem.k, problem.v)]
    if arguments.backward:
        inputs = [x.detach().requires_grad_() for x in inputs]

    def attend():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                *inputs, is_causal=bool(problem.causal), scale=problem.scale
            )

    if not arguments.backward:
        problem.check("O", attend()[0])
        return attend
    out, do = attend(), problem.do.unsqueeze(0)

    def launch():
        return torch.autograd.grad(out, inputs, do, retain_graph=True)

    for name, grad in zip(("dQ", "dK", "dV"), launch(), strict=True):
        problem.check(name, grad[0])
    return launch


def passes_of(variant):
    """The passes that a variant names."""
    return {name for names in VARIANTS[variant].values() for name in names.split(",")}


def contestants(arguments):
    """(package, kind, name of the variant) of what is measured."""
    kinds = ["pointers", "sums"] if arguments.backward else ["pointers", "descriptors"]
    result = []
    for package in MODULES:
        for kind in kinds:
            names = VARIANTS if arguments.variants and package == "pantile" else [""]
            if arguments.any_extent and package == "pantile" and kind == "pointers":
                names = [*names, ANY]
            result += [
                (package, kind, name)
                for name in names
                if name == ANY
                or ((kind == "pointers" or name == "") and PASSES.issuperset(passes_of(name)))
            ]
    return result


def configs_of(arguments, kind, variant):
    """Configurations of a contestant, by the depth of a head."""
    if variant == ANY:
        return ANY_EXTENT
    return SUMS if kind == "sums" else BACKWARD if arguments.backward else FORWARD


def tune(arguments, problem, timer):
    """(package, kind, variant, best configuration) of each contestant, by its label."""
    head, causal = problem.head, problem.causal
    make = backward if arguments.backward else forward
    best = {}
    for package, kind, variant in contestants(arguments):
        times, launches = {}, {}
        for config in configs_of(arguments, kind, variant)[head]:
            if problem.length % config[0] or problem.length % config[1]:
                continue
            if causal and not arguments.backward and config[1] > config[0]:
                continue  # more keys than queries: the masked part would read past the last row
            try:
                launches[config] = make(package, kind, problem, config, VARIANTS.get(variant, {}))
                times[config] = timer.median(launches[config])
            except Exception as error:
                print(f"  failed: {package} {kind}{variant} {config}: {str(error)[:150]}")
        label = f"{package} {kind}{variant}"
        factor = problem.flops * (2.5 if arguments.backward else 1) * 1e-9
        cells = [f"{'x'.join(map(str, c))} {factor / t:.0f}" for c, t in times.items()]
        where = f"d={head} causal={causal} N={problem.length}"
        print(f"cfg {where} {label}: " + ", ".join(cells), flush=True)
        if times:
            fastest = final(times, lambda config, _, by=launches: by[config], timer)[0]
            best[label] = (package, kind, variant, fastest)
    return best


def measure(arguments, problem, best, timer):
    """Medians in TFLOP/s by contestant."""
    make = backward if arguments.backward else forward
    launches = {
        label: make(package, kind, problem, config, VARIANTS.get(variant, {}))
        for label, (package, kind, variant, config) in best.items()
    }
    if not arguments.only:
        try:
            launches["cuDNN"] = cudnn(arguments, problem)
        except (RuntimeError, AssertionError) as error:
            print(f"  failed: cuDNN: {str(error)[:150]}")
    factor = problem.flops * (2.5 if arguments.backward else 1) * 1e-9
    times = in_turn(launches, timer, arguments.rounds, pause=0.03)
    return {label: factor / times[label] for label in times}


def main():
    """Tune, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--causal", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--any-extent", action="store_true", help="tiles that are no powers of two")
    parser.add_argument("--only")
    parser.add_argument("--passes", nargs="*", default=["nv-specialise-warps"])
    arguments = parser.parse_args()
    PASSES.update(arguments.passes)
    for name in ("triton", "pantile"):
        if arguments.only in (None, name):
            MODULES[name] = attention_kernels.load(name)
            tools = __import__(f"{name}.tools.tensor_descriptor", fromlist=["TensorDescriptor"])
            DESCRIPTORS[name] = tools.TensorDescriptor
    torch.manual_seed(0)
    timer = Timer(25.0)
    rows = []
    for head in arguments.heads:
        for causal in arguments.causal:
            for length in arguments.lengths:
                problem = Problem(head, length, causal)
                best = tune(arguments, problem, timer)
                rows.append((head, causal, length, measure(arguments, problem, best, timer)))
                print(rows[-1], flush=True)
    what = "backward" if arguments.backward else "forward"
    print(f"=== table: attention {what}, fp16, TFLOP/s, {torch.cuda.get_device_name()}")
    for head, causal, length, result in rows:
        cells = ", ".join(f"{label} {value:.0f}" for label, value in result.items())
        print(f"d={head} causal={causal} N={length}: {cells}")


MODULES, DESCRIPTORS = {}, {}
if __name__ == "__main__":
    sys.exit(main())
