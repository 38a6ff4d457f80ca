"""Arrays of JAX that are written to, for tuners."""

from types import SimpleNamespace


class Tensor:
    """An array of JAX as tuners take one; its methods replace the array.

    The memory of an array that is replaced or dropped is JAX's again, for other arrays: no launch
    may be in flight that writes to it.

    Parameters
    ----------
    array : jax.Array
        An array that nothing else refers to: kernels write to it.
    """

    def __init__(self, array):
        import jax

        self.array = jax.block_until_ready(array)

    @property
    def dtype(self):
        return str(self.array.dtype)

    @property
    def shape(self):
        return self.array.shape

    @property
    def device(self):
        """Where the memory is, in torch's words."""
        (device,) = self.array.devices()
        kind = "cpu" if device.platform == "cpu" else "cuda"
        return SimpleNamespace(
            type=kind, index=device.local_hardware_id if kind == "cuda" else None
        )

    def data_ptr(self):
        return self.array.unsafe_buffer_pointer()

    def wait(self):
        """Wait for the launches that write to the array."""
        from .. import _pantile

        if self.device.type == "cuda":
            _pantile.synchronize(self.device.index)

    def _replace(self, array):
        import jax

        self.wait()
        self.array = jax.block_until_ready(array)

    def zero_(self):
        """Have an array of zeros instead."""
        import jax.numpy as jnp

        self._replace(jnp.zeros_like(self.array))

    def clone(self):
        """Return a Tensor with the same elements."""
        import jax.numpy as jnp

        self.wait()
        return Tensor(jnp.array(self.array, copy=True))

    def copy_(self, other):
        """Have a copy of another Tensor's array instead."""
        self._replace(other.clone().array)
