"""One rule of vLLM's start-up: when it fires, what it says, and the way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from vllm_parallel.deployment import Deployment
from vllm_parallel.frozen import dataclass

Test = Callable[[Deployment], bool]


class Named(Protocol):
    """What a rule can be about: it gives the names that sentences are written with."""

    @property
    def names(self) -> Mapping[str, object]:
        """Name to noun."""


Subject = TypeVar("Subject", bound=Named)


class Stage(StrEnum):
    """When a deployment is refused, in vLLM's order."""

    FLAGS = "flags"  # the launch arguments contradict each other
    CONFIG = "config"  # while the engine config is made
    LOAD = "load"  # while layers are built, a back end chosen, the cache planned
    MEMORY = "memory"  # nothing left for KV, or not one full request fits


class Known(StrEnum):
    """How a rule is known."""

    RECORDED = "recorded"  # answers of the engine hold it, and tests compare them
    RAISED = "raised"  # the engine was seen to raise it
    READ = "read"  # read in the source only


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Constraint(Generic[Subject]):
    """One row of the rule table, about a deployment or, for memory, about a stage's room.

    `says` and `fix` are format strings over the subject's `names` and, where numbers have to be
    worked out, `options`. `says` is vLLM's sentence, or ours where vLLM has none: a bare
    assert, or CUDA (`bare`). After a rule that `ends`, later rules cannot be asked.
    """

    name: str
    stage: Stage
    broken: Callable[[Subject], bool]
    says: str
    fix: str
    source: str
    known: Known
    options: Callable[[Subject], object] | None = None
    bare: bool = False
    ends: bool = False

    def violation(self, subject: Subject) -> Violation:
        """What this rule says of a subject that breaks it."""
        return Violation(
            name=self.name,
            stage=self.stage,
            message=self._fill(self.says, subject),
            fix=self._fill(self.fix, subject),
        )

    @property
    def sentence(self) -> str:
        """The sentence with short placeholders, as reference pages show it.

        >>> from vllm_parallel.constraints import RULES
        >>> next(rule for rule in RULES if rule.name == "tp-divides-by-dcp").sentence
        'tp_size={tp} must be divisible by dcp_size={dcp}.'
        """
        return shortened(self.says)

    @property
    def advice(self) -> str:
        """The way out with short placeholders."""
        return shortened(self.fix)

    def _fill(self, template: str, subject: Subject) -> str:
        options = self.options(subject) if self.options else None
        text = listed(options) if isinstance(options, list) else options
        return template.format(**subject.names, options=text)


class RuleRow(Protocol):
    """A constraint about a deployment, some of whose fields are filled in already."""

    def __call__(  # noqa: PLR0913  # the columns of a row, each by its name
        self,
        *,
        name: str,
        broken: Test,
        says: str,
        fix: str,
        source: str = ...,
        known: Known = ...,
        options: Callable[[Deployment], object] = ...,
        bare: bool = ...,
    ) -> Constraint[Deployment]:
        """The row."""


# As vllm/distributed/utils.py, divide, says it (v0.32.0).
NOT_DIVISIBLE: Final = "{options} is not divisible by {layout.tp}"
config_rule: RuleRow = partial(Constraint, stage=Stage.CONFIG)
load_rule: RuleRow = partial(Constraint, stage=Stage.LOAD)
raised_at_config: RuleRow = partial(config_rule, known=Known.RAISED)
raised_at_load: RuleRow = partial(load_rule, known=Known.RAISED)
# vLLM dies without a sentence of its own; the words are ours.
bare_assert: RuleRow = partial(load_rule, known=Known.RECORDED, bare=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that is broken, in words."""

    name: str
    stage: Stage
    message: str
    fix: str


def shortened(template: str) -> str:
    """A format string whose dotted names are cut to the last word.

    >>> shortened("tp={layout.tp} of {options}")
    'tp={tp} of {options}'
    """
    return re.sub(r"\{[a-z_.]*?([a-z_]+)\}", r"{\1}", template)


def listed(options: Sequence[object]) -> str:
    """Options in one line.

    >>> listed([1, 2, 4])
    '1, 2, 4'
    """
    return ", ".join(map(str, options)) or "none"


def divisors(number: int) -> list[int]:
    """Every width that divides a number.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return [width for width in range(1, number + 1) if number % width == 0]
