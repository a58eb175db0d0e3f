"""Rules that stay open while a part of a deployment is unknown.

A rule that answers without a look at what is unknown answers the same whatever that turns out to
be. Over many layouts of one model, and many GPUs of one layout, most need to be asked only once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, cast

from vllm_parallel.cluster import Cluster
from vllm_parallel.constraints import Constraint, Violation
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.layout import Layout


class UnknownPartError(Exception):
    """Somebody has looked at what is unknown."""


class _Unknown:
    """Stands where nothing is known yet: whoever looks at it, in any way, is stopped."""

    def _stop(self, *_: object) -> NoReturn:
        raise UnknownPartError

    __getattribute__ = __hash__ = __eq__ = __ne__ = _stop
    __bool__ = __str__ = __repr__ = __format__ = _stop


def any_layout() -> Layout:
    """A layout that nobody may look at."""
    return cast("Layout", _Unknown())


def any_cluster() -> Cluster:
    """Machines that nobody may look at."""
    return cast("Cluster", _Unknown())


@dataclass(frozen=True, slots=True)
class Open:
    """Rules that are still to be asked, and what is said if none of them is broken."""

    rules: tuple[Constraint[Deployment], ...]
    otherwise: Violation | None = None

    def beside(self, some: Deployment) -> Open:
        """What stays open once this much of a deployment is known.

        >>> from vllm_parallel.catalog import load_model
        >>> from vllm_parallel.constraints import RULES
        >>> some = Deployment(
        ...     model=load_model("llama-3.1-70b"), layout=Layout(tp=3), cluster=any_cluster()
        ... )
        >>> Open(RULES).beside(some).otherwise.name
        'heads-divide-by-tp'
        """
        rules: list[Constraint[Deployment]] = []
        for rule in self.rules:
            try:
                if rule.broken(some):
                    return Open(tuple(rules), rule.violation(some))
            except (UnknownPartError, VllmParallelError):
                rules.append(rule)
        return Open(tuple(rules), self.otherwise)

    def first(self, deployment: Deployment) -> Violation | None:
        """What the first rule says that a deployment breaks."""
        for rule in self.rules:
            if rule.broken(deployment):
                return rule.violation(deployment)
        return self.otherwise
