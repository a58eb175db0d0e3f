"""A GPU that answers questions: what `torch.cuda` says of it, and tensors that lie nowhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode

T = TypeVar("T")

GPU = "h100-80gb"
NAME = "NVIDIA H100 80GB HBM3"
CAPABILITY = (9, 0)
MEMORY_BYTES = 80 << 30
MULTIPROCESSORS = 132
SHARED_MEMORY_BYTES = 227 << 10
WARP = 32


class Handle:
    """A stream or an event: made, recorded and waited for without effect."""

    cuda_stream = 0

    def __init__(self, *_: object, **__: object) -> None:
        self.device = torch.device("meta")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class OnMeta(TorchFunctionMode):  # type: ignore[misc]  # torch is not in mypy's venv
    """Puts tensors that are wanted on a GPU on the meta device."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        _types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        named = dict(kwargs or {})
        named.pop("pin_memory", None)
        if is_cuda(named.get("device")):
            named["device"] = torch.device("meta")
        if func is torch.Tensor.cuda:
            return args[0].to("meta")
        if func is torch.Tensor.to and len(args) > 1 and is_cuda(args[1]):
            args = (args[0], torch.device("meta"), *args[2:])
        return func(*args, **named)


def is_cuda(device: object) -> bool:
    """Whether a device argument names a GPU; a number alone does."""
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, int) or (isinstance(device, str) and device.startswith("cuda"))


def install() -> None:
    """Replaces what vLLM asks of `torch.cuda` and `torch.accelerator`."""
    properties = SimpleNamespace(
        name=NAME,
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        total_memory=MEMORY_BYTES,
        multi_processor_count=MULTIPROCESSORS,
        shared_memory_per_block_optin=SHARED_MEMORY_BYTES,
        warp_size=WARP,
        is_integrated=False,
    )
    answers = {
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": CAPABILITY,
        "get_device_name": NAME,
        "get_device_properties": properties,
        "is_current_stream_capturing": False,
        "mem_get_info": (MEMORY_BYTES, MEMORY_BYTES),
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, answering(value))
    torch.cuda.Stream = torch.cuda.Event = Handle
    torch.cuda.current_stream = torch.cuda.default_stream = Handle
    torch.cuda.stream = lambda *_: nullcontext()
    for name in ("set_stream", "set_device", "synchronize", "empty_cache"):
        setattr(torch.cuda, name, answering(None))
    torch.accelerator.current_device_index = answering(0)
    torch.accelerator.current_stream = Handle
    for name in ("synchronize", "empty_cache"):
        setattr(torch.accelerator, name, answering(None))


def answering(value: T) -> Callable[..., T]:
    """A function that returns the value, whatever it is asked."""
    return lambda *_, **__: value
