"""What changed between two releases of vLLM, as cards; changes.json is written by `make diff`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final

from vllm_parallel.render.markdown import table
from vllm_parallel.render.numbers import whole

SUMMARY: Final = Path(__file__).with_name("changes.json")
KINDS: Final = {
    "options": "options of commands",
    "verdicts": "verdicts, with the exact message",
    "builds": "builds: bytes, pages, blocks, tokens, groups",
    "groups": "groups, rank by rank",
}
ANSWERS: Final = ("verdicts", "builds", "groups")
ALMOST: Final = 0.95  # some answers depend on the machine and are left out
CHANGES: Final = ("removed", "changed", "added")
MOST: Final = 420  # characters of a value on a card
Row = Mapping[str, Any]


@cache
def summary() -> Row:
    """What `scripts/engine/diff.py` found."""
    read: Row = json.loads(SUMMARY.read_text("utf-8"))
    return read


def opening() -> str:
    """Which releases were compared in what, and whether the older one was asked everything."""
    old, new, held = summary()["from"], summary()["to"], summary()["recorded"]
    asked = all(held["from"][name] >= held["to"][name] * ALMOST for name in ANSWERS)
    how = "the questions" if asked else "a sample, drawn by hash, of the questions"
    return (
        f"vLLM v{old} was asked {how} that v{new} answers for this site: its configs for verdicts "
        "and messages, its layers on a device without memory for bytes, its cache planning for "
        "blocks. Of all options, names, types, defaults, choices and keys were compared, not the "
        "help. What was compared and is not listed here was equal."
    )


def commands() -> str:
    """What wrote the summary."""
    old, new = summary()["from"], summary()["to"]
    lines = (f"make record VERSION={old}", f"make diff FROM={old} TO={new} JSON=1")
    return "\n".join(("```bash", *lines, "```"))


def table_of_counts() -> str:
    """What was compared, and how much of it differs."""
    old, new, held = summary()["from"], summary()["to"], summary()["recorded"]
    differ = differing()
    body = [
        (
            what,
            whole(held["from"][name]),
            whole(held["to"][name]),
            whole(summary()["compared"][name]),
            whole(differ[name]),
        )
        for name, what in KINDS.items()
    ]
    head = ("what", f"v{old}", f"v{new}", "compared", "differ")
    return table(head, body, right=(1, 2, 3, 4))


def differing() -> Counter[str]:
    """How many answers of each kind differ."""
    changed = [flag for flag in summary()["flags"] if flag["change"] == "changed"]
    return Counter({"options": len(changed)}) + Counter(summary()["differ"])


def options() -> str:
    """Options removed, changed and added."""
    found = summary()["flags"]
    parts = [
        f"Command {change}: {', '.join(f'`vllm {name}`' for name in names)}."
        for change, names in summary()["commands"].items()
        if names
    ]
    if not found:
        return "None of the options compared differs in name, type, default or choices."
    for change in CHANGES:
        flags = [flag for flag in found if flag["change"] == change]
        title = f"### {whole(len(flags))} {change} {{#options-{change}}}"
        parts.append(f"{title}\n\n{_cards(map(_flag, flags))}" if flags else f"None {change}.")
    return "\n\n".join(parts)


def answers() -> str:
    """Deployments that are judged otherwise, or in other words."""
    compared = whole(summary()["compared"]["verdicts"])
    none = f"None of the {compared} verdicts compared differs, and no message."
    return _cards(map(_answer, summary()["answers"])) or none


def values() -> str:
    """Bytes, blocks, tokens and groups that differ."""
    counts = summary()["compared"]
    builds, groups = whole(counts["built by both"]), whole(counts["groups"])
    none = (
        f"None differs: not in the {builds} deployments that both releases build, nor in the "
        f"groups of the {groups} layouts compared."
    )
    return _cards(map(_value, summary()["values"])) or none


def unanswered() -> str:
    """Questions that one release answered and the other did not."""
    none = "Every question that one release answered, and the other was asked, got an answer."
    return _cards(map(_unanswered, summary()["unanswered"])) or none


def _cards(cards: Iterable[str]) -> str:
    return "\n".join(cards)


def _flag(flag: Row) -> str:
    names = " ".join(_code(name) for name in flag["names"])
    lines = [_fix(_field(field)) for field in flag.get("fields", ())]
    return _card(names, f"vllm {flag['command']}", [*lines, *_touches(flag)])


def _field(field: Row) -> str:
    what = escape(field["what"])
    if "gone" not in field:
        return f"{what}: {_shown(field['before'])} → {_shown(field['after'])}"
    sides = (("gone", field["gone"]), ("new", field["came"]))
    listed = (f"{side} {' '.join(map(_code, items))}" for side, items in sides if items)
    return f"{what}: {'; '.join(listed)}"


def _answer(change: Row) -> str:
    title = f"{whole(change['count'])} × {escape(change['change'])}"
    said = [
        f'<p class="rule-says">v{escape(release)} <code>{escape(text or "accepted")}</code></p>'
        for release, text in _both(change)
    ]
    lines = [*said, *_words(change), _example(change), *_touches(change)]
    return _card(title, change["file"], lines)


def _words(change: Row) -> Iterator[str]:
    """The quoted words that a list of allowed ones lost or gained."""
    was, now = (re.findall(r"'([^']*)'", text) for _, text in _both(change))
    sides = (
        ("gone", [word for word in was if word not in now]),
        ("new", [word for word in now if word not in was]),
    )
    if was and now:
        listed = (f"{side} {' '.join(map(_code, words))}" for side, words in sides if words)
        yield _fix("; ".join(listed))


def _value(change: Row) -> str:
    title = f"{_code(change['what'])} of {escape(change['family'])}"
    of = "" if change["rank"] is None else f" of rank {change['rank']}"
    told = f"{_shown(change['before'])} → {_shown(change['after'])}{of}"
    known = f"{whole(change['count'])} {change['file']}"
    return _card(title, known, [_fix(told), _example(change), *_touches(change)])


def _unanswered(change: Row) -> str:
    title = f"{whole(change['count'])} × v{escape(change['release'])} has no answer"
    said = f'<p class="rule-says"><code>{escape(_cut(change["said"]))}</code></p>'
    return _card(title, change["file"], [said, _example(change)])


def _both(change: Row) -> Iterator[tuple[str, str]]:
    yield summary()["from"], change["before"]
    yield summary()["to"], change["after"]


def _card(title: str, known: str, lines: Iterable[str]) -> str:
    return (
        f'<div class="rule"><p class="rule-name"><span class="claim">{title}</span>'
        f'<span class="known">{escape(known)}</span></p>{"".join(lines)}</div>'
    )


def _fix(text: str) -> str:
    return f'<p class="rule-fix">{text}</p>'


def _example(change: Row) -> str:
    example = change["example"]
    args = " ".join(
        _code(f"{name}={json.dumps(value)}") for name, value in example.get("args", {}).items()
    )
    budget = example.get("available_kv_bytes")
    room = f", {whole(budget)} bytes for KV" if budget else ""
    text = f"Example: {_code(example['model'])} {args}{room}"
    return f'<p class="rule-source">{text.rstrip()}</p>'


def _touches(change: Row) -> Iterator[str]:
    kinds = ((kind, names) for kind, names in change["touches"].items() if names)
    listed = [f"{kind} {' '.join(map(_code, names))}" for kind, names in kinds]
    if listed:
        yield f'<p class="rule-source">Touches {"; ".join(listed)}</p>'


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return _code(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _code(text: str) -> str:
    return f"<code>{escape(_cut(text))}</code>"


def _cut(text: str) -> str:
    flat = re.sub(r"\s+", " ", text)
    return flat if len(flat) <= MOST else f"{flat[:MOST]}…"
