"""Questions of the answer format: what is read, what is refused in one line, and a file of them."""

from __future__ import annotations

import json
from typing import Final

import pytest

from tests.test_answers import BUDGET, KEYS, LLAMA, error, said
from vllm_parallel.answers import answer, answers
from vllm_parallel.catalog import gpu_names


def test_ask() -> None:
    for asked in (["verdict"], ["groups", "ranks"], ["capacity"], []):
        assert set(said(ask=asked)) == {"id", *asked}
    assert error(ask="verdict") == "ask is 'verdict'; give a list of keys"
    assert error(ask=[1]) == "ask is [1]; give a list of keys"
    assert error(ask=["verdct"]).startswith("ask: 'verdct' is no part of an answer; parts are ver")


def test_as_bf16() -> None:
    held, twin = (said("kimi-k2", as_bf16=bf16, rank=0)["ranks"][0] for bf16 in (False, True))
    assert held["weight_bytes"] < twin["weight_bytes"]
    assert (held["post_load_bytes"], twin["post_load_bytes"]) == (None, 61 * 16 * 2**20)
    assert said(as_bf16=True) == said()
    assert error(as_bf16=1) == "as_bf16 is 1; give true or false"
    assert error(as_bf16="yes") == "as_bf16 is 'yes'; give true or false"


def test_step_changes_nothing_yet() -> None:
    step = {"prefill": [[512, 0]], "decode": [100, 2000]}
    for part in KEYS - {"id"}:
        assert said(step=step)[part] == said()[part]


@pytest.mark.parametrize(
    "name, close",
    [
        ("tensor_paralel_size", "tensor_parallel_size"),
        ("gpu_memory_utilisation", "gpu_memory_utilization"),
        ("tensor-parallel-size", "tensor_parallel_size"),
        ("max_model_length", "max_model_len"),
    ],
)
def test_unknown_arguments(name: str, close: str) -> None:
    """The line names the close ones."""
    text = error(args={name: 1})
    assert text.startswith(f"args: '{name}' is no argument of vLLM; did you mean ")
    assert close in text


def test_arguments_far_from_any() -> None:
    assert error(args={"zzz": 1}) == (
        "args: 'zzz' is no argument of vLLM; see --help for the names"
    )
    assert error(args={"offload_params": "x"}).startswith("offload_params is not modelled; leave")
    assert len(error(args={"z" * 5000: 1})) < 200
    assert said(args={"seed": 1, "served_model_name": "x"}) == said()  # known, and sizes nothing


@pytest.mark.parametrize(
    "args, says",
    [
        ({"tensor_parallel_size": "2"}, "tensor_parallel_size is '2'; it should be a whole number"),
        ({"tensor_parallel_size": 2.0}, "tensor_parallel_size is 2.0; it should be a whole number"),
        ({"tensor_parallel_size": True}, "tensor_parallel_size is true; it should be a whole numb"),
        ({"tensor_parallel_size": [2]}, "tensor_parallel_size is [2]; it should be a whole number"),
        ({"enable_expert_parallel": 1}, "enable_expert_parallel is 1; it should be true or false"),
        ({"enable_expert_parallel": "x"}, "enable_expert_parallel is 'x'; it should be true or f"),
        ({"kv_cache_dtype": 8}, "kv_cache_dtype is 8; it should be a string"),
        ({"gpu_memory_utilization": "9"}, "gpu_memory_utilization is '9'; it should be a number"),
        ({"gpu_memory_utilization": True}, "gpu_memory_utilization is true; it should be a number"),
        (
            {"gpu_memory_utilization": float("nan")},
            "gpu_memory_utilization is NaN; it should be a finite number",
        ),
        (
            {"gpu_memory_utilization": float("inf")},
            "gpu_memory_utilization is Infinity; it should be a finite number",
        ),
        ({"eplb_config": 4}, "eplb_config is 4; it should be an object"),
        ({"eplb_config": {"window_size": "a"}}, "eplb_config.window_size is 'a'; it should be a w"),
    ],
)
def test_arguments_of_a_wrong_type(args: dict[str, object], says: str) -> None:
    assert error(args=args).startswith(says)


