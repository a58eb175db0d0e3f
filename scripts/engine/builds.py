"""What each rank holds and the room that leaves: vLLM builds its layers, one rank a child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vllm.config import VllmConfig
from vllm.model_executor.model_loader.utils import process_weights_after_loading
from vllm.v1.worker.gpu.attn_utils import get_shared_kv_cache_layers

from absent import AbsentError
from children import Refusal, in_child
from choices import backends_of, kernels_of
from groups import refused
from pools import Pool, Specs, spec_rows
from questions import Question, Row
from reach import ON_CUDA, check_refusal
from shards import LIMIT_SECONDS, NOWHERE, Shard, building, seen_in_shards, stage_ranks
from verdicts import engine_config

ACCEPTED: Row = {"accepted": True, "stage": None, "message": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a child tells of its rank."""

    row: Row
    kv_specs: Specs
    groups: dict[str, list[list[int]]]
    shared_kv_layers: int
    backends: list[str]
    kernels: list[str]
    block_size: int
    kv_cache_dtype: str

    @classmethod
    def of(cls, shard: Shard, *, parameters: bool) -> Seen:
        """What is read of a rank."""
        config, cache = shard.config, shard.config.cache_config
        row, kernels = shard.row(parameters=parameters), kernels_of(shard.model)
        with building(config):
            backends = backends_of(config)
        return cls(
            row=row | {"post_load_bytes": post_load_bytes(shard)},
            kv_specs=shard.kv_specs,
            groups=shard.groups,
            shared_kv_layers=len(get_shared_kv_cache_layers(config)),
            backends=backends,
            kernels=kernels,
            block_size=cache.block_size,
            kv_cache_dtype=cache.cache_dtype,
        )


def post_load_bytes(shard: Shard) -> int | None:
    """What parameters grow by once loaded; None where a kernel repacks them.

    It alters the layers, so it is asked last.
    """
    config = shard.config
    if config.model_config.quantization is not None or not ON_CUDA:
        return None
    before = shard.weight_bytes
    try:
        with building(config):
            process_weights_after_loading(shard.model, config.model_config, NOWHERE)
    except AbsentError:
        return None
    return shard.weight_bytes - before


def of_all(config: VllmConfig, shards: Mapping[int, Seen]) -> Row:
    """The part of a row that no budget changes."""
    stages = [shards[rank] for rank in stage_ranks(config)]
    row: Row = {
        "ranks": [seen.row for seen in shards.values()],
        "groups": stages[0].groups,
        "kv_specs": spec_rows([stage.kv_specs for stage in stages]),
        "backends": sorted({name for seen in shards.values() for name in seen.backends}),
        "kernels": sorted({name for seen in shards.values() for name in seen.kernels}),
        "block_size": stages[0].block_size,
        "kv_cache_dtype": stages[0].kv_cache_dtype,
        "in_flight": config.max_concurrent_batches,
        "capacity": None,
    }
    shared = [stage.shared_kv_layers for stage in stages]
    return row | ({"shared_kv_layers": shared} if any(shared) else {})


def room(config: VllmConfig, stages: Sequence[Specs], budget: int) -> Row:
    """The part of a row that the KV bytes of a rank decide."""
    pool = Pool.of(config, stages, budget)
    return {
        "capacity": pool.capacity,
        "kv_groups": pool.groups,
        "block_bytes": pool.block_bytes,
    }


def measured(question: Question, config: VllmConfig) -> list[Row]:
    """The rows of an accepted config, one for each budget.

    Raises:
        QuestionError: A rank is asked for that the deployment has not, or only CUDA can answer.
    """
    look = partial(Seen.of, parameters=question.parameters)
    shards = seen_in_shards(config, question.more_ranks, look)
    if isinstance(shards, Refusal):
        check_refusal(question, shards, quantized=config.model_config.quantization is not None)
        return [refused(shards)] * len(question.budgets)
    common = of_all(config, shards)
    stages = [shards[rank].kv_specs for rank in stage_ranks(config)]
    rows = []
    for budget in question.budgets:
        found: Row | Refusal = {}
        if budget is not None:
            found = in_child(partial(room, config, stages, budget), LIMIT_SECONDS)
        said = refused(found) if isinstance(found, Refusal) else ACCEPTED | found
        rows.append(common | said)
    return rows


def build(question: Question, root: Path) -> list[Row]:
    """The rows of a deployment, one for each budget."""
    config = engine_config(question, root)
    if isinstance(config, Refusal):
        rows = [refused(config)] * len(question.budgets)
    else:
        rows = measured(question, config)
    return [
        {"available_kv_bytes": budget} | row
        for budget, row in zip(question.budgets, rows, strict=True)
    ]


def build_on_cpu(question: Question, root: Path) -> list[Row]:
    """The rows of `builds.jsonl`: without what only CUDA's platform chooses as CUDA does."""
    rows = []
    for row in build(question, root):
        keys = ["available_kv_bytes", "accepted", "stage", "message"]
        if row["accepted"]:
            keys += ["ranks", "groups", "capacity"]
            for rank in row["ranks"]:
                rank.pop("post_load_bytes", None)
            if row["capacity"] is not None and question.args.get("max_model_len") != -1:
                row["capacity"].pop("max_model_len")
        rows.append({key: row[key] for key in keys})
    return rows
