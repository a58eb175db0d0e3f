"""Rules that stay open while a part of a deployment is unknown.

A rule that answers without a look at what is unknown answers the same whatever that turns out to
be. Over many layouts of one model, and many GPUs of one layout, most need to be asked only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NoReturn, cast

from vllm_parallel.cluster import Cluster
from vllm_parallel.constraints import Constraint, Violation
from vllm_parallel.deployment import Deployment
from vllm_parallel.errors import VllmParallelError
from vllm_parallel.layout import Layout

Rules = tuple[Constraint[Deployment], ...]


class _UnknownError(Exception):
    """Somebody has looked at what is unknown."""


class _Unknown:
    """Stands where nothing is known yet: whoever looks at it, in any way, is stopped."""

    def _stop(self, *_: object) -> NoReturn:
        raise _UnknownError

    __getattribute__ = __hash__ = __eq__ = __ne__ = _stop
    __bool__ = __str__ = __repr__ = __format__ = _stop


ANY_LAYOUT: Final = cast("Layout", _Unknown())
ANY_CLUSTER: Final = cast("Cluster", _Unknown())


def still_open(rules: Iterable[Constraint[Deployment]], deployment: Deployment) -> Rules:
    """The rules among which the first broken one is, whatever the unknown parts turn out to be.

    >>> from vllm_parallel.catalog import load_model
    >>> from vllm_parallel.constraints import RULES
    >>> model = load_model("llama-3.1-70b")
    >>> layout = Layout(tp=3)
    >>> some = Deployment(model=model, layout=layout, cluster=ANY_CLUSTER)
    >>> still_open(RULES, some)[-1].name
    'heads-divide-by-tp'
    """
    return tuple(_open(rules, deployment))


def first_broken(rules: Rules, deployment: Deployment) -> Violation | None:
    """The first of these rules that a deployment breaks."""
    return next((rule.violation(deployment) for rule in rules if rule.broken(deployment)), None)


def _open(
    rules: Iterable[Constraint[Deployment]], deployment: Deployment
) -> Iterator[Constraint[Deployment]]:
    for rule in rules:
        try:
            broken = rule.broken(deployment)
        except (_UnknownError, VllmParallelError):
            yield rule
            continue
        if broken:
            yield rule
            return
