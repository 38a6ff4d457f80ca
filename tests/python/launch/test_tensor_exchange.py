"""Tensors that are read through DLPack's table of C functions, as torch's are: no GPU and no torch are needed.

The table and the driver are a C file that notes its calls; programs run in processes of their own. Addresses
point nowhere: nothing reads what is there.
"""

import textwrap

import pytest
from noted_driver import NOTED, build, run_program

EXCHANGE = """
#include <stdint.h>
struct tensor { void *data; int32_t device_type, device, rank; uint8_t code, bits; uint16_t lanes;
                int64_t *shape, *strides; uint64_t offset; };
struct known { void *object; struct tensor told; } known[256];
int known_count, described, asked_stream, refuse_stream;
void *current;
void know(void *object, uint64_t address, int code, int bits, int device_type, int device, uint64_t offset) {
  struct tensor told = {(void *)address, device_type, device, 1, code, bits, 1, 0, 0, offset};
  int i = 0;
  while (i < known_count && known[i].object != object) ++i;
  known[i].object = object, known[i].told = told;
  if (i == known_count) ++known_count;
}
static int describe(void *object, struct tensor *out) {
  ++described;
  for (int i = 0; i < known_count; ++i)
    if (known[i].object == object) return *out = known[i].told, 0;
  return -1;
}
static int current_stream(int32_t type, int32_t device, void **out) {
  ++asked_stream;
  return refuse_stream ? -1 : (*out = current, 0);
}
struct { uint32_t major, minor; void *rest[4]; void *describe, *stream; } exchange = {
    1, 3, {0}, describe, current_stream};
"""

HEAD = """
from types import ModuleType, SimpleNamespace as Space

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")
table = ctypes.c_char.in_dll(driver, "exchange")
driver.know.argtypes = [ctypes.py_object, ctypes.c_uint64] + [ctypes.c_int] * 4 + [ctypes.c_uint64]

CODES = {"int32": (0, 32), "float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "bool": (6, 8),
         "uint8": (1, 8), "int64": (0, 64), "float64": (2, 64), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8),
         "int8": (0, 8), "int16": (0, 16), "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64)}

alive = []

class Tensor:
    \"\"\"What the long way asks is Python; what the short way asks is the table.\"\"\"

    __dlpack_c_exchange_api__ = api.PyCapsule_New(ctypes.addressof(table), NAME, None)
    device = Space(type="cuda", index=0)

    def __init__(self, address, dtype="float32", known=True, offset=0):
        self.address, self.dtype = address, dtype
        alive.append(self)  # the table knows objects by their place in memory
        if known:
            driver.know(self, address - offset, *CODES[dtype], 2, 0, offset)

    def data_ptr(self):
        return self.address

@triton.jit
def taking_kernel(x_ptr, n):
    return

def launched(*args, kernel=kernel):
    \"\"\"Launch; return (address that the driver got, calls of the table, long ways).\"\"\"
    described, misses = note("described").value, triton.runtime.stats()["misses"]
    kernel[(1,)](*args)
    address = ctypes.c_ulonglong.in_dll(driver, "address").value
    return address, note("described").value - described, triton.runtime.stats()["misses"] - misses
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return build(tmp_path_factory.mktemp("exchange"), NOTED + EXCHANGE)


def run(driver, tmp_path, text):
    assert "done" in run_program(driver, tmp_path, HEAD + textwrap.dedent(text))


def test_one_call_describes_a_tensor(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        import random
        first = Tensor(0x7F0000000000)
        for _ in range(2):
            kernel[(1,)](first, 5)
        for _ in range(20):
            address = random.randrange(0x7F0000000000, 0x7F8000000000, 16)
            assert launched(Tensor(address), 5) == (address, 1, 0)
            assert launched(Tensor(address, offset=4096), 5) == (address, 1, 0)
        # An address that is no multiple of 16, and another type, are other kernels.
        assert kernel[(1,)](Tensor(0x7F0000000004), 5) is not kernel[(1,)](first, 5)
        kernels = set()
        for dtype in CODES:
            tensor = Tensor(0x7F0000000100, dtype)
            for _ in range(2):
                made = taking_kernel[(1,)](tensor, 5)
            assert launched(tensor, 5, kernel=taking_kernel) == (0x7F0000000100, 1, 0), dtype
            kernels.add(made)
        assert len(kernels) == len(CODES)
        print("done")
        """,
    )


