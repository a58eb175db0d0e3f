"""vLLM's engine arguments, by their own names, as a deployment's layout and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vllm_parallel.engine.options import nearest, options
from vllm_parallel.errors import ParseError, shortened
from vllm_parallel.frozen import dataclass
from vllm_parallel.frozen import fields as fields_of
from vllm_parallel.layout import Layout
from vllm_parallel.settings import (
    CacheSettings,
    ContextSettings,
    ExpertSettings,
    LoadBalancing,
    Nodes,
    Settings,
)

MAX_NUMBER: Final = 2**60
MAX_WIDTH: Final = 2**20
MAX_RANKS: Final = 2**22

# Argument -> noun, field, type. The nouns: layout, settings, and the settings inside it.
FIELDS: Final[dict[str, tuple[str, str, type]]] = {
    "tensor_parallel_size": ("layout", "tp", int),
    "pipeline_parallel_size": ("layout", "pp", int),
    "data_parallel_size": ("layout", "dp", int),
    "prefill_context_parallel_size": ("layout", "pcp", int),
    "decode_context_parallel_size": ("layout", "dcp", int),
    "enable_expert_parallel": ("layout", "expert_parallel", bool),
    "max_model_len": ("settings", "max_model_len", int),
    "block_size": ("settings", "block_size", int),
    "max_num_batched_tokens": ("settings", "max_num_batched_tokens", int),
    "max_num_seqs": ("settings", "max_num_seqs", int),
    "gpu_memory_utilization": ("settings", "gpu_memory_utilization", float),
    "kv_cache_memory_bytes": ("settings", "kv_cache_memory_bytes", int),
    "num_gpu_blocks_override": ("settings", "num_gpu_blocks_override", int),
    "dtype": ("settings", "dtype", str),
    "quantization": ("settings", "quantization", str),
    "kv_cache_dtype": ("settings", "kv_cache_dtype", str),
    "disable_hybrid_kv_cache_manager": ("caches", "disable_hybrid_kv_cache_manager", bool),
    "kv_cache_dtype_skip_layers": ("caches", "kv_cache_dtype_skip_layers", tuple),
    "mamba_cache_dtype": ("caches", "mamba_cache_dtype", str),
    "mamba_ssm_cache_dtype": ("caches", "mamba_ssm_cache_dtype", str),
    "mamba_block_size": ("caches", "mamba_block_size", int),
    "mamba_cache_mode": ("caches", "mamba_cache_mode", str),
    "enable_prefix_caching": ("settings", "prefix_caching", bool),
    "enable_chunked_prefill": ("settings", "chunked_prefill", bool),
    "scheduling_policy": ("settings", "scheduling_policy", str),
    "max_logprobs": ("settings", "max_logprobs", int),
    "async_scheduling": ("settings", "async_scheduling", bool),
    "enable_lora": ("settings", "lora", bool),
    "max_loras": ("settings", "max_loras", int),
    "max_lora_rank": ("settings", "max_lora_rank", int),
    "max_cpu_loras": ("settings", "max_cpu_loras", int),
    "fully_sharded_loras": ("settings", "fully_sharded_loras", bool),
    "lora_dtype": ("settings", "lora_dtype", str),
    "lora_target_modules": ("settings", "lora_target_modules", tuple),
    "enable_mixed_moe_lora_format": ("settings", "mixed_moe_loras", bool),
    "enable_moe_shared_loras": ("settings", "moe_shared_loras", bool),
    "language_model_only": ("settings", "language_model_only", bool),
    "mm_encoder_tp_mode": ("settings", "mm_encoder_tp_mode", str),
    "enforce_eager": ("settings", "enforce_eager", bool),
    "kv_sharing_fast_prefill": ("settings", "kv_sharing_fast_prefill", bool),
    "all2all_backend": ("experts", "all2all_backend", str),
    "expert_placement_strategy": ("experts", "placement", str),
    "enable_eplb": ("experts", "eplb", bool),
    "enable_elastic_ep": ("experts", "elastic", bool),
    "enable_return_routed_experts": ("experts", "return_routed_experts", bool),
    "enable_dbo": ("experts", "dual_batch_overlap", bool),
    "dbo_decode_token_threshold": ("experts", "dbo_decode_tokens", int),
    "dbo_prefill_token_threshold": ("experts", "dbo_prefill_tokens", int),
    "dcp_comm_backend": ("context", "dcp_comm_backend", str),
    "cp_kv_cache_interleave_size": ("context", "interleave", int),
    "dcp_kv_cache_interleave_size": ("context", "dcp_interleave", int),
    "dcp_q_replicate": ("context", "q_replicate", bool),
    "data_parallel_rank": ("balancing", "rank", int),
    "data_parallel_start_rank": ("balancing", "start_rank", int),
    "data_parallel_size_local": ("balancing", "size_local", int),
    "data_parallel_backend": ("balancing", "backend", str),
    "data_parallel_external_lb": ("balancing", "external", bool),
    "data_parallel_hybrid_lb": ("balancing", "hybrid", bool),
    "data_parallel_multi_port_external_lb": ("balancing", "multi_port_external", bool),
    "nnodes": ("nodes", "nnodes", int),
    "node_rank": ("nodes", "node_rank", int),
    "distributed_executor_backend": ("nodes", "executor", str),
    "headless": ("nodes", "headless", bool),
    "api_server_count": ("nodes", "api_server_count", int),
}

# Arguments that are objects: the keys that become fields; other keys change nothing that is sized.
OBJECTS: Final[dict[str, dict[str, tuple[str, str, type]]]] = {
    "eplb_config": {
        "num_redundant_experts": ("experts", "redundant_experts", int),
        "window_size": ("experts", "eplb_window_size", int),
        "step_interval": ("experts", "eplb_step_interval", int),
        "policy": ("experts", "eplb_policy", str),
    },
    "kv_transfer_config": {
        "kv_connector": ("settings", "kv_connector", str),
        "kv_role": ("settings", "kv_role", str),
    },
    "limit_mm_per_prompt": {
        "image": ("settings", "image_limit", int),
        "video": ("settings", "video_limit", int),
        "audio": ("settings", "audio_limit", int),
    },
    "speculative_config": {
        "method": ("settings", "speculative_method", str),
        "num_speculative_tokens": ("settings", "speculative_tokens", int),
    },
}

COUNTED: Final = ("limit_mm_per_prompt",)  # a number, or an object with one as its `count`

# They change weights, cache or groups in ways that are not modelled: refused, never ignored.
UNMODELLED: Final = frozenset(
    """
    allow_deprecated_quantization attention_backend attention_config compilation_config
    cpu_offload_gb cpu_offload_params diffusion_config disable_sliding_window enable_hc_sp
    enable_tower_connector_lora engram_config hf_overrides kv_offloading_size
    kernel_config mm_encoder_only mamba_config model_class_overrides offload_backend
    offload_group_size offload_num_in_group offload_params offload_prefetch_step quantization_config
    spec_method spec_model spec_tokens swa_bounded_replay ubatch_size video_pruning_rate
    """.split()
)
# Arguments of which only these values are modelled: others build another model or kernel.
MODELLED_VALUES: Final[Mapping[str, tuple[object, ...]]] = {
    "runner": ("auto", "generate"),
    "convert": ("auto", "none"),
    "model_impl": ("auto", "vllm"),
    "moe_backend": ("auto",),
}
NOUNS: Final = {
    "caches": CacheSettings,
    "experts": ExpertSettings,
    "context": ContextSettings,
    "balancing": LoadBalancing,
    "nodes": Nodes,
}
DEFAULTS: Final = {
    (noun, field.name): getattr(default, field.name)
    for noun, default in {
        "layout": Layout(),
        "settings": Settings(),
        **{name: make() for name, make in NOUNS.items()},
    }.items()
    for field in fields_of(default)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a launch asks for, beside the model."""

    layout: Layout
    settings: Settings

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> Arguments:
        """Layout and settings from vLLM's engine arguments; null means "not given".

        Raises:
            ParseError: an unknown name, a wrong type, or more ranks than are modelled.

        >>> str(Arguments.of({"tensor_parallel_size": 4, "data_parallel_size": 2}).layout)
        'tp4 dp2'
        """
        fields: dict[str, dict[str, object]] = {}
        for name, value in arguments.items():
            if value is not None:
                _place(name, value, fields)
        layout = Layout(**fields.pop("layout", {}))  # type: ignore[arg-type]  # checked by _typed
        _limit(layout)
        settings = fields.pop("settings", {})
        settings |= {noun: NOUNS[noun](**given) for noun, given in fields.items()}
        return cls(layout=layout, settings=Settings(**settings))  # type: ignore[arg-type]

    def given(self) -> dict[str, object]:
        """The arguments that differ from vLLM's defaults, by name: `of` of them is this again.

        >>> Arguments(layout=Layout(tp=4), settings=Settings(max_model_len=8192)).given()
        {'tensor_parallel_size': 4, 'max_model_len': 8192}
        """
        nouns = {"layout": self.layout, "settings": self.settings}
        nouns |= {noun: getattr(self.settings, noun) for noun in NOUNS}
        rows: dict[str, object] = {}
        for name, (noun, field, _) in FIELDS.items():
            value = getattr(nouns[noun], field)
            if value != DEFAULTS[noun, field]:
                rows[name] = value
        for name, keys in OBJECTS.items():
            changed = {
                key: getattr(nouns[noun], field)
                for key, (noun, field, _) in keys.items()
                if getattr(nouns[noun], field) != DEFAULTS[noun, field]
            }
            if changed:
                rows[name] = changed
        return rows


