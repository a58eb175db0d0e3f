"""Deployments from flags, made-up shapes of models, and the rows of the rule tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from vllm_parallel.block import GroupedQueryAttention
from vllm_parallel.catalog import load_gpu, load_model, with_dtype, with_quantization
from vllm_parallel.cluster import Cluster
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine import Arguments
from vllm_parallel.mixer import Mamba2
from vllm_parallel.model import ModelConfig

Args = Mapping[str, object]
CONFIGS: Final = Path(__file__).parents[1] / "oracle" / "recorded" / "configs"

SHORT: Final = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "pcp": "prefill_context_parallel_size",
    "dcp": "decode_context_parallel_size",
    "ep": "enable_expert_parallel",
}


@lru_cache(maxsize=64)
def model(name: str) -> ModelConfig:
    """A model of the catalog or of the recorded configs, without its quantisation."""
    recorded = CONFIGS / f"{name}.json"
    return load_model(str(recorded) if recorded.is_file() else name, as_bf16=True)


def deployed(of: str | ModelConfig, args: Args) -> Deployment:
    """What flags ask for; `gpu`, `gpus_per_node` and `nodes` are the machines."""
    gpu, per_node, nodes = (args.get(name) for name in ("gpu", "gpus_per_node", "nodes"))
    assert gpu is None or isinstance(gpu, str)
    assert per_node is None or isinstance(per_node, int)
    assert nodes is None or isinstance(nodes, int)
    flags = {
        SHORT.get(name, name): value
        for name, value in args.items()
        if name not in ("gpu", "gpus_per_node", "nodes")
    }
    arguments = Arguments.of(flags)
    plain = with_dtype(model(of) if isinstance(of, str) else of, arguments.settings.dtype)
    return Deployment(
        model=with_quantization(plain, arguments.settings.quantization),
        layout=arguments.layout,
        settings=arguments.settings,
        cluster=Cluster(
            gpu=None if gpu is None else load_gpu(gpu), gpus_per_node=per_node, nodes=nodes or 1
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A rule, a deployment that breaks it and some that do not."""

    rule: str
    model: str | ModelConfig
    fails: Args
    passes: tuple[Args, ...]
    says: str
    fix: str
    passing_model: str | ModelConfig | None = None  # where it is the model that is refused
    behind: str | None = None  # the rule that always speaks before this one

    def __str__(self) -> str:
        return self.rule


def llama(name: str, **keys: object) -> ModelConfig:
    """A dense model of 48 layers and heads that most widths divide, but for these keys."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "torch_dtype": "bfloat16",
        "vocab_size": 32256,  # 2^9 * 63
        "hidden_size": 6144,
        "intermediate_size": 16128,
        "num_hidden_layers": 48,
        "num_attention_heads": 48,
        "num_key_value_heads": 8,
        "max_position_embeddings": 8192,
    }
    return replace(load_model(config | keys), name=name)


def latent(name: str, **keys: object) -> ModelConfig:
    """A small model with latent attention and experts, but for these keys."""
    config = {
        "architectures": ["DeepseekV3ForCausalLM"],
        "torch_dtype": "bfloat16",
        "vocab_size": 32000,
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "moe_intermediate_size": 512,
        "n_routed_experts": 16,
        "num_experts_per_tok": 2,
        "num_hidden_layers": 8,
        "num_attention_heads": 16,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "max_position_embeddings": 8192,
    }
    return replace(load_model(config | keys), name=name)


def sparse() -> ModelConfig:
    """The same with an indexer."""
    plain = latent("sparse")
    return replace(plain, traits=replace(plain.traits, sparse_attention=True))


def pictured(*, deep: int = 0, **keys: object) -> ModelConfig:
    """A small model with a vision tower of 12 heads, whose inputs can be dealt to ranks."""
    tower = {
        "hidden_size": 192, "out_hidden_size": 1024, "intermediate_size": 768, "depth": 2,
        "num_heads": 12, "num_position_embeddings": 64,
        "deepstack_visual_indexes": list(range(deep)),
    }  # fmt: skip
    text = {
        "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2048,
        "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8,
        "max_position_embeddings": 8192,
    }  # fmt: skip
    config = {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "torch_dtype": "bfloat16",
        "text_config": text,
        "vision_config": tower | keys,
    }
    return replace(load_model(config), name="pictured")


def seeing_latent() -> ModelConfig:
    """The small model with latent attention, and the tower of the one above."""
    return replace(latent("seeing"), towers=pictured().towers)


def with_states() -> ModelConfig:
    """The dense model with a mixer beside attention on every layer."""
    plain = llama("with-states")
    mixer = Mamba2(name="mamba", inner=6144, heads=96, head_dim=64, state=128, kernel=4)
    return replace(plain, kinds=tuple(replace(kind, mixer=mixer) for kind in plain.kinds))


def with_idle_layers(*, mixers: bool) -> ModelConfig:
    """The dense model, its last 24 layers an MLP alone."""
    plain = with_states() if mixers else llama("idle")
    idle = replace(plain.kinds[0], attention=None, mixer=None)
    return replace(plain, kinds=(plain.kinds[0], idle), pattern=(0,) * 24 + (1,) * 24)


def with_chunks_inside() -> ModelConfig:
    """The dense model, all but its first and last two layers chunked."""
    full = llama("chunks-inside").kinds[0]
    assert isinstance(full.attention, GroupedQueryAttention)
    chunked = replace(full, attention=replace(full.attention, chunk=1024))
    pattern = (0, 0, *(1,) * 44, 0, 0)
    return replace(llama("chunks-inside"), kinds=(full, chunked), pattern=pattern)


def windows_alone() -> ModelConfig:
    """The dense model, every layer windowed."""
    full = llama("windows-alone").kinds[0]
    assert isinstance(full.attention, GroupedQueryAttention)
    window = replace(full, attention=replace(full.attention, window=1024))
    return replace(llama("windows-alone"), kinds=(window,))


def with_windows(*, borrows: bool = False) -> ModelConfig:
    """The dense model, every second layer windowed; the last four may read others' caches."""
    plain = llama("with-windows")
    full = plain.kinds[0]
    assert isinstance(full.attention, GroupedQueryAttention)
    window = replace(full, attention=replace(full.attention, window=1024))
    kinds, pattern = [full, window], [0, 1] * 24
    if borrows:
        for kind in (full, window):
            assert isinstance(kind.attention, GroupedQueryAttention)
            kinds.append(replace(kind, attention=replace(kind.attention, borrows_kv=True)))
        pattern[-4:] = [2, 3, 2, 3]
    return replace(plain, kinds=tuple(kinds), pattern=tuple(pattern))


def without_pipeline() -> ModelConfig:
    """A model that cannot be cut into stages: no family of the catalog is so."""
    plain = llama("one-piece")
    return replace(plain, traits=replace(plain.traits, pipeline=False))
