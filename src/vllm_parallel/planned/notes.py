"""What a reader has to know of a model before its figures."""

from __future__ import annotations

from typing import Final

from vllm_parallel.model import ModelConfig
from vllm_parallel.question import Json

TOWER_KEYS: Final = frozenset({"text_config", "vision_config", "audio_config"})


def notes(model: ModelConfig, config: Json) -> list[str]:
    """That a model is quantised, or multimodal by its config.

    >>> from vllm_parallel.catalog import load_model
    >>> notes(load_model("deepseek-r1"), {}), notes(load_model("qwen3-32b"), {})
    (['Quantised as published: fp8.'], [])
    """
    said = []
    if model.quantisation is not None:
        said.append(f"Quantised as published: {model.quantisation.checkpoint}.")
    if model.towers:
        said.append("Multimodal: its towers are counted, images in the load are not.")
    elif not TOWER_KEYS.isdisjoint(config):
        said.append("Multimodal, of which only the text part is counted.")
    return said
