"""Published facts as nouns: model configs and GPUs, each with its source."""

from __future__ import annotations

from vllm_parallel.catalog.gpus import gpu_names, load_gpu
from vllm_parallel.catalog.hub import catalog_name, hub_names, model_source, named_model
from vllm_parallel.catalog.models import (
    is_catalog_name,
    load_model,
    model_names,
    parse_config,
    read_config,
    with_dtype,
    with_quantization,
)

__all__ = [
    "catalog_name",
    "gpu_names",
    "hub_names",
    "is_catalog_name",
    "load_gpu",
    "load_model",
    "model_names",
    "model_source",
    "named_model",
    "parse_config",
    "read_config",
    "with_dtype",
    "with_quantization",
]
