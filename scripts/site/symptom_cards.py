"""The symptoms of the troubleshooting page, as cards that can be linked and found."""

from __future__ import annotations

from html import escape
from typing import Final

from vllm_parallel import RULES
from vllm_parallel.render.cards import markup
from vllm_parallel.render.html import permalink
from vllm_parallel.symptoms import SYMPTOMS, Symptom
from vllm_parallel.verdict import MEMORY_RULES

GROUPS: Final = (  # title, and its first symptom in the table's order
    ("Memory is not as estimated", "kv-below-estimate"),
    ("The start fails", "no-memory-for-blocks"),
    ("It runs, but not as meant", "preemptions"),
    ("The measurement misleads", "requests-failed"),
)
SAID: Final = {  # symptom to the rules whose sentences it shows
    "no-memory-for-blocks": ("room-for-a-block",),
    "request-does-not-fit": ("room-for-a-request",),
    "too-many-ranks": ("replica-fits-node", "dp-fits-node"),
    "heads-do-not-divide": ("heads-divide-by-tp",),
    "dcp-needs-tp-above-kv-heads": ("dcp-needs-tp-above-kv-heads",),
    "dcp-above-copies": ("dcp-at-most-copies",),
    "dcp-does-not-divide": ("tp-divides-by-dcp", "queries-divide-by-dcp"),
    "dcp-back-end": ("dcp-without-windows", "pcp-attention-backend"),
}


def cards() -> str:
    """Every symptom under the title of its group."""
    parts = []
    for title, rows in grouped():
        parts.append(f"## {title}\n")
        parts += [_card(row) for row in rows]
        parts.append("")
    return "\n".join(parts)


def grouped() -> list[tuple[str, list[Symptom]]]:
    """Symptoms in their order, cut where a group begins.

    Raises:
        ValueError: a group whose first symptom is not in the table.
    """
    names = [symptom.name for symptom in SYMPTOMS]
    starts = [names.index(first) for _, first in GROUPS]
    ends = [*starts[1:], len(names)]
    if starts[0] != 0 or starts != sorted(starts):
        raise ValueError("the groups do not cover the symptoms in their order")
    return [
        (title, list(SYMPTOMS[start:end]))
        for (title, _), start, end in zip(GROUPS, starts, ends, strict=True)
    ]


def _card(symptom: Symptom) -> str:
    rules = {rule.name: rule.sentence for rule in RULES}
    rules |= {rule.name: rule.sentence for rule in MEMORY_RULES}
    said = "".join(
        f'<p class="rule-says"><code>{escape(rules[name])}</code> '
        f'<a href="../../reference/constraints/#{name}">{name}</a></p>'
        for name in SAID.get(symptom.name, ())
    )
    return (
        f'<div class="symptom"><h3 id="{symptom.name}">{markup(symptom.sign)}'
        f"{permalink(symptom.name)}</h3>"
        f"{said}<p>{markup(symptom.cause)}.</p>"
        f"<p><strong>Do:</strong> {markup(symptom.fix)}.</p></div>"
    )
