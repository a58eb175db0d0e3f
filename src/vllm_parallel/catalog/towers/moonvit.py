"""The vision tower of Kimi-VL."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.towers.parts import column, convolution, copied, layer_norms, qkv, row
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import replace
from vllm_parallel.tower import Matrix, Patches, Plain, Stack, Tower


class Sizes(NamedTuple):
    """What a `vision_config` says, and the width of the language model."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    patch: int
    height: int
    width: int
    merged: int
    text_hidden: int


def read_moonvit(keys: Keys, text_hidden: int) -> Tower:
    """The tower of a `vision_config`.

    Source: vllm/model_executor/models/moonvit.py, MoonVitPretrainedModel (v0.32.0)
    """
    kernel = keys.items("merge_kernel_size") or [2, 2]
    sides = [side for side in kernel if isinstance(side, int) and 0 < side < 2**10]
    if len(kernel) != 2 or len(sides) != 2:
        raise CatalogError(
            subject=keys.name,
            problem="has a 'merge_kernel_size' that is no pair of sides",
            fix="give two whole numbers",
        )
    hidden = keys.size("hidden_size", default=1152)
    return _tower(
        Sizes(
            hidden=hidden,
            intermediate=keys.size("intermediate_size", default=4304),
            layers=keys.size("num_hidden_layers", default=27),
            heads=keys.size("num_attention_heads", default=16),
            patch=keys.size("patch_size", default=14),
            height=keys.size("init_pos_emb_height", default=64),
            width=keys.size("init_pos_emb_width", default=64),
            merged=hidden * sides[0] * sides[1],
            text_hidden=text_hidden,
        )
    )


@lru_cache(maxsize=64)
def _tower(s: Sizes) -> Tower:
    name, projector = "vision_tower.encoder.blocks.*", "multi_modal_projector"
    patches = Stack(
        name="patches",
        plains=(
            *convolution("vision_tower.patch_embed.proj", (s.hidden, 3, s.patch, s.patch)),
            Plain("vision_tower.patch_embed.pos_emb.weight", (s.height, s.width, s.hidden)),
            *layer_norms(s.hidden, "vision_tower.encoder.final_layernorm"),
        ),
    )
    blocks = Stack(
        name="encoder",
        count=s.layers,
        matrices=_unquantised(
            qkv(f"{name}.wqkv", s.hidden, s.heads),
            row(f"{name}.wo", s.hidden, s.hidden),
            column(f"{name}.mlp.fc0", s.hidden, s.intermediate),
            row(f"{name}.mlp.fc1", s.intermediate, s.hidden),
        ),
        plains=layer_norms(s.hidden, f"{name}.norm0", f"{name}.norm1"),
    )
    joined = Stack(
        name="projector",
        matrices=_unquantised(
            copied(f"{projector}.linear_1", s.merged, s.merged),
            copied(f"{projector}.linear_2", s.merged, s.text_hidden),
        ),
        plains=layer_norms(s.hidden, f"{projector}.pre_norm"),
    )
    return Tower(
        name="vision_tower",
        modalities=("image",),
        heads=s.heads,
        stacks=(patches, blocks, joined),
        deals=True,
        patches=Patches(3 * s.patch**2, s.merged // s.hidden),
    )


def _unquantised(*matrices: Matrix) -> tuple[Matrix, ...]:
    return tuple(replace(matrix, quantisable=False) for matrix in matrices)