def test_tensors_that_the_table_does_not_describe_take_the_other_path(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        kernel[(1,)](Tensor(0x7F0000000000), 5)
        unknown = Tensor(0x7F0000001000, known=False)
        for _ in range(2):
            assert launched(unknown, 5)[0] == 0x7F0000001000
        # A host tensor of the table, whose properties say that it is on a GPU, and one of no memory.
        for told in [(0x7F0000002000, 2, 32, 1, 0, 0), (0, 2, 32, 2, 0, 0), (0x7F0000002000, 5, 128, 2, 0, 0)]:
            tensor = Tensor(0x7F0000003000, known=False)
            driver.know(tensor, *told)
            assert launched(tensor, 5)[0] == 0x7F0000003000, told
        # Two GPUs in one call.
        tensor = Tensor(0x7F0000003000, known=False)
        driver.know(tensor, 0x7F0000003000, 2, 32, 2, 1, 0)
        tensor.device = Space(type="cuda", index=1)

        @triton.jit
        def pair_kernel(x_ptr, y_ptr):
            tl.store(x_ptr, tl.load(y_ptr))

        pair_kernel[(1,)](unknown, unknown)
        for _ in range(2):
            try:
                pair_kernel[(1,)](Tensor(0x7F0000004000), tensor)
            except ValueError as error:
                assert "arrays of two devices" in str(error)
            else:
                raise AssertionError("launched")
        print("done")
        """,
    )


def test_derived_types(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        torch, core = ModuleType("torch"), ModuleType("torch._C")
        nothing = core._disabled_torch_function_impl = lambda *args: None
        torch.Tensor, torch._C = Tensor, core
        sys.modules.update({"torch": torch, "torch._C": core})

        class Parameter(Tensor):
            __torch_function__ = nothing

        class Dispatched(Tensor):
            __torch_function__ = nothing
            __torch_dispatch__ = classmethod(lambda *args: None)

        class Changed(Tensor):
            __torch_function__ = classmethod(lambda *args: None)

        class Moved(Tensor):
            __torch_function__ = nothing

            def data_ptr(self):
                return self.address + 256

        class Plain(Tensor):
            pass

        for _ in range(2):
            kernel[(1,)](Tensor(0x7F0000000000), 5)
        for kind, calls, moved in [(Parameter, 1, 0), (Dispatched, 0, 0), (Changed, 0, 0), (Moved, 0, 256), (Plain, 0, 0)]:
            for address in (0x7F0000001000, 0x7F0000004000):
                assert launched(kind(address), 5) == (address + moved, calls, 0), kind
        print("done")
        """,
    )


