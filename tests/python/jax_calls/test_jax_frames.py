"""The kernels of JAX's tests, alone and in batches, through the functions that XLA calls, on every device.

JAX traces on the CPU; what it would lower to a custom call is called here, also on an emulated GPU.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from jax_kernels import CASES  # noqa: E402
from pantile import _pantile  # noqa: E402
from pantile.jax.custom_calls import attributes_of  # noqa: E402
from xla_frames import Frame, function_of  # noqa: E402


@pytest.fixture
def processor(device):
    return Processor(device)


class Processor:
    """Evaluates what JAX traced, the kernels on a device."""

    def __init__(self, device):
        self.device, self.on_cpu = device, device.name == "cpu"
        name = "xla_call_on_host" if self.on_cpu else "xla_call_on_gpu"
        self.function = function_of(getattr(_pantile, name))
        self.target = "cpu" if self.on_cpu else _pantile.device_info(0)["target"]

    def __call__(self, run, *inputs):
        with jax.default_device(jax.devices("cpu")[0]):
            traced = jax.make_jaxpr(run)(*inputs)
            known = dict(zip(traced.jaxpr.invars, inputs))
            known.update(zip(traced.jaxpr.constvars, traced.consts))

            def read(place):
                return place.val if hasattr(place, "val") else known[place]

            for step in traced.jaxpr.eqns:
                operands = [read(place) for place in step.invars]
                known.update(zip(step.outvars, self.step(step, operands)))
            return [np.asarray(read(place)) for place in traced.jaxpr.outvars]

    def step(self, step, operands):
        if step.primitive.name == "pantile_call":
            return self.launch(step.params["launch"], [np.asarray(x) for x in operands])
        found = step.primitive.get_bind_params(step.params)
        functions, params = found if isinstance(found, tuple) else ([], found)
        result = step.primitive.bind(*functions, *map(jax.numpy.asarray, operands), **params)
        return result if step.primitive.multiple_results else [result]

    def launch(self, launch, operands):
        attributes = attributes_of(launch, operands, self.target)
        arrays = [self.to(x) for x in operands]
        in_place = {output: operand for operand, output in launch.aliases}
        shapes = [((*launch.sizes, *shape), dtype) for shape, dtype in launch.outputs]
        outs = [
            arrays[in_place[i]] if i in in_place else self.to(np.full(shape, 77).astype(dtype))
            for i, (shape, dtype) in enumerate(shapes)
        ]
        stream = 0 if self.on_cpu else self.stream().cuda_stream
        frame = Frame(
            [(str(x.dtype), x.shape, address_of(a)) for x, a in zip(operands, arrays)],
            [(str(dtype), shape, address_of(a)) for (shape, dtype), a in zip(shapes, outs)],
            attributes,
            stream=stream,
        )
        assert frame.call(self.function) == []
        if not self.on_cpu:
            _pantile.synchronize(0)
        return [
            self.device.numpy(out).reshape(-1).view(dtype).reshape(shape)
            for out, (shape, dtype) in zip(outs, shapes)
        ]

    def to(self, array):
        """The array on the device, as integers: only its address counts."""
        array = np.ascontiguousarray(array).reshape(-1)
        return self.device.to(array.view(f"int{8 * array.itemsize}").copy())

    def stream(self):
        made = self.device.stream() if hasattr(self.device, "stream") else None
        return made or self.device.torch.cuda.Stream()


def address_of(array):
    return array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data


def check(case, results, truths):
    for result, truth in zip(results, truths, strict=True):
        assert result.shape == np.shape(truth)
        limit = case.tolerance * max(np.abs(truth).max(), 1)
        np.testing.assert_allclose(result.astype(np.float64), truth, rtol=0, atol=limit)


def truth_of(case, inputs):
    return case.truth(*(x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs))


@pytest.mark.parametrize("name", CASES)
def test_kernels(name, processor):
    """A kernel that XLA calls gives what NumPy does."""
    case = CASES[name]
    inputs = case.make(np.random.default_rng(11))
    check(case, processor(case.run, *inputs), truth_of(case, inputs))


@pytest.mark.parametrize("name", CASES)
def test_batches(name, processor):
    """All inputs have the axis, then the first input alone, then two axes."""
    case, rng = CASES[name], np.random.default_rng(12)
    elements = [case.make(rng) for _ in range(6)]
    stacked = [np.stack(column) for column in zip(*elements)]
    truths = [np.stack(column) for column in zip(*(truth_of(case, inputs) for inputs in elements))]
    check(case, processor(jax.vmap(case.run), *stacked), truths)

    rest = elements[0][1:]
    axes = (0, *(None for _ in rest))
    own = [truth_of(case, [first, *rest]) for first in stacked[0]]
    results = processor(jax.vmap(case.run, in_axes=axes), stacked[0], *rest)
    check(case, results, [np.stack(column) for column in zip(*own)])

    folded = [x.reshape(2, 3, *x.shape[1:]) for x in stacked]
    results = processor(jax.vmap(jax.vmap(case.run), in_axes=1, out_axes=1), *_outer_second(folded))
    check(case, results, [_swapped(x.reshape(2, 3, *x.shape[1:])) for x in truths])


def _swapped(x):
    return np.swapaxes(x, 0, 1)


def _outer_second(arrays):
    """Arrays whose outer axis of the batch is the second one."""
    return [_swapped(x) for x in arrays]
