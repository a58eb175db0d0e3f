"""Rules of models with mixers: at `config`, and while their layers are built."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case
from vllm_parallel.catalog import load_model
from vllm_parallel.model import ModelConfig

FALCON_H1: Final = {
    "architectures": ["FalconH1ForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 1024,
    "hidden_size": 256, "intermediate_size": 384, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 8, "mamba_d_ssm": 256, "mamba_n_heads": 8,
}  # fmt: skip
JAMBA: Final = {
    "architectures": ["JambaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 1024,
    "hidden_size": 36, "intermediate_size": 384, "num_hidden_layers": 8, "num_experts": 1,
    "num_attention_heads": 16, "num_key_value_heads": 16,
}  # fmt: skip
MAMBA: Final = {
    "architectures": ["MambaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 1024,
    "num_hidden_layers": 4,
}  # fmt: skip
ZAMBA2: Final = {
    "architectures": ["Zamba2ForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 1024,
    "hidden_size": 256, "num_attention_heads": 8, "n_mamba_heads": 8, "adapter_rank": 12,
}  # fmt: skip


def falcon(**keys: object) -> ModelConfig:
    return load_model({**FALCON_H1, **keys})


MIXER_CONFIG_CASES: Final = (
    Case(
        rule="mixers-need-chunks",
        model=falcon(),
        fails={"enable_chunked_prefill": False},
        passes=({}, {"enable_chunked_prefill": False, "enable_prefix_caching": False}),
        says="Chunked prefill is required for mamba cache mode 'align'.",
        fix="drop --no-enable-chunked-prefill, or add --no-enable-prefix-caching",
    ),
    Case(
        rule="dcp-needs-kv-heads",
        model=load_model(MAMBA),
        fails={"tp": 2, "dcp": 2},
        passes=({"tp": 2},),
        says="integer division or modulo by zero",
        fix="drop --decode-context-parallel-size: the given config has no attention",
    ),
    Case(
        rule="max-model-len-fitted",
        model=load_model(MAMBA),
        fails={"max_model_len": -1},
        passes=({}, {"max_model_len": 10_000_000}),
        passing_model=load_model(MAMBA),
        says="max_model_len must be a positive integer, got int: -1. Example: max_model_len=2048",
        fix="give --max-model-len a positive number: no key of the config bounds it",
    ),
)
MIXER_LOAD_CASES: Final = (
    Case(
        rule="mixer-heads-divide-by-tp",
        model=falcon(mamba_n_heads=4),
        fails={"tp": 8},
        passes=({"tp": 4}, {"tp": 2}),
        says="Tensor parallel world size must divide num heads.",
        fix="use a --tensor-parallel-size of 1, 2, 4",
    ),
    Case(
        rule="mixer-groups-divide-by-tp",
        model=falcon(mamba_n_groups=2),
        fails={"tp": 4},
        passes=({"tp": 2},),
        says="If tensor parallel world size does not divide num_groups, then num_groups must "
        "equal 1.",
        fix="use a --tensor-parallel-size of 1, 2",
    ),
    Case(
        rule="mixer-copies-need-bias",
        model=falcon(mamba_conv_bias=False),
        fails={"tp": 2},
        passes=({},),
        says="'NoneType' object has no attribute 'weight_loader'",
        fix="use --tensor-parallel-size 1: the convolution of the given config has no bias, which "
        "vLLM deals out with the copies of the group",
    ),
    Case(
        rule="mixer-divides-by-tp",
        model=load_model(JAMBA),
        fails={"tp": 16},
        passes=({"tp": 8},),
        says="tp=16 does not divide the mixer width of 72.",
        fix="use a --tensor-parallel-size that divides 72",
    ),
    Case(
        rule="own-tensors-divide-by-tp",
        model=load_model(ZAMBA2),
        fails={"tp": 8},
        passes=({"tp": 4},),
        says="tp=8 does not divide a width of 12.",
        fix="use a --tensor-parallel-size that divides 12",
    ),
    Case(
        rule="tied-head-without-embedding",
        model=falcon(tie_word_embeddings=True),
        fails={"pp": 2},
        passes=({}, {"tp": 2}),
        says="'PPMissingLayer' object has no attribute 'weight'",
        fix="use --pipeline-parallel-size 1: no stage has both the embedding and the tied head",
    ),
    Case(
        rule="tied-head-without-embedding",
        model="ernie-4.5-21b-a3b",
        fails={"pp": 2},
        passes=({}, {"tp": 2}),
        says="'PPMissingLayer' object has no attribute 'tie_weights'",
        fix="use --pipeline-parallel-size 1: no stage has both the embedding and the tied head",
    ),
)
