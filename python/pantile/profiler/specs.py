"""Peak rates of GPUs, for the metric `util`."""

__all__ = ["max_bps", "max_flops"]

# Operations of 8 bits that an SM's tensor cores do per clock, without sparsity: NVIDIA's white
# papers of each architecture. Ada's is that of GeForce with sums in 32 bits.
_OPERATIONS_PER_CLOCK = {"80": 4096, "89": 1024, "90": 8192, "100": 16384}


def max_flops(device_type, arch, width, num_sms, clock_rate):
    """Return the floating-point operations per second of a GPU's tensor cores.

    Parameters
    ----------
    device_type : str
        "CUDA".
    arch : str
        The compute capability's digits: "80", "89", "90" or "100".
    width : int
        Bits of an operand: half of them, twice the rate.
    num_sms : int
        SMs of the GPU.
    clock_rate : float
        Of the SMs, in kHz.

    Raises
    ------
    ValueError
        For a device or architecture that is not listed.
    """
    if device_type != "CUDA":
        raise ValueError(f"the device type is `{device_type}`, but peaks are known of `CUDA`")
    if arch not in _OPERATIONS_PER_CLOCK:
        known = ", ".join(_OPERATIONS_PER_CLOCK)
        raise ValueError(f"the architecture is `{arch}`, but peaks are known of {known}")
    return _OPERATIONS_PER_CLOCK[arch] * num_sms * clock_rate * 1e3 / (width / 8)


def max_bps(device_type, arch, bus_width, memory_clock_rate):
    """Return the bytes per second of a GPU's memory, which transfers twice per clock.

    Parameters
    ----------
    device_type : str
        "CUDA".
    arch : str
        Of Triton, without effect.
    bus_width : int
        In bits.
    memory_clock_rate : float
        In kHz.

    Raises
    ------
    ValueError
        For another device.
    """
    if device_type != "CUDA":
        raise ValueError(f"the device type is `{device_type}`, but peaks are known of `CUDA`")
    return 2 * bus_width * memory_clock_rate * 1e3 / 8
