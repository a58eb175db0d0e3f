"""Families without any attention: Mamba, Falcon-Mamba, Mamba 2."""

from __future__ import annotations

from math import inf
from typing import Final

from vllm_parallel.block import Block
from vllm_parallel.catalog.families.common import layer_count, whole_model
from vllm_parallel.catalog.families.filled import filled
from vllm_parallel.catalog.families.mamba import refuse_uneven_mixer, time_step_rank
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.catalog.rope import LENGTHS
from vllm_parallel.frozen import replace
from vllm_parallel.mixer import Mamba1, Mamba2, Mixer
from vllm_parallel.model import ModelConfig, Traits
from vllm_parallel.positions import ContextLimit

MAMBA: Final = {
    "vocab_size": 50280, "hidden_size": 768, "state_size": 16, "num_hidden_layers": 32,
    "expand": 2, "conv_kernel": 4, "use_conv_bias": True, "time_step_rank": "auto",
    "tie_word_embeddings": True,
}  # fmt: skip
MAMBA2: Final = {
    "vocab_size": 32768, "hidden_size": 4096, "state_size": 128, "num_hidden_layers": 64,
    "num_heads": 128, "head_dim": 64, "expand": 2, "conv_kernel": 4, "n_groups": 8,
    "use_conv_bias": True,
}  # fmt: skip
ASSUMED_LENGTH: Final = 2048  # where no key of the config names a length


def read_mamba(keys: Keys) -> ModelConfig:
    """Mamba and Falcon-Mamba, whose norms inside the mixer have no weights.

    Source: vllm/model_executor/models/mamba.py (v0.32.0)
    """
    keys = filled(keys, MAMBA)
    mixer = Mamba1(
        name="mixer",
        inner=keys.size("expand") * keys.size("hidden_size"),
        state=keys.size("state_size"),
        kernel=keys.size("conv_kernel"),
        rank=time_step_rank(keys, "time_step_rank"),
        conv_bias=keys.flag("use_conv_bias"),
        bias=keys.flag("use_bias"),
    )
    return _stacked(keys, mixer, Traits(whole_ends=True))


def read_mamba2(keys: Keys) -> ModelConfig:
    """Mamba 2, which has no pipeline.

    Source: vllm/model_executor/models/mamba2.py (v0.32.0)
    """
    keys = filled(keys, MAMBA2)
    inner = keys.size("expand") * keys.size("hidden_size")
    heads, head_dim = keys.size("num_heads"), keys.size("head_dim")
    refuse_uneven_mixer(keys, inner, heads, head_dim)
    mixer = Mamba2(
        name="mixer",
        inner=keys.size("intermediate_size", default=inner),
        heads=heads,
        head_dim=head_dim,
        groups=keys.size("n_groups"),
        state=keys.size("state_size"),
        kernel=keys.size("conv_kernel"),
        conv_bias=keys.flag("use_conv_bias"),
        bias=keys.flag("use_bias"),
    )
    return _stacked(keys, mixer, Traits(whole_ends=True, pipeline=False))


def _stacked(keys: Keys, mixer: Mixer, traits: Traits) -> ModelConfig:
    """The same mixer on every layer; where no key names a length, any is allowed.

    Source: vllm/config/model.py, _get_and_verify_max_len (v0.32.0)
    """
    block = Block(attention=None, mixer=mixer, mlp=None, norms=("norm",))
    blocks = [block] * layer_count(keys)
    if any(keys.has(key) for key in LENGTHS):
        return whole_model(keys, blocks, (), traits)
    model = whole_model(keys.filled({"max_position_embeddings": 1}), blocks, (), traits)
    limit = ContextLimit(key="", tokens=inf, assumed=ASSUMED_LENGTH)
    return replace(model, context=limit)
