"""The vision towers of Qwen2-VL, Qwen2.5-VL, Qwen3-VL."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

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
from vllm_parallel.tower import Matrix, Patches, Plain, Span, Stack, Tower

MODALITIES: Final = ("image", "video")
POSITIONS: Final = 8192  # of the tower's rotary table


class Sizes(NamedTuple):
    """What a `vision_config` says."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    out: int
    merge: int
    kernel: tuple[int, int, int, int]  # channels, frames, patch, patch
    dtype: Dtype
    positions: int = 0
    deep: int = 0  # layers that hand features to the first layers of the language model

    @property
    def merged(self) -> int:
        """Width of the patches that are merged into one token."""
        return self.hidden * self.merge**2

    @property
    def rotary_bytes(self) -> int:
        """Bytes of the rotary table: half of each head is rotated."""
        return POSITIONS * (self.hidden // self.heads // 2) * self.dtype.bytes


def kernel_of(keys: Keys) -> tuple[int, int, int, int]:
    """Channels, frames and sides of a patch."""
    patch = keys.size("patch_size", default=14)
    frames = keys.size("temporal_patch_size", default=2)
    return (keys.size("in_channels", default=3), frames, patch, patch)


def read_qwen2_tower(keys: Keys, dtype: Dtype) -> Tower:
    """Qwen2-VL: `hidden_size` is the language model's, `embed_dim` the tower's.

    Source: vllm/model_executor/models/qwen2_vl.py, Qwen2VisionTransformer (v0.32.0)
    """
    hidden = keys.size("embed_dim", default=1280)
    sizes = Sizes(
        hidden=hidden,
        intermediate=int(hidden * keys.number("mlp_ratio", default=4)),
        layers=keys.size("depth", default=32),
        heads=keys.size("num_heads", "num_attention_heads", default=16),
        out=keys.size("hidden_size", default=3584),
        merge=2,
        kernel=kernel_of(keys),
        dtype=dtype,
    )
    return _qwen2(sizes)


def read_qwen2_5_tower(keys: Keys, dtype: Dtype) -> Tower:
    """Qwen2.5-VL: gated MLPs, RMS norms.

    Source: vllm/model_executor/models/qwen2_5_vl.py, Qwen2_5_VisionTransformer (v0.32.0)
    """
    sizes = Sizes(
        hidden=keys.size("hidden_size", default=3584),
        intermediate=keys.size("intermediate_size", default=3420),
        layers=keys.size("depth", default=32),
        heads=keys.size("num_heads", "num_attention_heads", default=16),
        out=keys.size("out_hidden_size", default=3584),
        merge=keys.size("spatial_merge_size", default=2),
        kernel=kernel_of(keys),
        dtype=dtype,
    )
    return _qwen2_5(sizes)


def read_qwen3_tower(keys: Keys, dtype: Dtype) -> Tower:
    """Qwen3-VL: learned positions, and mergers for some layers on the way.

    Source: vllm/model_executor/models/qwen3_vl.py, Qwen3_VisionTransformer (v0.32.0)
    """
    deep = keys.items("deepstack_visual_indexes")
    keys = keys.filled({"patch_size": 16})
    sizes = Sizes(
        hidden=keys.size("hidden_size", default=1152),
        intermediate=keys.size("intermediate_size", default=4304),
        layers=keys.size("depth", default=27),
        heads=keys.size("num_heads", "num_attention_heads", default=16),
        out=keys.size("out_hidden_size", default=3584),
        merge=keys.size("spatial_merge_size", default=2),
        kernel=kernel_of(keys),
        dtype=dtype,
        positions=keys.size("num_position_embeddings", default=2304),
        deep=3 if deep is None else len(deep),
    )
    return _qwen3(sizes)


@lru_cache(maxsize=64)
def _qwen2(s: Sizes) -> Tower:
    name = "visual.blocks.*"
    blocks = Stack(
        name="encoder",
        count=s.layers,
        matrices=(
            Matrix(name=f"{name}.attn.qkv", out=(Span(3 * s.hidden),), into=Span(s.hidden)),
            row(f"{name}.attn.proj", s.hidden, s.hidden),
            column(f"{name}.mlp.fc1", s.hidden, s.intermediate),
            row(f"{name}.mlp.fc2", s.intermediate, s.hidden),
        ),
        plains=layer_norms(s.hidden, f"{name}.norm1", f"{name}.norm2"),
    )
    patches = _patches(s, bias=False)
    merger = _merger("visual.merger.mlp.0", "visual.merger.mlp.2", s)
    norms = layer_norms(s.hidden, "visual.merger.ln_q")
    return tower_of(s, (patches, blocks, Stack(name="merger", matrices=merger, plains=norms)))


@lru_cache(maxsize=64)
def _qwen2_5(s: Sizes) -> Tower:
    name = "visual.blocks.*"
    blocks = Stack(
        name="encoder",
        count=s.layers,
        matrices=(
            qkv(f"{name}.attn.qkv", s.hidden, s.heads),
            row(f"{name}.attn.proj", s.hidden, s.hidden),
            gate_up(f"{name}.mlp.gate_up_proj", s.hidden, s.intermediate),
            row(f"{name}.mlp.down_proj", s.intermediate, s.hidden),
        ),
        plains=rms_norms(s.hidden, f"{name}.norm1", f"{name}.norm2"),
    )
    patches = _patches(s, bias=False)
    merger = _merger("visual.merger.mlp.0", "visual.merger.mlp.2", s)
    norms = rms_norms(s.hidden, "visual.merger.ln_q")
    return tower_of(s, (patches, blocks, Stack(name="merger", matrices=merger, plains=norms)))


@lru_cache(maxsize=64)
def _qwen3(s: Sizes) -> Tower:
    name, deep = "visual.blocks.*", "visual.deepstack_merger_list.*"
    blocks = Stack(
        name="encoder",
        count=s.layers,
        matrices=(
            qkv(f"{name}.attn.qkv", s.hidden, s.heads),
            row(f"{name}.attn.proj", s.hidden, s.hidden),
            column(f"{name}.mlp.linear_fc1", s.hidden, s.intermediate),
            row(f"{name}.mlp.linear_fc2", s.intermediate, s.hidden),
        ),
        plains=layer_norms(s.hidden, f"{name}.norm1", f"{name}.norm2"),
    )
    positions = Plain("visual.pos_embed.weight", (s.positions, s.hidden))
    merger = Stack(
        name="merger",
        matrices=_merger("visual.merger.linear_fc1", "visual.merger.linear_fc2", s),
        plains=(positions, *layer_norms(s.hidden, "visual.merger.norm")),
    )
    mergers = Stack(
        name="deepstack mergers",
        count=s.deep,
        matrices=_merger(f"{deep}.linear_fc1", f"{deep}.linear_fc2", s),
        plains=layer_norms(s.merged, f"{deep}.norm"),
    )
    return tower_of(s, (_patches(s, bias=True), blocks, merger, mergers))


def _patches(s: Sizes, *, bias: bool) -> Stack:
    kernel = convolution("visual.patch_embed.proj", (s.hidden, *s.kernel), bias=bias)
    return Stack(name="patches", plains=kernel)


def _merger(first: str, second: str, s: Sizes) -> tuple[Matrix, Matrix]:
    return column(first, s.merged, s.merged), row(second, s.merged, s.out)


def tower_of(s: Sizes, stacks: tuple[Stack, ...]) -> Tower:
    """The tower of these stacks, with its rotary table."""
    return Tower(
        name="visual",
        modalities=MODALITIES,
        heads=s.heads,
        stacks=stacks,
        buffer_bytes=s.rotary_bytes,
        deals=True,
        patches=Patches(prod(s.kernel), s.merge**2),
        first_layers=s.deep,
    )
