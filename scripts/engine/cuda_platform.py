"""vLLM's CUDA platform for GPUs that are not there; to be set before anything else of vLLM."""

from __future__ import annotations

import vllm.platforms
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

import absent
import cuda_device


def install() -> None:
    """Makes CUDA the platform of this process, and Triton its compiler."""
    absent.install()
    cuda_device.install()
    # Triton counts as usable if this is no CPU build and one of its drivers is active.
    vllm.platforms.vllm_version_matches_substr = lambda _: False
    for name, backend in backends.items():
        backend.driver.is_active = staticmethod(lambda active=name == "nvidia": active)
    major, minor = cuda_device.CAPABILITY
    driver.set_active(absent.Driver(GPUTarget("cuda", 10 * major + minor, cuda_device.WARP)))
    vllm.platforms.current_platform = platform()


def platform() -> object:
    """CUDA's own platform, with answers in the place of those it asks of the driver."""
    # It imports the compiled operators, which have to be stood in for before.
    from vllm.platforms.cuda import CudaPlatformBase  # noqa: PLC0415
    from vllm.platforms.interface import DeviceCapability  # noqa: PLC0415

    class StandIn(CudaPlatformBase):  # type: ignore[misc]  # vLLM is not in mypy's venv
        """So many GPUs of one kind."""

        gpus = 0
        get_device_capability = answering(DeviceCapability(*cuda_device.CAPABILITY))
        get_device_name = answering(cuda_device.NAME)
        get_device_total_memory = answering(cuda_device.MEMORY_BYTES)
        is_fully_connected = answering(True)

        def device_count(self) -> int:
            return self.gpus

    return StandIn()


def answering(value: object) -> staticmethod[..., object]:
    """A method that returns the value, whatever it is asked."""
    return staticmethod(cuda_device.answering(value))
