"""Arguments and back: through `given`, and through a launch command and the parser of `plan`."""

from __future__ import annotations

import shlex
from random import Random
from typing import Final

from vllm_parallel import cli
from vllm_parallel.catalog import load_model
from vllm_parallel.deployment import Deployment
from vllm_parallel.engine import Arguments
from vllm_parallel.engine.arguments import FIELDS, OBJECTS
from vllm_parallel.render.shell import launch_command

VALUES: Final[dict[str, tuple[object, ...]]] = {
    "tensor_parallel_size": (1, 2, 8, 0, -1),
    "pipeline_parallel_size": (1, 4),
    "data_parallel_size": (1, 16),
    "prefill_context_parallel_size": (2,),
    "decode_context_parallel_size": (8,),
    "enable_expert_parallel": (True, False),
    "max_model_len": (-1, 1, 131_072),
    "block_size": (16, 64),
    "max_num_batched_tokens": (1, 8192),
    "max_num_seqs": (256,),
    "gpu_memory_utilization": (0.92, 0.5, 1.0, 1e-05),
    "kv_cache_memory_bytes": (10**11,),
    "num_gpu_blocks_override": (0, 66),
    "dtype": ("auto", "bfloat16"),
    "kv_cache_dtype": ("auto", "fp8"),
    "disable_hybrid_kv_cache_manager": (True, False),
    "kv_cache_dtype_skip_layers": (["0", "31"], ["sliding_window"]),
    "mamba_cache_dtype": ("auto", "float32"),
    "mamba_ssm_cache_dtype": ("bfloat16",),
    "mamba_block_size": (64,),
    "mamba_cache_mode": ("align",),
    "enable_prefix_caching": (True, False),
    "enable_chunked_prefill": (True, False),
    "enforce_eager": (True, False),
    "kv_sharing_fast_prefill": (True, False),
    "async_scheduling": (True, False),
    "enable_lora": (True, False),
    "max_loras": (1, 4),
    "max_lora_rank": (16, 64),
    "max_cpu_loras": (0, 8),
    "fully_sharded_loras": (True,),
    "lora_dtype": ("auto", "float16"),
    "lora_target_modules": (["q_proj"], ["o_proj", "down_proj"]),
    "enable_mixed_moe_lora_format": (True,),
    "enable_moe_shared_loras": (True,),
    "all2all_backend": ("nixl_ep", "naive"),
    "expert_placement_strategy": ("round_robin",),
    "enable_eplb": (True,),
    "enable_elastic_ep": (True,),
    "enable_dbo": (True,),
    "dbo_decode_token_threshold": (0, 32, 64),
    "dbo_prefill_token_threshold": (0, 512),
    "enable_return_routed_experts": (True, False),
    "scheduling_policy": ("fcfs", "priority"),
    "max_logprobs": (-1, 20),
    "dcp_kv_cache_interleave_size": (1, 16),
    "data_parallel_multi_port_external_lb": (True,),
    "dcp_comm_backend": ("a2a",),
    "cp_kv_cache_interleave_size": (1, 64),
    "dcp_q_replicate": (True, False),
    "data_parallel_rank": (0, 3),
    "data_parallel_start_rank": (0, 2),
    "data_parallel_size_local": (0, 1),
    "data_parallel_backend": ("mp", "ray"),
    "data_parallel_external_lb": (True,),
    "data_parallel_hybrid_lb": (True,),
    "nnodes": (1, 2),
    "node_rank": (0, 1),
    "distributed_executor_backend": ("mp", "my.Executor", 'it\'s "$mine"'),
    "headless": (True,),
    "api_server_count": (0, 4),
    "quantization": ("fp8", "awq"),
    "eplb_config": ({"num_redundant_experts": 3}, {"window_size": 5, "policy": "default"}),
    "kv_transfer_config": ({"kv_connector": "NixlConnector", "kv_role": "kv_both"},),
    "language_model_only": (True, False),
    "mm_encoder_tp_mode": ("weights", "data"),
    "limit_mm_per_prompt": ({"image": 0}, {"image": 2, "video": 0, "audio": 1}),
    "speculative_config": ({"method": "ngram", "num_speculative_tokens": 2},),
}


def test_every_argument_is_rolled() -> None:
    assert set(VALUES) == {*FIELDS, *OBJECTS}


def rolled(dice: Random) -> dict[str, object]:
    names = dice.sample(list(VALUES), dice.randint(0, 12))
    return {name: dice.choice(VALUES[name]) for name in names}


def test_given_arguments_are_the_arguments() -> None:
    """`given` names what differs from the defaults, and nothing else."""
    dice = Random(11)
    for _ in range(500):
        asked = rolled(dice)
        arguments = Arguments.of(asked)
        given = arguments.given()
        assert Arguments.of(given) == arguments
        assert set(given) <= set(asked)
        listed = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
        }
        assert all(asked[name] == value for name, value in listed.items() if name not in OBJECTS)
    assert Arguments.of({}).given() == {}


def words_of(command: str) -> list[str]:
    """The words that a shell would make of a command, broken over lines."""
    return shlex.split(command.replace("\\\n", " "))


def test_launch_commands_parse_back() -> None:
    """A launch command, read by the parser of `plan`, asks for the same arguments."""
    dice, model = Random(12), load_model("llama-3.1-8b")
    for _ in range(60):
        arguments = Arguments.of(rolled(dice))
        deployment = Deployment(model=model, layout=arguments.layout, settings=arguments.settings)
        words = words_of(launch_command(deployment, "'my model'"))
        assert words[:3] == ["vllm", "serve", "my model"]
        question = cli.question_of(cli.parsed(["plan", *words[2:]]))
        assert question["model"] == "my model"
        args = question["args"]
        assert isinstance(args, dict)
        assert Arguments.of(args) == arguments
