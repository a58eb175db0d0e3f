"""Rules of single fields: each names its flag, what may be given, and what may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.constraints.asked import Args, Case
from vllm_parallel.catalog import load_model

ALL2ALL: Final = (
    "'naive', 'pplx', 'deepep_high_throughput', 'deepep_low_latency', 'deepep_v2', "
    "'mori_high_throughput', 'mori_low_latency', 'moonep', 'nixl_ep', 'allgather_reducescatter', "
    "'flashinfer_all2allv', 'flashinfer_nvlink_two_sided', 'flashinfer_nvlink_one_sided' or "
    "'passthrough'"
)
CACHE_DTYPES: Final = (
    "'auto', 'float16', 'bfloat16', 'fp8', 'fp8_e4m3', 'fp8_e5m2', 'fp8_inc', 'fp8_ds_mla', "
    "'nvfp4_ds_mla', 'turboquant_k8v4', 'turboquant_4bit_nc', 'turboquant_k3v4_nc', "
    "'turboquant_3bit_nc', 'ultraquant_4bit', 'int4_per_token_head', 'int8_per_token_head', "
    "'fp8_per_token_head', 'nvfp4' or 'nvfp4_4over6'"
)
STATE_DTYPES: Final = "'auto', 'float32', 'float16' or 'bfloat16'"
MODEL_DTYPES: Final = "'auto', 'half', 'float16', 'bfloat16', 'float' or 'float32'"
ROLES: Final = "'kv_producer', 'kv_both' or 'kv_consumer'"


@dataclass(frozen=True, slots=True)
class Field:
    """A flag, the words of its bound, and values on both sides; `key` of an object's inside."""

    rule: str
    flag: str
    wanted: str
    bad: tuple[object, ...]
    good: tuple[object, ...]
    key: str | None = None
    beside: Args | None = None

    def args(self, value: object) -> Args:
        name = self.flag.removeprefix("--").replace("-", "_")
        return {**(self.beside or {}), name: value if self.key is None else {self.key: value}}

    def cases(self) -> Iterator[Case]:
        flag = self.flag if self.key is None else f"{self.flag}.{self.key}"
        for value in self.bad:
            yield Case(
                rule=self.rule,
                model="mixtral-8x7b",
                fails=self.args(value),
                passes=tuple(self.args(good) for good in self.good),
                says=f"Input should be {self.wanted}",
                fix=f"{flag} is {value}: it should be {self.wanted}",
            )


ONE: Final = "greater than or equal to 1"
NONE: Final = "greater than or equal to 0"
ABOVE: Final = "greater than 0"
EPLB: Final = "--eplb-config"
TRANSFER: Final = "--kv-transfer-config"

