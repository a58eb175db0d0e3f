"""States and weights of mixers, against what vLLM built, and what their families fill in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.test_catalog import refused
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype
from vllm_parallel.errors import UnevenSplitError
from vllm_parallel.graph import ModelGraph
from vllm_parallel.layout import Layout
from vllm_parallel.mixer import (
    GatedDeltaNet,
    KimiDeltaAttention,
    Mamba1,
    Mamba2,
    Mixer,
    ShortConvolution,
    State,
    StateFlags,
)
from vllm_parallel.model import ModelConfig
from vllm_parallel.shard import Shard

Config = Mapping[str, object]
BF16, FP32 = Dtype.BFLOAT16, Dtype.FLOAT32
AUTO: Final = StateFlags(conv=BF16)

JAMBA: Final = Mamba1(name="mamba", inner=8192, state=16, kernel=4, rank=256)
FALCON: Final = Mamba2(name="mamba", inner=5120, heads=80, head_dim=64, state=128, kernel=4)
EIGHT_GROUPS: Final = Mamba2(
    name="mixer", inner=4096, heads=64, head_dim=64, state=128, kernel=4, groups=8
)
QWEN: Final = GatedDeltaNet(
    name="linear_attn", key_heads=16, value_heads=32, key_dim=128, value_dim=128, kernel=4
)
OLMO: Final = GatedDeltaNet(
    name="linear_attn", key_heads=30, value_heads=30, key_dim=96, value_dim=192, kernel=4
)
KIMI: Final = KimiDeltaAttention(name="self_attn", heads=32, head_dim=128, kernel=4)
LFM2: Final = ShortConvolution(name="short_conv", inner=2048, kernel=3)


@pytest.mark.parametrize(
    "mixer, tp, shapes",
    [
        (JAMBA, 1, [(3, 8192), (8192, 16)]),
        (JAMBA, 8, [(3, 1024), (1024, 16)]),
        (FALCON, 1, [(3, 5376), (80, 64, 128)]),
        (FALCON, 2, [(3, 2816), (40, 64, 128)]),
        (FALCON, 4, [(3, 1536), (20, 64, 128)]),
        (EIGHT_GROUPS, 2, [(3, 3072), (32, 64, 128)]),
        (EIGHT_GROUPS, 8, [(3, 768), (8, 64, 128)]),
        (QWEN, 2, [(3, 4096), (16, 128, 128)]),
        (OLMO, 1, [(3, 11520), (30, 192, 96)]),
        (OLMO, 2, [(3, 5760), (15, 192, 96)]),
        (KIMI, 4, [(3, 3072), (8, 128, 128)]),
        (LFM2, 2, [(2, 1024)]),
    ],
)
def test_state_shapes(mixer: Mixer, tp: int, shapes: list[tuple[int, ...]]) -> None:
    assert [state.shape for state in mixer.states(tp, AUTO)] == shapes


@pytest.mark.parametrize(
    "mixer, kept",
    [(JAMBA, 3), (FALCON, 5), (QWEN, 5), (KIMI, 5), (LFM2, 4)],
)
def test_drafts_lengthen_convolutions(mixer: Mixer, kept: int) -> None:
    flags = StateFlags(conv=BF16, speculative_tokens=2)
    first, *others = mixer.states(1, flags)
    assert first.shape[0] == kept
    assert others == list(mixer.states(1, AUTO))[1:]


@pytest.mark.parametrize(
    "mixer, flags, dtypes",
    [
        (JAMBA, AUTO, [BF16, BF16]),
        (JAMBA, StateFlags(conv=FP32), [FP32, FP32]),
        (FALCON, StateFlags(conv=BF16, temporal=FP32), [BF16, FP32]),
        (QWEN, StateFlags(conv=FP32, temporal=BF16), [FP32, BF16]),
        (KIMI, AUTO, [BF16, FP32]),
        (KIMI, StateFlags(conv=BF16, temporal=BF16), [BF16, BF16]),
        (LFM2, StateFlags(conv=FP32, temporal=BF16), [FP32]),
    ],
)
def test_state_dtypes(mixer: Mixer, flags: StateFlags, dtypes: list[Dtype]) -> None:
    assert [state.dtype for state in mixer.states(1, flags)] == dtypes


def test_a_family_may_name_the_state() -> None:
    named: list[Mixer] = [
        Mamba1(name="m", inner=64, state=16, kernel=4, rank=4, ssm_dtype=FP32),
        Mamba2(name="m", inner=64, heads=8, head_dim=8, state=16, kernel=4, ssm_dtype=FP32),
        GatedDeltaNet(
            name="m", key_heads=2, value_heads=4, key_dim=8, value_dim=8, kernel=4, ssm_dtype=FP32
        ),
    ]
    for mixer in named:
        assert [state.dtype for state in mixer.states(1, AUTO)] == [BF16, FP32]
        flags = StateFlags(conv=BF16, temporal=BF16)
        assert [state.dtype for state in mixer.states(1, flags)] == [BF16, BF16]


@pytest.mark.parametrize(
    "mixer, tp",
    [(JAMBA, 3), (FALCON, 3), (QWEN, 5), (OLMO, 4), (KIMI, 3), (LFM2, 3)],
)
def test_uneven_states(mixer: Mixer, tp: int) -> None:
    with pytest.raises(UnevenSplitError, match=rf"\b{tp}\b"):
        mixer.states(tp, AUTO)


def test_bytes_of_a_state() -> None:
    assert State((40, 64, 128), FP32).bytes == 40 * 64 * 128 * 4


FALCON_H1: Final[Config] = {
    "architectures": ["FalconH1ForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 128000,
    "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 36,
    "num_attention_heads": 20, "num_key_value_heads": 4, "mamba_d_ssm": 5120, "mamba_n_heads": 80,
    "mamba_d_head": 64, "mamba_d_state": 128,
}  # fmt: skip


def shard(config: Config, rank: int = 0, *, tp: int = 1, pp: int = 1) -> Shard:
    deployment = Deployment(model=load_model(dict(config)), layout=Layout(tp=tp, pp=pp))
    return Shard.of(deployment, rank)


@pytest.mark.parametrize(
    "config, tp, pp, rank, weights, buffers",
    [
        (FALCON_H1, 2, 1, 0, 5524281600, 3298688),
        (FALCON_H1, 4, 2, 0, 1392980800, 2420720),
        (FALCON_H1, 4, 2, 7, 1392985920, 2420720),
    ],
)
def test_as_vllm_built_it(
    config: Config, tp: int, pp: int, rank: int, weights: int, buffers: int
) -> None:
    built = shard(config, rank, tp=tp, pp=pp)
    assert (built.weight_bytes, built.buffer_bytes) == (weights, buffers)


def only_mixer(model: ModelConfig) -> Mixer:
    (mixer,) = model.mixers
    return mixer


def test_falcon_h1_fills_in() -> None:
    bare = {"architectures": ["FalconH1ForCausalLM"], "torch_dtype": "bfloat16"}
    model = load_model({**bare, "mamba_n_heads": 16})
    assert (model.layers, model.hidden, model.vocab, model.heads) == (32, 4096, 128000, 32)
    assert (model.kv_heads, model.context.max_model_len) == (8, 8192)
    expected = Mamba2(
        name="mamba.mamba", inner=1024, heads=16, head_dim=64, state=256, kernel=4, norm=False,
        multipliers=True,
    )  # fmt: skip
    assert only_mixer(model) == expected
    wide = load_model({**bare, "mamba_d_ssm": None})
    assert (only_mixer(wide), wide.kinds[0].norms) == (
        Mamba2(
            name="mamba.mamba", inner=8192, heads=128, head_dim=64, state=256, kernel=4,
            norm=False, multipliers=True,
        ),
        ("input_layernorm", "pre_ff_layernorm"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "keys, says",
    [
        ({"mamba_d_head": 32}, "has 80 mixer heads of 32 for a width of 5120"),
        ({"mamba_n_groups": None}, "has 'mamba_n_groups': null"),
        ({"hidden_act": "gelu"}, "has the activation 'gelu'"),
    ],
)
def test_refused_configs(keys: Config, says: str) -> None:
    assert says in refused({**FALCON_H1, **keys})


def test_shared_blocks_are_not_quantised_silently() -> None:
    quantised = {"quant_method": "fp8", "activation_scheme": "dynamic"}
    config = {"architectures": ["Zamba2ForCausalLM"], "torch_dtype": "bfloat16"}
    assert "is a quantised 'Zamba2ForCausalLM'" in refused(
        {**config, "quantization_config": quantised}
    )
    assert load_model({**config, "quantization_config": quantised}, as_bf16=True).layers == 54


def test_parameters_are_named_as_vllm_names_them() -> None:
    model = load_model(dict(FALCON_H1))
    (kind,) = ModelGraph.of(model).kinds
    mixer = {weight.name for weight in kind.weights if weight.name.startswith("mamba.")}
    names = "conv1d.weight conv1d.bias in_proj.weight out_proj.weight A D dt_bias"
    assert mixer == {f"mamba.mamba.{name}" for name in names.split()}
    assert {buffer.name for buffer in kind.buffers} == {
        "mamba.mamba.conv_weights",
        "mamba.mup_vector",
    }


def bare(architecture: str, **keys: object) -> ModelConfig:
    return load_model({"architectures": [architecture], "torch_dtype": "bfloat16", **keys})


@pytest.mark.parametrize(
    "model, expected",
    [
        (
            bare("JambaForCausalLM"),
            Mamba1(name="mamba", inner=8192, state=16, kernel=4, rank=256, norms=True),
        ),
        (
            bare("JambaForCausalLM", hidden_size=8200, mamba_dt_rank=9).mixers[0],
            Mamba1(name="mamba", inner=16400, state=16, kernel=4, rank=9, norms=True),
        ),
        (
            bare("JambaForCausalLM", hidden_size=8200).mixers[0],
            Mamba1(name="mamba", inner=16400, state=16, kernel=4, rank=513, norms=True),
        ),
        (
            bare("MambaForCausalLM", hidden_size=100),
            Mamba1(name="mixer", inner=200, state=16, kernel=4, rank=7),
        ),
        (
            bare("FalconMambaForCausalLM"),
            Mamba1(name="mixer", inner=1536, state=16, kernel=4, rank=48),
        ),
        (
            bare("Mamba2ForCausalLM"),
            Mamba2(
                name="mixer", inner=8192, heads=128, head_dim=64, state=128, kernel=4, groups=8
            ),
        ),
        (
            bare("GraniteMoeHybridForCausalLM", layer_types=["mamba"] * 31 + ["attention"]),
            Mamba2(name="mamba", inner=8192, heads=128, head_dim=64, state=256, kernel=4),
        ),
        (
            bare("NemotronHForCausalLM"),
            Mamba2(
                name="mixer", inner=8192, heads=128, head_dim=64, state=128, kernel=4, groups=8,
                ssm_dtype=FP32,
            ),
        ),
        (
            bare("Qwen3NextForCausalLM"),
            replace(QWEN, interleaved=True),
        ),
        (bare("Qwen3_5ForCausalLM"), QWEN),
        (bare("Qwen3_5MoeForCausalLM", mamba_ssm_dtype="float32"), replace(QWEN, ssm_dtype=FP32)),
        (bare("OlmoHybridForCausalLM"), replace(OLMO, separate_gates=True)),
        (
            bare("OlmoHybridForCausalLM", linear_num_key_heads=10, linear_key_head_dim=None),
            replace(OLMO, separate_gates=True, key_heads=10, key_dim=288, value_dim=576),
        ),
        (
            bare("Lfm2ForCausalLM", block_dim=2560, conv_dim=2560, full_attn_idxs=[1]),
            ShortConvolution(name="short_conv", inner=2560, kernel=3),
        ),
        (
            bare("Zamba2ForCausalLM"),
            Mamba2(name="mamba", inner=5120, heads=8, head_dim=640, state=64, kernel=4),
        ),
        (
            bare("Lfm2MoeForCausalLM", layer_types=["full_attention"] + ["conv"] * 31),
            LFM2,
        ),
    ],
)  # fmt: skip
def test_mixers_fill_in(model: ModelConfig | Mixer, expected: Mixer) -> None:
    assert (only_mixer(model) if isinstance(model, ModelConfig) else model) == expected


def kinds(model: ModelConfig) -> str:
    """Each layer by a letter: mixer, attention, both, or neither; large where there are experts."""
    letters = []
    for number in model.pattern:
        kind = model.kinds[number]
        letter = {(True, False): "a", (False, True): "m", (True, True): "b"}.get(
            (kind.attention is not None, kind.mixer is not None), "x"
        )
        letters.append(letter.upper() if kind.mlp == model.experts and kind.mlp else letter)
    return "".join(letters)


@pytest.mark.parametrize(
    "model, expected",
    [
        (bare("JambaForCausalLM", num_hidden_layers=10), "mMmMaMmMmM"),
        (bare("JambaForCausalLM", num_hidden_layers=5, num_experts=1), "mmmma"),
        (bare("FalconH1ForCausalLM", num_hidden_layers=2, mamba_n_heads=16), "bb"),
        (bare("NemotronHForCausalLM"), "mXax"),
        (bare("NemotronHForCausalLM", hybrid_override_pattern="M*-E"), "maxX"),
        (bare("NemotronHForCausalLM", layers_block_type=["mamba", "attention"]), "ma"),
        (
            bare(
                "GraniteMoeHybridForCausalLM",
                num_hidden_layers=2,
                layer_types=["linear_attention", "full_attention"],
            ),
            "MA",
        ),
        (bare("Mamba2ForCausalLM", num_hidden_layers=3), "mmm"),
        (bare("Qwen3NextForCausalLM", num_hidden_layers=5), "MMMAM"),
        (bare("Qwen3NextForCausalLM", num_hidden_layers=5, mlp_only_layers=[1, 3]), "MmMaM"),
        (bare("Qwen3NextForCausalLM", num_hidden_layers=4, decoder_sparse_step=2), "mMmA"),
        (bare("Qwen3_5ForCausalLM", num_hidden_layers=5), "mmmam"),
        (bare("Qwen3_5MoeForCausalLM", num_hidden_layers=3, full_attention_interval=2), "MAM"),
        (bare("OlmoHybridForCausalLM", num_hidden_layers=9), "mmmammmam"),
        (bare("Zamba2ForCausalLM"), "mmmmmm" + "bmmmmm" * 6 + "bmmmmbmmmbmm"),
        (bare("OlmoHybridForCausalLM", num_hidden_layers=3), "mma"),
        (
            bare(
                "Lfm2ForCausalLM",
                num_hidden_layers=3,
                block_dim=2560,
                conv_dim=2560,
                full_attn_idxs=[0, 2],
            ),
            "ama",
        ),
        (
            bare(
                "Lfm2MoeForCausalLM",
                num_hidden_layers=4,
                layer_types=["conv", "full_attention", "conv", "attention"],
            ),
            "maMA",
        ),
    ],
)
def test_layers(model: ModelConfig, expected: str) -> None:
    assert kinds(model) == expected


@pytest.mark.parametrize(
    "architecture, keys, says",
    [
        ("JambaForCausalLM", {"attn_layer_offset": 8}, "has attn_layer_offset 8 for attn_layer_"),
        ("JambaForCausalLM", {"num_hidden_layers": 2}, "has no layer with attention"),
        ("GraniteMoeHybridForCausalLM", {}, "has no layer with attention"),
        ("GraniteMoeHybridForCausalLM", {"layer_types": ["conv"] * 32}, "has 'conv' among its"),
        ("GraniteMoeHybridForCausalLM", {"layer_types": ["mamba"]}, "has 1 layer_types for 32"),
        ("NemotronHForCausalLM", {"hybrid_override_pattern": "MX*"}, "has 'X' among its layers"),
        ("NemotronHForCausalLM", {"mamba_ssm_cache_dtype": "int8"}, "keeps states in 'int8'"),
        ("NemotronHForCausalLM", {"intermediate_size": [1, 2]}, "has 'intermediate_size'"),
        ("Mamba2ForCausalLM", {"num_heads": 3}, "has 3 mixer heads of 64 for a width of 8192"),
        ("MambaForCausalLM", {"state_size": None}, "has 'state_size': null"),
        ("Qwen3NextForCausalLM", {"full_attention_interval": 49}, "has no layer with attention"),
        ("Qwen3_5ForCausalLM", {"mamba_ssm_dtype": "fp8"}, "keeps states in 'fp8'"),
        ("OlmoHybridForCausalLM", {"layer_types": ["attention"] * 32}, "has full_attention alone"),
        ("Lfm2ForCausalLM", {"conv_dim": 2560}, "lacks 'block_dim'"),
        ("Lfm2ForCausalLM", {"block_dim": 2560, "conv_dim": 80}, "has conv_dim 80 beside a"),
        ("Lfm2MoeForCausalLM", {}, "has 0 layer_types for 32 layers"),
        ("Zamba2ForCausalLM", {"hidden_act": "silu"}, "has the activation 'silu'"),
        ("Zamba2ForCausalLM", {"num_hidden_layers": 9}, "has 54 layers_block_type for 9 layers"),
        ("Zamba2ForCausalLM", {"layers_block_type": ["moe"] * 54}, "has 'moe' among its"),
        ("Zamba2ForCausalLM", {"num_key_value_heads": 8}, "has 32 heads and 8 KV heads over 5120"),
    ],
)
def test_refused_families(architecture: str, keys: Config, says: str) -> None:
    config = {"architectures": [architecture], "torch_dtype": "bfloat16", **keys}
    assert says in refused(config)
