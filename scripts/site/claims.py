"""The claims of the source texts that the engine contradicts, as cards."""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path
from typing import Final

from vllm_parallel.render.cards import markup
from vllm_parallel.render.html import permalink

CLAIMS: Final = Path(__file__).with_name("claims.toml")
TEXTS: Final = {"guide": "deployment guide", "chapter": "parallelism chapter"}


def claims() -> list[dict[str, str]]:
    """Every claim, in the order of the texts."""
    rows: list[dict[str, str]] = tomllib.loads(CLAIMS.read_text("utf-8"))["claim"]
    return rows


def count() -> int:
    """How many claims are listed."""
    return len(claims())


def cards() -> str:
    """A card for each claim: what the text says, what vLLM does, how to see it."""
    return "\n".join(_card(row) for row in claims())


def _card(row: dict[str, str]) -> str:
    source = f"vllm/{row['source']}" if row["source"].endswith(".py") else row["source"]
    name = row["name"]
    corrected = f' <a href="../../{row["page"]}">Corrected where it stands</a>.'
    return (
        f'<div class="rule contradicted" id="{name}"><p class="rule-name">'
        f'<span class="claim">{markup(row["says"])}</span>'
        f"{permalink(name)}"
        f'<span class="known">{TEXTS[row["text"]]}</span></p>'
        f'<p class="rule-fix">{markup(row["happens"])}{corrected}</p>'
        f'<p class="rule-source">See it: {markup(row["see"])}. Source: {escape(source)}</p></div>'
    )
