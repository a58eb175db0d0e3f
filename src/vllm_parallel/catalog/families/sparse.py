"""Families whose latent attention reads only the tokens that an indexer selects (DSA)."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Indexer, Mlp
from vllm_parallel.catalog.families.common import whole_model
from vllm_parallel.catalog.families.filled import filled
from vllm_parallel.catalog.families.latent import Defaults, latent, mixed_mlps, mtp_block
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import read_yarn
from vllm_parallel.errors import CatalogError
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig, Traits

GLM_DSA: Final = {"q_lora_rank": 2048, "index_topk": 2048, "index_head_dim": 128,
                  "index_n_heads": 32}  # fmt: skip
DEFAULTS: Final = Defaults(shared_experts=1, dense_layers=3)
SHARED: Final = "S"  # of index_topk_pattern: the layer reads what an earlier one selected


def read_deepseek_v32(keys: Keys) -> ModelConfig:
    """DeepSeek-V3.2: V3's layers with an indexer, whose keys have no default.

    CUDA runs a module of its own: dense layers are whole on every rank where tokens are split
    over tp, each layer has two rotary tables, and queries are never kept for a DCP group.

    Source: vllm/models/deepseek_v32/nvidia/model.py, vllm/models/deepseek_v32/attention.py
    (v0.32.0)
    """
    if not keys.has("q_lora_rank") and "q_lora_rank" in keys.values:
        raise CatalogError(
            subject=keys.name,
            problem="has an indexer without a query rank, of which vLLM dies",
            fix="give a q_lora_rank",
        )
    attention = latent(keys)
    indexer = Indexer(
        heads=keys.size("index_n_heads"),
        head_dim=keys.size("index_head_dim"),
        selected_tokens=keys.size("index_topk"),
    )
    selects = replace(attention, indexer=indexer)
    mlps, after = mixed_mlps(keys, DEFAULTS)
    blocks = [
        Block(attention=selects if has_indexer(keys, n) else attention, mlp=_with_tokens(mlp))
        for n, mlp in enumerate(mlps)
    ]
    traits = Traits(
        ties=False, sequence_parallel_experts=True, stays_split=True, sparse_attention=True
    )
    table = read_yarn(keys, attention.rope_dim)
    model = whole_model(keys, blocks, table, traits)
    predictor = Block(attention=selects, mlp=_with_tokens(after))
    model = replace(model, mtp=mtp_block(keys, predictor))
    alike = keys.flag("indexer_rope_interleave")  # get_rope then returns the same table twice
    second = Extra(name="indexer_rope_emb.cos_sin_cache", rows=table.positions, columns=table.dim)
    return model if alike else replace(model, ends=Ends(buffers=(second,)))


def read_glm_moe_dsa(keys: Keys) -> ModelConfig:
    """GLM-5: the layers of DeepSeek-V3.2.

    Source: vllm/models/deepseek_v32/__init__.py (v0.32.0)
    """
    return read_deepseek_v32(filled(keys, GLM_DSA))


def has_indexer(keys: Keys, layer: int) -> bool:
    """Whether a layer selects tokens itself; the others read what an earlier one selected.

    Source: vllm/models/deepseek_v32/attention.py, DeepseekV32Attention (v0.32.0)
    """
    pattern = keys.values.get("index_topk_pattern")
    if pattern is None:
        late = max(layer - keys.count("index_skip_topk_offset", default=2) + 1, 0)
        return late % keys.size("index_topk_freq", default=1) == 0
    if isinstance(pattern, list):
        return layer >= len(pattern) or pattern[layer] != SHARED
    text = keys.text("index_topk_pattern")
    return layer >= len(text) or text[layer] != SHARED


def _with_tokens(mlp: Mlp) -> Mlp:
    return replace(mlp, with_tokens=True) if isinstance(mlp, DenseMlp) else mlp
