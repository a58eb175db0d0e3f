"""The reference of vLLM's options: a card each, so that it wraps on a phone and can be linked."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Final

from vllm_parallel.engine.options import SERVE, Option, commands, options
from vllm_parallel.engine.values import written
from vllm_parallel.render.html import permalink
from vllm_parallel.render.numbers import whole

TYPES: Final = {
    "bool": "switch",
    "int": "whole number",
    "human_int": "whole number; 8k is 8000, 8K is 8192",
    "human_int_or_auto": "whole number; 8k is 8000, 8K is 8192, auto is what fits",
    "float": "number",
    "json": "JSON",
    "object": "JSON object",
    "json_or_str": "text, or JSON in braces",
    "str": "text",
}
COUNTS: Final = {None: "", "?": ", may be left out", "*": ", any number", "+": ", one or more"}
GENERAL: Final = "options"  # argparse's name for what is in no group


def summary() -> str:
    """How many options each command has.

    >>> summary().endswith(" and 10 of `vllm bench sweep startup`.")
    True
    """
    counts = [f"{whole(len(options(name)))} of `vllm {name}`" for name in _listed()]
    first, *between, last = counts
    return f"{first.replace(' of', ' options of', 1)}, {', '.join(between)} and {last}."


def reference() -> str:
    """Every option of every command, in the groups of its help."""
    return "\n\n".join(map(_command, _listed()))


def _listed() -> list[str]:
    """The commands, `serve` first."""
    return sorted(commands(), key=lambda name: (name != SERVE, name))


def ident(command: str, option: Option) -> str:
    """The anchor of an option.

    >>> ident("bench serve", options("bench serve")["ignore_eos"])
    'bench-serve-ignore-eos'
    """
    return f"{command}-{option.dest}".replace(" ", "-").replace("_", "-")


def _command(command: str) -> str:
    table = options(command).values()
    parts = [f"## vllm {command} {{#{slug(command)}}}"]
    order = list(dict.fromkeys(option.group for option in table))
    grouped = sorted(table, key=lambda option: order.index(option.group))
    for group, members in groupby(grouped, key=lambda option: option.group):
        title = "General" if group == GENERAL else group[:1].upper() + group[1:]
        parts.append(f"### {title} {{#{slug(command)}-group-{slug(group)}}}")
        parts.append("\n".join(card(command, option) for option in members))
    return "\n\n".join(parts)


def card(command: str, option: Option) -> str:
    """One option: its names, type, choices and default."""
    anchor = ident(command, option)
    names = " ".join(f"<code>{escape(name)}</code>" for name in option.names)
    needed = '<span class="known">required</span>' if option.required else ""
    rows = "".join(f"<p>{text}</p>" for text in _facts(option))
    return (
        f'<div class="option"><h4 id="{anchor}">{names}{permalink(anchor)}{needed}</h4>{rows}</div>'
    )


def _facts(option: Option) -> Iterator[str]:
    kind = TYPES[option.kind] + COUNTS[option.nargs]
    yield f"{kind}. Default: {default(option)}"
    if option.choices:
        yield f"One of {' '.join(f'<code>{escape(choice)}</code>' for choice in option.choices)}"
    if option.keys:
        yield f"Keys: {' '.join(f'<code>{escape(key)}</code>' for key in option.keys)}"


def default(option: Option) -> str:
    """What counts where it is not given, as markup.

    >>> default(options()["port"]), default(options()["enable_eplb"])
    ('<code>8000</code>', 'off')
    """
    value = option.default
    if isinstance(value, bool) and not option.takes_value:
        return "on" if value else "off"
    if value is None or value in ("", []):
        return "none" if option.kind != "object" else "its own"
    return f"<code>{escape(written(value))}</code>"


def slug(text: str) -> str:
    """A name as part of an anchor.

    >>> slug("bench serve"), slug("ParallelConfig")
    ('bench-serve', 'parallelconfig')
    """
    return "-".join(text.lower().replace("_", " ").split())
