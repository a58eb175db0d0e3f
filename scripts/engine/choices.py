"""Which kernels and back ends the layers of a rank chose."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from torch import nn
from vllm.config import VllmConfig, get_layers_from_vllm_config
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase


def kernels_of(model: nn.Module) -> list[str]:
    """The quantisation methods of the layers, with their scheme, kernel and back end of experts."""
    methods = ((module, getattr(module, "quant_method", None)) for module in model.modules())
    found = (words_of(module, method) for module, method in methods if method is not None)
    return sorted({" ".join(words) for words in found if words})


def words_of(module: nn.Module, method: object) -> list[str]:
    """What a layer chose; nothing if it is not quantised and has no experts, or is a KV cache."""
    name = type(method).__name__
    if name.endswith("KVCacheMethod"):
        return []
    words = [] if name.startswith("Unquantized") else [name]
    words += chosen_by(method)
    scheme = getattr(module, "scheme", None)
    if scheme is not None:
        words += [type(scheme).__name__, *kernel_of(scheme, "kernel")]
    return words


def chosen_by(method: object) -> Iterator[str]:
    """The back end of experts, or the kernel of a linear layer."""
    for name, value in sorted(vars(method).items()):
        if isinstance(value, Enum) and name.endswith("backend"):
            yield f"{type(value).__name__}.{value.name}"
    yield from kernel_of(method, "kernel", "fp8_linear")


def kernel_of(holder: object, *names: str) -> Iterator[str]:
    """The class of the kernel kept under one of the names."""
    for name in names:
        kernel = getattr(holder, name, None)
        if kernel is not None:
            yield type(kernel).__name__


def backends_of(config: VllmConfig) -> list[str]:
    """The attention back ends of the layers that were built."""
    layers = get_layers_from_vllm_config(config, AttentionLayerBase)
    return sorted({layer.get_attn_backend().get_name() for layer in layers.values()})
