"""The rules of DCP, and what vLLM says of launches that break them."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from dcp import QWEN, RANKS, qwen_copies
from vllm_parallel import RULES, Deployment, Layout, Settings, Verdict, load_model
from vllm_parallel.render.markdown import code
from vllm_parallel.settings import ExpertSettings

RULE_MODELS: Final = (  # name, whom it binds, an example on the page
    ("tp-divides-by-dcp", "all, without PCP"),
    ("dcp-spans-pcp", "all, with PCP"),
    ("dcp-needs-tp-above-kv-heads", "GQA, MQA"),
    ("dcp-at-most-copies", "GQA, MQA"),
    ("queries-divide-by-dcp", "GQA, MQA"),
)
FLAG: Final = re.compile(r"(?<![\w-])(--?[a-z][\w-]*(?: \d+)?)")


def rules() -> str:
    """The rules of DCP with vLLM's sentences, in the order in which it tests them."""
    rows = {rule.name: rule for rule in RULES}
    cards = []
    for name, models in RULE_MODELS:
        rule = rows[name]
        cards.append(
            f'<div class="rule" id="rule-{name}"><p class="rule-name">'
            f'<a href="../../reference/constraints/#{name}"><code>{name}</code></a>'
            f'<span class="known">{escape(models)}</span></p>'
            f'<p class="rule-says"><code>{escape(rule.sentence)}</code></p></div>'
        )
    return "\n".join(cards)


def refused_routed_experts() -> str:
    """The refusal of returned experts under DCP, prefix caching left on."""
    settings = Settings(experts=ExpertSettings(return_routed_experts=True))
    return refusal(QWEN, Layout(tp=RANKS, dcp=qwen_copies), settings)


def refusal(model: str, layout: Layout, settings: Settings | None = None) -> str:
    """What vLLM says of a launch that it refuses, and the way out."""
    deployment = Deployment(
        model=load_model(model, as_bf16=True), layout=layout, settings=settings or Settings()
    )
    found = Verdict.of(deployment).refusal
    if found is None:
        raise ValueError(f"{model} starts with {layout}")
    fix = FLAG.sub(r"`\1`", found.fix)
    return f"> {code(found.message)}\n\nWay out: {fix}."