def _place(name: str, value: object, fields: dict[str, dict[str, object]]) -> None:
    """Put one argument where it belongs."""
    row = FIELDS.get(name)
    if row is not None:
        noun, field, kind = row
        fields.setdefault(noun, {})[field] = _typed(name, value, kind)
    elif name in OBJECTS:
        if not isinstance(value, Mapping):
            raise _wrong(name, value, "an object")
        for key, (noun, field, kind) in OBJECTS[name].items():
            item = value.get(key)
            if name in COUNTED and isinstance(item, Mapping):
                item = item.get("count")
            if item is not None:
                fields.setdefault(noun, {})[field] = _typed(f"{name}.{key}", item, kind)
    elif name in UNMODELLED:
        raise ParseError(
            place=name, problem="is not modelled", fix="leave it out: it would change the sizes"
        )
    elif name in MODELLED_VALUES and value not in MODELLED_VALUES[name]:
        words = " or ".join(str(known) for known in MODELLED_VALUES[name])
        raise ParseError(
            place=name,
            problem=f"is {shortened(value)}, which is not modelled",
            fix=f"leave it out, or use {words}: others change the sizes",
        )
    elif name not in options():
        raise ParseError(
            place=f"args: {shortened(name)}",
            problem="is no argument of vLLM",
            fix=nearest(name, list(options())),
        )


