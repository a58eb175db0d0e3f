"""The blocks and tokens that a budget gives, by the steps of `EngineCore._initialize_kv_caches`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import torch
from vllm.config import VllmConfig
from vllm.v1.core.kv_cache_utils import (
    generate_scheduler_kv_cache_config,
    get_kv_cache_capacity,
    get_kv_cache_configs,
)
from vllm.v1.kv_cache_interface import KVCacheConfig, KVCacheSpec

from questions import Row

Specs = Mapping[str, KVCacheSpec]  # by layer

# The fields of a spec that say how large it is or whose.
SHOWN = (
    "attention_chunk_size",
    "block_size",
    "cache_dtype_str",
    "dtype",
    "dtypes",
    "head_size",
    "head_size_v",
    "mamba_cache_mode",
    "mamba_type",
    "num_kv_heads",
    "page_size_padded",
    "shapes",
    "sliding_window",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The KV cache of one engine: a config for each stage, and what the scheduler counts."""

    stages: tuple[KVCacheConfig, ...]
    num_blocks: int
    tokens: int
    concurrency: float
    max_model_len: int

    @classmethod
    def of(cls, config: VllmConfig, specs: Sequence[Specs], budget: int) -> Pool:
        """The pool of stages whose ranks have so many bytes. It alters the config.

        Raises:
            NoRoomError: One request does not fit.
        """
        cache = config.cache_config
        cache.kv_cache_layout = "LBNHC"
        stages = get_kv_cache_configs(config, list(specs), [budget] * len(specs))
        scheduler = generate_scheduler_kv_cache_config(stages)
        pools = [group.kv_cache_spec for group in scheduler.kv_cache_groups]
        cacheable = [pool for pool in pools if pool.prefix_cacheable]
        cache.block_size = min(pool.block_size for pool in cacheable or pools)
        tokens, concurrency = get_kv_cache_capacity(config, scheduler)
        config.validate_block_size()
        return cls(
            stages=tuple(stages),
            num_blocks=scheduler.num_blocks,
            tokens=tokens,
            concurrency=concurrency,
            max_model_len=config.model_config.max_model_len,
        )

    @property
    def capacity(self) -> Row:
        """What the engine says at its start."""
        return {
            "num_blocks": self.num_blocks,
            "tokens": self.tokens,
            "concurrency": self.concurrency,
            "max_model_len": self.max_model_len,
        }

    @property
    def groups(self) -> list[Row]:
        """Each group's spec, and how many layers of each stage are in it."""
        # Where layers of a group are unlike, the scheduler's config has only one's spec.
        return [
            spec_row(group.kv_cache_spec)
            | {"layers": [len(stage.kv_cache_groups[number].layer_names) for stage in self.stages]}
            for number, group in enumerate(self.stages[0].kv_cache_groups)
        ]

    @property
    def block_bytes(self) -> list[int]:
        """A block's bytes on each stage: its groups lie over each other in one allocation."""
        return [
            max(tensor.size for tensor in stage.kv_cache_tensors) // stage.num_blocks
            for stage in self.stages
        ]


def plain(value: object) -> object:
    """A spec's field as JSON has it."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, (torch.dtype, Enum)):
        return str(value).removeprefix("torch.")
    return value


def spec_row(spec: KVCacheSpec) -> Row:
    """A spec's kind, page and fields; those that are None or 0 are left out."""
    values = {name: getattr(spec, name, None) for name in SHOWN}
    shown = {name: plain(value) for name, value in values.items() if value}
    return {"kind": type(spec).__name__, "page_bytes": spec.page_size_bytes} | shown


def spec_rows(stages: Sequence[Specs]) -> list[Row]:
    """Each kind of cache, and how many layers of each stage have it, as the layers come."""
    rows: list[Row] = []
    counts: list[list[int]] = []
    for number, specs in enumerate(stages):
        for spec in specs.values():
            row = spec_row(spec)
            if row not in rows:
                rows.append(row)
                counts.append([0] * len(stages))
            counts[rows.index(row)][number] += 1
    return [row | {"layers": layers} for row, layers in zip(rows, counts, strict=True)]
