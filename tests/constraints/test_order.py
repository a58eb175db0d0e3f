"""Two or more rules broken at once: vLLM says the first."""

from __future__ import annotations

import pytest

from tests.constraints.asked import deployed
from tests.constraints.order_cases import ORDERS, Order
from vllm_parallel.constraints import check, violations


@pytest.mark.parametrize("row", ORDERS, ids=str)
def test_first_of_several(row: Order) -> None:
    """All of them are broken, they are found in this order, and the first is the refusal."""
    deployment = deployed(row.model, row.args)
    told = row.names.split()
    found = [violation.name for violation in violations(deployment)]
    assert [name for name in found if name in told] == told
    first = check(deployment)
    assert first is not None
    assert first.name == told[0] == found[0]


def test_a_bound_ends_the_list() -> None:
    """After a bad field no config is made that a later rule could look at."""
    deployment = deployed("llama-3.1-70b", {"tp": 0, "dcp": 3, "max_num_seqs": 0, "ep": True})
    assert [violation.name for violation in violations(deployment)] == [
        "tensor-parallel-size-minimum"
    ]


def test_without_an_end_all_are_told() -> None:
    deployment = deployed("llama-3.1-70b", {"tp": 3, "dcp": 2, "ep": True})
    assert [violation.name for violation in violations(deployment)] == [
        "tp-divides-by-dcp",
        "heads-divide-by-tp",
        "ep-needs-experts",
        "dcp-needs-tp-above-kv-heads",
        "dcp-at-most-copies",
        "kv-heads-divide-by-tp",
        "query-heads-divide-by-kv-heads",
        "mlp-divides-by-tp",
    ]
