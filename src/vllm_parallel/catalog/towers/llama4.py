"""The vision tower of Llama 4."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.towers.parts import column, layer_norms, qkv, row
from vllm_parallel.tower import Matrix, Plain, Span, Spread, Stack, Tower

ROTARY_BYTES: Final = 8  # a complex64 number for each position, pair and side


class Sizes(NamedTuple):
    """What the `vision_config` says, and the width of the language model."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    channels: int
    image: int
    patch: int
    adapter_into: int
    adapter_out: int
    adapter_bias: bool
    output: int
    text_hidden: int


def read_llama4_tower(keys: Keys, text_hidden: int) -> Tower:
    """The tower of a `vision_config`.

    Source: vllm/model_executor/models/mllama4.py, Llama4VisionModel (v0.32.0)
    """
    return _tower(
        Sizes(
            hidden=keys.size("hidden_size", default=768),
            intermediate=keys.size("intermediate_size", default=5632),
            layers=keys.size("num_hidden_layers", default=34),
            heads=keys.size("num_attention_heads", default=16),
            channels=keys.size("num_channels", default=3),
            image=keys.size("image_size", default=448),
            patch=keys.size("patch_size", default=14),
            adapter_into=keys.size("projector_input_dim", default=4096),
            adapter_out=keys.size("projector_output_dim", default=4096),
            adapter_bias=keys.flag("multi_modal_projector_bias"),
            output=keys.size("vision_output_dim", default=7680),
            text_hidden=text_hidden,
        )
    )


@lru_cache(maxsize=64)
def _tower(s: Sizes) -> Tower:
    patches = (s.image // s.patch) ** 2
    joined = Matrix(
        name="multi_modal_projector.linear_1",
        out=(Span(s.text_hidden),),
        into=Span(s.output),
        spread=Spread.TENSOR,
        bias=False,
        quantisable=False,
    )
    return Tower(
        name="vision_model",
        modalities=("image",),
        heads=s.heads,
        stacks=(_ends(s, patches), _blocks(s), Stack(name="projector", matrices=(joined,))),
        buffer_bytes=(patches + 1) * (s.hidden // s.heads // 2) * ROTARY_BYTES,
        deals=True,
    )


def _ends(s: Sizes, patches: int) -> Stack:
    name, adapter = "vision_model", "vision_model.vision_adapter.mlp"
    bias, pixels = s.adapter_bias, s.channels * s.patch * s.patch
    return Stack(
        name="embeddings and adapter",
        matrices=(
            column(f"{name}.patch_embedding.linear", pixels, s.hidden, bias=False),
            column(f"{adapter}.fc1", s.intermediate, s.adapter_into, bias=bias),
            row(f"{adapter}.fc2", s.adapter_into, s.adapter_out, bias=bias),
        ),
        plains=(
            Plain(f"{name}.class_embedding", (s.hidden,)),
            Plain(f"{name}.positional_embedding_vlm", (patches + 1, s.hidden)),
            *layer_norms(s.hidden, f"{name}.layernorm_pre", f"{name}.layernorm_post"),
        ),
    )


def _blocks(s: Sizes) -> Stack:
    name = "vision_model.model.layers.*"
    return Stack(
        name="encoder",
        count=s.layers,
        matrices=(
            qkv(f"{name}.self_attn.qkv_proj", s.hidden, s.heads),
            row(f"{name}.self_attn.o_proj", s.hidden, s.hidden),
            column(f"{name}.mlp.fc1", s.hidden, s.intermediate),
            row(f"{name}.mlp.fc2", s.intermediate, s.hidden),
        ),
        plains=layer_norms(s.hidden, f"{name}.input_layernorm", f"{name}.post_attention_layernorm"),
    )
