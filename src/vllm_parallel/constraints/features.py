"""Rules of one feature against another, tested when all configs are joined."""

from __future__ import annotations

from functools import partial
from typing import Final

from vllm_parallel.constraints.constraint import (
    Constraint,
    Known,
    RuleRow,
    Test,
    config_rule,
)
from vllm_parallel.deployment import Deployment
from vllm_parallel.dtype import Dtype

VLLM: Final = "vllm/config/vllm.py"
DBO_BACKENDS: Final = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")
REMOVED_BACKENDS: Final = ("naive", "pplx")  # parse, then fall back
EXECUTORS: Final = (None, "mp", "ray", "uni", "external_launcher")
PD_CONNECTORS: Final = (
    "NixlConnector",
    "NixlPullConnector",
    "NixlPushConnector",
    "MoRIIOConnector",
    "MooncakeConnector",
)


def backend(d: Deployment) -> str:
    """The all2all back end that runs: removed ones fall back to the default."""
    asked = d.settings.experts.all2all_backend
    return "allgather_reducescatter" if asked in REMOVED_BACKENDS else asked


def nixl(d: Deployment) -> bool:
    """Whether KV is handed over through NIXL."""
    return d.settings.kv_connector == "NixlConnector"


def transfer_width(d: Deployment) -> int:
    """Ranks that a NIXL side hands KV over with."""
    return max(d.layout.tp, d.layout.pcp)


def moonep(d: Deployment) -> bool:
    """Whether experts talk through MoonEP."""
    return d.settings.experts.all2all_backend == "moonep"


def routed(test: Test) -> Test:
    """A test that only `--enable-return-routed-experts` brings."""
    return lambda d: d.settings.experts.return_routed_experts and test(d)


EAGLE_METHODS: Final = ("eagle", "eagle3", "mtp", "dflash", "dspark")
routed_rule: RuleRow = partial(config_rule, source=f"{VLLM}, _verify_aux_output_compatibility")

