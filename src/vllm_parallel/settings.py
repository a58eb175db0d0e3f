"""What is launched beside the layout: engine arguments under vLLM's defaults."""

from __future__ import annotations

from vllm_parallel.frozen import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBalancing:
    """How a service with data parallelism is started and reached.

    Source: vllm/engine/arg_utils.py, EngineArgs.create_engine_config (v0.32.0)
    """

    rank: int | None = None
    start_rank: int | None = None
    size_local: int | None = None
    backend: str = "mp"
    external: bool = False
    hybrid: bool = False
    multi_port_external: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Which node of how many this command starts on."""

    nnodes: int = 1
    node_rank: int = 0
    executor: str | None = None  # --distributed-executor-backend
    headless: bool = False
    api_server_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertSettings:
    """Flags of mixture-of-experts deployments."""

    all2all_backend: str = "allgather_reducescatter"
    placement: str = "linear"
    eplb: bool = False
    redundant_experts: int = 0
    eplb_window_size: int = 1000
    eplb_step_interval: int = 3000
    eplb_policy: str = "default"
    elastic: bool = False
    return_routed_experts: bool = False
    dual_batch_overlap: bool = False
    dbo_decode_tokens: int = 32
    dbo_prefill_tokens: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """Flags of prefill- and decode-context parallelism."""

    dcp_comm_backend: str | None = None  # None: ag_rs, or what the model's family prefers
    interleave: int | None = None  # --cp-kv-cache-interleave-size
    dcp_interleave: int | None = None  # its older name, which wins when above 1
    q_replicate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """Flags of caches whose layers are not all alike.

    Source: vllm/config/cache.py, CacheConfig (v0.32.0)
    """

    disable_hybrid_kv_cache_manager: bool | None = None
    kv_cache_dtype_skip_layers: tuple[str, ...] = ()
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    mamba_block_size: int | None = None
    mamba_cache_mode: str = "none"  # decided by prefix caching, whatever is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Engine arguments beside the layout, under vLLM's defaults. None: vLLM derives it.

    Source: vllm/engine/arg_utils.py, EngineArgs (v0.32.0)

    >>> Settings().gpu_memory_utilization
    0.92
    """

    max_model_len: int | None = None
    block_size: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    gpu_memory_utilization: float = 0.92
    kv_cache_memory_bytes: int | None = None  # the KV budget itself, utilization aside
    num_gpu_blocks_override: int | None = None
    dtype: str = "auto"
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    prefix_caching: bool | None = None
    chunked_prefill: bool = True
    lora: bool = False
    max_loras: int = 1
    max_lora_rank: int = 16
    max_cpu_loras: int | None = None
    fully_sharded_loras: bool = False
    lora_dtype: str = "auto"
    lora_target_modules: tuple[str, ...] | None = None
    mixed_moe_loras: bool = False
    moe_shared_loras: bool = False
    enforce_eager: bool = False
    kv_sharing_fast_prefill: bool = False  # skips layers in prefill, changes no size
    speculative_method: str | None = None
    speculative_tokens: int | None = None
    scheduling_policy: str = "fcfs"
    max_logprobs: int | None = None
    async_scheduling: bool = True  # the next batch is scheduled while one runs
    kv_connector: str | None = None
    kv_role: str | None = None
    language_model_only: bool = False
    image_limit: int | None = None  # --limit-mm-per-prompt; None: 999
    video_limit: int | None = None
    audio_limit: int | None = None
    mm_encoder_tp_mode: str = "weights"
    caches: CacheSettings = field(default_factory=CacheSettings)
    experts: ExpertSettings = field(default_factory=ExpertSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    balancing: LoadBalancing = field(default_factory=LoadBalancing)
    nodes: Nodes = field(default_factory=Nodes)
