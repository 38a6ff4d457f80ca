"""The profiler's hooks and modes: what runs while a session is active, and what is refused."""

from fake_cupti import needs_fake, run

pytestmark = needs_fake


def test_hooks_run_while_a_session_that_uses_them_is_active(tmp_path):
    run(
        """
from pantile import knobs
from pantile.profiler.hooks import Hook, HookManager, LaunchHook

seen = []

class Noted(Hook):
    def __init__(self, name, priority):
        self.name, self.priority = name, priority
    def enter(self, metadata): seen.append(("enter", self.name, metadata.get()["name"]))
    def exit(self, metadata): seen.append(("exit", self.name))
    def activate(self): seen.append(("on", self.name))
    def deactivate(self): seen.append(("off", self.name))

def taken():
    found = seen[:]
    seen.clear()
    return found

@pantile.jit
def kernel_of_host(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)

x = np.zeros(16, np.float32)
def launch():
    kernel_of_host[(1,)](x, BLOCK=16)

low, high = Noted("low", 1), Noted("high", 9)
first, second = proton.start("first"), proton.start("second")
HookManager.register(low, first)
HookManager.register(low, second)
HookManager.register(high, second)
assert taken() == [("on", "low"), ("on", "high")]
launch()
name = "kernel_of_host"
assert taken() == [("enter", "high", name), ("enter", "low", name), ("exit", "low"), ("exit", "high")]
proton.deactivate(second)
launch()
assert taken() == [("off", "high"), ("enter", "low", name), ("exit", "low")]
proton.deactivate()
launch()
assert taken() == [("off", "low")] and not knobs.runtime.launch_enter_hook
proton.activate(second)
launch()
assert taken() == [("on", "low"), ("on", "high"), ("enter", "high", name), ("enter", "low", name), ("exit", "low"), ("exit", "high")]
proton.finalize(second)
assert sorted(taken()) == [("off", "high"), ("off", "low")]
proton.finalize()
launch()
assert taken() == [] and HookManager.session_hooks == {} and x[3] == 5
assert LaunchHook() is LaunchHook() and LaunchHook.metrics == ["flops8", "flops16", "flops32", "flops64", "bytes", "flops"]
""",
        tmp_path,
    )


def test_modes_of_instrumentation(tmp_path):
    run(
        """
mode = proton.mode
shown = str(mode.MMA(granularity="warp_2", optimizations="time_shift,clock32"))
assert shown == (
    "mma:metric_type=METRIC_TYPE.CYCLE:sampling_strategy=SAMPLING_STRATEGY.NONE:sampling_options="
    ":granularity=GRANULARITY.WARP_2:buffer_strategy=BUFFER_STRATEGY.CIRCULAR"
    ":buffer_type=BUFFER_TYPE.SHARED:buffer_size=0:optimizations=time_shift,clock32"
)
assert mode.Default().granularity is mode.granularities["warp"] and mode.Default().name == "default"
for wrong in ({"buffer_type": "none"}, {"optimizations": "none"}):
    try:
        mode.Default(**wrong)
    except ValueError as error:
        assert "Unknown " in str(error)
    else:
        raise AssertionError
try:
    proton.start("x", mode=mode.Default())
except ValueError as error:
    assert "it must be None" in str(error)
else:
    raise AssertionError
""",
        tmp_path,
    )
