"""Families whose layers do not all see the whole context: gpt-oss, Llama 4."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts
from vllm_parallel.catalog.families.common import (
    HeadDefaults,
    grouped,
    layer_count,
    one_each,
    whole_model,
)
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_rotary, read_yarn
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

GPT_OSS_YARN: Final = {
    "rope_type": "yarn",
    "factor": 32.0,
    "original_max_position_embeddings": 4096,
}


def read_gpt_oss(keys: Keys) -> ModelConfig:
    """gpt-oss: sinks, biases everywhere, even layers windowed, ends on every stage.

    vLLM goes by the layer's number; `layer_types` counts only where it calls all sliding.

    Source: vllm/model_executor/models/gpt_oss.py (v0.32.0)
    """
    experts = Experts(
        count=keys.size("num_local_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("intermediate_size"),
        bias=True,
    )
    full = replace(
        grouped(keys, HeadDefaults(kv_heads=8, head_dim=64)),
        qkv_bias=True,
        output_bias=True,
        sinks=True,
        copies_kv_heads=False,
    )
    windowed = replace(full, window=keys.optional("sliding_window", missing=128))
    kinds = keys.items("layer_types") or ["full_attention"]
    everywhere = all(kind == "sliding_attention" for kind in kinds)
    blocks = [
        Block(attention=windowed if everywhere or n % 2 == 0 else full, mlp=experts)
        for n in range(layer_count(keys))
    ]
    scaled = keys.nested("rope_parameters", "rope_scaling") is not None
    rope = keys if scaled else keys.with_(rope_scaling=GPT_OSS_YARN)
    table = read_yarn(rope.without("partial_rotary_factor"), full.head_dim)
    table = replace(table, dtype=Dtype.FLOAT32)
    traits = Traits(
        ties=False,
        whole_ends=True,
        sequence_parallel_experts=True,
        world_divides_experts=True,
        eplb=False,
    )
    return whole_model(keys, blocks, table, traits)


def read_llama4(keys: Keys) -> ModelConfig:
    """Llama 4, its text part: chunked local layers, experts on every n-th layer.

    Source: vllm/model_executor/models/llama4.py (v0.32.0)
    """
    layers = layer_count(keys)
    interval = keys.size("no_rope_layer_interval", default=4)
    rotated = keys.items("no_rope_layers") or [int((n + 1) % interval != 0) for n in range(layers)]
    step = keys.size("interleave_moe_layer_step", default=1)
    width = keys.size("intermediate_size")
    experts = Experts(
        count=keys.size("num_local_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=width,
        shared_intermediate=width,
    )
    dense = DenseMlp(intermediate=keys.size("intermediate_size_mlp"))
    full = replace(grouped(keys, HeadDefaults(kv_heads=8, head_dim=128)), rotates=False)
    local = replace(full, rotates=True, chunk=keys.optional("attention_chunk_size", missing=8192))
    blocks = [
        Block(
            attention=local if rotates else full,
            mlp=dense if (n + 1) % step else experts,
        )
        for n, rotates in enumerate(one_each(keys, "no_rope_layers", rotated))
    ]
    traits = Traits(sequence_parallel_experts=True)
    return whole_model(keys, blocks, read_rotary(keys, full.head_dim), traits)
