"""The vision tower of GLM-4.1V, GLM-4.5V, GLM-4.6V."""

from __future__ import annotations

from functools import lru_cache

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
from vllm_parallel.catalog.towers.qwen import Sizes, kernel_of, tower_of
from vllm_parallel.dtype import Dtype
from vllm_parallel.frozen import replace
from vllm_parallel.tower import INDEX_BYTES, Plain, Stack, Tower


def read_glm_tower(keys: Keys, dtype: Dtype) -> Tower:
    """The tower of a `vision_config`; its MLPs are as wide as what comes out.

    Source: vllm/model_executor/models/glm4_1v.py, Glm4vVisionTransformer (v0.32.0)
    """
    image, patch = keys.size("image_size", default=336), keys.size("patch_size", default=14)
    return _tower(
        Sizes(
            hidden=keys.size("hidden_size", default=1536),
            intermediate=keys.size("intermediate_size", default=13696),
            layers=keys.size("depth", default=24),
            heads=keys.size("num_heads", "num_attention_heads", default=12),
            out=keys.size("out_hidden_size", default=4096),
            merge=keys.size("spatial_merge_size", default=2),
            kernel=kernel_of(keys),
            positions=(image // patch) ** 2,
            dtype=dtype,
        )
    )


@lru_cache(maxsize=64)
def _tower(s: Sizes) -> Tower:
    name = "visual.blocks.*"
    blocks = Stack(
        name="encoder",
        count=s.layers,
        matrices=(
            qkv(f"{name}.attn.qkv", s.hidden, s.heads, bias=False),
            row(f"{name}.attn.proj", s.hidden, s.hidden, bias=False),
            gate_up(f"{name}.mlp.gate_up_proj", s.hidden, s.out, bias=False),
            row(f"{name}.mlp.down_proj", s.out, s.hidden, bias=False),
        ),
        plains=rms_norms(s.hidden, f"{name}.norm1", f"{name}.norm2"),
    )
    tower = tower_of(s, (_ends(s), blocks, _merger(s)))
    return replace(tower, buffer_bytes=tower.buffer_bytes + s.positions * INDEX_BYTES)


def _ends(s: Sizes) -> Stack:
    return Stack(
        name="patches",
        plains=(
            *convolution("visual.patch_embed.proj", (s.hidden, *s.kernel)),
            *convolution("visual.downsample", (s.out, s.hidden, s.merge, s.merge)),
            Plain("visual.embeddings.position_embedding.weight", (s.positions, s.hidden)),
            *rms_norms(s.hidden, "visual.post_conv_layernorm", "visual.post_layernorm"),
        ),
    )


def _merger(s: Sizes) -> Stack:
    name = "visual.merger"
    return Stack(
        name="merger",
        matrices=(
            column(f"{name}.proj", s.out, s.out, bias=False),
            gate_up(f"{name}.gate_up_proj", s.out, s.intermediate, bias=False),
            row(f"{name}.down_proj", s.intermediate, s.out, bias=False),
        ),
        plains=layer_norms(s.out, f"{name}.post_projection_norm"),
    )
