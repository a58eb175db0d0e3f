"""What is launched: a model, a layout, the settings beside it, and the machines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from vllm_parallel.cluster import Cluster
from vllm_parallel.errors import CatalogError
from vllm_parallel.frozen import dataclass, field, replace
from vllm_parallel.layout import Layout, pipeline_bounds
from vllm_parallel.model import ModelConfig
from vllm_parallel.settings import Settings
from vllm_parallel.units import GIB

if TYPE_CHECKING:  # its nouns would slow the start of every command
    from vllm_parallel.tower import Tower

SEQUENCE_PARALLEL_BACKENDS: Final = (
    "allgather_reducescatter", "deepep_high_throughput", "deepep_low_latency", "deepep_v2",
    "flashinfer_nvlink_one_sided", "passthrough", "mori_high_throughput", "mori_low_latency",
    "nixl_ep", "naive", "pplx",
)  # fmt: skip
BATCHED_TOKENS: Final = 2048  # --max-num-batched-tokens of `vllm serve` on small GPUs and A100
BATCHED_TOKENS_LOW_LATENCY: Final = 256  # where experts take fixed batches from each rank
BATCHED_BACKENDS: Final = ("deepep_low_latency", "nixl_ep")
BATCHED_TOKENS_70_GIB: Final = 8192
BATCHED_TOKENS_160_GIB: Final = 16384
SEQUENCES: Final = 256  # --max-num-seqs on small GPUs and A100
SEQUENCES_70_GIB: Final = 1024
HOPPER: Final = "90"
BLACKWELL: Final = ("100", "103")
HYBRID_CONNECTORS: Final = (  # those that implement SupportsHMA
    "NixlConnector", "NixlPullConnector", "NixlPushConnector", "HiSparseConnector",
    "MoRIIOConnector", "OffloadingConnector", "DecodeBenchConnector", "SimpleCPUOffloadConnector",
    "MooncakeConnector", "MooncakeStoreConnector", "ExampleHiddenStatesConnector",
)  # fmt: skip
V1_DRAFTS: Final = ("suffix", "medusa", "mlp_speculator", "custom_class")
STEPWISE_METHODS: Final = ("ngram", *V1_DRAFTS)
MTP_METHODS: Final = ("mtp", "deepseek_mtp", "glm4_moe_mtp")  # the others by older names


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One `vllm serve`, as far as sizes and rules go.

    >>> from vllm_parallel.catalog import load_model
    >>> Deployment(model=load_model("llama-3.1-8b"), layout=Layout(tp=2)).max_model_len
    131072
    """

    model: ModelConfig
    layout: Layout
    settings: Settings = field(default_factory=Settings)
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def names(self) -> Mapping[str, object]:
        """The nouns by the names that the sentences of rules use."""
        return {
            "layout": self.layout,
            "model": self.model,
            "settings": self.settings,
            "cluster": self.cluster,
        }

    @property
    def max_model_len(self) -> int:
        """Tokens of the longest request: what was asked for, else what the config allows."""
        asked = self.settings.max_model_len
        return self.model.context.max_model_len if asked is None or asked == -1 else asked

    @property
    def prefix_caching(self) -> bool:
        """Whether finished blocks are kept for later requests: as asked, else with attention.

        Source: vllm/config/model.py, is_prefix_caching_supported (v0.32.0)
        """
        asked = self.settings.prefix_caching
        return bool(self.model.attentions) if asked is None else asked

    @property
    def keeps_whole_caches(self) -> bool:
        """Whether windowed layers keep every token: asked for, or the KV connector needs it.

        Source: vllm/config/vllm.py, VllmConfig.__post_init__ (v0.32.0)

        Raises:
            CatalogError: several connectors, each of which would have to be asked.
        """
        asked, connector = (
            self.settings.caches.disable_hybrid_kv_cache_manager,
            self.settings.kv_connector,
        )
        if asked is not None or connector is None:
            return bool(asked)
        if connector == "MultiConnector" and (self.model.has_windows or self.model.mixers):
            raise CatalogError(
                subject="kv_connector MultiConnector",
                problem="decides by its children how windows are kept, which is not modelled",
                fix="name one connector, or set --disable-hybrid-kv-cache-manager",
            )
        return connector not in HYBRID_CONNECTORS

    @property
    def draft_tokens(self) -> int:
        """Tokens that speculation proposes at once, 0 without it."""
        settings = self.settings
        return (settings.speculative_tokens or 0) if settings.speculative_method else 0

    @property
    def predicts_with_mtp(self) -> bool:
        """Whether the model's own MTP module proposes tokens.

        Source: vllm/config/speculative.py, MTPModelTypes (v0.32.0)
        """
        return self.settings.speculative_method in MTP_METHODS and self.model.mtp is not None

    @property
    def built(self) -> ModelConfig:
        """The model as it is built: with its MTP module after the last layer, where one is asked.

        Source: vllm/v1/worker/gpu/model_runner.py, load_model (v0.32.0)
        """
        return with_mtp(self.model) if self.predicts_with_mtp else self.model

    @property
    def stage_bounds(self) -> list[int]:
        """The first layer of each stage, and the end of the last; an MTP module is its end."""
        bounds = pipeline_bounds(self.model.layers, self.layout.pp)
        return [*bounds[:-1], self.built.layers]

    @property
    def towers(self) -> tuple[Tower, ...]:
        """Towers of the model that are built: for each some input may be asked for.

        Source: vllm/model_executor/models/interfaces.py, _mark_tower_model (v0.32.0)
        """
        settings = self.settings
        limits = {
            "image": settings.image_limit,
            "video": settings.video_limit,
            "audio": settings.audio_limit,
        }
        if settings.language_model_only:
            return ()
        return tuple(
            tower
            for tower in self.model.towers
            if any(limits[modality] != 0 for modality in tower.modalities)
        )

    @property
    def deals_inputs(self) -> bool:
        """Whether images and the like are dealt to the ranks, which hold the towers whole.

        Source: vllm/config/model.py, ModelConfig.__post_init__ (v0.32.0)
        """
        asked = self.settings.mm_encoder_tp_mode == "data"
        return asked and any(tower.deals for tower in self.model.towers)

    @property
    def kv_cache_dtype(self) -> str:
        """vLLM's word for the cache's dtype: as asked, else what a quantised checkpoint says.

        Source: vllm/utils/torch_utils.py, resolve_kv_cache_dtype_string (v0.32.0)
        """
        asked, quantisation = self.settings.kv_cache_dtype, self.model.quantisation
        if asked != "auto" or quantisation is None:
            return asked
        if self.model.is_latent and quantisation.method == "compressed-tensors":
            return asked  # its scheme is read where attention is not latent
        return quantisation.kv_cache_dtype or asked

    @property
    def sequence_parallel_experts(self) -> bool:
        """Whether tokens are split over tp around the experts, in models that have it.

        Source: vllm/config/parallel.py, use_sequence_parallel_moe (v0.32.0)
        """
        layout = self.layout
        supported = self.settings.experts.all2all_backend in SEQUENCE_PARALLEL_BACKENDS
        return supported and layout.expert_parallel and layout.tp > 1 and layout.dp > 1

    @property
    def redundant_experts(self) -> int:
        """Copies of experts that each layer holds for EPLB to move about."""
        return self.settings.experts.redundant_experts if self.model.traits.eplb else 0

    @property
    def dcp_comm_backend(self) -> str:
        """How DCP ranks combine: as asked, else the family's choice.

        Source: vllm/model_executor/models/config.py, GlmMoeDsaForCausalLM (v0.32.0)
        """
        asked = self.settings.context.dcp_comm_backend
        return asked or ("a2a" if self.model.architecture == "GlmMoeDsaForCausalLM" else "ag_rs")

    @property
    def max_num_batched_tokens(self) -> int:
        """Tokens of one step: as asked, else `vllm serve`'s default for the GPU.

        Source: vllm/engine/arg_utils.py, get_batch_defaults (v0.32.0)
        """
        if self.settings.max_num_batched_tokens is not None:
            return self.settings.max_num_batched_tokens
        default = self._default_batched_tokens
        return default if self.settings.chunked_prefill else max(default, self.max_model_len)

    @property
    def _default_batched_tokens(self) -> int:
        batched = self.settings.experts.all2all_backend in BATCHED_BACKENDS
        if batched and self.layout.expert_parallel and self.layout.dp > 1:
            return BATCHED_TOKENS_LOW_LATENCY
        gpu = self.cluster.gpu
        if gpu is None:
            return BATCHED_TOKENS
        if gpu.runtime_memory_bytes >= 160 * GIB:
            return BATCHED_TOKENS_160_GIB
        return BATCHED_TOKENS_70_GIB if self._gpu_is_large else BATCHED_TOKENS

    @property
    def _gpu_is_large(self) -> bool:
        gpu = self.cluster.gpu
        if gpu is None or gpu.runtime_memory_bytes < 70 * GIB:
            return False
        return "a100" not in gpu.label.lower()

    @property
    def max_num_seqs(self) -> int:
        """Sequences of one step: as asked, else `vllm serve`'s default, cut to the tokens.

        Source: vllm/engine/arg_utils.py, get_batch_defaults (v0.32.0)
        """
        if self.settings.max_num_seqs is not None:
            return self.settings.max_num_seqs
        default = SEQUENCES_70_GIB if self._gpu_is_large else SEQUENCES
        return min(default, self.max_num_batched_tokens)

    @property
    def uses_v1_runner(self) -> bool:
        """Whether vLLM falls back to its older model runner.

        Source: vllm/config/vllm.py, _get_v2_model_runner_unsupported_features (v0.32.0)
        """
        launcher = self.settings.nodes.executor == "external_launcher" and self.layout.pp > 1
        drafts = self.settings.speculative_method in V1_DRAFTS
        return launcher or drafts or self.settings.experts.dual_batch_overlap

    @property
    def in_flight_tokens(self) -> int:
        """Tokens scheduled and not yet settled: a batch on each stage, and one being scheduled.

        Some ways to speculate wait for a step before they schedule the next, as the older runner
        does where there are stages.

        Source: vllm/config/vllm.py, max_concurrent_batches and __post_init__ (v0.32.0)
        """
        waits = self.settings.speculative_method in STEPWISE_METHODS
        waits = waits or (self.uses_v1_runner and self.layout.pp > 1)
        ahead = self.settings.async_scheduling and not waits
        return (self.layout.pp + ahead) * self.max_num_batched_tokens

    @property
    def replicates_queries(self) -> bool:
        """Whether DCP ranks keep the query projections of their whole group.

        Source: vllm/model_executor/models/deepseek_v2.py, DeepseekV2MLAAttention (v0.32.0)
        """
        asked = self.settings.context.q_replicate
        if asked is None:
            asked = self.model.architecture == "GlmMoeDsaForCausalLM"
        if self.model.traits.sparse_attention or not self.model.is_latent:
            return False
        return asked and self.layout.dcp > 1 and self.layout.pcp == 1


@lru_cache(maxsize=64)
def with_mtp(model: ModelConfig) -> ModelConfig:
    """The model and, as a layer more, its MTP module; embedding and head are the model's own.

    Source: vllm/model_executor/models/deepseek_mtp.py, DeepSeekMultiTokenPredictorLayer (v0.32.0)
    """
    from vllm_parallel.extras import Extra  # noqa: PLC0415  # few deployments draft

    if model.mtp is None:
        return model
    norms = tuple(
        Extra(name=name, rows=model.hidden)
        for name in ("enorm.weight", "hnorm.weight", "shared_head.norm.weight")
    )
    joined = Extra(name="eh_proj.weight", rows=model.hidden, columns=2 * model.hidden)
    module = replace(model.mtp, extras=(*model.mtp.extras, *norms, joined))
    return replace(model, kinds=(*model.kinds, module), pattern=(*model.pattern, len(model.kinds)))