FEATURE_RULES: Final[tuple[Constraint[Deployment], ...]] = (
    config_rule(
        name="nixl-dcp-width",
        broken=lambda d: nixl(d) and d.layout.dcp not in (1, transfer_width(d)),
        says="decode_context_parallel_size={layout.dcp} must be 1 or equal to the NIXL transfer "
        "parallel size={options}.",
        options=transfer_width,
        fix="use a --decode-context-parallel-size of 1 or {options}",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.RECORDED,
    ),
    config_rule(
        name="nixl-dcp-needs-mla",
        broken=lambda d: nixl(d) and d.layout.dcp > 1 and not d.model.is_latent,
        says="PD with decode_context_parallel_size > 1 is only supported for MLA models.",
        fix="use --decode-context-parallel-size 1 with NIXL: {model.name} is not MLA",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.RECORDED,
    ),
    config_rule(
        name="executor-known",
        broken=lambda d: (
            d.settings.nodes.executor not in EXECUTORS
            and "." not in (d.settings.nodes.executor or "")
        ),
        says="not enough values to unpack (expected 2, got 1)",
        fix="use --distributed-executor-backend mp, ray, uni or external_launcher",
        source="vllm/v1/executor/abstract.py, Executor.get_class",
        known=Known.RECORDED,
    ),
    config_rule(
        name="pcp-needs-v2-runner",
        broken=lambda d: d.uses_v1_runner and d.layout.pcp > 1,
        says="Model Runner V1 does not support: prefill context parallel",
        fix="drop what the V2 runner cannot do, --enable-dbo or the external launcher with "
        "pipeline stages, or use -pcp 1",
        source=f"{VLLM}, _validate_v1_model_runner",
        known=Known.RECORDED,
    ),
    # --8<-- [start:a-rule]
    config_rule(
        name="fast-prefill-without-eagle",
        broken=lambda d: (
            d.settings.kv_sharing_fast_prefill and d.settings.speculative_method in EAGLE_METHODS
        ),
        says="Fast prefill optimization for KV sharing is not compatible with EAGLE as EAGLE "
        "requires correct logits for all tokens while fast prefill gives incorrect logits for "
        "prompt tokens.",
        fix="drop --kv-sharing-fast-prefill, or --speculative-config",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.READ,
    ),
    # --8<-- [end:a-rule]
    config_rule(
        name="moonep-bfloat16",
        broken=lambda d: moonep(d) and d.model.dtype is not Dtype.BFLOAT16,
        says="The moonep all2all backend currently supports BF16 models only; got "
        "dtype=torch.{model.dtype}. Use a different --all2all-backend or --dtype bfloat16.",
        fix="use --dtype bfloat16",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.RECORDED,
    ),
    config_rule(
        name="moonep-without-eplb",
        broken=lambda d: moonep(d) and d.settings.experts.eplb,
        says="The moonep all2all backend does not support EPLB yet: EPLB rearranges expert "
        "parameters in a layout MoonEP's replicated [E+B] weights do not follow. Disable "
        "--enable-eplb or use a different --all2all-backend.",
        fix="drop --enable-eplb",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.READ,
    ),
    config_rule(
        name="moonep-linear-placement",
        broken=lambda d: moonep(d) and d.settings.experts.placement != "linear",
        says="The moonep all2all backend requires linear expert placement: its load-time "
        "all-gather assumes each rank holds a contiguous chunk of the global expert range. Got "
        "--expert-placement-strategy '{settings.experts.placement}'.",
        fix="use --expert-placement-strategy linear",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.RECORDED,
    ),
    config_rule(
        name="dbo-backend",
        broken=lambda d: d.settings.experts.dual_batch_overlap and backend(d) not in DBO_BACKENDS,
        says="Microbatching currently only supports the deepep_low_latency, "
        "deepep_high_throughput, and nixl_ep all2all backends. {options} is not supported. To fix "
        "use --all2all-backend=deepep_low_latency, --all2all-backend=deepep_high_throughput, or "
        "--all2all-backend=nixl_ep and install the matching kernels.",
        options=backend,
        fix="use --all2all-backend deepep_low_latency, or drop --enable-dbo",
        source=f"{VLLM}, VllmConfig.__post_init__",
        known=Known.RECORDED,
    ),
    routed_rule(
        name="routed-experts-need-v2-runner",
        broken=routed(lambda d: d.uses_v1_runner),
        says="AuxOutput Connector requires Model Runner V2; set VLLM_USE_V2_MODEL_RUNNER=1.",
        fix="drop --enable-dbo, or the external launcher with pipeline stages",
        known=Known.RECORDED,
    ),
    routed_rule(
        name="routed-experts-need-moe",
        broken=routed(lambda d: not d.model.is_moe),
        says="AuxOutput Connector only supports MoE models.",
        fix="drop --enable-return-routed-experts: {model.name} is dense",
        known=Known.RECORDED,
    ),
    routed_rule(
        name="routed-experts-need-prefix-caching",
        broken=routed(lambda d: not d.prefix_caching),
        says="AuxOutput Connector requires prefix caching.",
        fix="drop --no-enable-prefix-caching",
        known=Known.RECORDED,
    ),
    routed_rule(
        name="routed-experts-without-pp",
        broken=routed(lambda d: d.layout.pp > 1),
        says="--enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1).",
        fix="use --pipeline-parallel-size 1",
        known=Known.RECORDED,
    ),
    routed_rule(
        name="routed-experts-without-context-parallelism",
        broken=routed(lambda d: d.layout.dcp > 1 or d.layout.pcp > 1),
        says="--enable-return-routed-experts is incompatible with context parallelism "
        "(DCP/PCP > 1).",
        fix="use -dcp 1 and -pcp 1",
        known=Known.RECORDED,
    ),
    routed_rule(
        name="routed-experts-without-pd",
        broken=routed(lambda d: d.settings.kv_connector in PD_CONNECTORS),
        says="--enable-return-routed-experts is incompatible with {settings.kv_connector}; PD "
        "auxiliary output is not supported.",
        fix="drop the connector from --kv-transfer-config",
        known=Known.RECORDED,
    ),
    config_rule(
        name="kv-connector-given",
        broken=lambda d: d.settings.kv_role is not None and d.settings.kv_connector is None,
        says="Connector name is not set in KVTransferConfig",
        fix="add kv_connector to --kv-transfer-config",
        source="vllm/distributed/kv_transfer/kv_connector/factory.py, get_connector_class",
        known=Known.RECORDED,
    ),
    config_rule(
        name="nvfp4-kv-without-mla",
        broken=lambda d: d.kv_cache_dtype in ("nvfp4", "nvfp4_4over6") and d.model.is_latent,
        says="nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends. "
        "Please use a different --kv-cache-dtype (e.g., 'fp8', 'auto', or 'nvfp4_ds_mla' with a "
        "sparse MLA backend) for MLA models such as DeepSeek.",
        fix="use --kv-cache-dtype fp8 or auto",
        source=f"{VLLM}, validate_nvfp4_kv_cache_with_mla",
        known=Known.RECORDED,
    ),
)
