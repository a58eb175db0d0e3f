"""vLLM's start-up rules, one row each, in the order in which it meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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
from vllm_parallel.constraints.constraint import Constraint, Violation
from vllm_parallel.constraints.features import FEATURE_RULES
from vllm_parallel.constraints.launch import (
    EXECUTOR_RULES,
    FLAG_RULES,
    HEADLESS_RULES,
    LAUNCH_RULES,
)
from vllm_parallel.constraints.load import LOAD_RULES
from vllm_parallel.constraints.parallel import PARALLEL_RULES
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import LayoutError

RULES: Final[tuple[Constraint[Deployment], ...]] = (
    *FLAG_RULES,
    *EPLB_BOUNDS,
    *MODEL_BOUNDS,
    *EXECUTOR_RULES,
    *CACHE_BOUNDS,
    *LAUNCH_RULES,
    *PARALLEL_BOUNDS,
    *PARALLEL_RULES,
    *SPECULATIVE_BOUNDS,
    *SCHEDULER_BOUNDS,
    *KV_TRANSFER_BOUNDS,
    *MODEL_RULES,
    *FEATURE_RULES,
    *HEADLESS_RULES,
    *LOAD_RULES,
)


def violations(deployment: Deployment) -> Iterator[Violation]:
    """Every rule that a deployment breaks, in vLLM's order; vLLM itself stops at the first.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.layout import Layout
    >>> model = load_model("llama-3.1-70b")
    >>> [v.name for v in violations(Deployment(model=model, layout=Layout(tp=8, dcp=3)))]
    ['tp-divides-by-dcp', 'dcp-needs-tp-above-kv-heads', 'dcp-at-most-copies', \
'queries-divide-by-dcp']
    """
    for rule in RULES:
        if rule.broken(deployment):
            yield rule.violation(deployment)
            if rule.ends:
                return


def check(deployment: Deployment) -> Violation | None:
    """The refusal that vLLM prints, None if no rule is broken."""
    return next(violations(deployment), None)


def require(deployment: Deployment) -> None:
    """Pass if no rule is broken.

    Raises:
        LayoutError: with vLLM's sentence and the way out.
    """
    refusal = check(deployment)
    if refusal is not None:
        raise LayoutError(rule=refusal.name, message=refusal.message, fix=refusal.fix)
