"""Families that join towers to a language model, which is read by its own family."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Final

from vllm_parallel.catalog.families import reader_of
from vllm_parallel.catalog.families.model_types import architecture_of
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.towers.encoder import PREFIX, Sizes, encoder, read_sizes
from vllm_parallel.catalog.towers.glm import read_glm_tower
from vllm_parallel.catalog.towers.llama4 import read_llama4_tower
from vllm_parallel.catalog.towers.moonvit import read_moonvit
from vllm_parallel.catalog.towers.parts import projector, rms_norms
from vllm_parallel.catalog.towers.qwen import (
    read_qwen2_5_tower,
    read_qwen2_tower,
    read_qwen3_tower,
)
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig
from vllm_parallel.tower import Patches, Plain, Stack, Tower

OWN: Final = ("text_config", "vision_config", "audio_config")
DTYPES: Final = ("torch_dtype", "dtype")
TIE: Final = "tie_word_embeddings"
LLAVA_VISION: Final = {"model_type": "clip_vision_model"}
PIXTRAL_VISION: Final = {"model_type": "pixtral"}
QWEN2_TEXT: Final = {"num_key_value_heads": 8, "max_window_layers": 80}


def read_gemma3(keys: Keys) -> ModelConfig:
    """Gemma 3: a SigLIP tower and one matrix into the language model.

    Source: vllm/model_executor/models/gemma3_mm.py (v0.32.0)
    """
    model = _text(keys, "Gemma3ForCausalLM", Ties.ALWAYS)
    vision = _vision(keys, {"model_type": "siglip_vision_model"})
    if vision is None:
        return model
    sizes = read_sizes(vision)
    pooled = sizes.patches // keys.size("mm_tokens_per_image", default=256)
    traits = replace(model.traits, no_float16="gemma3")
    return replace(model, traits=traits, towers=(_gemma3_tower(sizes, model.hidden, pooled),))


@lru_cache(maxsize=64)
def _gemma3_tower(sizes: Sizes, text_hidden: int, pooled: int) -> Tower:
    built = encoder(sizes, sizes.layers, post_norm=True)
    name = "multi_modal_projector"
    joined = Stack(
        name="projector",
        plains=(
            Plain(f"{name}.mm_input_projection_weight", (sizes.hidden, text_hidden)),
            *rms_norms(sizes.hidden, f"{name}.mm_soft_emb_norm"),
        ),
    )
    return Tower(
        name=PREFIX,
        modalities=("image",),
        heads=sizes.heads,
        stacks=(*built.stacks, joined),
        buffer_bytes=built.buffer_bytes,
        patches=Patches(sizes.values, pooled),
    )


def read_llava(keys: Keys) -> ModelConfig:
    """LLaVA: an encoder up to the layer that is looked at, and two layers into the text model.

    Source: vllm/model_executor/models/llava.py (v0.32.0)
    """
    return _llava(keys, newline=False)


def read_llava_next(keys: Keys) -> ModelConfig:
    """LLaVA-NeXT and Granite Vision, which looks at several layers: and a line end for images.

    Source: vllm/model_executor/models/llava_next.py (v0.32.0)
    """
    return _llava(keys, newline=True)


def _llava(keys: Keys, *, newline: bool) -> ModelConfig:
    model = _text(keys, None, Ties.NEVER if newline else Ties.AS_TEXT)
    vision = _vision(keys, LLAVA_VISION)
    if vision is None:
        return model
    sizes = read_sizes(vision)
    looked_at = _feature_layers(keys, sizes.layers, missing=-2)
    width = sizes.hidden * (len(looked_at) if newline else 1)
    bias = keys.flag("multimodal_projector_bias", default=True)
    into, out = projector("multi_modal_projector", width, model.hidden, bias=bias)
    joined = Stack(name="projector", matrices=(into, out))
    model = _with_newline(model) if newline else model
    return replace(model, towers=(_joined(sizes, max(looked_at), joined, 1),))


def _with_newline(model: ModelConfig) -> ModelConfig:
    """The embedding of a line's end, which stays where the tower is left out."""
    line = Extra(name="image_newline", rows=model.hidden)
    ends = model.ends or Ends()
    return replace(model, ends=replace(ends, everywhere=(*ends.everywhere, line)))