def test_the_stream_of_the_table(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        stream, current = ctypes.c_longlong.in_dll(driver, "stream"), ctypes.c_longlong.in_dll(driver, "current")
        x = Tensor(0x7F0000000000)
        kernel[(1,)](x, 5)
        assert note("asked_stream").value == 0, "torch is not loaded"
        torch, core = ModuleType("torch"), ModuleType("torch._C")
        sys.modules.update({"torch": torch, "torch._C": core})
        core._cuda_getCurrentRawStream = lambda device: 0x1234
        core._cuda_getDevice = lambda: 0
        kernel[(1,)](x, 5)
        assert stream.value == 0, "torch is being imported"
        torch.Tensor = Tensor
        for value in (0x77, 0x99, 0):
            current.value = value
            kernel[(1,)](x, 5)
            assert stream.value == value
        note("refuse_stream").value = 1
        kernel[(1,)](x, 5)
        assert stream.value == 0x1234
        triton._pantile.choose_stream(0x55)
        kernel[(1,)](x, 5)
        assert stream.value == 0x55
        print("done")
        """,
    )


def test_calls_that_follow_each_other_in_any_order(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        import random, struct

        @triton.jit(do_not_specialize=["k"])
        def mixed_kernel(x_ptr, y_ptr, n, m: tl.int64, k, r, MODE: tl.constexpr, dtype: tl.constexpr = tl.float32, s=7):
            return

        names = mixed_kernel.arg_names
        slots = (ctypes.c_ulonglong * 16).in_dll(driver, "slots")
        rng = random.Random(5)

        def drawn(pool, *rare):
            return rng.choice(pool if rng.random() < 0.95 else rare)

        def word(value):
            if isinstance(value, Tensor):
                return value.address
            return struct.unpack("<I", struct.pack("<f", value))[0] if isinstance(value, float) else value % 2**64

        def kind(name, value):
            if isinstance(value, Tensor):
                return value.dtype, value.address % 16 == 0
            if name in ("MODE", "dtype") or value is None:
                return str(value)
            if isinstance(value, (bool, float)):
                return type(value).__name__
            multiple, narrow = value % 16 == 0, -(2**31) <= value < 2**31
            if name in ("m", "k"):
                return multiple if name == "m" else narrow
            return "one" if value == 1 else (multiple, narrow)

        tensors = [Tensor(0x7F0000000000 + 256 * i) for i in range(4)]
        other = [Tensor(0x7F0000100004), Tensor(0x7F0000100000, "int32"), Tensor(0x7F0000200000, "float16")]
        kernels = {}
        for step in range(600):
            values = {
                "x_ptr": drawn(tensors, *other),
                "y_ptr": drawn(tensors, other[1]),
                "n": drawn([32, 64, 2**20, -16, 2**31 - 16], 33, 2**31, 2**40, 1, True, None),
                "m": drawn([5, 2**40 + 1, -3, 1], 16),
                "k": drawn([1, 2, 16, 17], 2**33, 2.5),
                "r": drawn([0.5, 2.5, 1e-40], 3),
                "MODE": drawn(["add", "".join(["a", "dd"])], "sub", 3),
            }
            options = {"num_warps": 8} if rng.random() < 0.05 else {}
            if rng.random() < 0.1:
                values["dtype"] = drawn([tl.float32], tl.float16)
            if rng.random() < 0.1:
                values["s"] = rng.choice([7, 9])
            given = {"s": 7, "dtype": tl.float32, **values}
            key = (*[kind(name, given[name]) for name in names], *options)
            passed = [name for name, what in zip(names, key) if name not in ("MODE", "dtype") and what not in ("one", "None")]
            positional = rng.choice([7, 7, 7, 3])
            args = [values[name] for name in names[:positional]]
            named = {name: values[name] for name in names[positional:] if name in values} | options
            driver.take(len(passed))
            before = note("launches").value
            found = mixed_kernel[(1 + step % 3,)](*args, **named)
            assert note("launches").value == before + 1
            assert kernels.setdefault(key, found) is found, (given, options)
            for place, name in enumerate(passed):
                size = {bool: 1, float: 4}.get(type(given[name]), 8)
                assert (slots[place] - word(given[name])) % 256**size == 0, (name, given[name], hex(slots[place]))
        assert len(set(kernels.values())) == len(kernels), "two kinds of call share a kernel"
        stats = triton.runtime.stats()
        assert stats["misses"] == len(kernels) > 20, (stats, len(kernels))
        assert stats["shortcuts"] > 50, stats
        print("done")
        """,
    )


def test_tuned_calls_that_follow_each_other(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        @triton.jit
        def plain_kernel(x_ptr, n, BLOCK: tl.constexpr):
            return

        configs = [triton.Config({"BLOCK": block}, num_warps=block // 32) for block in (32, 64)]
        tuned = triton.autotune(configs=configs, key=["n"])(plain_kernel)
        slots = (ctypes.c_ulonglong * 16).in_dll(driver, "slots")
        driver.take(2)
        tensors = [Tensor(0x7F0000000000 + 256 * i) for i in range(3)]
        # Chosen by hand: nothing is measured here.
        chosen = {n: configs[n // 16 % 2] for n in (16, 32, 48, 64, 17, 1)}
        for n, config in chosen.items():
            tuned.cache[tuned._key_of({"x_ptr": tensors[0], "n": n})] = config

        def launched(n, tensor):
            kernel = tuned[(1,)](tensor, n)
            assert kernel.metadata.num_warps == chosen[n].num_warps, n
            assert tuned.best_config is chosen[n]
            assert slots[0] == tensor.address and (n == 1 or slots[1] == n), n

        for n in (16, 16, 16, 32, 32, 48, 48, 16, 32, 17, 17, 64, 64, 64, 1, 1, 1, 16, 16):
            for tensor in tensors:
                launched(n, tensor)
        assert triton.runtime.stats()["shortcuts"] >= 30, triton.runtime.stats()
        # A choice that is written down holds, also on the fastest path.
        chosen[16] = configs[0]
        tuned.cache[tuned._key_of({"x_ptr": tensors[0], "n": 16})] = configs[0]
        for tensor in tensors:
            launched(16, tensor)
        print("done")
        """,
    )


def test_launches_without_arrays_use_torchs_device(driver, tmp_path):
    run(
        driver,
        tmp_path,
        """
        torch, core = ModuleType("torch"), ModuleType("torch._C")
        sys.modules.update({"torch": torch, "torch._C": core})
        torch.Tensor, asked = Tensor, []
        core._cuda_getDevice = lambda: asked.append(0) or 0

        @triton.jit
        def bare_kernel(n):
            return

        for n in (1000, 1001, 1003):
            before = len(asked)
            bare_kernel[(1,)](n)
        assert len(asked) == before + 1 and note("launches").value == 3
        print("done")
        """,
    )
