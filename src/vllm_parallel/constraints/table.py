"""vLLM's start-up rules, one row each, in the order in which it meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vllm_parallel.constraints.adapters import ADAPTER_BOUNDS, ADAPTER_RULES
from vllm_parallel.constraints.attention import MODEL_RULES
from vllm_parallel.constraints.bounds import (
    CACHE_BOUNDS,
    EPLB_BOUNDS,
    KV_TRANSFER_BOUNDS,
    MODEL_BOUNDS,
    PARALLEL_BOUNDS,
    SCHEDULER_BOUNDS,
    SPECULATIVE_BOUNDS,
)
from vllm_parallel.constraints.caches import STATE_RULES, TURBOQUANT_RULES
from vllm_parallel.constraints.constraint import Constraint, Violation
from vllm_parallel.constraints.drafts import DRAFT_RULES
from vllm_parallel.constraints.features import FEATURE_RULES
from vllm_parallel.constraints.launch import (
    EXECUTOR_RULES,
    FLAG_RULES,
    HEADLESS_RULES,
    LAUNCH_RULES,
)
from vllm_parallel.constraints.load import LATE_RULES, LOAD_RULES
from vllm_parallel.constraints.parallel import PARALLEL_RULES
from vllm_parallel.constraints.quantisation import QUANTISED_CONFIG_RULES, QUANTIZATION_RULES
from vllm_parallel.constraints.quantised_layers import QUANTISED_LOAD_RULES
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import LayoutError

Rules = tuple[Constraint[Deployment], ...]

BEFORE_SCHEDULER: Final[Rules] = (
    *FLAG_RULES,
    *EPLB_BOUNDS,
    *MODEL_BOUNDS,
    *QUANTIZATION_RULES,
    *EXECUTOR_RULES,
    *CACHE_BOUNDS,
    *TURBOQUANT_RULES,
    *LAUNCH_RULES,
    *PARALLEL_BOUNDS,
    *PARALLEL_RULES,
    *SPECULATIVE_BOUNDS,
    *DRAFT_RULES,
)
SCHEDULER_RULES: Final[Rules] = (*SCHEDULER_BOUNDS, *ADAPTER_BOUNDS, *KV_TRANSFER_BOUNDS)
AFTER_MODEL: Final[Rules] = (
    *QUANTISED_CONFIG_RULES,
    *FEATURE_RULES,
    *STATE_RULES,
    *HEADLESS_RULES,
    *LOAD_RULES,
    *QUANTISED_LOAD_RULES,
    *ADAPTER_RULES,
)
EARLY_RULES: Final[Rules] = (*BEFORE_SCHEDULER, *SCHEDULER_RULES, *MODEL_RULES, *AFTER_MODEL)
# A draft is held against the layout as soon as it is read: config/speculative.py, __post_init__.
EARLY_WITH_DRAFT: Final[Rules] = (
    *BEFORE_SCHEDULER,
    *MODEL_RULES,
    *SCHEDULER_RULES,
    *AFTER_MODEL,
)
RULES: Final[Rules] = (*EARLY_RULES, *LATE_RULES)


def violations(deployment: Deployment) -> Iterator[Violation]:
    """Every rule that a deployment breaks, in vLLM's order; vLLM itself stops at the first.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> model = load_model("llama-3.1-70b")
    >>> [v.name for v in violations(Deployment(model=model, layout=Layout(tp=8, dcp=3)))]
    ['tp-divides-by-dcp', 'dcp-needs-tp-above-kv-heads', 'dcp-at-most-copies', \
'queries-divide-by-dcp']
    """
    yield from _broken(deployment, (*early_rules(deployment), *LATE_RULES))


def early_rules(deployment: Deployment) -> Rules:
    """The rules that vLLM tests before it judges memory, in its order."""
    drafts = deployment.settings.speculative_method is not None
    return EARLY_WITH_DRAFT if drafts else EARLY_RULES


def check(deployment: Deployment) -> Violation | None:
    """The refusal that vLLM prints, memory aside; None if no rule is broken.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> check(Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=3))).name
    'heads-divide-by-tp'
    """
    return next(violations(deployment), None)


def check_before_memory(deployment: Deployment) -> Violation | None:
    """The first refusal among the rules that vLLM tests before it judges memory."""
    return next(_broken(deployment, early_rules(deployment)), None)


def check_after_memory(deployment: Deployment) -> Violation | None:
    """The first refusal among the rules that are left once memory has been judged."""
    return next(_broken(deployment, LATE_RULES), None)


def require(deployment: Deployment) -> None:
    """Pass if no rule is broken.

    Raises:
        LayoutError: with vLLM's sentence and the way out.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> require(Deployment(model=load_model("llama-3.1-70b"), layout=Layout(tp=8)))
    """
    refusal = check(deployment)
    if refusal is not None:
        raise LayoutError(rule=refusal.name, message=refusal.message, fix=refusal.fix)


def _broken(deployment: Deployment, rules: Rules) -> Iterator[Violation]:
    for rule in rules:
        if rule.broken(deployment):
            yield rule.violation(deployment)
            if rule.ends:
                return