def read_mistral3(keys: Keys) -> ModelConfig:
    """Mistral Small 3 and later: a Pixtral tower, patches merged before the projector.

    Source: vllm/model_executor/models/mistral3.py (v0.32.0)
    """
    model = _text(keys, None, Ties.ALWAYS)
    vision = _vision(keys, PIXTRAL_VISION)
    if vision is None:
        return model
    sizes = read_sizes(vision)
    looked_at = _feature_layers(keys, sizes.layers, missing=-1)
    merge = keys.size("spatial_merge_size", default=2)
    bias = keys.flag("multimodal_projector_bias")
    name = "multi_modal_projector"
    into, out = projector(name, sizes.hidden, model.hidden, bias=bias)
    merged = (sizes.hidden, sizes.hidden * merge**2)
    plains = (
        Plain(f"{name}.patch_merger.merging_layer.weight", merged),
        *rms_norms(sizes.hidden, f"{name}.norm"),
    )
    joined = Stack(name="projector", matrices=(into, out), plains=plains)
    return replace(model, towers=(_joined(sizes, max(looked_at), joined, merge**2),))


@lru_cache(maxsize=64)
def _joined(sizes: Sizes, layers: int, joined: Stack, merged: int) -> Tower:
    built = encoder(sizes, layers, post_norm=False)
    return Tower(
        name=PREFIX,
        modalities=("image",),
        heads=sizes.heads,
        stacks=(*built.stacks, joined),
        buffer_bytes=built.buffer_bytes,
        patches=Patches(sizes.values, merged),
    )


def read_llama4(keys: Keys) -> ModelConfig:
    """Llama 4 with its tower.

    Source: vllm/model_executor/models/mllama4.py (v0.32.0)
    """
    model = _text(keys, "Llama4ForCausalLM", Ties.NEVER)
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_llama4_tower(vision, model.hidden),))


def read_qwen2_vl(keys: Keys) -> ModelConfig:
    """Qwen2-VL. Source: vllm/model_executor/models/qwen2_vl.py (v0.32.0)."""
    model = _text(
        keys, "Qwen2ForCausalLM", Ties.AS_TEXT, num_key_value_heads=8, max_window_layers=80
    )
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_qwen2_tower(vision, model.dtype),))


def read_qwen2_5_vl(keys: Keys) -> ModelConfig:
    """Qwen2.5-VL. Source: vllm/model_executor/models/qwen2_5_vl.py (v0.32.0)."""
    model = _text(
        keys, "Qwen2ForCausalLM", Ties.AS_TEXT, num_key_value_heads=8, max_window_layers=80
    )
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_qwen2_5_tower(vision, model.dtype),))


def read_qwen3_vl(keys: Keys) -> ModelConfig:
    """Qwen3-VL. Source: vllm/model_executor/models/qwen3_vl.py (v0.32.0)."""
    model = _text(_counting_tokens(keys), "Qwen3ForCausalLM", Ties.NEVER)
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_qwen3_tower(vision, model.dtype),))


def read_qwen3_vl_moe(keys: Keys) -> ModelConfig:
    """Qwen3-VL with experts. Source: vllm/model_executor/models/qwen3_vl_moe.py (v0.32.0)."""
    _refuse_missing(keys, "norm_topk_prob")
    keys = _counting_tokens(keys)
    model = _text(keys, "Qwen3MoeForCausalLM", Ties.NEVER, num_key_value_heads=16)
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_qwen3_tower(vision, model.dtype),))


def _counting_tokens(keys: Keys) -> Keys:
    """Positions of Qwen3-VL never run ahead of its tokens, so its rotary table is not longer.

    Source: vllm/model_executor/models/qwen3_vl.py, mrope_positions_factor (v0.32.0)
    """
    text = keys.nested("text_config")
    if text is None:
        return keys
    short = dict(text.without("mrope_section").values)
    return Keys(keys.name, {**keys.values, "text_config": short})


def read_glm4v(keys: Keys) -> ModelConfig:
    """GLM-4.1V. Source: vllm/model_executor/models/glm4_1v.py (v0.32.0)."""
    return _glm(keys, "Glm4ForCausalLM")


