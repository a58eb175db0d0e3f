"""Every rule with a deployment that breaks it and some that pass, in vLLM's own words."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.constraints.adapter_cases import ADAPTER_CONFIG_CASES, ADAPTER_LOAD_CASES
from tests.constraints.asked import Case, deployed
from tests.constraints.bounds_cases import BOUNDS_CASES
from tests.constraints.cache_cases import CACHE_CONFIG_CASES, CACHE_LOAD_CASES
from tests.constraints.feature_cases import FEATURE_CASES
from tests.constraints.flag_cases import FLAG_CASES
from tests.constraints.launch_cases import LAUNCH_CASES
from tests.constraints.load_cases import BUILD_CASES
from tests.constraints.mixer_cases import MIXER_CONFIG_CASES, MIXER_LOAD_CASES
from tests.constraints.model_cases import MODEL_CASES
from tests.constraints.parallel_cases import PARALLEL_CASES
from tests.constraints.plan_cases import PLAN_CASES
from tests.constraints.quantised_cases import QUANTISED_CONFIG_CASES, QUANTISED_LOAD_CASES
from vllm_parallel.constraints import RULES, Constraint, Known, Stage, check, violations
from vllm_parallel.deployment import Deployment
from vllm_parallel.verdict import MEMORY_RULES, StageRoom

TABLES: Final = {
    Stage.FLAGS: FLAG_CASES,
    Stage.CONFIG: (
        *LAUNCH_CASES,
        *BOUNDS_CASES,
        *PARALLEL_CASES,
        *MODEL_CASES,
        *FEATURE_CASES,
        *MIXER_CONFIG_CASES,
        *QUANTISED_CONFIG_CASES,
        *CACHE_CONFIG_CASES,
        *ADAPTER_CONFIG_CASES,
    ),
    Stage.LOAD: (
        *BUILD_CASES,
        *PLAN_CASES,
        *MIXER_LOAD_CASES,
        *QUANTISED_LOAD_CASES,
        *CACHE_LOAD_CASES,
        *ADAPTER_LOAD_CASES,
    ),
}
CASES: Final = [case for table in TABLES.values() for case in table]
ALL: Final[tuple[Constraint[Deployment] | Constraint[StageRoom], ...]] = (*RULES, *MEMORY_RULES)


def test_every_rule_has_a_row() -> None:
    """The rules of memory have theirs in `test_memory_rules.py`, which walks them too."""
    rows = {case.rule for case in CASES}
    assert rows == {rule.name for rule in RULES}
    for stage, table in TABLES.items():
        names = {rule.name for rule in RULES if rule.stage is stage}
        assert {case.rule for case in table} == names


def test_names_are_unique() -> None:
    names = Counter(rule.name for rule in ALL)
    assert max(names.values()) == 1
    assert all(name == name.lower() and name.replace("-", "").isalnum() for name in names)


def test_every_rule_says_how_it_is_known() -> None:
    for rule in ALL:
        assert rule.source.startswith("vllm/"), rule.name
        assert rule.known in Known, rule.name
        assert rule.says, rule.name
        assert rule.fix, rule.name
        assert not rule.fix.endswith("."), f"{rule.name}: a way out is a clause"


# vLLM dies of an assert or of an accident without a sentence of its own, or of one too long.
BARE: Final = {
    "asked-cache-fits-the-gpu", "attention-backend", "dcp-without-windows",
    "dense-replica-spans-nodes", "expert-width-divides", "experts-unbuildable",
    "halved-groups", "kv-heads-divide-by-tp", "lora-without-split-tokens",
    "packed-experts-kernel", "packed-kernel", "own-tensors-divide-by-tp",
    "mixer-divides-by-tp", "mla-prefill-dimensions", "mlp-divides-by-tp", "pcp-attention-backend",
    "redundant-experts-cap", "shared-cache-on-its-stage", "sparse-block-size",
    "spread-replicas-share-nodes", "stages-at-most-layers", "world-divides-experts",
}  # fmt: skip


def test_whose_words_they_are() -> None:
    assert {rule.name for rule in ALL if rule.bare} == BARE


@pytest.mark.parametrize("case", CASES, ids=str)
def test_broken(case: Case) -> None:
    """The sentence and the way out, and that nothing else speaks before it."""
    deployment = deployed(case.model, case.fails)
    found = {violation.name: violation for violation in violations(deployment)}
    assert case.rule in found
    violation = found[case.rule]
    assert (violation.message, violation.fix) == (case.says, case.fix)
    assert violation.stage is next(rule.stage for rule in RULES if rule.name == case.rule)
    first = check(deployment)
    assert first is not None
    assert first.name == (case.behind or case.rule)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kept(case: Case) -> None:
    """The smallest changes that heal it leave no rule broken at all."""
    for args in case.passes:
        deployment = deployed(case.passing_model or case.model, args)
        assert [violation.message for violation in violations(deployment)] == [], args
