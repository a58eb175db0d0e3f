"""The answer format by example: every key of `answers.md`, and what is null when."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from vllm_parallel.answers import answer

LLAMA: Final = "llama-3.1-8b"
KEYS: Final = {"id", "verdict", "groups", "ranks", "capacity"}
RANK_KEYS: Final = {
    "rank", "dp", "pp", "pcp", "tp", "node", "weight_bytes", "buffer_bytes", "post_load_bytes",
    "kv_layers", "kv_page_bytes",
}  # fmt: skip
BUDGET: Final = 10_000_000_000


def said(model: object = LLAMA, **keys: object) -> dict[str, Any]:
    """The answer to a question, which has no `error`."""
    found = answer({"id": "q", "model": model, **keys})
    assert "error" not in found, found["error"]
    assert found["id"] == "q"
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def error(**keys: object) -> str:
    """The one line that a question ends in; the id stays."""
    found = answer({"id": 7, "model": LLAMA} | keys)
    assert set(found) == {"id", "error"}
    assert found["id"] == 7
    text = found["error"]
    assert isinstance(text, str)
    assert len(text.splitlines()) == 1
    return text


def test_a_whole_answer() -> None:
    """8B over two GPUs, every figure by hand.

    Layer of a rank: 24 heads of 128 in, 16 out, half of gate, up and down, two norms. A page: K
    and V of four heads for 16 tokens; 32 of them are a block.
    """
    layer = 2 * 4096 * (24 * 128 + 16 * 128 + 3 * 7168) + 2 * 2 * 4096
    ends = 2 * (128_256 // 2) * 4096 * 2 + 2 * 4096
    held = {
        "dp": 0,
        "pp": 0,
        "pcp": 0,
        "node": 0,
        "weight_bytes": 32 * layer + ends,
        "buffer_bytes": 131_072 * 128 * 2 + 32 * 4 * 4,
        "post_load_bytes": 0,
        "kv_layers": 32,
        "kv_page_bytes": 16 * 2 * 4 * 128 * 2,
    }
    found = said(
        args={"tensor_parallel_size": 2, "max_model_len": 8192},
        available_kv_bytes=BUDGET,
        gpus_per_node=8,
    )
    assert found == {
        "id": "q",
        "verdict": {"accepted": True, "stage": None, "message": None},
        "groups": {
            "tp": [[0, 1]],
            "pp": [[0], [1]],
            "dp": None,
            "pcp": [[0], [1]],
            "dcp": [[0], [1]],
            "ep": None,
        },
        "ranks": [{"rank": 0, "tp": 0} | held, {"rank": 1, "tp": 1} | held],
        "capacity": {
            "num_blocks": 9536,  # of 1 MiB each
            "tokens": 152_576,
            "max_concurrency": 18.625,
            "max_model_len": 8192,
            "engines": 1,
        },
    }


def test_keys_are_always_there() -> None:
    for args in ({}, {"tensor_parallel_size": 3}, {"tensor_parallel_size": 0}):
        found = said(args=args)
        assert set(found) == KEYS
        assert set(found["verdict"]) == {"accepted", "stage", "message"}
    assert all(set(rank) == RANK_KEYS for rank in said()["ranks"])


@pytest.mark.parametrize(
    "args, budget, stage",
    [
        ({"headless": True, "api_server_count": 1}, None, "flags"),
        ({"tensor_parallel_size": 3}, None, "config"),
        ({"prefill_context_parallel_size": 2}, None, "load"),
        ({}, 0, "memory"),
        ({}, 10**12, None),
        ({}, None, None),
    ],
)
def test_stages(args: dict[str, object], budget: int | None, stage: str | None) -> None:
    """Ranks are listed where layers were built; a capacity is there only when accepted."""
    found = said(args=args, available_kv_bytes=budget)
    verdict = found["verdict"]
    assert verdict["stage"] == stage
    assert verdict["accepted"] is (stage is None)
    assert (verdict["message"] is None) is (stage is None)
    assert (found["ranks"] is None) is (stage in ("flags", "config", "load"))
    assert (found["capacity"] is None) is (stage is not None or budget is None)


def test_null_is_not_given() -> None:
    """Every optional key may be null."""
    optional = ("args", "available_kv_bytes", "gpu", "gpus_per_node", "nodes", "ask", "rank")
    nothing = dict.fromkeys((*optional, "as_bf16", "step"))
    assert said(**nothing) == said()
    assert said(args={"tensor_parallel_size": None, "eplb_config": None}) == said()


# Groups.


def test_groups_of_experts() -> None:
    """tp 2 pp 2 dp 2, as vLLM numbers them; the EP groups are not evenly spaced."""
    args = {
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2,
        "data_parallel_size": 2,
        "enable_expert_parallel": True,
    }
    found = said("qwen3-30b-a3b", args=args)
    groups = {name: sorted(lists) for name, lists in found["groups"].items()}
    assert groups == {
        "tp": [[0, 1], [2, 3], [4, 5], [6, 7]],
        "pp": [[0, 2], [1, 3], [4, 6], [5, 7]],
        "dp": [[0, 4], [1, 5], [2, 6], [3, 7]],
        "pcp": [[n] for n in range(8)],
        "dcp": [[n] for n in range(8)],
        "ep": [[0, 1, 4, 5], [2, 3, 6, 7]],
    }
    places = [(rank["dp"], rank["pp"], rank["tp"]) for rank in found["ranks"]]
    assert places[:4] == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]
    assert [rank["rank"] for rank in found["ranks"]] == list(range(8))


def test_groups_of_a_dense_model() -> None:
    """Replicas are numbered on; there is no group across them."""
    found = said(args={"tensor_parallel_size": 2, "data_parallel_size": 2})
    assert (found["groups"]["dp"], found["groups"]["ep"]) == (None, None)
    assert found["groups"]["tp"] == [[0, 1], [2, 3]]
    assert len(found["ranks"]) == 4


@pytest.mark.parametrize(
    "args, layout",
    [
        ({"tensor_parallel_size": 3}, True),  # refused, but numbers of a layout
        ({"prefill_context_parallel_size": 2}, True),
        ({"tensor_parallel_size": 4, "decode_context_parallel_size": 2}, True),
        ({"tensor_parallel_size": 8, "decode_context_parallel_size": 3}, False),
        ({"tensor_parallel_size": 0}, False),
        ({"pipeline_parallel_size": -1}, False),
        ({"decode_context_parallel_size": 0}, False),
        (
            {
                "tensor_parallel_size": 4,
                "prefill_context_parallel_size": 2,
                "decode_context_parallel_size": 4,
            },
            False,
        ),
    ],
)
def test_groups_of_what_is_refused(args: dict[str, object], layout: bool) -> None:
    found = said(args=args)
    assert not found["verdict"]["accepted"]
    assert (found["groups"] is not None) is layout


# Ranks.


def test_one_rank() -> None:
    """One entry, and its own group on each axis; the same as in the whole list."""
    args = {
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 2,
        "data_parallel_size": 2,
        "enable_expert_parallel": True,
    }
    whole = said("qwen3-30b-a3b", args=args, gpus_per_node=4, nodes=2)
    for number in range(8):
        one = said("qwen3-30b-a3b", args=args, gpus_per_node=4, nodes=2, rank=number)
        assert one["ranks"] == [whole["ranks"][number]]
        assert one["ranks"][0]["node"] == number // 4
        for axis, lists in one["groups"].items():
            assert len(lists) == 1, axis
            assert number in lists[0]
            assert lists[0] in whole["groups"][axis]
    assert said(rank=0)["groups"]["ep"] is None


def test_a_world_too_large_to_list() -> None:
    args = {"data_parallel_size": 2**17}
    text = error(args=args)
    assert text == "args make 131072 ranks, too many to list; ask for one with 'rank'"
    found = said(args=args, rank=131_071)
    assert [rank["rank"] for rank in found["ranks"]] == [131_071]
    assert said(args=args, ask=["verdict"])["verdict"]["accepted"]
    assert "is 1048577; at most 1048576 are modelled" in error(
        args={"data_parallel_size": 2**20 + 1}
    )
    widths = {"data_parallel_size": 2**12, "tensor_parallel_size": 2**12}
    assert "16777216 ranks; at most 4194304 are modelled" in error(args=widths, rank=0)


@pytest.mark.parametrize(
    "rank, says",
    [
        (2, "rank is 2 of 2 ranks; ranks are numbered from 0"),
        (-1, "rank is -1; give a whole number of at least 0"),
        ("0", "rank is '0'; give a whole number of at least 0"),
        (True, "rank is true; give a whole number of at least 0"),
        (0.0, "rank is 0.0; give a whole number of at least 0"),
    ],
)
def test_rank_out_of_range(rank: object, says: str) -> None:
    assert error(rank=rank, args={"tensor_parallel_size": 2}) == says


def test_nodes() -> None:
    args = {"tensor_parallel_size": 8, "pipeline_parallel_size": 2}
    assert {rank["node"] for rank in said(args=args)["ranks"]} == {None}
    found = said(args=args, gpus_per_node=8, nodes=2)
    assert [rank["node"] for rank in found["ranks"]] == [0] * 8 + [1] * 8
    refused = said(args=args, gpus_per_node=8)["verdict"]
    assert refused["stage"] == "config"
    assert refused["message"].startswith("World size (16) is larger than the number of available")


# Capacity.


def test_budgets() -> None:
    """A given budget stands before the GPU; with neither there is no capacity."""
    assert said()["capacity"] is None
    given = said(available_kv_bytes=BUDGET * 10)["capacity"]
    assert said(available_kv_bytes=BUDGET * 10, gpu="h100-80gb")["capacity"] == given
    of_gpu = said(gpu="h100-80gb")["capacity"]
    assert set(of_gpu) == {
        "num_blocks", "tokens", "max_concurrency", "max_model_len", "engines",
    }  # fmt: skip
    assert of_gpu["num_blocks"] > 0
    assert said(gpu="l40s")["capacity"]["num_blocks"] < of_gpu["num_blocks"]
    large = said("llama-3.1-70b", gpu="h100-80gb")
    assert large["verdict"]["stage"] == "memory"
    assert large["capacity"] is None
    assert len(large["ranks"]) == 1


def test_engines() -> None:
    for model, engines in ((LLAMA, 4), ("mixtral-8x7b", 2)):
        args = {"data_parallel_size": engines, "enable_expert_parallel": model != LLAMA}
        capacity = said(model, args=args, available_kv_bytes=10**11)["capacity"]
        one = said(model, available_kv_bytes=10**11)["capacity"]
        assert capacity == one | {"engines": engines}


def test_pages_of_mixed_layers() -> None:
    """gpt-oss keeps windows and full attention in pages of one size; numbers stay whole."""
    rank = said("gpt-oss-120b", as_bf16=True)["ranks"][0]
    assert isinstance(rank["kv_page_bytes"], int | list)
    for key, value in rank.items():
        assert key in ("node", "kv_page_bytes") or isinstance(value, int)
