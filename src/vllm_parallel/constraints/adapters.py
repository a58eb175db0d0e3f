"""Rules of LoRA adapters: of their flags, and of the layers that take their place."""

from __future__ import annotations

from functools import partial
from typing import Final

from vllm_parallel.constraints.constraint import (
    Constraint,
    RuleRow,
    Test,
    raised_at_config,
    raised_at_load,
)
from vllm_parallel.deployment import Deployment

RANKS: Final = (1, 8, 16, 32, 64, 128, 256, 320, 512)
DTYPES: Final = ("auto", "float16", "bfloat16")
MAX_VOCABULARY: Final = 258048
BACKEND: Final = "allgather_reducescatter"
CONFIG: Final = "vllm/config/lora.py, LoRAConfig"
EXPERTS: Final = "vllm/lora/layers/fused_moe.py, FusedMoEWithLoRA"
# Classes whose `embedding_modules` name embedding and head; others leave both as they are.
EMBEDDED: Final = (
    "LlamaForCausalLM", "Llama4ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM",
    "MixtralForCausalLM",
)  # fmt: skip


def adapted(test: Test) -> Test:
    """A test that only `--enable-lora` brings."""
    return lambda d: d.settings.lora and test(d)


def shared_experts(d: Deployment) -> bool:
    """Whether whole experts are dealt to ranks, and take adapters."""
    targets = d.settings.lora_target_modules
    takes = d.model.experts is not None and (targets is None or "experts" in targets)
    return takes and d.layout.expert_parallel and d.layout.expert_width > 1


def uneven_shards(d: Deployment) -> bool:
    """Whether the rank of adapters cannot be split over tp."""
    return d.settings.fully_sharded_loras and d.settings.max_lora_rank % d.layout.tp != 0


def head_too_long(d: Deployment) -> bool:
    """Whether the head takes adapters, and has more rows than their kernels."""
    targets = d.settings.lora_target_modules
    takes = d.model.architecture in EMBEDDED and (targets is None or "lm_head" in targets)
    return takes and d.model.vocab > MAX_VOCABULARY


lora_config: RuleRow = partial(raised_at_config, source=CONFIG)

ADAPTER_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    lora_config(
        name="lora-rank-known",
        broken=adapted(lambda d: d.settings.max_lora_rank not in RANKS),
        says="Input should be 1, 8, 16, 32, 64, 128, 256, 320 or 512",
        fix="use a --max-lora-rank of one of these",
    ),
    lora_config(
        name="loras-minimum",
        broken=adapted(lambda d: d.settings.max_loras < 1),
        says="Input should be greater than or equal to 1",
        fix="use a --max-loras of at least 1",
    ),
    lora_config(
        name="lora-dtype-known",
        broken=adapted(lambda d: d.settings.lora_dtype not in DTYPES),
        says="Input should be an instance of dtype",
        fix="use --lora-dtype auto, float16 or bfloat16",
    ),
    lora_config(
        name="cpu-loras-at-least-loras",
        broken=adapted(lambda d: 0 < (d.settings.max_cpu_loras or 0) < d.settings.max_loras),
        says="max_cpu_loras ({settings.max_cpu_loras}) must be >= max_loras "
        "({settings.max_loras}).",
        fix="use a --max-cpu-loras of at least {settings.max_loras}",
    ),
)

ADAPTER_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    raised_at_load(
        name="lora-rank-divides-by-tp",
        broken=adapted(uneven_shards),
        says="{settings.max_lora_rank} is not divisible by {layout.tp}",
        fix="use a --max-lora-rank that {layout.tp} divides, or drop --fully-sharded-loras",
        source="vllm/lora/layers/base_linear.py, create_lora_weights",
    ),
    raised_at_load(
        name="lora-expert-backend",
        broken=adapted(
            lambda d: shared_experts(d) and d.settings.experts.all2all_backend != BACKEND
        ),
        says="Fused MoE LoRA with EP currently only supports "
        "all2all_backend='allgather_reducescatter', got '{settings.experts.all2all_backend}'.",
        fix="use --all2all-backend allgather_reducescatter",
        source=f"{EXPERTS}._ep_check",
    ),
    raised_at_load(
        name="lora-without-split-tokens",
        broken=adapted(
            lambda d: (
                shared_experts(d)
                and d.model.traits.sequence_parallel_experts
                and d.sequence_parallel_experts
            )
        ),
        says="Experts with adapters cannot be dealt to ranks whose tokens are split over tp.",
        fix="drop --enable-expert-parallel, or use tp or dp of 1",
        source=f"{EXPERTS}._ep_check",
        bare=True,
    ),
    raised_at_load(
        name="lora-sharded-experts",
        broken=adapted(lambda d: shared_experts(d) and d.settings.fully_sharded_loras),
        says="Fused MoE LoRA does not support enable_expert_parallel=True together with "
        "fully_sharded_loras=True. Disable one of them.",
        fix="drop --fully-sharded-loras or --enable-expert-parallel",
        source=f"{EXPERTS}._verify_ep_fs",
    ),
    raised_at_load(
        name="lora-vocabulary",
        broken=adapted(head_too_long),
        says="When using LoRA, vocab size must be <= 258048",
        fix="name --lora-target-modules without lm_head",
        source="vllm/lora/layers/logits_processor.py, LogitsProcessorWithLoRA",
    ),
)
