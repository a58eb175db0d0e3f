"""The modules of the package: what each holds, in the first sentence of its docstring."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from vllm_parallel.render.cards import markup
from vllm_parallel.render.html import permalink

SOURCE: Final = Path(__file__).resolve().parents[2] / "src" / "vllm_parallel"
PAGE: Final = "../../reference/api/"  # from a page one folder down


@cache
def modules() -> Mapping[str, str]:
    """Every public module by its dotted name below the package, with its first sentence."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        if name and text is not None and not parts[-1].startswith("__main"):
            found[name] = " ".join(text.split("\n\n")[0].split())
    return found


def ident(name: str) -> str:
    """The anchor of a module.

    >>> ident("collectives.batch")
    'module-collectives-batch'
    """
    return f"module-{name.replace('.', '-').replace('_', '-')}"


def held_by(*names: str, page: str = PAGE) -> str:
    """The modules behind a page, each with what it holds and a link to the reference."""
    links = {name: f'<a href="{page}#{ident(name)}"><code>{name}</code></a>' for name in names}
    rows = [f"<li>{link}: {markup(modules()[name])}</li>" for name, link in links.items()]
    return f"<ul>{''.join(rows)}</ul>"


def every_module() -> str:
    """All modules, an anchor each."""
    rows = [
        f'<div class="entry" id="{ident(name)}"><p><code>{name}</code>'
        f"{permalink(ident(name))}</p>"
        f"<p>{markup(text)}</p></div>"
        for name, text in modules().items()
    ]
    return "\n".join(rows)
