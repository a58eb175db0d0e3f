"""Deployments that once were answered wrongly, each against what vLLM itself said."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_parallel.answers import answer

MTP = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}


@pytest.mark.parametrize("model", ["glm-4.5-air", "glm-4.7", "deepseek-v3", "deepseek-v3.2"])
def test_a_module_of_mtp_has_an_overhead(model: str) -> None:
    """Its layer comes after the model's own, and counts in the peak and in the graphs."""
    args = {"tensor_parallel_size": 8, "max_model_len": 4096}
    asked = {"model": model, "gpu": "b300", "ask": ["verdict", "capacity"]}
    said = [answer(asked | {"args": args | more}) for more in ({}, MTP)]
    blocks: list[Any] = [one["capacity"] for one in said]
    assert 0 < blocks[1]["num_blocks"] < blocks[0]["num_blocks"]


def blocks_of(**more: object) -> object:
    said: Any = answer(
        {
            "model": "gpt-oss-20b",
            "args": {"max_model_len": 16384, **more},
            "gpu": "h100-80gb",
            "available_kv_bytes": 10**9,
            "ask": ["capacity"],
        }
    )
    return said["capacity"]["num_blocks"]


@pytest.mark.parametrize(
    "connector", ["ExampleConnector", "LMCacheConnectorV1", "LMCacheMPConnector"]
)
def test_connectors_that_want_whole_caches(connector: str) -> None:
    """They do not know layers apart, so windows keep every token."""
    transfer = {"kv_connector": connector, "kv_role": "kv_both"}
    whole = blocks_of(disable_hybrid_kv_cache_manager=True)
    assert blocks_of(kv_transfer_config=transfer) == whole != blocks_of()
    apart = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}
    assert blocks_of(kv_transfer_config=apart) == blocks_of()


@pytest.mark.parametrize(
    "args, says",
    [
        ({"runner": "pooling"}, "runner is 'pooling', which is not modelled"),
        ({"convert": "classify"}, "convert is 'classify'"),
        ({"model_impl": "transformers"}, "model_impl is 'transformers'"),
        ({"moe_backend": "marlin"}, "moe_backend is 'marlin'"),
        ({"enable_lora": True}, "another kernel, whose padding is not modelled"),
        (
            {"kv_transfer_config": {"kv_connector": "MultiConnector", "kv_role": "kv_both"}},
            "name one connector",
        ),
    ],
)
def test_what_would_change_sizes_is_refused_by_name(args: dict[str, object], says: str) -> None:
    said = answer({"model": "gpt-oss-20b", "args": args, "gpu": "h100-80gb"})
    assert says in str(said.get("error")), said
    plain = answer({"model": "gpt-oss-20b", "args": {"runner": "auto", "moe_backend": "auto"}})
    assert "error" not in plain
