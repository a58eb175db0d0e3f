"""Rules of single fields: bounds, and the words that a flag takes.

pydantic reports them with the field's name in the line above, so the sentence has no number.
The order is that of the configs: EPLB first of all, then model, cache, parallel, scheduler.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple

from vllm_parallel.constraints.balancing import first_engine
from vllm_parallel.constraints.constraint import Constraint, Known, Stage
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import replace

EPLB: Final = "vllm/config/parallel.py, EPLBConfig"
MODEL: Final = "vllm/config/model.py, ModelConfig"
CACHE: Final = "vllm/config/cache.py, CacheConfig"
SPECULATIVE: Final = "vllm/config/speculative.py, SpeculativeConfig"
PARALLEL: Final = "vllm/config/parallel.py, ParallelConfig"
SCHEDULER: Final = "vllm/config/scheduler.py, SchedulerConfig"

KV_TRANSFER: Final = "vllm/config/kv_transfer.py, KVTransferConfig"
KV_ROLES: Final = ("kv_producer", "kv_both", "kv_consumer")
DTYPES: Final = ("auto", "half", "float16", "bfloat16", "float", "float32")
ALL2ALL_BACKENDS: Final = (
    "naive", "pplx", "deepep_high_throughput", "deepep_low_latency", "deepep_v2",
    "mori_high_throughput", "mori_low_latency", "moonep", "nixl_ep", "allgather_reducescatter",
    "flashinfer_all2allv", "flashinfer_nvlink_two_sided", "flashinfer_nvlink_one_sided",
    "passthrough",
)  # fmt: skip
POLICIES: Final = ("fcfs", "priority")
DCP_BACKENDS: Final = ("ag_rs", "a2a")
PLACEMENTS: Final = ("linear", "round_robin")
KV_CACHE_DTYPES: Final = (
    "auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla",
    "nvfp4_ds_mla", "turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc",
    "turboquant_3bit_nc", "ultraquant_4bit", "int4_per_token_head", "int8_per_token_head",
    "fp8_per_token_head", "nvfp4", "nvfp4_4over6",
)  # fmt: skip
STATE_DTYPES: Final = ("auto", "float32", "float16", "bfloat16")
STATE_MODES: Final = ("align", "none")
STATES: Final = "settings.caches.mamba_{}"


class Field(NamedTuple):
    """A flag, where a deployment keeps its value, and the config that checks it."""

    flag: str
    path: str
    source: str

    def at_least(self, least: int) -> Constraint[Deployment]:
        """The value may not lie under a whole number."""
        words = f"greater than or equal to {least}"
        return self._row("minimum", words, partial(operator.gt, least))

    def above(self, limit: int) -> Constraint[Deployment]:
        """The value has to exceed a whole number."""
        return self._row("minimum", f"greater than {limit}", partial(operator.ge, limit))

    def at_most(self, most: int) -> Constraint[Deployment]:
        """The value may not exceed a whole number."""
        return self._row("maximum", f"less than or equal to {most}", partial(operator.lt, most))

    def one_of(self, words: tuple[str, ...]) -> Constraint[Deployment]:
        """The value is one of these words."""
        *first, last = (f"'{word}'" for word in words)
        listed = f"{', '.join(first)} or {last}" if first else last
        return self._row("words", listed, lambda x: x not in words)

    def _row(
        self, kind: str, words: str, breaks: Callable[[object], bool]
    ) -> Constraint[Deployment]:
        """The row; a value that was not given breaks nothing."""
        value = attrgetter(self.path)  # of every question, so without a call in between
        return Constraint(
            name=f"{self.flag.removeprefix('--').replace('.', '-').replace('_', '-')}-{kind}",
            stage=Stage.CONFIG,
            broken=lambda d: (given := value(d)) is not None and breaks(given),
            says=f"Input should be {words}",
            fix=f"{self.flag} is {{{self.path}}}: it should be {words}",
            source=self.source,
            known=Known.RECORDED,
            ends=True,
        )


KV_TRANSFER_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--kv-transfer-config.kv_role", "settings.kv_role", KV_TRANSFER).one_of(KV_ROLES),
    Constraint(
        name="kv-role-given",
        stage=Stage.CONFIG,
        broken=lambda d: d.settings.kv_connector is not None and d.settings.kv_role is None,
        says=f"Please specify kv_role when kv_connector is set, supported roles are {KV_ROLES}",
        fix="add kv_role to --kv-transfer-config",
        source=KV_TRANSFER,
        known=Known.RECORDED,
        ends=True,
    ),
)

NO_LENGTH: Final = (
    "max_model_len must be a positive integer, got int: {settings.max_model_len}. "
    "Example: max_model_len=2048"
)
EPLB_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--eplb-config.window_size", "settings.experts.eplb_window_size", EPLB).above(0),
    Field("--eplb-config.step_interval", "settings.experts.eplb_step_interval", EPLB).above(0),
    Field("--eplb-config.num_redundant_experts", "settings.experts.redundant_experts", EPLB)
    .at_least(0),
    Field("--eplb-config.policy", "settings.experts.eplb_policy", EPLB).one_of(("default",)),
)  # fmt: skip

MODEL_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--dtype", "settings.dtype", MODEL).one_of(DTYPES),
    Field("--max-model-len", "settings.max_model_len", MODEL).at_least(-1),
    Field("--max-logprobs", "settings.max_logprobs", MODEL).at_least(-1),
    Constraint(
        name="max-model-len-positive",
        stage=Stage.CONFIG,
        broken=lambda d: d.settings.max_model_len == 0,
        says=NO_LENGTH,
        fix="give --max-model-len a positive number, or -1 to fit it to memory",
        source=MODEL,
        known=Known.RECORDED,
        ends=True,
    ),
    Constraint(
        name="dtype-but-float16",
        stage=Stage.CONFIG,
        broken=lambda d: (
            d.model.traits.no_float16 is not None and d.settings.dtype in ("half", "float16")
        ),
        says="The model type '{model.traits.no_float16}' does not support float16. Reason: "
        "Numerical instability. Please use bfloat16 or float32 instead.",
        fix="use --dtype bfloat16",
        source="vllm/config/model.py, _check_valid_dtype",
        known=Known.RECORDED,
    ),
    Constraint(
        name="max-model-len-fitted",
        stage=Stage.CONFIG,
        broken=lambda d: d.settings.max_model_len == -1 and d.model.context.tokens == inf,
        says=NO_LENGTH,
        fix="give --max-model-len a positive number: no key of the config bounds it",
        source=MODEL,
        known=Known.RAISED,
        ends=True,
    ),
    Constraint(
        name="max-model-len-derived",
        stage=Stage.CONFIG,
        broken=lambda d: not d.model.context.allows(d.settings.max_model_len),
        says="User-specified max_model_len ({settings.max_model_len}) is greater than the derived "
        "max_model_len ({model.context.key}={model.context.tokens} or model_max_length="
        "{model.context.model_max_length} in model's config.json). To allow overriding this "
        "maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. VLLM_ALLOW_LONG_MAX_MODEL_LEN "
        "must be used with extreme caution. If the model uses relative position encoding (RoPE), "
        "positions exceeding derived_max_model_len lead to nan. If the model uses absolute "
        "position encoding, positions exceeding derived_max_model_len will cause a CUDA array "
        "out-of-bounds error.",
        fix="use a --max-model-len of at most {model.context.max_model_len}",
        source="vllm/config/model.py, _get_and_verify_max_len",
        known=Known.RECORDED,
    ),
)

CACHE_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--block-size", "settings.block_size", CACHE).above(0),
    Field("--gpu-memory-utilization", "settings.gpu_memory_utilization", CACHE).above(0),
    Field("--gpu-memory-utilization", "settings.gpu_memory_utilization", CACHE).at_most(1),
    Field("--kv-cache-dtype", "settings.kv_cache_dtype", CACHE).one_of(KV_CACHE_DTYPES),
    *(
        replace(bound, known=Known.RAISED)
        for bound in (
            Field("--mamba-block-size", STATES.format("block_size"), CACHE).above(0),
            Field("--mamba-cache-dtype", STATES.format("cache_dtype"), CACHE).one_of(STATE_DTYPES),
            Field("--mamba-ssm-cache-dtype", STATES.format("ssm_cache_dtype"), CACHE)
            .one_of(STATE_DTYPES),
            Field("--mamba-cache-mode", STATES.format("cache_mode"), CACHE).one_of(STATE_MODES),
        )
    ),
)  # fmt: skip

PARALLEL_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--pipeline-parallel-size", "layout.pp", PARALLEL).at_least(1),
    Field("--tensor-parallel-size", "layout.tp", PARALLEL).at_least(1),
    Field("--prefill-context-parallel-size", "layout.pcp", PARALLEL).at_least(1),
    Field("--data-parallel-size", "layout.dp", PARALLEL).at_least(1),
    Field("--data-parallel-size-local", "settings.balancing.size_local", PARALLEL).at_least(0),
    Field("--data-parallel-rank", "settings.balancing.rank", PARALLEL).at_least(0),
    # A start rank becomes the rank where engines are counted, and is dropped elsewhere.
    replace(
        Field("--data-parallel-start-rank", "settings.balancing.start_rank", PARALLEL).at_least(0),
        broken=lambda d: (d.settings.balancing.start_rank or 0) < 0 and first_engine(d) < 0,
    ),
    Field("--expert-placement-strategy", "settings.experts.placement", PARALLEL)
    .one_of(PLACEMENTS),
    Field("--all2all-backend", "settings.experts.all2all_backend", PARALLEL)
    .one_of(ALL2ALL_BACKENDS),
    Field("--dbo-decode-token-threshold", "settings.experts.dbo_decode_tokens", PARALLEL)
    .at_least(0),
    Field("--dbo-prefill-token-threshold", "settings.experts.dbo_prefill_tokens", PARALLEL)
    .at_least(0),
    Field("--node-rank", "settings.nodes.node_rank", PARALLEL).at_least(0),
    Field("--nnodes", "settings.nodes.nnodes", PARALLEL).at_least(1),
    Field("--decode-context-parallel-size", "layout.dcp", PARALLEL).at_least(1),
    Field("--dcp-comm-backend", "settings.context.dcp_comm_backend", PARALLEL)
    .one_of(DCP_BACKENDS),
)  # fmt: skip

SPECULATIVE_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--speculative-config.num_speculative_tokens", "settings.speculative_tokens", SPECULATIVE)
    .above(0),
)  # fmt: skip

SCHEDULER_BOUNDS: Final[tuple[Constraint[Deployment], ...]] = (
    Field("--max-num-batched-tokens", "settings.max_num_batched_tokens", SCHEDULER).at_least(1),
    Field("--max-num-seqs", "settings.max_num_seqs", SCHEDULER).at_least(1),
    Field("--scheduling-policy", "settings.scheduling_policy", SCHEDULER).one_of(POLICIES),
    Constraint(
        name="batched-tokens-hold-max-model-len",
        stage=Stage.CONFIG,
        broken=lambda d: (
            not d.settings.chunked_prefill
            and d.settings.max_num_batched_tokens is not None
            and d.settings.max_num_batched_tokens < d.max_model_len
        ),
        says="max_num_batched_tokens ({settings.max_num_batched_tokens}) is smaller than "
        "max_model_len ({options}). This effectively limits the maximum sequence length to "
        "max_num_batched_tokens and makes vLLM reject longer sequences. Please increase "
        "max_num_batched_tokens or decrease max_model_len.",
        options=lambda d: d.max_model_len,
        fix="raise --max-num-batched-tokens to {options}, or leave chunked prefill on",
        source="vllm/config/scheduler.py, verify_max_model_len",
        known=Known.RECORDED,
    ),
    Constraint(
        name="batched-tokens-hold-seqs",
        stage=Stage.CONFIG,
        broken=lambda d: (
            d.settings.max_num_seqs is not None
            and d.max_num_batched_tokens < d.settings.max_num_seqs
        ),
        says="max_num_batched_tokens ({options}) must be greater than or equal to max_num_seqs "
        "({settings.max_num_seqs}).",
        options=lambda d: d.max_num_batched_tokens,
        fix="use a --max-num-seqs of at most {options}, or raise --max-num-batched-tokens",
        source=SCHEDULER,
        known=Known.RECORDED,
    ),
)
