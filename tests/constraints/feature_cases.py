"""Rules of features against each other, worded as in vLLM's `config/vllm.py`."""

from __future__ import annotations

from typing import Final

from tests.constraints.asked import Case, llama


def nixl(role: str = "kv_both") -> dict[str, str]:
    return {"kv_connector": "NixlConnector", "kv_role": role}


ROUTED: Final[dict[str, object]] = {"tp": 2, "enable_return_routed_experts": True}
FAST: Final[dict[str, object]] = {"kv_sharing_fast_prefill": True}
MOONEP: Final = {"dp": 2, "ep": True, "all2all_backend": "moonep"}
DBO: Final = {"dp": 2, "ep": True, "enable_dbo": True}
OLDER_RUNNER: Final[tuple[dict[str, object], ...]] = (
    {"pp": 2, "distributed_executor_backend": "external_launcher"},
    {"enable_dbo": True, "all2all_backend": "nixl_ep"},
    {"speculative_config": {"method": "suffix"}},
    {"speculative_config": {"method": "medusa"}},
    {"speculative_config": {"method": "mlp_speculator"}},
    {"speculative_config": {"method": "custom_class"}},
)
PD_CONNECTORS: Final = (
    "NixlConnector",
    "NixlPullConnector",
    "NixlPushConnector",
    "MoRIIOConnector",
    "MooncakeConnector",
)

