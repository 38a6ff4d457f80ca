"""Kernels of 1 to 10 µs: those of field/ at the sizes of a decoding step, twenty launches in a graph.

A graph leaves out the host, and what follows on the GPU without a gap counts as it does in a model.
"""

import field
import kernels
import torch
from field_case import close, namespace
from tensor_core_row import Row

PACKAGE = globals().get("PACKAGE", "pantile")
LAUNCHES = 20
SIZES = {
    "RmsNorm": dict(rows=128, n=4096),
    "FusedAddRmsNorm": dict(rows=64, n=4096),
    "QuantiseByToken": dict(rows=128, n=4096),
    "QuantiseByGroup": dict(rows=128, groups=32),
    "QuantiseTensor": dict(n=1 << 20),
    "WidenBlocks": dict(rows=512, n=1024, tile=128),
    "UnpackInt4": dict(groups=1 << 12),
    "RopeOfHalves": dict(tokens=128, heads=32, kv_heads=8, dim=128),
    "RopeOfNeighbours": dict(tokens=128, heads=32, dim=128),
    "RowCumsum": dict(rows=128, n=1024),
    "ExpertRouting": dict(tokens=128, experts=128, k=8),
    "SumOfExperts": dict(tokens=64, k=8, n=4096),
    "ExpertGemm": dict(tokens=64, experts=8, k=2, n=1024, depth=512, block=(16, 64, 64)),
    "StateUpdate": dict(batch=8, dim=4096, states=16),
    "MergeAttentionStates": dict(batch=4, heads=32, splits=16),
    "Embedding": dict(tokens=128, rows=32000, n=4096),
    "AdamW": dict(n=1 << 18),
}


class Small(Row):
    """A case of field/ at another size."""

    unit = "us"
    configs = ({},)

    def __init__(self, case, sizes):
        super().__init__(f"small: {case.name}")
        self.case, self.sizes = case, sizes

    def rate(self, milliseconds):
        return 1e3 * milliseconds / LAUNCHES

    def arrays(self):
        xp = field.TorchArrays(seed=1)
        with torch.device("cuda"):
            inputs = self.case.inputs(xp, **self.sizes)
            expected = self.case.expected(xp, namespace(inputs), **self.sizes)
        outputs = {n: xp.empty(*shape) for n, shape in self.case.outputs(**self.sizes).items()}
        a = namespace(inputs, outputs)
        a.of = namespace({"xp": xp, "expected": expected, "outputs": outputs})
        a.of.saved = {name: inputs[name].clone() for name in self.case.updated}
        return a

    def outputs(self, a):
        for name, saved in a.of.saved.items():
            getattr(a, name).copy_(saved)
        for name in self.case.zeroed:
            a.of.outputs[name].zero_()
        return [x for name, x in a.of.outputs.items() if name not in self.case.zeroed]

    def launch(self, a, config):
        return lambda: self.case.launch(a, **self.sizes)

    def timed(self, call):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(LAUNCHES):
                call()
        return graph.replay

    def check(self, a):
        types = {name: short for short, name in field.TYPES.items()}
        for name, want in a.of.expected.items():
            got = getattr(a, name)
            dtype = types[str(got.dtype).removeprefix("torch.")]
            close(a.of.xp, self.case, name, got, want, dtype)


def cases():
    """The cases of SIZES by the name of their class."""
    found = {}
    for path in field.FAMILIES:
        for case in kernels.load(PACKAGE, path).CASES:
            found[type(case).__name__] = case
    return found


_CASES = cases()
ROWS = [Small(_CASES[name], sizes) for name, sizes in SIZES.items()]
