"""What each rank holds and the room that leaves: vLLM builds its layers, one rank a child."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.model_executor.model_loader.utils import get_model_architecture, initialize_model
from vllm.platforms import current_platform
from vllm.utils.torch_utils import set_default_torch_dtype
from vllm.v1.core.kv_cache_utils import (
    generate_scheduler_kv_cache_config,
    get_kv_cache_capacity,
    get_kv_cache_configs,
)
from vllm.v1.kv_cache_interface import KVCacheSpec
from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
from vllm.v1.worker.gpu.pcp_manager import PCPManager

from children import Refusal, attempt, in_child
from groups import enter_world, refused, world_size
from questions import Question, QuestionError, Row
from reach import check_refusal
from verdicts import engine_config

LIMIT_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One rank as vLLM built it."""

    rank: int
    weight_bytes: int
    buffer_bytes: int
    kv_specs: dict[str, KVCacheSpec]
    tensors: dict[str, Row]
    groups: dict[str, list[list[int]]]

    def row(self, *, tensors: bool) -> Row:
        """The entry of `ranks`."""
        row: Row = {
            "rank": self.rank,
            "weight_bytes": self.weight_bytes,
            "buffer_bytes": self.buffer_bytes,
            "kv_layers": len(self.kv_specs),
            "kv_page_bytes": sorted({spec.page_size_bytes for spec in self.kv_specs.values()}),
        }
        return row | {"tensors": self.tensors} if tensors else row


def tensor_bytes(tensor: torch.Tensor) -> int:
    """The bytes of a tensor's elements."""
    return int(tensor.numel()) * int(tensor.element_size())


def named_tensors(model: nn.Module) -> dict[str, Row]:
    """Every parameter's shape and dtype; a tied one is listed once."""
    return {
        name: {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
        for name, tensor in model.named_parameters()
    }


def build_rank(config: VllmConfig, rank: int) -> Shard:
    """Builds one rank's layers on the meta device. For a forked child only: it sets globals."""
    found = enter_world(config, rank)
    dtype = set_default_torch_dtype(config.model_config.dtype)
    with set_current_vllm_config(config), torch.device("meta"), dtype:
        model = initialize_model(vllm_config=config)
        # Workers do this after loading; it moves the block size of hybrid models.
        current_platform.update_block_size_for_backend(config)
        specs = get_kv_cache_spec(config)
    PCPManager.validate_config(config, supports_mm_inputs=False)
    return Shard(
        rank=rank,
        weight_bytes=sum(tensor_bytes(tensor) for tensor in model.parameters()),
        buffer_bytes=sum(tensor_bytes(tensor) for tensor in model.buffers()),
        kv_specs=specs,
        tensors=named_tensors(model),
        groups=found,
    )


def capacity(config: VllmConfig, stages: list[Shard], available_bytes: int) -> Row:
    """The blocks and tokens of one engine, by the steps of `EngineCore._initialize_kv_caches`."""
    config.cache_config.kv_cache_layout = "LBNHC"
    specs = [stage.kv_specs for stage in stages]
    scheduler = generate_scheduler_kv_cache_config(
        get_kv_cache_configs(config, specs, [available_bytes] * len(specs)),
    )
    pools = [group.kv_cache_spec for group in scheduler.kv_cache_groups]
    cacheable = [pool for pool in pools if pool.prefix_cacheable]
    config.cache_config.block_size = min(pool.block_size for pool in cacheable or pools)
    tokens, concurrency = get_kv_cache_capacity(config, scheduler)
    config.validate_block_size()
    found: Row = {"num_blocks": scheduler.num_blocks, "tokens": tokens, "concurrency": concurrency}
    if config.model_config.original_max_model_len == -1:
        found["max_model_len"] = config.model_config.max_model_len
    return found


def stage_ranks(config: VllmConfig) -> list[int]:
    """The first rank of each stage of the first replica."""
    parallel = config.parallel_config
    width = parallel.prefill_context_parallel_size * parallel.tensor_parallel_size
    return [stage * width for stage in range(parallel.pipeline_parallel_size)]


def build_shards(config: VllmConfig, more_ranks: list[int]) -> list[Shard] | Refusal:
    """The first rank of each stage, the last rank of all, and the ranks asked for besides."""
    # Imported once here, the model's module need not be imported by every child.
    architecture = attempt(partial(get_model_architecture, config.model_config), "load")
    if isinstance(architecture, Refusal):
        return architecture
    shards = []
    for rank in sorted({*stage_ranks(config), world_size(config) - 1, *more_ranks}):
        shard = in_child(partial(build_rank, config, rank), LIMIT_SECONDS)
        if isinstance(shard, Refusal):
            return shard
        shards.append(shard)
    return shards


def measured(question: Question, config: VllmConfig) -> Row | Refusal:
    """The part of a row that an accepted build adds.

    Raises:
        QuestionError: A rank is asked for that the deployment has not, or only CUDA can answer.
    """
    total = world_size(config)
    if not set(question.more_ranks) <= set(range(total)):
        raise QuestionError(f"more_ranks {question.more_ranks} outside 0 to {total - 1}")
    shards = build_shards(config, question.more_ranks)
    if isinstance(shards, Refusal):
        check_refusal(question, shards, quantized=config.model_config.quantization is not None)
        return shards
    room = None
    if question.available_kv_bytes is not None:
        budget = question.available_kv_bytes
        stages = [shard for shard in shards if shard.rank in stage_ranks(config)]
        room = in_child(partial(capacity, config, stages, budget), LIMIT_SECONDS)
    if isinstance(room, Refusal):
        return room
    ranks = [shard.row(tensors=question.tensors) for shard in shards]
    return {"ranks": ranks, "groups": shards[0].groups, "capacity": room}


def build(question: Question, root: Path) -> Row:
    """The row of `builds.jsonl`."""
    config = engine_config(question, root)
    found = config if isinstance(config, Refusal) else measured(question, config)
    if isinstance(found, Refusal):
        return refused(found)
    return {"accepted": True, "stage": None, "message": None, **found}
