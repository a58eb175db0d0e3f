"""Encoders of images that many models share: SigLIP, CLIP, Pixtral."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from vllm_parallel.catalog.families.common import refuse_uneven
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.towers.parts import (
    column,
    convolution,
    gate_up,
    layer_norms,
    qkv,
    rms_norms,
    row,
)
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.tower import INDEX_BYTES, Plain, Stack

PREFIX: Final = "vision_tower"


class Sizes(NamedTuple):
    """What a `vision_config` says, its class's defaults filled in."""

    kind: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    channels: int
    image: int
    patch: int

    @property
    def values(self) -> int:
        """Numbers of one patch."""
        return self.channels * self.patch**2

    @property
    def patches(self) -> int:
        """Patches of a whole image."""
        return (self.image // self.patch) ** 2


class Encoder(NamedTuple):
    """Stacks of an encoder, and the bytes of its tables."""

    stacks: tuple[Stack, ...]
    buffer_bytes: int


DEFAULTS: Final = {  # hidden, intermediate, layers, heads, image, patch
    "siglip_vision_model": (768, 3072, 12, 12, 224, 16),
    "clip_vision_model": (768, 3072, 12, 12, 224, 32),
    "pixtral": (1024, 4096, 24, 16, 1024, 16),
}
KEYS: Final = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
               "image_size", "patch_size")  # fmt: skip


def read_sizes(keys: Keys) -> Sizes:
    """The sizes of a `vision_config`.

    Raises:
        CatalogError: an encoder that is not modelled.
    """
    kind = keys.text("model_type")
    defaults = DEFAULTS.get(kind)
    if defaults is None:
        raise CatalogError(
            subject=keys.name,
            problem=f"is a {shortened(kind)} tower, which is not modelled",
            fix="ask with --language-model-only, or leave vision_config out",
        )
    hidden, intermediate, layers, heads, image, patch = (
        keys.size(key, default=default) for key, default in zip(KEYS, defaults, strict=True)
    )
    sizes = Sizes(
        kind=kind,
        hidden=hidden,
        intermediate=intermediate,
        layers=layers,
        heads=heads,
        channels=keys.size("num_channels", default=3),
        image=image,
        patch=patch,
    )
    refuse_uneven(keys.name, hidden, heads)
    return sizes


def encoder(sizes: Sizes, layers: int, *, post_norm: bool) -> Encoder:
    """The first `layers` of an encoder."""
    build = ENCODERS[sizes.kind]
    stacks, tables = build(sizes, layers)
    last = layer_norms(sizes.hidden, f"{PREFIX}.vision_model.post_layernorm")
    after = (Stack(name="post norm", plains=last),) if post_norm else ()
    return Encoder((*stacks, *after), tables)


def _siglip(s: Sizes, layers: int) -> Encoder:
    """Source: vllm/model_executor/models/siglip.py, SiglipVisionTransformer (v0.32.0)."""
    name = f"{PREFIX}.vision_model.embeddings"
    embeddings = (
        *convolution(f"{name}.patch_embedding", (s.hidden, s.channels, s.patch, s.patch)),
        Plain(f"{name}.position_embedding.weight", (s.patches, s.hidden)),
    )
    return Encoder(
        (Stack(name="embeddings", plains=embeddings), _two_layer_mlp(s, layers)),
        s.patches * INDEX_BYTES,
    )


def _clip(s: Sizes, layers: int) -> Encoder:
    """Source: vllm/model_executor/models/clip.py, CLIPVisionTransformer (v0.32.0)."""
    name, positions = f"{PREFIX}.vision_model", s.patches + 1
    kernel = (s.hidden, s.channels, s.patch, s.patch)
    embeddings = (
        Plain(f"{name}.embeddings.class_embedding", (s.hidden,)),
        *convolution(f"{name}.embeddings.patch_embedding", kernel, bias=False),
        Plain(f"{name}.embeddings.position_embedding.weight", (positions, s.hidden)),
        *layer_norms(s.hidden, f"{name}.pre_layrnorm"),
    )
    return Encoder(
        (Stack(name="embeddings", plains=embeddings), _two_layer_mlp(s, layers)),
        positions * INDEX_BYTES,
    )


def _two_layer_mlp(s: Sizes, layers: int) -> Stack:
    name = f"{PREFIX}.vision_model.encoder.layers.*"
    return Stack(
        name="encoder",
        count=layers,
        matrices=(
            qkv(f"{name}.self_attn.qkv_proj", s.hidden, s.heads),
            row(f"{name}.self_attn.out_proj", s.hidden, s.hidden),
            column(f"{name}.mlp.fc1", s.hidden, s.intermediate),
            row(f"{name}.mlp.fc2", s.intermediate, s.hidden),
        ),
        plains=layer_norms(s.hidden, f"{name}.layer_norm1", f"{name}.layer_norm2"),
    )


def _pixtral(s: Sizes, layers: int) -> Encoder:
    """Source: vllm/model_executor/models/pixtral.py, PixtralHFVisionModel (v0.32.0)."""
    kernel = (s.hidden, s.channels, s.patch, s.patch)
    embeddings = (
        *convolution(f"{PREFIX}.patch_conv", kernel, bias=False),
        *rms_norms(s.hidden, f"{PREFIX}.ln_pre"),
    )
    name = f"{PREFIX}.transformer.layers.*"
    blocks = Stack(
        name="encoder",
        count=layers,
        matrices=(
            qkv(f"{name}.attention.qkv_proj", s.hidden, s.heads, bias=False),
            row(f"{name}.attention.o_proj", s.hidden, s.hidden, bias=False),
            gate_up(f"{name}.feed_forward.gate_up_proj", s.hidden, s.intermediate, bias=False),
            row(f"{name}.feed_forward.down_proj", s.intermediate, s.hidden, bias=False),
        ),
        plains=rms_norms(s.hidden, f"{name}.attention_norm", f"{name}.ffn_norm"),
    )
    stacks = (Stack(name="embeddings", plains=embeddings), blocks)
    return Encoder(stacks, s.hidden // s.heads * Dtype.FLOAT32.bytes)  # two halves


ENCODERS: Final[dict[str, Callable[[Sizes, int], Encoder]]] = {
    "siglip_vision_model": _siglip,
    "clip_vision_model": _clip,
    "pixtral": _pixtral,
}
