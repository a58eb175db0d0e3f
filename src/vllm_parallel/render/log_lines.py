"""The reference of vLLM's log lines: those that are read for figures, then all, by when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vllm_parallel.engine.log.lines import (
    ERRORS,
    LINE,
    MEMORY,
    OLDER,
    SERVING,
    STARTING,
    KnownLine,
)
from vllm_parallel.engine.log.lines.line import FIELD
from vllm_parallel.render.cards import card
from vllm_parallel.render.markdown import code, table
from vllm_parallel.symptoms import SYMPTOM
from vllm_parallel.term import RELEASE

FIRST: Final = (
    "non-default-args", "engine-config", "rank-assigned", "layer-split", "model-loading",
    "available-kv", "kv-cache-size", "graph-pool", "memory-summary", "server-ready", "stats",
)  # fmt: skip
SECTIONS: Final[tuple[tuple[str, str, tuple[KnownLine, ...]], ...]] = (
    ("starting", "While it starts", STARTING),
    ("memory", "About memory", MEMORY),
    ("serving", "Under load, and when processes end", SERVING),
    ("errors", "Sentences that end a start", ERRORS),
    ("older", "What older releases print", OLDER),
)
SHORT: Final = 34
COLOUR: Final = re.compile(r"\$\{\w\}")


def anchor(line: KnownLine) -> str:
    """Where the reference has a line.

    >>> anchor(LINE["model-loading"])
    'line-model-loading'
    """
    return f"line-{line.name}"


def read_table() -> str:
    """The lines that matter most after a launch, in their order."""
    rows = [(code(_begins(LINE[name])), LINE[name].by, LINE[name].often) for name in FIRST]
    return table(("Line", "Printed by", "How often"), rows)


def reference() -> str:
    """Every line, by when it is printed."""
    parts = []
    for name, title, lines in SECTIONS:
        parts.append(f"## {title} {{#lines-{name}}}")
        parts.append(_cards(lines))
    return "\n\n".join(parts)


def summary() -> str:
    """How many lines are known.

    >>> summary().endswith("earlier releases")
    True
    """
    today = sum(line.release == RELEASE for line in LINE.values())
    return f"{today} lines of {RELEASE} and {len(LINE) - today} of earlier releases"


def _cards(lines: Sequence[KnownLine]) -> str:
    return "\n".join(
        card(anchor(line), [printed(line)], list(_facts(line)), link=_symptom(line))
        for line in lines
    )


def _symptom(line: KnownLine) -> str:
    """The way to the symptom that a line shows."""
    if line.symptom is None:
        return ""
    symptom = SYMPTOM[line.symptom]
    return f'<a href="../../{symptom.address()}">What to do: {symptom.name}</a>'


def _facts(line: KnownLine) -> Iterator[str]:
    yield f"{line.check}."
    often = line.often[0].upper() + line.often[1:]
    level = "" if line.level == "INFO" else f" Level {line.level}."
    yield f"{often}. Printed by: {line.by}.{level}"
    release = "" if line.release == RELEASE else f" ({line.release})"
    yield f"Source: {line.source}{release}"


def printed(line: KnownLine) -> str:
    """A line as it is printed, … in the place of its fields.

    >>> printed(LINE["model-loading"])
    'Model loading took … GiB memory and … seconds'
    """
    return FIELD.sub("…", COLOUR.sub("", line.says)).replace("%%", "%").strip()


def _begins(line: KnownLine) -> str:
    """The line as far as a table has room for it."""
    text = printed(line)
    if len(text) <= SHORT:
        return text
    return text[:SHORT].rpartition(" ")[0].rstrip(" …,(") + " …"
