"""Multimodal families around an image encoder that others share: Gemma 3, LLaVA, Mistral."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vllm_parallel.catalog.families.joined import Ties, text_model, vision_keys
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.towers.encoder import PREFIX, Encoder, Sizes, encoder, read_sizes
from vllm_parallel.catalog.towers.parts import projector, rms_norms
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.extras import Ends, Extra
from vllm_parallel.frozen import replace
from vllm_parallel.model import ModelConfig
from vllm_parallel.tower import Patches, Plain, Stack, Tower

SIGLIP: Final = {"model_type": "siglip_vision_model"}
CLIP: Final = {"model_type": "clip_vision_model"}
PIXTRAL: Final = {"model_type": "pixtral"}
PROJECTOR: Final = "multi_modal_projector"


def read_gemma3(keys: Keys) -> ModelConfig:
    """Gemma 3: a SigLIP tower and one matrix into the language model.

    Source: vllm/model_executor/models/gemma3_mm.py (v0.32.0)
    """
    model = text_model(keys, "Gemma3ForCausalLM", Ties.ALWAYS)
    vision = vision_keys(keys, SIGLIP)
    if vision is None:
        return model
    sizes = read_sizes(vision)
    pooled = sizes.patches // keys.size("mm_tokens_per_image", default=256)
    plains = (
        Plain(f"{PROJECTOR}.mm_input_projection_weight", (sizes.hidden, model.hidden)),
        *rms_norms(sizes.hidden, f"{PROJECTOR}.mm_soft_emb_norm"),
    )
    built = encoder(sizes, sizes.layers, post_norm=True)
    tower = _tower(sizes, built, Stack(name="projector", plains=plains), pooled)
    traits = replace(model.traits, no_float16="gemma3")
    return replace(model, traits=traits, towers=(tower,))


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
    model = text_model(keys, None, Ties.NEVER if newline else Ties.AS_TEXT)
    vision = vision_keys(keys, CLIP)
    if vision is None:
        return model
    sizes = read_sizes(vision)
    looked_at = _feature_layers(keys, sizes.layers, missing=-2)
    width = sizes.hidden * (len(looked_at) if newline else 1)
    bias = keys.flag("multimodal_projector_bias", default=True)
    into, out = projector(PROJECTOR, width, model.hidden, bias=bias)
    joined = Stack(name="projector", matrices=(into, out))
    model = _with_newline(model) if newline else model
    built = encoder(sizes, max(looked_at), post_norm=False)
    return replace(model, towers=(_tower(sizes, built, joined, 1),))


def _with_newline(model: ModelConfig) -> ModelConfig:
    """The embedding of a line's end, which stays where the tower is left out."""
    line = Extra(name="image_newline", rows=model.hidden)
    ends = model.ends or Ends()
    return replace(model, ends=replace(ends, everywhere=(*ends.everywhere, line)))


def read_mistral3(keys: Keys) -> ModelConfig:
    """Mistral Small 3 and later: a Pixtral tower, patches merged before the projector.

    Source: vllm/model_executor/models/mistral3.py (v0.32.0)
    """
    model = text_model(keys, None, Ties.ALWAYS)
    vision = vision_keys(keys, PIXTRAL)
    if vision is None:
        return model
    sizes = read_sizes(vision)
    looked_at = _feature_layers(keys, sizes.layers, missing=-1)
    merge = keys.size("spatial_merge_size", default=2)
    bias = keys.flag("multimodal_projector_bias")
    into, out = projector(PROJECTOR, sizes.hidden, model.hidden, bias=bias)
    merged = (sizes.hidden, sizes.hidden * merge**2)
    plains = (
        Plain(f"{PROJECTOR}.patch_merger.merging_layer.weight", merged),
        *rms_norms(sizes.hidden, f"{PROJECTOR}.norm"),
    )
    joined = Stack(name="projector", matrices=(into, out), plains=plains)
    built = encoder(sizes, max(looked_at), post_norm=False)
    return replace(model, towers=(_tower(sizes, built, joined, merge**2),))


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


@lru_cache(maxsize=64)
def _tower(sizes: Sizes, built: Encoder, joined: Stack, merged: int) -> Tower:
    """An encoder, and what joins it to the language model; `merged` patches become one token."""
    return Tower(
        name=PREFIX,
        modalities=("image",),
        heads=sizes.heads,
        stacks=(*built.stacks, joined),
        buffer_bytes=built.buffer_bytes,
        patches=Patches(sizes.values, merged),
    )
