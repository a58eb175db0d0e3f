"""What transformers refuses of any config, whatever its family."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.errors import CatalogError, close_names, shortened
from vllm_parallel.files import read_beside
from vllm_parallel.json_text import read_json

ATTENTION_KINDS: Final = (
    "full_attention", "sliding_attention", "chunked_attention", "window_attention",
    "indexed_attention", "compressed_sparse_attention", "heavily_compressed_attention",
    "minimax_m3_sparse", "conv", "moe", "hybrid", "hybrid_sliding", "linear_attention",
)  # fmt: skip
OLD_WORDS: Final = ("mamba", "attention", "deepseek_sparse_attention", "qwen_sparse_attention")
KINDS: Final = {
    "layer_types": ATTENTION_KINDS + OLD_WORDS,
    "mlp_layer_types": ("sparse", "dense"),  # looked at beside the other list alone
}


def refuse_unknown_type(keys: Keys) -> None:
    """Refuse a `model_type` whose config vLLM cannot read, unless the checkpoint brings code.

    Source: vllm/transformers_utils/config.py, HFConfigParser (v0.32.0)

    Raises:
        CatalogError: such a type.

    >>> refuse_unknown_type(Keys("m", {"model_type": "lama"}))
    Traceback (most recent call last):
    ...
    vllm_parallel.errors.CatalogError: m has 'model_type': 'lama', which neither vLLM nor \
transformers knows; did you mean llama or mllama or llama4?
    """
    if not keys.has("model_type") or keys.has("auto_map"):
        return
    named, known = keys.text("model_type"), known_types()
    if named not in known:
        raise CatalogError(
            subject=keys.name,
            problem=f"has 'model_type': {shortened(named)}, "
            "which neither vLLM nor transformers knows",
            fix=close_names(named, known, whose="the list of types"),
        )


@lru_cache(maxsize=1)
def known_types() -> frozenset[str]:
    """Every `model_type` whose config vLLM reads."""
    types = read_json(read_beside(__file__, "families/model_types.json"))
    assert isinstance(types, list)
    return frozenset(types)


def refuse_layer_types(keys: Keys) -> None:
    """Refuse lists of layers that are too short or too long, or with words of no layer.

    Source: transformers, PreTrainedConfig.validate_layer_type

    Raises:
        CatalogError: such a list.

    >>> refuse_layer_types(Keys("m", {"num_hidden_layers": 2, "layer_types": ["conv"]}))
    Traceback (most recent call last):
    ...
    vllm_parallel.errors.CatalogError: m has 1 layer_types for 2 layers; give one for each layer
    """
    for key, known in KINDS.items():
        words = keys.items(key)
        if words is None or not keys.has("num_hidden_layers"):
            return
        strange = [word for word in words if word not in known]
        if strange:
            raise CatalogError(
                subject=keys.name,
                problem=f"has {shortened(strange[0])} among its {key}",
                fix=f"transformers knows {', '.join(known)}",
            )
        layers = keys.size("num_hidden_layers")
        if len(words) != layers:
            raise CatalogError(
                subject=keys.name,
                problem=f"has {len(words)} {key} for {layers} layers",
                fix="give one for each layer",
            )


def refuse_no_sections(keys: Keys) -> None:
    """Refuse rotary positions of videos that are not dealt to sections of a head.

    Source: vllm/transformers_utils/config.py, patch_legacy_rope_type (v0.32.0)
    """
    for name in ("rope_scaling", "rope_parameters"):
        rope = keys.nested(name)
        if rope is not None and "mrope" in (rope.values.get("rope_type"), rope.values.get("type")):
            rope.refuse_missing("mrope_section")