@pytest.mark.parametrize(
    "keys, says",
    [
        ({"modle": 1}, "key 'modle' is not part of a question; did you mean model?"),
        ({"zzz": 1}, "key 'zzz' is not part of a question; see --help for the names"),
        ({"model": None}, "model is missing; give a catalog name, a path or a config"),
        ({"model": ""}, "model is ''; give a catalog name, a path or a config"),
        ({"model": 5}, "model is 5; give a catalog name, a path or a config"),
        ({"model": ["x"]}, 'model is ["x"]; give a catalog name, a path or a config'),
        ({"model": {}}, "the given config names no architecture; add its 'architectures' list"),
        ({"args": [1]}, "args is [1]; give an object"),
        ({"args": "tp"}, "args is 'tp'; give an object"),
        ({"gpu": 4}, "gpu is 4; give a catalog name"),
        ({"gpu": "h1000"}, f"GPU 'h1000' is not in the catalog; it has {', '.join(gpu_names())}"),
        ({"gpus_per_node": 0}, "gpus_per_node is 0; give a whole number of at least 1"),
        ({"gpus_per_node": "8"}, "gpus_per_node is '8'; give a whole number of at least 1"),
        ({"nodes": 0}, "nodes is 0; give a whole number of at least 1"),
        ({"nodes": 1.5}, "nodes is 1.5; give a whole number of at least 1"),
        ({"available_kv_bytes": 1.5}, "available_kv_bytes is 1.5; give a whole number"),
        ({"available_kv_bytes": "9"}, "available_kv_bytes is '9'; give a whole number"),
        ({"available_kv_bytes": False}, "available_kv_bytes is false; give a whole number"),
    ],
)
def test_questions_that_cannot_be_read(keys: dict[str, object], says: str) -> None:
    assert error(**keys) == says


MINI: Final = {
    "architectures": ["LlamaForCausalLM"],
    "torch_dtype": "bfloat16",
    "num_attention_heads": 1,
    "num_hidden_layers": 1,
    "intermediate_size": 1,
    "max_position_embeddings": 1,
    "hidden_size": 1,
    "vocab_size": 7,
}
HUGE: Final = 10**400


@pytest.mark.parametrize(
    "keys",
    [
        {"available_kv_bytes": HUGE},
        {"available_kv_bytes": -HUGE},
        {"args": {"kv_cache_memory_bytes": HUGE}},
        {"args": {"gpu_memory_utilization": HUGE}},
        {"args": {"num_gpu_blocks_override": HUGE}},
        {"args": {"max_model_len": HUGE}},
        {"args": {"block_size": HUGE}, "available_kv_bytes": BUDGET},
        {"args": {"max_num_batched_tokens": HUGE}, "gpu": "h100-80gb"},
        {"args": {"tensor_parallel_size": HUGE}},
        {"args": {"nnodes": HUGE, "node_rank": HUGE}},
        {"gpus_per_node": HUGE, "nodes": HUGE},
        {"rank": HUGE},
        {"model": "\ud800"},
        {"model": "a\0b"},
        {"model": "x" * 10_000},
        {"gpu": "\ud800"},
    ],
)
def test_absurd_questions(keys: dict[str, object]) -> None:
    """An answer or an error, never an exception; and it can be printed."""
    found = answer({"id": 7, "model": LLAMA} | keys)
    assert "error" in found or set(found) == KEYS
    json.loads(json.dumps(found))


# A file of questions.


def test_a_batch_goes_on() -> None:
    """Errors keep their place, and the id where it can be read; blank lines are passed over."""
    lines = [
        '{"id": 1, "model": "llama-3.1-8b", "ask": ["verdict"]}',
        "",
        "not json",
        "   \n",
        "[1, 2]",
        '"text"',
        '{"id": [5], "model": "nope"}',
        '{"id": null, "model": "llama-3.1-8b", "ask": []}',
        '{"model": "llama-3.1-8b", "ask": []}',
        '{"id": {"a": 1}, "model": "llama-3.1-8b", "args": {"nnodes": 0}, "ask": ["verdict"]}',
        '{"id": 3, "model": "llama-3.1-8b"',
    ]
    rows = [row for row, _ in answers(lines)]
    assert [row["id"] for row in rows] == [1, None, None, None, [5], None, None, {"a": 1}, None]
    assert [sorted(row) for row in rows] == [
        ["id", "verdict"], ["error", "id"], ["error", "id"], ["error", "id"], ["error", "id"],
        ["id"], ["id"], ["id", "verdict"], ["error", "id"],
    ]  # fmt: skip
    errors = [str(row["error"]) for row in rows if "error" in row]
    assert errors[0].startswith("line 3 is not JSON (line 1, column 1: a value is expected)")
    assert errors[1] == "line 5 is [1, 2]; write one object a line"
    assert errors[2] == "line 6 is 'text'; write one object a line"
    assert errors[3].startswith("model 'nope' is neither in the catalog nor a file; the catalog")
    assert errors[4].startswith(
        "line 11 is not JSON (line 1, column 34: a comma or the end is expected)"
    )
    assert all(len(text.splitlines()) == 1 for text in errors)


def test_lines_too_long_or_too_deep() -> None:
    """Every depth is answered: also those that can be read and not be printed again."""
    assert next(answers(["x" * (4 * 2**20 + 1)]))[0]["error"] == (
        "line 1 has 4194305 characters; send a path"
    )
    config = json.dumps(MINI)
    deep = [f'{{"model": {config.replace("7", "[" * n + "]" * n)}}}' for n in range(850, 1000)]
    deep += [f'{{"model": "llama-3.1-8b", "rank": {"[" * n}{"]" * n}}}' for n in (10, 990, 10**6)]
    rows = [row for row, _ in answers(deep)]
    assert len(rows) == len(deep)
    assert all("error" in row for row in rows)