def _typed(name: str, value: object, kind: type) -> object:
    if kind is tuple:
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise _wrong(name, value, "a list of strings")
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if -MAX_NUMBER < value < MAX_NUMBER:
            return float(value)
        raise _wrong(name, value, "a finite number")
    if kind is int and isinstance(value, bool):
        raise _wrong(name, value, "a whole number")
    if isinstance(value, int) and not -MAX_NUMBER < value < MAX_NUMBER:
        raise _wrong(name, value, f"a whole number below {MAX_NUMBER}")
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(x, str) for x in value):
        return tuple(value)
    if not isinstance(value, kind) or kind is tuple:
        words = {
            int: "a whole number",
            float: "a number",
            bool: "true or false",
            str: "a string",
            tuple: "a list of strings",
        }
        raise _wrong(name, value, words[kind])
    return value


def _limit(layout: Layout) -> None:
    """Widths beyond any cluster are refused before something is listed for each rank."""
    for axis in ("tp", "pp", "dp", "pcp", "dcp"):
        width = getattr(layout, axis)
        if width > MAX_WIDTH:
            raise ParseError(
                place=axis, problem=f"is {width}", fix=f"at most {MAX_WIDTH} are modelled"
            )
    if layout.ranks > MAX_RANKS:
        raise ParseError(
            place="tp x pp x pcp x dp",
            problem=f"is {layout.ranks} ranks",
            fix=f"at most {MAX_RANKS} are modelled",
        )


def _wrong(name: str, value: object, wanted: str) -> ParseError:
    return ParseError(place=name, problem=f"is {shortened(value)}", fix=f"it should be {wanted}")
