"""Reference rows as cards, which wrap on a phone and can be linked one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Final

from vllm_parallel.render.html import permalink

CODE: Final = re.compile(r"`([^`]*)`")


def card(anchor: str, names: Sequence[str], facts: Sequence[str], *, link: str = "") -> str:
    """One row: its names as code above what is known of it; facts hold code in backticks.

    `link` is HTML that ends it.

    >>> print(card("metric-a", ["vllm:a"], ["A `gauge`."]))
    <div class="option"><h3 id="metric-a"><code>vllm:a</code><a class="headerlink" \
href="#metric-a" title="Permanent link">¶</a></h3><p>A <code>gauge</code>.</p></div>
    """
    heads = " ".join(f"<code>{escape(name)}</code>" for name in names)
    mark = permalink(anchor)
    rows = "".join(f"<p>{markup(fact)}</p>" for fact in facts) + (f"<p>{link}</p>" if link else "")
    return f'<div class="option"><h3 id="{anchor}">{heads}{mark}</h3>{rows}</div>'


def markup(text: str) -> str:
    """A sentence as HTML; what stands in backticks is code.

    >>> markup("`a` < b")
    '<code>a</code> &lt; b'
    """
    parts = CODE.split(text)
    return "".join(
        f"<code>{escape(part)}</code>" if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
