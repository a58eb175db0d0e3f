"""Nemotron-H and Nemotron 3: each layer is a mixer, attention, an MLP or experts, alone."""

from __future__ import annotations

from typing import Final

from vllm_parallel.block import Block, DenseMlp, Experts
from vllm_parallel.catalog.families.common import HeadDefaults, grouped, whole_model
from vllm_parallel.catalog.families.filled import filled, refuse_no_attention
from vllm_parallel.catalog.keys import Keys
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import CatalogError, shortened
from vllm_parallel.frozen import replace
from vllm_parallel.mixer import Mamba2
from vllm_parallel.model import ModelConfig, Traits

NEMOTRON_H: Final = {
    "vocab_size": 131072, "hidden_size": 4096, "num_attention_heads": 32,
    "max_position_embeddings": 4096, "intermediate_size": 21504, "ssm_state_size": 128,
    "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "conv_kernel": 4,
    "use_conv_bias": True, "moe_intermediate_size": 7688,
    "moe_shared_expert_intermediate_size": 7688, "num_experts_per_tok": 2,
    "mamba_ssm_cache_dtype": "float32",
}  # fmt: skip
OLD_SPELLINGS: Final = {
    "mamba_n_groups": "n_groups",
    "mamba_d_conv": "conv_kernel",
    "mamba_conv_bias": "use_conv_bias",
}
LETTERS: Final = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}
OLD_WORDS: Final = {"mamba": "linear_attention", "attention": "full_attention"}
MISSING: Final = ("linear_attention", "moe", "full_attention", "mlp")


def read_nemotron_h(keys: Keys) -> ModelConfig:
    """Nemotron-H: no positions, plain MLPs, ends on every stage and a head of its own.

    Source: vllm/model_executor/models/nemotron_h.py (v0.32.0)
    """
    older = {new: keys.values[old] for old, new in OLD_SPELLINGS.items() if old in keys.values}
    count = keys.size("n_routed_experts", "num_local_experts", default=8)
    keys = filled(keys.with_(**older, n_routed_experts=count), NEMOTRON_H)
    heads = grouped(keys, HeadDefaults(kv_heads=8, head_dim=128))
    window = keys.optional("sliding_window")
    dense = DenseMlp(
        intermediate=keys.size("intermediate_size"), bias=keys.flag("mlp_bias"), gated=False
    )
    norms = ("norm",)
    kinds = {
        "linear_attention": Block(attention=None, mixer=_mixer(keys), mlp=None, norms=norms),
        "full_attention": Block(
            attention=replace(heads, rotates=False, window=window), mlp=None, norms=norms
        ),
        "mlp": Block(attention=None, mlp=dense, norms=norms),
        "moe": Block(attention=None, mlp=_experts(keys), norms=norms),
    }
    words = _layers(keys)
    blocks = [kinds[word] for word in words]
    refuse_no_attention(keys, blocks)
    required = "No NemotronH MoE layer found in model.layers." if "moe" in words else None
    traits = Traits(
        ties=False, whole_ends=True, sequence_parallel_experts=True, experts_required=required
    )
    return whole_model(keys, blocks, (), traits)


def _layers(keys: Keys) -> list[str]:
    """What each layer is; the number of layers is the length of the list."""
    pattern = keys.text("hybrid_override_pattern", default="")
    listed = keys.items("layers_block_type") or keys.items("layer_types") or None
    words = listed or [LETTERS.get(letter, letter) for letter in pattern] or list(MISSING)
    found = [OLD_WORDS.get(word, word) if isinstance(word, str) else word for word in words]
    for word in found:
        if word not in MISSING:
            raise CatalogError(
                subject=keys.name,
                problem=f"has {shortened(word)} among its layers",
                fix=f"modelled are {', '.join(MISSING)}",
            )
    return [str(word) for word in found]


def _mixer(keys: Keys) -> Mamba2:
    heads, head_dim = keys.size("mamba_num_heads"), keys.size("mamba_head_dim")
    dtype = keys.text("mamba_ssm_cache_dtype")
    return Mamba2(
        name="mixer",
        inner=heads * head_dim,
        heads=heads,
        head_dim=head_dim,
        groups=keys.size("n_groups"),
        state=keys.size("ssm_state_size"),
        kernel=keys.size("conv_kernel"),
        conv_bias=keys.flag("use_conv_bias"),
        bias=keys.flag("use_bias"),
        ssm_dtype=state_dtype(keys.name, dtype),
    )


def state_dtype(name: str, word: str) -> Dtype | None:
    """The dtype that a config names for states, None for auto.

    Raises:
        CatalogError: a word that vLLM does not know.

    >>> state_dtype("m", "float32")
    <Dtype.FLOAT32: 'float32'>
    """
    if word == "auto":
        return None
    allowed = (Dtype.FLOAT32, Dtype.BFLOAT16, Dtype.FLOAT16)
    if word not in allowed:
        raise CatalogError(
            subject=name,
            problem=f"keeps states in {shortened(word)}, which is not modelled",
            fix=f"modelled are auto, {', '.join(allowed)}",
        )
    return Dtype(word)


def _experts(keys: Keys) -> Experts:
    """Routed experts without gates, on a narrower latent where the config names one."""
    shared = keys.count("n_shared_experts", default=1)
    return Experts(
        count=keys.size("n_routed_experts"),
        per_token=keys.size("num_experts_per_tok"),
        intermediate=keys.size("moe_intermediate_size"),
        shared_intermediate=shared * keys.size("moe_shared_expert_intermediate_size"),
        correction_bias=True,
        gated=False,
        latent=keys.optional("moe_latent_size"),
        latent_bias=keys.flag("mlp_bias"),
    )
