"""Families with experts that vLLM builds with its Transformers backend: Hunyuan, FlexOlmo."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Experts
from vllm_parallel.catalog.families.backend import built
from vllm_parallel.catalog.families.from_library import HUNYUAN, OLMO, hunyuan_block, olmo2_block
from vllm_parallel.catalog.keys import JsonObject, Keys
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig

FLEX_OLMO: Final[JsonObject] = {
    **OLMO, "vocab_size": 100_352, "max_position_embeddings": 4096, "pad_token_id": 100_277,
    "num_experts_per_tok": 5, "num_experts": 7,
}  # fmt: skip
SHARED_MLP: Final = (
    ("mlp.shared_experts.gate_up_proj", "mlp.shared_mlp.gate_up_proj"),
    ("mlp.shared_experts.down_proj", "mlp.shared_mlp.down_proj"),
)
WIDTHS: Final = ("moe_intermediate_size", "intermediate_size")  # the first that a config has


def read_hunyuan_moe(keys: Keys) -> ModelConfig:
    """Hunyuan-A13B: experts on every layer, and a shared MLP.

    Source: vllm/model_executor/models/transformers/moe.py, MoEMixin (v0.32.0)
    """
    keys = keys.filled({**HUNYUAN, "num_experts": 1, "moe_topk": 1})
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok", "moe_topk"),
        intermediate=keys.size(*WIDTHS),
        shared_intermediate=keys.size("intermediate_size"),
    )
    block = replace(hunyuan_block(keys), mlp=experts, names=SHARED_MLP)
    return built(keys, block)


def read_flex_olmo(keys: Keys) -> ModelConfig:
    """FlexOlmo: OLMo 2's layers with experts.

    Source: vllm/model_executor/models/transformers/moe.py, MoEMixin (v0.32.0)
    """
    keys = keys.filled(FLEX_OLMO)
    experts = Experts(
        count=keys.size("num_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size(*WIDTHS),
    )
    return built(keys, replace(olmo2_block(keys), mlp=experts))
