"""Verdicts on many GPUs at once: what a layout holds is worked out once for all that are alike.

Two GPUs of one architecture, for which vLLM has the same defaults, differ in their memory alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from open_rules import Open, UnknownPartError, any_cluster, any_layout
from vllm_parallel.cluster import Gpu
from vllm_parallel.constraints import Violation
from vllm_parallel.constraints.load import LATE_RULES
from vllm_parallel.constraints.table import early_rules
from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import replace
from vllm_parallel.layout import Layout
from vllm_parallel.ledger import Budget, Capacity, Ledger, Pool, stage_shards
from vllm_parallel.outcome import Found
from vllm_parallel.verdict import Verdict, refusal_of_memory


class Rules(NamedTuple):
    """The rules that are open before memory, and after it."""

    early: Open
    late: Open

    def beside(self, some: Deployment) -> Rules:
        """Those that stay open once this much of a deployment is known."""
        return Rules(self.early.beside(some), self.late.beside(some))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the rules say before memory and after it, and each stage's fullest ledger."""

    before: Violation | None
    after: Violation | None = None
    ledgers: tuple[Ledger, ...] = ()

    @classmethod
    def of(cls, deployment: Deployment, rules: Rules) -> Held:
        """Of a deployment, whatever the memory of its GPU, by the rules that are open.

        Raises:
            VllmParallelError: it cannot be sized.
        """
        before = rules.early.first(deployment)
        if before is not None:
            return cls(before=before)
        ledgers = tuple(map(Ledger.of, stage_shards(deployment)))
        return cls(before=None, after=rules.late.first(deployment), ledgers=ledgers)


@dataclass(slots=True)
class Alike:
    """Verdicts, budgets and calls that are remembered, for one model and one set of settings."""

    _rules: Rules | None = None  # open whatever the layout is
    _open: dict[Layout, Rules] = field(default_factory=dict)
    _known: dict[Hashable, Held] = field(default_factory=dict)
    _calls: dict[Layout, int] = field(default_factory=dict)

    def __call__(self, deployment: Deployment) -> Verdict:
        """The same as `Verdict.of`.

        Raises:
            VllmParallelError: the deployment cannot be sized.
        """
        held = self.held(deployment)
        if held.before is not None:
            return Verdict(refusal=held.before, capacity=None)
        gpu = _gpu(deployment)
        available = (Budget.of(ledger, gpu).available_kv_bytes for ledger in held.ledgers)
        pool = Pool.of(deployment, tuple(available))
        refusal = refusal_of_memory(pool) or held.after
        capacity = None if refusal else Capacity(pool=pool, engines=deployment.layout.dp)
        return Verdict(refusal=refusal, capacity=capacity)

    def check(self, deployment: Deployment) -> Violation | None:
        """The same as `constraints.check`: what the rules say, memory aside."""
        rules = self._open_beside(deployment)
        return rules.early.first(deployment) or rules.late.first(deployment)

    def held(self, deployment: Deployment) -> Held:
        """What does not go by the GPU's memory.

        Raises:
            VllmParallelError: the deployment cannot be sized.
        """
        key = _likeness(deployment)
        held = self._known.get(key)
        if held is None:
            held = Held.of(deployment, self._open_beside(deployment))
            if not _names(held.before, _gpu(deployment)):
                self._known[key] = held
        return held

    def budget(self, deployment: Deployment) -> Budget:
        """The same as `ledger.tightest`."""
        gpu = _gpu(deployment)
        budgets = [Budget.of(ledger, gpu) for ledger in self.held(deployment).ledgers]
        return min(budgets, key=lambda budget: budget.available_kv_bytes)

    def calls(self, found: Found) -> int:
        """The same as `Found.calls`."""
        if found.layout not in self._calls:
            some = replace(found.deployment, cluster=any_cluster())
            try:
                self._calls[found.layout] = replace(found, deployment=some).calls
            except UnknownPartError:
                return found.calls
        return self._calls[found.layout]

    def _open_beside(self, deployment: Deployment) -> Rules:
        """The rules that go by the machines, and what the others come to."""
        layout = deployment.layout
        if layout not in self._open:
            some = replace(deployment, cluster=any_cluster())
            if self._rules is None:
                rules = Rules(Open(early_rules(deployment)), Open(LATE_RULES))
                self._rules = rules.beside(replace(some, layout=any_layout()))
            self._open[layout] = self._rules.beside(some)
        return self._open[layout]


def _likeness(deployment: Deployment) -> Hashable:
    """The layout, and what vLLM goes by of a GPU beside its memory."""
    return (
        deployment.layout,
        _gpu(deployment).architecture,
        deployment.max_num_batched_tokens,
        deployment.max_num_seqs,
    )


def _gpu(deployment: Deployment) -> Gpu:
    gpu = deployment.cluster.gpu
    if gpu is None:
        raise ValueError("memory is judged on a GPU")
    return gpu


def _names(violation: Violation | None, gpu: Gpu) -> bool:
    """Whether a refusal speaks of this very GPU."""
    return violation is not None and gpu.label in violation.message + violation.fix
