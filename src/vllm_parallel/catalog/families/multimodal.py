"""Multimodal families with a tower of their own: Llama 4, Qwen-VL, GLM-V, Kimi-VL."""

from __future__ import annotations

from functools import partial
from typing import Final

from vllm_parallel.catalog.families.joined import Ties, refuse_missing, text_model, with_tower
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.towers.glm import read_glm_tower
from vllm_parallel.catalog.towers.llama4 import read_llama4_tower
from vllm_parallel.catalog.towers.moonvit import read_moonvit
from vllm_parallel.catalog.towers.qwen import (
    read_qwen2_5_tower,
    read_qwen2_tower,
    read_qwen3_tower,
)
from vllm_parallel.model import ModelConfig

QWEN2_TEXT: Final = {"num_key_value_heads": 8, "max_window_layers": 80}


def read_llama4(keys: Keys) -> ModelConfig:
    """Llama 4 with its tower.

    Source: vllm/model_executor/models/mllama4.py (v0.32.0)
    """
    model = text_model(keys, "Llama4ForCausalLM", Ties.NEVER)
    return with_tower(model, keys, partial(read_llama4_tower, text_hidden=model.hidden))


def read_qwen2_vl(keys: Keys) -> ModelConfig:
    """Qwen2-VL. Source: vllm/model_executor/models/qwen2_vl.py (v0.32.0)."""
    model = text_model(keys, "Qwen2ForCausalLM", Ties.AS_TEXT, **QWEN2_TEXT)
    return with_tower(model, keys, partial(read_qwen2_tower, dtype=model.dtype))


def read_qwen2_5_vl(keys: Keys) -> ModelConfig:
    """Qwen2.5-VL. Source: vllm/model_executor/models/qwen2_5_vl.py (v0.32.0)."""
    model = text_model(keys, "Qwen2ForCausalLM", Ties.AS_TEXT, **QWEN2_TEXT)
    return with_tower(model, keys, partial(read_qwen2_5_tower, dtype=model.dtype))


def read_qwen3_vl(keys: Keys) -> ModelConfig:
    """Qwen3-VL. Source: vllm/model_executor/models/qwen3_vl.py (v0.32.0)."""
    model = text_model(_counting_tokens(keys), "Qwen3ForCausalLM", Ties.NEVER)
    return with_tower(model, keys, partial(read_qwen3_tower, dtype=model.dtype))


def read_qwen3_vl_moe(keys: Keys) -> ModelConfig:
    """Qwen3-VL with experts. Source: vllm/model_executor/models/qwen3_vl_moe.py (v0.32.0)."""
    refuse_missing(keys, "norm_topk_prob")
    keys = _counting_tokens(keys)
    model = text_model(keys, "Qwen3MoeForCausalLM", Ties.NEVER, num_key_value_heads=16)
    return with_tower(model, keys, partial(read_qwen3_tower, dtype=model.dtype))


def _counting_tokens(keys: Keys) -> Keys:
    """Positions of Qwen3-VL never run ahead of its tokens, so its rotary table is not longer.

    Source: vllm/model_executor/models/qwen3_vl.py, mrope_positions_factor (v0.32.0)
    """
    text = keys.nested("text_config")
    if text is None:
        return keys
    short = dict(text.without("mrope_section").values)
    return keys.with_(text_config=short)


def read_glm4v(keys: Keys) -> ModelConfig:
    """GLM-4.1V. Source: vllm/model_executor/models/glm4_1v.py (v0.32.0)."""
    return _glm(keys, "Glm4ForCausalLM")


def read_glm4v_moe(keys: Keys) -> ModelConfig:
    """GLM-4.5V. Source: vllm/model_executor/models/glm4_1v.py (v0.32.0)."""
    refuse_missing(keys, "use_qk_norm")
    return _glm(keys, "Glm4MoeForCausalLM")


def _glm(keys: Keys, text: str) -> ModelConfig:
    model = text_model(keys, text, Ties.AS_TEXT)
    return with_tower(model, keys, partial(read_glm_tower, dtype=model.dtype))


def read_kimi_vl(keys: Keys) -> ModelConfig:
    """Kimi-VL. Source: vllm/model_executor/models/kimi_vl.py (v0.32.0)."""
    model = text_model(keys, "DeepseekV2ForCausalLM", Ties.NEVER)
    return with_tower(model, keys, partial(read_moonvit, text_hidden=model.hidden))
