"""Programs replace parts of the host side, as they do with Triton: what is below sees the replacement."""

from unittest import mock

import pantile
import pantile.testing
from pantile.backends import Backend
from pantile.backends.compiler import GPUTarget
from pantile.backends.known import backends
from pantile.compiler import make_backend
from pantile.runtime.device import active_device
from pantile.runtime.driver import driver


def test_a_patched_active_driver_answers():
    """`driver.active` of a mock is what launches ask for the device."""
    fake = mock.Mock()
    with mock.patch.object(type(driver), "active", new_callable=mock.PropertyMock) as active:
        active.return_value = fake
        assert active_device() is fake
    assert active_device() is not fake


def test_a_patched_do_bench_is_the_benchmarker(monkeypatch):
    """`testing.do_bench` is looked up when it is called."""
    monkeypatch.setattr(pantile.testing, "do_bench", lambda *_, **__: 1.0)
    assert driver.active.get_benchmarker() is pantile.testing.do_bench


def test_an_added_backend_is_found():
    """`backends` is a table that programs add to."""

    class Other:
        def __init__(self, target):
            self.target = target

        @staticmethod
        def supports_target(target):
            return target.backend == "other"

    backends.items()  # ours are there
    backends["other"] = Backend(Other, None)
    try:
        assert isinstance(make_backend(GPUTarget("other", 1, 1)), Other)
    finally:
        del backends["other"]
