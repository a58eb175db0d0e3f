"""Rules of LoRA adapters, each broken and kept."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case, llama

ADAPTER_CONFIG_CASES: Final = tuple(
    Case(
        rule=rule,
        model="llama-3.1-70b",
        fails={"tp": 8, "enable_lora": True, **fails},
        passes=({"tp": 8, **fails}, {"tp": 8, "enable_lora": True}),
        says=says,
        fix=fix,
    )
    for rule, fails, says, fix in (
        (
            "lora-rank-known",
            {"max_lora_rank": 24},
            "Input should be 1, 8, 16, 32, 64, 128, 256, 320 or 512",
            "use a --max-lora-rank of one of these",
        ),
        (
            "loras-minimum",
            {"max_loras": 0},
            "Input should be greater than or equal to 1",
            "use a --max-loras of at least 1",
        ),
        (
            "lora-dtype-known",
            {"lora_dtype": "float32"},
            "Input should be an instance of dtype",
            "use --lora-dtype auto, float16 or bfloat16",
        ),
        (
            "cpu-loras-at-least-loras",
            {"max_loras": 4, "max_cpu_loras": 3},
            "max_cpu_loras (3) must be >= max_loras (4).",
            "use a --max-cpu-loras of at least 4",
        ),
    )
)

ADAPTER_LOAD_CASES: Final = (
    Case(
        rule="lora-rank-divides-by-tp",
        model="llama-3.1-70b",
        fails={"tp": 8, "enable_lora": True, "max_lora_rank": 1, "fully_sharded_loras": True},
        passes=(
            {"tp": 8, "enable_lora": True, "max_lora_rank": 1},
            {"tp": 8, "enable_lora": True, "max_lora_rank": 8, "fully_sharded_loras": True},
            {"tp": 8, "max_lora_rank": 1, "fully_sharded_loras": True},
        ),
        says="1 is not divisible by 8",
        fix="use a --max-lora-rank that 8 divides, or drop --fully-sharded-loras",
    ),
    Case(
        rule="lora-expert-backend",
        model="qwen3-30b-a3b",
        fails={"tp": 2, "ep": True, "enable_lora": True, "all2all_backend": "deepep_v2"},
        passes=(
            {"tp": 2, "ep": True, "enable_lora": True},
            {"tp": 2, "enable_lora": True, "all2all_backend": "deepep_v2"},
            {"tp": 1, "ep": True, "enable_lora": True, "all2all_backend": "deepep_v2"},
            {"tp": 2, "ep": True, "all2all_backend": "deepep_v2"},
            {
                "tp": 2,
                "ep": True,
                "enable_lora": True,
                "all2all_backend": "deepep_v2",
                "lora_target_modules": ["q_proj"],
            },
        ),
        says="Fused MoE LoRA with EP currently only supports "
        "all2all_backend='allgather_reducescatter', got 'deepep_v2'.",
        fix="use --all2all-backend allgather_reducescatter",
    ),
    Case(
        rule="lora-without-split-tokens",
        model="qwen3-30b-a3b",
        fails={"tp": 2, "dp": 2, "ep": True, "enable_lora": True},
        passes=(
            {"tp": 1, "dp": 2, "ep": True, "enable_lora": True},
            {"tp": 2, "dp": 2, "enable_lora": True},
            {"tp": 2, "dp": 2, "ep": True},
        ),
        passing_model=None,
        says="Experts with adapters cannot be dealt to ranks whose tokens are split over tp.",
        fix="drop --enable-expert-parallel, or use tp or dp of 1",
    ),
    Case(
        rule="lora-sharded-experts",
        model="mixtral-8x7b",
        fails={"tp": 2, "ep": True, "enable_lora": True, "fully_sharded_loras": True},
        passes=(
            {"tp": 2, "enable_lora": True, "fully_sharded_loras": True},
            {"tp": 2, "dp": 2, "ep": True, "enable_lora": True},
        ),
        says="Fused MoE LoRA does not support enable_expert_parallel=True together with "
        "fully_sharded_loras=True. Disable one of them.",
        fix="drop --fully-sharded-loras or --enable-expert-parallel",
    ),
    Case(
        rule="lora-vocabulary",
        model=llama("wordy", vocab_size=258_112),
        fails={"enable_lora": True},
        passes=({"enable_lora": True}, {"lora_target_modules": ["q_proj"]}),
        passing_model=llama("terse", vocab_size=258_048),
        says="When using LoRA, vocab size must be <= 258048",
        fix="name --lora-target-modules without lm_head",
    ),
)