def read_glm4v_moe(keys: Keys) -> ModelConfig:
    """GLM-4.5V. Source: vllm/model_executor/models/glm4_1v.py (v0.32.0)."""
    _refuse_missing(keys, "use_qk_norm")
    return _glm(keys, "Glm4MoeForCausalLM")


def _glm(keys: Keys, text: str) -> ModelConfig:
    model = _text(keys, text, Ties.AS_TEXT)
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_glm_tower(vision, model.dtype),))


def read_kimi_vl(keys: Keys) -> ModelConfig:
    """Kimi-VL. Source: vllm/model_executor/models/kimi_vl.py (v0.32.0)."""
    model = _text(keys, "DeepseekV2ForCausalLM", Ties.NEVER)
    vision = _vision(keys, {})
    if vision is None:
        return model
    return replace(model, towers=(read_moonvit(vision, model.hidden),))


class Ties(Enum):
    """When embedding and head are tied, where the config itself does not say so.

    Source: vllm/config/vllm.py, with_hf_config (v0.32.0), and each config's class
    """

    NEVER = "the text part is not asked"
    AS_TEXT = "where the text part ties them"
    ALWAYS = "unless the config says false"


def _text(keys: Keys, architecture: str | None, ties: Ties, **defaults: object) -> ModelConfig:
    """The language model, by the text config or, in older configs, by what lies beside it.

    Without an architecture the text config names it.
    """
    missing = "mistral" if ties is Ties.ALWAYS else "llama"
    inner = keys.nested("text_config")
    outer = {name: value for name, value in keys.values.items() if name not in OWN}
    dtype = {name: outer[name] for name in DTYPES if outer.get(name) is not None}
    given = outer if inner is None else {**inner.values, **dtype}
    named = architecture or _named(inner or Keys(keys.name, {}), missing)
    reader = reader_of(named)
    if reader is None:
        raise CatalogError(
            subject=keys.name,
            problem=f"has a language model {shortened(named)}, which is not modelled",
            fix="its layers are needed as a family",
        )
    values = {**defaults, **given, "architecture": named}
    tied = keys.flag(TIE, default=ties is Ties.ALWAYS)
    if not tied and ties is Ties.AS_TEXT:
        tied = reader(Keys(keys.name, values)).tied
    model = reader(Keys(keys.name, {**values, TIE: tied}))
    return replace(model, architecture=keys.text("architecture"))


def _refuse_missing(keys: Keys, key: str) -> None:
    """Refuse a config whose text part lacks a key that its class does not fill in."""
    (keys.nested("text_config") or keys).refuse_missing(key)


def _named(text: Keys, missing: str) -> str:
    """The architecture that a text config names, or that its type stands for.

    Source: vllm/config/vllm.py, with_hf_config (v0.32.0)
    """
    architectures = text.items("architectures")
    if architectures and isinstance(architectures[0], str):
        return architectures[0]
    known = architecture_of(text.text("model_type", default=missing))
    if known is None:
        raise CatalogError(
            subject=text.name,
            problem="names no architecture",
            fix="add its 'architectures' list",
        )
    return known


def _vision(keys: Keys, defaults: Mapping[str, object]) -> Keys | None:
    """The `vision_config`; a config without one is sized as its language model alone."""
    vision = keys.nested("vision_config")
    return None if vision is None else Keys(vision.name, {**defaults, **vision.values})


def _feature_layers(keys: Keys, layers: int, *, missing: int) -> tuple[int, ...]:
    """How many layers lie below each output that is looked at; negative ones count from the end.

    Source: vllm/model_executor/models/llava.py, _get_num_hidden_layers (v0.32.0)
    """
    given = keys.values.get("vision_feature_layer", missing)
    chosen = given if isinstance(given, list) else [given]
    depths = tuple(
        layers + layer + 1 if layer < 0 else layer
        for layer in chosen
        if isinstance(layer, int) and not isinstance(layer, bool)
    )
    if not depths or len(depths) != len(chosen) or not 0 < max(depths) <= layers:
        raise CatalogError(
            subject=keys.name,
            problem=f"has 'vision_feature_layer': {shortened(given)}",
            fix=f"it should be one or several of the {layers} layers",
        )
    return depths