FIELDS: Final = (
    Field("kv-transfer-config-kv-role-words", TRANSFER, ROLES, ("both", ""), (), "kv_role"),
    Field("eplb-config-window-size-minimum", EPLB, ABOVE, (0, -1), (1,), "window_size"),
    Field("eplb-config-step-interval-minimum", EPLB, ABOVE, (0, -1), (1,), "step_interval"),
    Field(
        "eplb-config-num-redundant-experts-minimum", EPLB, NONE, (-1,), (0,),
        "num_redundant_experts",
    ),
    Field("eplb-config-policy-words", EPLB, "'default'", ("swap",), ("default",), "policy"),
    Field(
        "dtype-words", "--dtype", MODEL_DTYPES, ("fp8", "torch.bfloat16"),
        ("auto", "half", "float16", "bfloat16", "float", "float32"),
    ),
    Field(
        "max-model-len-minimum", "--max-model-len", "greater than or equal to -1",
        (-2, -8192), (-1, 1, 32768),
    ),
    Field("block-size-minimum", "--block-size", ABOVE, (0, -16), (1, 17, 16)),
    Field(
        "gpu-memory-utilization-minimum", "--gpu-memory-utilization", ABOVE,
        (0.0, -0.5), (0.01, 1, 1.0),
    ),
    Field(
        "gpu-memory-utilization-maximum", "--gpu-memory-utilization",
        "less than or equal to 1", (1.01, 92.0), (1.0, 0.5),
    ),
    Field(
        "kv-cache-dtype-words", "--kv-cache-dtype", CACHE_DTYPES, ("int8", "float32"),
        (
            "auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "turboquant_k8v4",
            "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc",
            "int4_per_token_head", "int8_per_token_head", "fp8_per_token_head", "nvfp4",
        ),
    ),
    Field("mamba-block-size-minimum", "--mamba-block-size", ABOVE, (0, -8), (1, 64)),
    Field(
        "mamba-cache-dtype-words", "--mamba-cache-dtype", STATE_DTYPES, ("half", "fp8"),
        ("auto", "float32", "float16", "bfloat16"),
    ),
    Field(
        "mamba-ssm-cache-dtype-words", "--mamba-ssm-cache-dtype", STATE_DTYPES, ("float",),
        ("auto", "float32", "float16", "bfloat16"),
    ),
    Field(
        "mamba-cache-mode-words", "--mamba-cache-mode", "'align' or 'none'", ("all",),
        ("align", "none"),
    ),
    Field("pipeline-parallel-size-minimum", "--pipeline-parallel-size", ONE, (0, -2), (1, 2)),
    Field("tensor-parallel-size-minimum", "--tensor-parallel-size", ONE, (0, -8), (1, 8)),
    Field(
        "prefill-context-parallel-size-minimum", "--prefill-context-parallel-size", ONE,
        (0, -1), (1,),
    ),
    Field("data-parallel-size-minimum", "--data-parallel-size", ONE, (0, -1), (1, 2)),
    Field(
        "data-parallel-size-local-minimum", "--data-parallel-size-local", NONE,
        (-1,), (0, 1, 2), beside={"dp": 2},
    ),
    Field(
        "data-parallel-rank-minimum", "--data-parallel-rank", NONE, (-1,), (0, 1),
        beside={"dp": 2},
    ),
    Field(
        "data-parallel-start-rank-minimum", "--data-parallel-start-rank", NONE, (-1,), (0, 2),
        beside={"dp": 4, "data_parallel_size_local": 2},
    ),
    Field(
        "expert-placement-strategy-words", "--expert-placement-strategy",
        "'linear' or 'round_robin'", ("ring",), ("linear", "round_robin"),
    ),
    Field(
        "all2all-backend-words", "--all2all-backend", ALL2ALL, ("deepep", "nccl"),
        (
            "naive", "pplx", "deepep_high_throughput", "deepep_low_latency", "deepep_v2",
            "mori_high_throughput", "mori_low_latency", "moonep", "nixl_ep",
            "allgather_reducescatter", "flashinfer_all2allv", "flashinfer_nvlink_two_sided",
            "flashinfer_nvlink_one_sided", "passthrough",
        ),
    ),
    Field(
        "dbo-decode-token-threshold-minimum", "--dbo-decode-token-threshold", NONE, (-1,), (0, 1)
    ),
    Field(
        "dbo-prefill-token-threshold-minimum", "--dbo-prefill-token-threshold", NONE, (-1,), (0, 1)
    ),
    Field("node-rank-minimum", "--node-rank", NONE, (-1,), (0, 5)),
    Field("nnodes-minimum", "--nnodes", ONE, (0, -1), (1, 2), beside={"dp": 2}),
    Field(
        "decode-context-parallel-size-minimum", "--decode-context-parallel-size", ONE,
        (0, -1), (1,),
    ),
    Field(
        "dcp-comm-backend-words", "--dcp-comm-backend", "'ag_rs' or 'a2a'", ("nccl",),
        ("ag_rs", "a2a"),
    ),
    Field(
        "speculative-config-num-speculative-tokens-minimum", "--speculative-config", ABOVE,
        (0, -1), (1, 4), "num_speculative_tokens",
    ),
    Field("max-num-batched-tokens-minimum", "--max-num-batched-tokens", ONE, (0, -1), (1, 2048)),
    Field("max-num-seqs-minimum", "--max-num-seqs", ONE, (0, -1), (1, 256)),
    Field(
        "scheduling-policy-words", "--scheduling-policy", "'fcfs' or 'priority'",
        ("lifo",), ("fcfs", "priority"),
    ),
    Field(
        "max-logprobs-minimum", "--max-logprobs", "greater than or equal to -1", (-2,), (-1, 0, 20)
    ),
)  # fmt: skip

