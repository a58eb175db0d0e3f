"""Rules met once layers are built: experts, windows, the PCP manager, the block."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case, pictured, seeing_latent, sparse

SPARSE: Final = sparse()
FP8: Final = {"kv_cache_dtype": "fp8"}

PLAN_CASES: Final = (
    Case(
        rule="redundant-experts-cap",
        model="kimi-k2",
        fails={
            "dp": 2,
            "ep": True,
            "enable_eplb": True,
            "eplb_config": {"num_redundant_experts": 1024},
        },
        passes=(
            {
                "dp": 3,
                "ep": True,
                "enable_eplb": True,
                "eplb_config": {"num_redundant_experts": 1023},
            },
        ),
        says="1024 redundant experts are more than 1023.",
        fix="use at most 1023",
    ),
    *(
        Case(
            rule="dcp-without-windows",
            model=name,
            fails={"tp": 16, "dcp": 2},
            passes=({"tp": 16, "dcp": 1},),
            says="DCP not support sliding window.",
            fix=f"use --decode-context-parallel-size 1: {name} has windowed layers",
        )
        for name in ("mistral-sw-7b", "llama4-mini")
    ),
    *(
        Case(
            rule="tower-divides-by-tp",
            model=pictured(**keys),
            fails={"tp": tp},
            passes=(
                {"tp": 4},
                {"tp": tp, "mm_encoder_tp_mode": "data"},
                {"tp": tp, "language_model_only": True},
                {"tp": tp, "limit_mm_per_prompt": {"image": 0, "video": 0}},
            ),
            says=f"{units} is not divisible by {tp}",
            fix="use a --tensor-parallel-size that divides the tower, --language-model-only, or "
            "where the model supports it --mm-encoder-tp-mode data",
        )
        for keys, tp, units in (
            ({}, 8, 12),
            ({"num_heads": 16, "intermediate_size": 1028}, 8, 1028),
        )
    ),
    Case(
        rule="tower-divides-by-tp",  # one modality is enough for the tower
        model=pictured(),
        fails={"tp": 8, "limit_mm_per_prompt": {"image": 0}},
        passes=({"tp": 2},),
        says="12 is not divisible by 8",
        fix="use a --tensor-parallel-size that divides the tower, --language-model-only, or where "
        "the model supports it --mm-encoder-tp-mode data",
    ),
    Case(
        rule="stage-after-deepstack",
        model=pictured(deep=3),
        fails={"pp": 4},
        passes=({"pp": 2}, {"pp": 1}),
        says="start_layer should be greater than or equal to len(deepstack_visual_indexes)",
        fix="use fewer pipeline stages: the first has to hold every layer that takes features",
    ),
    Case(
        rule="pcp-without-towers",
        model=seeing_latent(),
        fails={"tp": 4, "pcp": 2},
        passes=({"tp": 4}, {"tp": 4, "pcp": 2, "language_model_only": True}),
        says="MRV2 PCP does not support MM inputs yet.",
        fix="add --language-model-only",
    ),
    Case(
        rule="pcp-without-lora",
        model="deepseek-v3",
        fails={"tp": 8, "pcp": 2, "enable_lora": True},
        passes=({"tp": 8, "pcp": 2}, {"tp": 8, "enable_lora": True}),
        says="MRV2 PCP does not support LoRA yet.",
        fix="drop --enable-lora",
    ),
    Case(
        rule="pcp-speculative-method",
        model="deepseek-v3",
        fails={"tp": 8, "pcp": 2, "speculative_config": {"method": "ngram"}},
        passes=(
            {
                "tp": 8,
                "pcp": 2,
                "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
            },
            {"tp": 8, "pcp": 2, "speculative_config": {"method": "dspark"}},
            {"tp": 8, "speculative_config": {"method": "ngram"}},
        ),
        says="MRV2 PCP only supports DSpark or single-module MTP speculative decoding.",
        fix="drop --speculative-config, or use its mtp method",
    ),
    Case(
        rule="sparse-block-size",
        model=SPARSE,
        fails={"tp": 8, "block_size": 32},
        passes=(
            {"tp": 8},
            {"tp": 8, "block_size": 64},
            {"tp": 8, "block_size": 128, "gpu": "h200"},
            {"tp": 8, "block_size": 32, "gpu": "b200"},
        ),
        says="No valid attention backend found for cuda: block_size not supported",
        fix="use a --block-size that is a multiple of 64",
    ),
    *(
        Case(
            rule="sparse-dcp-cache",
            model=SPARSE,
            fails={"tp": 8, "dcp": 2, "kv_cache_dtype": dtype},
            passes=({**FP8, "tp": 8, "dcp": 2}, {"tp": 8}, {"tp": 8, "dcp": 2, "gpu": "b200"}),
            says="DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; the bf16 sparse path "
            "is not supported under DCP.",
            fix="use --kv-cache-dtype fp8_ds_mla, or --decode-context-parallel-size 1",
        )
        for dtype in ("auto", "bfloat16")
    ),
    Case(
        rule="pcp-cuda-graphs",
        model=SPARSE,
        fails={"tp": 8, "pcp": 2},
        passes=(
            {"tp": 8, "pcp": 2, "enforce_eager": True},
            {"tp": 8, "pcp": 2, "dcp": 2, "kv_cache_dtype": "fp8"},
            {"tp": 8},
        ),
        says="MRV2 sparse MLA PCP does not support CUDA graphs yet. Set -cc.cudagraph_mode=NONE.",
        fix="add --enforce-eager, or give -dcp the width of -pcp",
    ),
    Case(
        rule="pcp-dcp-backend",
        model=SPARSE,
        fails={**FP8, "tp": 8, "pcp": 2, "dcp": 2, "dcp_comm_backend": "a2a"},
        passes=(
            {**FP8, "tp": 8, "pcp": 2, "dcp": 2, "dcp_comm_backend": "ag_rs"},
            {**FP8, "tp": 8, "pcp": 2, "dcp": 16},
            {**FP8, "tp": 8, "dcp": 2, "dcp_comm_backend": "a2a"},
        ),
        says="MRV2 PCP + DCP requires dcp_comm_backend='ag_rs'; got 'a2a'.",
        fix="use --dcp-comm-backend ag_rs",
    ),
    Case(
        rule="interleave-not-zero",
        model="llama-3.1-70b",
        fails={"tp": 16, "dcp": 2, "cp_kv_cache_interleave_size": 0},
        passes=({"tp": 16, "cp_kv_cache_interleave_size": 0},),
        says="integer modulo by zero",
        fix="use a --cp-kv-cache-interleave-size of at least 1",
    ),
    *(
        Case(
            rule="interleave-divides-block",
            model="llama-3.1-70b",
            fails={"tp": 16, "dcp": 2, "cp_kv_cache_interleave_size": tokens} | block,
            passes=(
                {"tp": 16, "dcp": 2, "cp_kv_cache_interleave_size": 16},
                {"tp": 16, "dcp": 2, "cp_kv_cache_interleave_size": 1},
                {"tp": 16, "dcp": 2, "cp_kv_cache_interleave_size": 32, "block_size": 64},
                {"tp": 16, "cp_kv_cache_interleave_size": tokens} | block,
            ),
            says=f"Block_size({size}) should be greater than or equal to and divisible by "
            f"cp_kv_cache_interleave_size ({tokens}).",
            fix=f"use a --cp-kv-cache-interleave-size that divides the block of {size}",
        )
        for tokens, block, size in (
            (3, {}, 16),
            (32, {}, 16),
            (64, {"block_size": 32}, 32),
            (12, {"block_size": 32}, 32),
        )
    ),
    Case(
        rule="interleave-divides-block",
        model="deepseek-v3",
        fails={"tp": 8, "dcp": 8, "cp_kv_cache_interleave_size": 3},
        passes=(
            {
                "tp": 8,
                "dcp": 8,
                "cp_kv_cache_interleave_size": 3,
                "kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
            },
        ),
        says="Block_size(16) should be greater than or equal to and divisible by "
        "cp_kv_cache_interleave_size (3).",
        fix="use a --cp-kv-cache-interleave-size that divides the block of 16",
    ),
    Case(
        rule="stages-at-most-layers",
        model="llama-3.1-8b",
        fails={"pp": 33},
        passes=({"pp": 32},),
        says="33 pipeline stages for 32 layers leave stages empty.",
        fix="use a --pipeline-parallel-size of at most 32",
    ),
)
