"""What is asked of the rules: `require`, `admitted`, and whatever is thrown at them."""

from __future__ import annotations

import re
from itertools import product
from random import Random
from typing import Final

import pytest

from tests.constraints.asked import Args, Case, deployed, model, sparse
from tests.constraints.test_rules import CASES
from vllm_parallel import __all__ as public
from vllm_parallel.answers import answer
from vllm_parallel.catalog import load_model, model_names
from vllm_parallel.constraints import RULES, admitted, check, require, violations
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import LayoutError, VllmParallelError
from vllm_parallel.layout import Axis, Layout
from vllm_parallel.model import ModelConfig

USUAL: Final = (
    "llama-3.1-8b", "qwen3-32b", "qwen2-sw", "mistral-sw-7b", "mixtral-8x7b", "qwen3-30b-a3b",
    "glm-4.5", "deepseek-v2-lite", "deepseek-v3", "gpt-oss-120b", "llama-4-maverick",
)  # fmt: skip


def one_of_each_other() -> list[str]:
    """The first model of the catalog of each architecture that is not among the usual."""
    firsts = {load_model(name, as_bf16=True).architecture: name for name in model_names()[::-1]}
    return sorted(set(firsts.values()) - {firsts.get(model(name).architecture) for name in USUAL})


FAMILIES: Final = (*USUAL, *one_of_each_other())


def test_the_families_are_those_of_the_catalog() -> None:
    catalog = {load_model(name, as_bf16=True).architecture for name in model_names()}
    assert catalog <= {model(name).architecture for name in FAMILIES}


def test_require_raises_with_fields() -> None:
    require(deployed("llama-3.1-70b", {"tp": 8}))
    with pytest.raises(LayoutError) as caught:
        require(deployed("llama-3.1-70b", {"tp": 8, "dcp": 3}))
    error = caught.value
    assert isinstance(error, VllmParallelError)
    assert isinstance(error, ValueError)
    assert error.rule == "tp-divides-by-dcp"
    assert error.message == "tp_size=8 must be divisible by dcp_size=3."
    assert error.fix == "use a --decode-context-parallel-size of 1, 2, 4, 8"
    assert str(error) == f"{error.message} ({error.rule}; {error.fix})"
    assert {"check", "require", "violations"} <= set(public)


def wild(seed: int, count: int) -> list[dict[str, object]]:
    """Widths that make sense and widths that do not, on nodes that may not be there."""
    widths = (-1, 0, 1, 3, 8)
    grid = list(product(widths, widths, widths, widths, widths, (False, True), (0, 1, 2, 3)))
    chosen = Random(seed).sample(grid, count)
    keys = ("tp", "pp", "dp", "pcp", "dcp", "ep", "nnodes")
    return [dict(zip(keys, row, strict=True)) for row in chosen]


@pytest.mark.parametrize("name", FAMILIES)
def test_no_rule_raises(name: str) -> None:
    """Each rule is asked as `violations` asks it, until one ends; sentences are filled."""
    for args in wild(len(name), 500):
        for violation in violations(deployed(name, args)):
            assert "{" not in violation.message.replace("{tp}", ""), args
            assert violation.fix, args


def test_no_rule_raises_on_a_sparse_model() -> None:
    for args in wild(7, 500):
        assert len(list(violations(deployed(sparse(), args)))) <= len(RULES)


EXTRAS: Final[dict[str, tuple[object, ...]]] = {
    "max_model_len": (-2, -1, 0, 1, 8192, 10**9),
    "block_size": (-16, 0, 1, 16, 17, 64),
    "max_num_batched_tokens": (-1, 0, 1, 2048),
    "max_num_seqs": (-1, 0, 1, 4096),
    "gpu_memory_utilization": (-0.5, 0.0, 0.5, 1, 2.0),
    "kv_cache_dtype": ("auto", "fp8", "nvfp4", "int8", ""),
    "dtype": ("auto", "half", "float32", "fp8", ""),
    "num_gpu_blocks_override": (-1, 0, 1, 100),
    "kv_cache_memory_bytes": (-1, 0, 1, 2**30),
    "cp_kv_cache_interleave_size": (-1, 0, 1, 3, 64),
    "data_parallel_rank": (-1, 0, 5),
    "data_parallel_start_rank": (-1, 0, 5),
    "data_parallel_size_local": (-1, 0, 1, 3),
    "data_parallel_external_lb": (True,),
    "data_parallel_hybrid_lb": (True,),
    "data_parallel_multi_port_external_lb": (True,),
    "data_parallel_backend": ("mp", "ray", ""),
    "distributed_executor_backend": ("mp", "uni", "ray", "", ".", "a.b"),
    "nnodes": (-1, 0, 1, 2, 3),
    "node_rank": (-1, 0, 1, 7),
    "headless": (True,),
    "api_server_count": (-1, 0, 1, 4),
    "enable_eplb": (True,),
    "enable_elastic_ep": (True,),
    "enable_dbo": (True,),
    "enable_return_routed_experts": (True,),
    "dbo_decode_token_threshold": (-1, 0, 2),
    "all2all_backend": ("moonep", "nixl_ep", "naive", ""),
    "expert_placement_strategy": ("linear", "round_robin", ""),
    "dcp_comm_backend": ("ag_rs", "a2a", ""),
    "eplb_config": (
        {},
        {"num_redundant_experts": -1},
        {"num_redundant_experts": 7},
        {"num_redundant_experts": 10**6, "window_size": 0},
    ),
    "kv_transfer_config": (
        {},
        {"kv_role": "x"},
        {"kv_connector": "NixlConnector"},
        {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
    ),
    "speculative_config": ({}, {"method": "ngram"}, {"method": "eagle"}),
    "enable_lora": (True,),
    "enforce_eager": (True, False),
    "enable_prefix_caching": (True, False),
    "enable_chunked_prefill": (True, False),
}
WIDTHS: Final = (-1, 0, 1, 1, 1, 2, 3, 8)
LONG: Final = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "pcp": "prefill_context_parallel_size",
    "dcp": "decode_context_parallel_size",
}