BOUNDS_CASES: Final = (
    *(case for field in FIELDS for case in field.cases()),
    Case(
        rule="data-parallel-start-rank-minimum",
        model="mixtral-8x7b",
        fails={"dp": 4, "data_parallel_start_rank": -3, "data_parallel_size_local": 2},
        passes=({"dp": 4, "data_parallel_start_rank": -3},),  # dropped where none is counted
        says="Input should be greater than or equal to 0",
        fix="--data-parallel-start-rank is -3: it should be greater than or equal to 0",
    ),
    Case(
        rule="kv-role-given",
        model="mixtral-8x7b",
        fails={"kv_transfer_config": {"kv_connector": "NixlConnector"}},
        passes=tuple(
            {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": role}}
            for role in ("kv_producer", "kv_both", "kv_consumer")
        ),
        says="Please specify kv_role when kv_connector is set, supported roles are "
        "('kv_producer', 'kv_both', 'kv_consumer')",
        fix="add kv_role to --kv-transfer-config",
    ),
    Case(
        rule="max-model-len-positive",
        model="llama-3.1-8b",
        fails={"max_model_len": 0},
        passes=({"max_model_len": 1}, {"max_model_len": -1}, {}),
        says="max_model_len must be a positive integer, got int: 0. Example: max_model_len=2048",
        fix="give --max-model-len a positive number, or -1 to fit it to memory",
    ),
    Case(
        rule="dtype-but-float16",
        model=load_model({"architectures": ["Gemma2ForCausalLM"], "dtype": "bfloat16"}),
        fails={"dtype": "half"},
        passes=({"dtype": "auto"}, {"dtype": "bfloat16"}, {"dtype": "float32"}),
        says="The model type 'gemma2' does not support float16. Reason: Numerical instability. "
        "Please use bfloat16 or float32 instead.",
        fix="use --dtype bfloat16",
    ),
    Case(
        rule="max-model-len-derived",
        model="llama-3.1-8b",
        fails={"max_model_len": 131_073},
        passes=({"max_model_len": 131_072}, {"max_model_len": -1}),
        says="User-specified max_model_len (131073) is greater than the derived max_model_len "
        "(max_position_embeddings=131072.0 or model_max_length=None in model's config.json). To "
        "allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. "
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used with extreme caution. If the model uses "
        "relative position encoding (RoPE), positions exceeding derived_max_model_len lead to "
        "nan. If the model uses absolute position encoding, positions exceeding "
        "derived_max_model_len will cause a CUDA array out-of-bounds error.",
        fix="use a --max-model-len of at most 131072",
    ),
    Case(
        rule="batched-tokens-hold-max-model-len",
        model="mixtral-8x7b",
        fails={"max_num_batched_tokens": 32_767, "enable_chunked_prefill": False},
        passes=(
            {"max_num_batched_tokens": 32_768, "enable_chunked_prefill": False},
            {"max_num_batched_tokens": 32_767},
            {
                "max_num_batched_tokens": 2048,
                "max_model_len": 2048,
                "enable_chunked_prefill": False,
            },
        ),
        says="max_num_batched_tokens (32767) is smaller than max_model_len (32768). This "
        "effectively limits the maximum sequence length to max_num_batched_tokens and makes vLLM "
        "reject longer sequences. Please increase max_num_batched_tokens or decrease "
        "max_model_len.",
        fix="raise --max-num-batched-tokens to 32768, or leave chunked prefill on",
    ),
    Case(
        rule="batched-tokens-hold-seqs",
        model="mixtral-8x7b",
        fails={"max_num_batched_tokens": 255, "max_num_seqs": 256},
        passes=({"max_num_batched_tokens": 256, "max_num_seqs": 256},),
        says="max_num_batched_tokens (255) must be greater than or equal to max_num_seqs (256).",
        fix="use a --max-num-seqs of at most 255, or raise --max-num-batched-tokens",
    ),
    *(
        Case(  # where only one is given, against vLLM's default for the GPU
            rule="batched-tokens-hold-seqs",
            model="mixtral-8x7b",
            fails={"max_num_seqs": tokens + 1, "gpu": gpu},
            passes=(
                {"max_num_seqs": tokens, "gpu": gpu},
                {
                    "max_num_seqs": tokens + 1,
                    "gpu": gpu,
                    "enable_chunked_prefill": False,  # then the default rises to the length
                },
            ),
            says=f"max_num_batched_tokens ({tokens}) must be greater than or equal to "
            f"max_num_seqs ({tokens + 1}).",
            fix=f"use a --max-num-seqs of at most {tokens}, or raise --max-num-batched-tokens",
        )
        for gpu, tokens in (
            (None, 2048),
            ("h100-80gb", 8192),
            ("a100-80gb", 2048),
            ("b200", 16384),
            ("l40s", 2048),
        )
    ),
)
