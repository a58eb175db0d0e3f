"""The reference of a result's fields."""

from __future__ import annotations

from vllm_parallel.engine.bench_results.written import SECTIONS, WrittenField
from vllm_parallel.render.cards import card


def reference() -> str:
    """Every field, in the order in which a result has them."""
    parts = []
    for title, rows in SECTIONS:
        parts.append(f"## {title} {{#fields-{'-'.join(title.lower().split())}}}")
        parts.append("\n".join(map(_card, rows)))
    return "\n\n".join(parts)


def _card(row: WrittenField) -> str:
    facts = [f"{row.says}.", f"{row.unit[:1].upper()}{row.unit[1:]}; {row.when}."]
    return card(row.anchor, [row.name], facts)
