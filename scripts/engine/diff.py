"""Prints what changed between two recorded releases of vLLM, and what of this project it touches.

    python scripts/engine/diff.py 0.31.0 0.32.0 [--json]

Both are read as `record.py` wrote them; the engine is not needed. `--json` also writes the summary
that the page "What changed" is made of, scripts/site/changes.json unless another file is named.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from differences import differences
from recordings import OTHERS, ROOT, Recording, Row, configs
from touched import with_touched

SUMMARY = ROOT / "scripts" / "site" / "changes.json"
WIDE = 300  # characters of a value


def cut(value: object) -> str:
    """A value short enough for a line.

    >>> cut(None), cut([1, 2])
    ('nothing', '[1, 2]')
    """
    if value is None or value == "":
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= WIDE else f"{text[:WIDE]}…"


def report(summary: Row) -> Iterator[str]:
    """The summary as lines."""
    old, new = summary["from"], summary["to"]
    counts = ", ".join(f"{count:,} {what}" for what, count in summary["compared"].items())
    yield f"vLLM {old} against {new}; compared: {counts}"
    yield from flag_lines(summary)
    yield from answer_lines(summary)
    yield from value_lines(summary)
    yield from unanswered_lines(summary)


def flag_lines(summary: Row) -> Iterator[str]:
    """Commands and options."""
    for change, commands in summary["commands"].items():
        yield from (f"\ncommand {change}: vllm {command}" for command in commands)
    for change in ("added", "removed", "changed"):
        found = [flag for flag in summary["flags"] if flag["change"] == change]
        yield f"\noptions {change}: {len(found)}"
        for flag in found:
            yield f"  vllm {flag['command']} {' '.join(flag['names'])}"
            yield from (f"    {field_line(field)}" for field in flag.get("fields", ()))
            yield from touch_lines(flag)


def field_line(field: Row) -> str:
    """One column of an option."""
    if "gone" in field:
        return f"{field['what']}: gone {cut(field['gone'])}, new {cut(field['came'])}"
    return f"{field['what']}: {cut(field['before'])} → {cut(field['after'])}"


def answer_lines(summary: Row) -> Iterator[str]:
    """Verdicts and sentences."""
    found = summary["answers"]
    yield f"\nverdicts and messages that differ: {sum(change['count'] for change in found)}"
    for change in found:
        yield f"  {change['count']} × {change['file']}, {change['change']}"
        yield f"    {summary['from']}: {cut(change['before'] or 'accepted')}"
        yield f"    {summary['to']}: {cut(change['after'] or 'accepted')}"
        yield f"    example: {cut(change['example'])}"
        yield from touch_lines(change)


def value_lines(summary: Row) -> Iterator[str]:
    """Bytes, blocks, tokens, groups."""
    found = summary["values"]
    yield f"\nbytes, blocks and groups that differ: {len(found)} kinds"
    for change in found:
        rank = "" if change["rank"] is None else f" of rank {change['rank']}"
        yield f"  {change['count']} × {change['file']}, {change['family']}: {change['what']}"
        yield f"    {cut(change['before'])} → {cut(change['after'])}{rank}"
        yield f"    example: {cut(change['example'])}"
        yield from touch_lines(change)


def unanswered_lines(summary: Row) -> Iterator[str]:
    """Questions that one release only answered."""
    for change in summary["unanswered"]:
        yield f"\n{change['count']} × {change['file']} that {change['release']} cannot answer:"
        yield f"    {cut(change['said'])}"


def touch_lines(change: Row) -> Iterator[str]:
    """What a change touches."""
    for kind, names in change.get("touches", {}).items():
        if names:
            yield f"    {kind}: {', '.join(names)}"


def written(summary: Row, target: Path) -> None:
    """Write the summary that the site shows."""
    text = json.dumps(summary, indent=1, sort_keys=True, ensure_ascii=False)
    target.write_text(f"{text}\n", "utf-8")


def main() -> None:
    """Prints, and writes where that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="a release, such as 0.31.0")
    parser.add_argument("after", help="the release to compare it with")
    parser.add_argument("--json", type=Path, nargs="?", const=SUMMARY, help="write the summary")
    parser.add_argument("--records", type=Path, default=OTHERS, help="where records lie")
    given = parser.parse_args()
    before, after = (Recording.find(name, given.records) for name in (given.before, given.after))
    summary = with_touched(differences(before, after), configs(after.models))
    if given.json:
        written(summary, given.json)
    print("\n".join(report(summary)))


if __name__ == "__main__":
    main()