FEATURE_CASES: Final = (
    Case(
        rule="executor-known",
        model="llama-3.1-8b",
        fails={"distributed_executor_backend": "swarm"},
        passes=(
            {"distributed_executor_backend": "mp"},
            {"distributed_executor_backend": "ray"},
            {"distributed_executor_backend": "uni"},
            {"distributed_executor_backend": "external_launcher"},
            {"distributed_executor_backend": "mine.Executor"},
        ),
        says="not enough values to unpack (expected 2, got 1)",
        fix="use --distributed-executor-backend mp, ray, uni or external_launcher",
    ),
    Case(
        rule="nixl-dcp-width",
        model="deepseek-v3",
        fails={"tp": 8, "dcp": 2, "kv_transfer_config": nixl()},
        passes=(
            {"tp": 8, "dcp": 8, "kv_transfer_config": nixl()},
            {"tp": 8, "dcp": 1, "kv_transfer_config": nixl()},
            {"tp": 8, "dcp": 2},
            {
                "tp": 8,
                "dcp": 2,
                "kv_transfer_config": nixl() | {"kv_connector": "MooncakeConnector"},
            },
        ),
        says="decode_context_parallel_size=2 must be 1 or equal to the NIXL transfer parallel "
        "size=8.",
        fix="use a --decode-context-parallel-size of 1 or 8",
    ),
    Case(
        rule="nixl-dcp-width",
        model="deepseek-v3",
        fails={"tp": 2, "pcp": 4, "dcp": 8, "kv_transfer_config": nixl()},
        passes=({"tp": 2, "pcp": 4, "kv_transfer_config": nixl()},),
        says="decode_context_parallel_size=8 must be 1 or equal to the NIXL transfer parallel "
        "size=4.",
        fix="use a --decode-context-parallel-size of 1 or 4",
    ),
    Case(
        rule="nixl-dcp-needs-mla",
        model=llama("one-kv-head", num_key_value_heads=1),
        fails={"tp": 4, "dcp": 4, "kv_transfer_config": nixl("kv_producer")},
        passes=(
            {"tp": 4, "dcp": 4},
            {"tp": 4, "kv_transfer_config": nixl("kv_producer")},
        ),
        says="PD with decode_context_parallel_size > 1 is only supported for MLA models.",
        fix="use --decode-context-parallel-size 1 with NIXL: one-kv-head is not MLA",
    ),
    *(
        Case(
            rule="nvfp4-kv-without-mla",
            model="deepseek-v3",
            fails={"tp": 8, "kv_cache_dtype": dtype},
            passes=(
                {"tp": 8, "kv_cache_dtype": "fp8"},
                {"tp": 8, "kv_cache_dtype": "auto"},
            ),
            says="nvfp4 KV cache is not supported with MLA (Multi-head Latent Attention) backends. "
            "Please use a different --kv-cache-dtype (e.g., 'fp8', 'auto', or 'nvfp4_ds_mla' with "
            "a sparse MLA backend) for MLA models such as DeepSeek.",
            fix="use --kv-cache-dtype fp8 or auto",
        )
        for dtype in ("nvfp4", "nvfp4_4over6")
    ),
    Case(
        rule="routed-experts-need-moe",
        model="llama-3.1-8b",
        fails=ROUTED,
        passes=({"tp": 2},),
        says="AuxOutput Connector only supports MoE models.",
        fix="drop --enable-return-routed-experts: llama-3.1-8b is dense",
    ),
    Case(
        rule="routed-experts-need-prefix-caching",
        model="mixtral-8x7b",
        fails=ROUTED | {"enable_prefix_caching": False},
        passes=(ROUTED, {"tp": 2, "enable_prefix_caching": False}),
        says="AuxOutput Connector requires prefix caching.",
        fix="drop --no-enable-prefix-caching",
    ),
    Case(
        rule="routed-experts-without-pp",
        model="mixtral-8x7b",
        fails=ROUTED | {"pp": 2},
        passes=(ROUTED, {"tp": 2, "pp": 2}),
        says="--enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1).",
        fix="use --pipeline-parallel-size 1",
    ),
    *(
        Case(
            rule="routed-experts-without-context-parallelism",
            model="deepseek-v3",
            fails=ROUTED | context,
            passes=(ROUTED, {"tp": 2} | context),
            says="--enable-return-routed-experts is incompatible with context parallelism "
            "(DCP/PCP > 1).",
            fix="use -dcp 1 and -pcp 1",
        )
        for context in ({"dcp": 2}, {"pcp": 2})
    ),
    *(
        Case(
            rule="routed-experts-without-pd",
            model="mixtral-8x7b",
            fails=ROUTED | {"kv_transfer_config": nixl() | {"kv_connector": name}},
            passes=(
                ROUTED,
                ROUTED | {"kv_transfer_config": nixl() | {"kv_connector": "LMCacheConnectorV1"}},
                {"tp": 2, "kv_transfer_config": nixl() | {"kv_connector": name}},
            ),
            says=f"--enable-return-routed-experts is incompatible with {name}; PD auxiliary output "
            "is not supported.",
            fix="drop the connector from --kv-transfer-config",
        )
        for name in PD_CONNECTORS
    ),
    *(
        Case(
            rule="pcp-needs-v2-runner",
            model="deepseek-v3",
            fails={"tp": 2, "pcp": 2} | older,
            passes=({"tp": 2, "pcp": 2}, {"tp": 2, "pcp": 1} | older),
            says="Model Runner V1 does not support: prefill context parallel",
            fix="drop what the V2 runner cannot do, --enable-dbo or the external launcher with "
            "pipeline stages, or use -pcp 1",
        )
        for older in OLDER_RUNNER
    ),
    # --8<-- [start:a-case]
    Case(
        rule="fast-prefill-without-eagle",
        model="glm-4.5",
        fails=FAST | {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
        passes=(
            FAST,
            FAST | {"speculative_config": {"method": "ngram", "num_speculative_tokens": 1}},
            {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
        ),
        says="Fast prefill optimization for KV sharing is not compatible with EAGLE as EAGLE "
        "requires correct logits for all tokens while fast prefill gives incorrect logits for "
        "prompt tokens.",
        fix="drop --kv-sharing-fast-prefill, or --speculative-config",
    ),
    # --8<-- [end:a-case]
    Case(
        rule="moonep-bfloat16",
        model="mixtral-8x7b",
        fails=MOONEP | {"dtype": "float16"},
        passes=(MOONEP, MOONEP | {"dtype": "bfloat16"}, {"dp": 2, "dtype": "float16"}),
        says="The moonep all2all backend currently supports BF16 models only; got "
        "dtype=torch.float16. Use a different --all2all-backend or --dtype bfloat16.",
        fix="use --dtype bfloat16",
    ),
    *(
        Case(
            rule="routed-experts-need-v2-runner",
            model="mixtral-8x7b",
            fails=ROUTED | older,
            passes=(ROUTED, {"tp": 2} | older),
            says="AuxOutput Connector requires Model Runner V2; set VLLM_USE_V2_MODEL_RUNNER=1.",
            fix="drop --enable-dbo, or the external launcher with pipeline stages",
        )
        for older in OLDER_RUNNER
    ),
    Case(
        rule="kv-connector-given",
        model="mixtral-8x7b",
        fails={"kv_transfer_config": {"kv_role": "kv_both"}},
        passes=({"kv_transfer_config": nixl()}, {"kv_transfer_config": {}}),
        says="Connector name is not set in KVTransferConfig",
        fix="add kv_connector to --kv-transfer-config",
    ),
    Case(
        rule="moonep-without-eplb",
        model="mixtral-8x7b",
        fails=MOONEP | {"enable_eplb": True},
        passes=(MOONEP, {"dp": 2, "ep": True, "enable_eplb": True}),
        says="The moonep all2all backend does not support EPLB yet: EPLB rearranges expert "
        "parameters in a layout MoonEP's replicated [E+B] weights do not follow. Disable "
        "--enable-eplb or use a different --all2all-backend.",
        fix="drop --enable-eplb",
    ),
    Case(
        rule="moonep-linear-placement",
        model="mixtral-8x7b",
        fails=MOONEP | {"expert_placement_strategy": "round_robin"},
        passes=(
            MOONEP | {"expert_placement_strategy": "linear"},
            {"dp": 2, "ep": True, "expert_placement_strategy": "round_robin"},
        ),
        says="The moonep all2all backend requires linear expert placement: its load-time "
        "all-gather assumes each rank holds a contiguous chunk of the global expert range. Got "
        "--expert-placement-strategy 'round_robin'.",
        fix="use --expert-placement-strategy linear",
    ),
    *(
        Case(
            rule="dbo-backend",
            model="mixtral-8x7b",
            fails=DBO | {"all2all_backend": asked},
            passes=(
                DBO | {"all2all_backend": "deepep_low_latency"},
                DBO | {"all2all_backend": "deepep_high_throughput"},
                DBO | {"all2all_backend": "nixl_ep"},
                {"dp": 2, "ep": True, "all2all_backend": asked},
            ),
            says="Microbatching currently only supports the deepep_low_latency, "
            f"deepep_high_throughput, and nixl_ep all2all backends. {runs} is not supported. To "
            "fix use --all2all-backend=deepep_low_latency, "
            "--all2all-backend=deepep_high_throughput, or --all2all-backend=nixl_ep and install "
            "the matching kernels.",
            fix="use --all2all-backend deepep_low_latency, or drop --enable-dbo",
        )
        for asked, runs in (
            (None, "allgather_reducescatter"),
            ("naive", "allgather_reducescatter"),
            ("pplx", "allgather_reducescatter"),
            ("deepep_v2", "deepep_v2"),
        )
    ),
    Case(
        rule="mtp-tokens-given",
        model="deepseek-v3",
        fails={"tp": 8, "speculative_config": {"method": "mtp"}},
        passes=(
            {"tp": 8, "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
            {"tp": 8, "speculative_config": {"method": "ngram"}},
        ),
        says="num_speculative_tokens must be provided with speculative model unless the draft "
        "model config contains an n_predict parameter.",
        fix="add num_speculative_tokens to --speculative-config",
    ),
    Case(
        rule="mtp-of-the-family",
        model="mistral-7b-v0.3",
        fails={"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
        passes=({"speculative_config": {"method": "ngram", "num_speculative_tokens": 1}}, {}),
        says="Unsupported speculative method: 'mtp'",
        fix="use ngram, or drop --speculative-config: mistral-7b-v0.3 predicts no second token",
    ),
)