def thrown(dice: Random) -> Args:
    """A question's arguments: some widths, some of the other flags, any of their values."""
    args: dict[str, object] = {
        LONG[axis]: dice.choice(WIDTHS) for axis in dice.sample(list(LONG), dice.randint(1, 5))
    }
    args["enable_expert_parallel"] = dice.choice((True, False))
    for name in dice.sample(list(EXTRAS), dice.randint(0, 5)):
        args[name] = dice.choice(EXTRAS[name])
    return args


@pytest.mark.parametrize("name", [name for name in FAMILIES if name in model_names()])
def test_no_answer_leaks_an_exception(name: str) -> None:
    """Whatever is asked for, there is a verdict or one line of `error`."""
    dice = Random(len(name))
    for _ in range(120):
        question = {
            "id": name,
            "model": name,
            "as_bf16": True,
            "args": thrown(dice),
            "gpu": dice.choice((None, "h100-80gb", "b200")),
            "gpus_per_node": dice.choice((None, 1, 8)),
            "nodes": dice.choice((None, 1, 2)),
            "available_kv_bytes": dice.choice((None, -1, 0, 10**9, 10**12)),
            "rank": dice.choice((None, None, 0, 1)),
        }
        said = answer(question)
        assert said["id"] == name
        if "error" in said:
            error = said["error"]
            assert isinstance(error, str)
            assert "\n" not in error
        else:
            assert set(said) >= {"id", "verdict", "groups", "ranks", "capacity"}


@pytest.mark.parametrize("name", FAMILIES)
def test_no_rule_raises_beside_others(name: str) -> None:
    """All rules that are broken are listed, also those that vLLM would never come to."""
    dice = Random(100 + len(name))
    for _ in range(300):
        try:
            deployment = deployed(name, thrown(dice))
        except VllmParallelError:
            continue
        assert len(list(violations(deployment))) <= len(RULES)


def brute(of: ModelConfig, axis: str, beside: Layout, up_to: int) -> list[int]:
    """Every width that `check` passes, the layout spelled out anew for each."""
    found = []
    for width in range(1, up_to + 1):
        widths = {
            "tp": beside.tp, "pp": beside.pp, "dp": beside.dp, "pcp": beside.pcp,
            "dcp": beside.dcp,
        }  # fmt: skip
        widths[axis] = width
        layout = Layout(
            tp=widths["tp"], pp=widths["pp"], dp=widths["dp"], pcp=widths["pcp"],
            dcp=widths["dcp"], expert_parallel=beside.expert_parallel,
        )  # fmt: skip
        if check(Deployment(model=of, layout=layout)) is None:
            found.append(width)
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_admitted_is_what_check_passes(name: str) -> None:
    of = model(name)
    for axis in (Axis.TP, Axis.PP, Axis.DP, Axis.PCP, Axis.DCP):
        for beside in (
            Layout(),
            Layout(tp=8),
            Layout(tp=16, expert_parallel=of.is_moe),
            Layout(tp=4, pcp=2),
        ):
            wanted = brute(of, axis.value, beside, 24)
            assert admitted(of, axis, beside=beside, up_to=24) == wanted, (axis, str(beside))


def test_admitted_by_hand() -> None:
    """Widths that can be read off the config."""
    llama, qwen = model("llama-3.1-70b"), model("qwen3-235b-a22b")
    assert admitted(llama, Axis.TP) == [1, 2, 4, 8, 16, 32, 64]
    assert admitted(llama, Axis.TP, up_to=7) == [1, 2, 4]
    assert admitted(llama, Axis.TP, up_to=0) == []
    assert admitted(llama, Axis.PP, up_to=100) == list(range(1, 81))
    assert admitted(llama, Axis.PCP) == [1]
    assert admitted(llama, Axis.DCP, beside=Layout(tp=16)) == [1, 2]
    assert admitted(qwen, Axis.DCP, beside=Layout(tp=8)) == [1, 2]
    assert admitted(qwen, Axis.DP, up_to=8) == [1, 2, 3, 4, 6, 8]  # of an expert's 1536
    widths = admitted(model("deepseek-v3"), Axis.DCP, beside=Layout(tp=8))
    assert widths == [1, 2, 4, 8]


LISTED: Final = re.compile(r"use a (--[a-z-]+) of ((?:\d+, )*\d+)")
AT_MOST: Final = re.compile(r"use a (--[a-z-]+) of at most (\d+)")


def ways_out(fix: str) -> list[tuple[str, int]]:
    """The flag and the widths that a way out names, if it names any."""
    listed, most = LISTED.match(fix), AT_MOST.match(fix)
    if listed:
        return [(listed[1], int(number)) for number in listed[2].split(", ")]
    return [(most[1], int(most[2]))] if most else []


@pytest.mark.parametrize("row", [row for row in CASES if ways_out(row.fix)], ids=str)
def test_ways_out_lead_out(row: Case) -> None:
    """Any width that the way out names satisfies the rule that named it."""
    for flag, width in ways_out(row.fix):
        name = flag.removeprefix("--").replace("-", "_")
        short = next((key for key, value in LONG.items() if value == name), name)
        args = {key: value for key, value in row.fails.items() if key not in (short, name)}
        names = [one.name for one in violations(deployed(row.model, args | {name: width}))]
        assert row.rule not in names, f"{flag} {width}"
